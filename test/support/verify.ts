import { DataSource } from 'typeorm'
import { type Clock, SystemClock } from '../../src/common/clock.js'
import type { DatabaseConfig } from '../../src/config/config.js'
import { dataSourceOptions } from '../../src/database/data-source-options.js'
import { TransactionRunner } from '../../src/database/transaction-runner.js'
import { CHANNELS, ENTITIES } from '../../src/entities.js'
import { findingLine, type Repaired, type Verification, Verifier } from '../../src/ledger/verify/verifier.js'
import { MAIL } from '../../src/mail-quota/mail.channel.js'
import type { TestApp } from './app.js'

/**
 * The output of `npm run verify` for a database, without its notes.
 * @param url a DATABASE_URL
 * @param clock that of the service
 */
export async function verified(url: string, clock: Clock = new SystemClock()): Promise<string[]> {
  const [, path] = /^sqlite:(.*)$/.exec(url) ?? []
  const config: DatabaseConfig = path === undefined ? { kind: 'mysql', url, poolSize: 2 } : { kind: 'sqlite', path }
  const dataSource = await new DataSource(dataSourceOptions(config, ENTITIES, 'service')).initialize()
  const transactions = new TransactionRunner(dataSource)
  try {
    return await linesOfAll(dataSource, transactions, clock)
  } finally {
    await transactions.onApplicationShutdown()
    await dataSource.destroy()
  }
}

/** The contradictions of a channel, one per line. */
export async function linesOf(verification: Verification): Promise<string[]> {
  const lines: string[] = []
  for await (const { findings } of verification.pages()) {
    for (const finding of findings) if (finding.note !== true) lines.push(findingLine(verification.channel, finding))
  }
  return lines
}

/**
 * The contradictions in the database of an application under test, one per line.
 * @param name of the only channel to verify; default: all
 */
export async function contradictionsOf({ app, clock }: TestApp, name?: string): Promise<string[]> {
  return linesOfAll(app.get(DataSource), app.get(TransactionRunner), clock, name)
}

async function linesOfAll(
  dataSource: DataSource,
  transactions: TransactionRunner,
  clock: Clock,
  name?: string,
): Promise<string[]> {
  const lines: string[] = []
  for (const { channel } of CHANNELS)
    if (name === undefined || channel.name === name)
      lines.push(...(await linesOf(new Verifier(channel, dataSource, transactions, clock))))
  return lines
}

/** A verification of mail, of the database of an application under test. */
export function mailVerifierOf({ app, clock }: TestApp): Verifier<never> {
  return new Verifier(MAIL, app.get(DataSource), app.get(TransactionRunner), clock) as unknown as Verifier<never>
}

/** The command's output for each contradiction, one per line; with `repair`, including the repair. */
export async function outcomesOf(
  verification: Verifier<never>,
  { repair = false } = {},
): Promise<[string, Repaired | undefined][]> {
  const outcomes: [string, Repaired | undefined][] = []
  for await (const { findings } of verification.pages()) {
    const wrong = findings.filter(({ note }) => note !== true)
    const repaired = repair ? await verification.repair(wrong, 'repair-of-a-test') : new Map<never, Repaired>()
    for (const finding of wrong) outcomes.push([findingLine(verification.channel, finding), repaired.get(finding)])
  }
  return outcomes
}
