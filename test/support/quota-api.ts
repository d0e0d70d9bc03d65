import { DataSource } from 'typeorm'
import type { Response } from 'supertest'
import type { AnyChannel } from '../../src/ledger/rows/channel.js'
import { Ledger } from '../../src/ledger/write/ledger.js'
import { channelToken } from '../../src/channel-api/ledger.module.js'
import { Upkeep } from '../../src/ledger/upkeep/upkeep.js'
import { RecentCounts } from '../../src/ledger/read/recent-counts.js'
import { Sweeper } from '../../src/ledger/upkeep/sweeper.js'
import type { QuotaRow } from '../../src/ledger/rows/quota.entity.js'
import { TransactionRunner } from '../../src/database/transaction-runner.js'
import { MAIL } from '../../src/mail-quota/mail.channel.js'
import { SMS } from '../../src/sms-quota/sms.channel.js'
import type { TestApp } from './app.js'
import { type ChannelApi, MAIL_API, SMS_API } from './channel-api.js'

/** The same channel within the service. */
const CHANNELS: Readonly<Record<ChannelApi['channel'], AnyChannel>> = { mail: MAIL, sms: SMS }

/** The initial time of a suite's clock. */
export const START = '2026-11-21T12:00:00.000Z'

let lastNumber = 1000

/** An owner, or a number for a key, that nothing else uses. */
export const fresh = (): number => (lastNumber += 1)

/** The background work of a channel, run by hand. */
export function sweeperOf(app: TestApp, api: ChannelApi): Sweeper<QuotaRow> {
  return app.app.get<Sweeper<QuotaRow>>(channelToken(CHANNELS[api.channel], Sweeper))
}

/** Renews the counts of long lists that are half a minute old. */
export async function renewCounts(app: TestApp, api: ChannelApi): Promise<void> {
  await app.app.get<RecentCounts>(channelToken(CHANNELS[api.channel], RecentCounts)).task.again()
}

/** The engine of a channel, without HTTP. */
export function ledgerOf(app: TestApp, api: ChannelApi): Ledger<QuotaRow> {
  return app.app.get<Ledger<QuotaRow>>(channelToken(CHANNELS[api.channel], Ledger))
}

/** Removes the old change sets of a channel, or as many as need no further work. */
export async function removeOldChangeSets(app: TestApp, api: ChannelApi): Promise<void> {
  const { removals } = app.app.get<Upkeep<QuotaRow>>(channelToken(CHANNELS[api.channel], Upkeep))
  for (const remove of removals) while (await remove());
}

/** Stops the timers, so that only a test itself sweeps. */
export async function stopSweepers(app: TestApp): Promise<void> {
  for (const api of [MAIL_API, SMS_API]) await sweeperOf(app, api).task.stop()
}

/**
 * Puts off the timers of upkeep, so that only a test itself runs it: a round in the background would see, half done, a
 * time that the test sets. A task that is stopped would end each round before its first step.
 */
export async function putOffUpkeep(app: TestApp): Promise<void> {
  for (const task of app.app.get(TransactionRunner).tasks) {
    if (!task.name.endsWith(' upkeep')) continue
    await task.run()
    task.start(2 ** 31 - 1)
  }
}

/** Stops upkeep, for a suite that sets its clock back: what it has added up by then would be in the future. */
export async function stopUpkeep(app: TestApp): Promise<void> {
  for (const api of [MAIL_API, SMS_API])
    await app.app.get<Upkeep<QuotaRow>>(channelToken(CHANNELS[api.channel], Upkeep)).onModuleDestroy()
}

/** Rows in one statement, which must end within the service's statement timeout, on a busy machine too. */
const COPIED_AT_ONCE = 1_000

/** Copies one quota's row `count` times. No request could give an owner so many. */
export async function copyQuota(app: TestApp, api: ChannelApi, id: number, count: number): Promise<void> {
  const dataSource = app.app.get(DataSource)
  const { tableName, columns } = dataSource.getMetadata(CHANNELS[api.channel].quota)
  const names = columns
    .filter(({ generatedType }) => generatedType === undefined)
    .map(({ databaseName }) => databaseName)
    .filter((name) => name !== 'id')
  const listed = names.map((name) => `\`${name}\``).join(', ')
  const digits = `(${Array.from({ length: 10 }, (_, digit) => `SELECT ${digit} AS d`).join(' UNION ALL ')})`
  const places = ['a', 'b', 'c'].map((place) => `${digits} ${place}`).join(' CROSS JOIN ')
  const copy =
    `INSERT INTO ${tableName} (${listed}) SELECT ${names.map((name) => `q.\`${name}\``).join(', ')} FROM ${tableName} q ` +
    `CROSS JOIN ${places} WHERE q.id = ? AND a.d + 10 * b.d + 100 * c.d < ?`
  for (let left = count; left > 0; left -= COPIED_AT_ONCE) {
    await dataSource.query(copy, [id, Math.min(left, COPIED_AT_ONCE)])
  }
}

/** The parsed JSON of an answer, without types. */
export type Body = Response['body']

/** The status and the code of a refusal. */
export const refusal = ({ status, body }: Response): [number, string] => [status, body.code]

/** The invalid fields by name, of a `validation_failed`; fails on any other answer. */
export function brokenFields({ status, body, text }: Response): Record<string, string> {
  if (status !== 400 || body.code !== 'validation_failed') throw new Error(`no validation_failed: ${status} ${text}`)
  return Object.fromEntries(body.errors.map(({ field, message }: Record<string, string>) => [field, message]))
}

/** The body of an answer with that status; fails on any other. */
export function bodyOf(status: number, answer: Response): Body {
  if (answer.status !== status) throw new Error(`${answer.status} instead of ${status}: ${answer.text}`)
  return answer.body
}
