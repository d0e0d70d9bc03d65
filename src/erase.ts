import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Logger } from '@nestjs/common'
import type { DataSource } from 'typeorm'
import { Erasure } from './change-set/erasure.js'
import { ArgumentError, command, EXIT, tell } from './command.js'
import { type CommandStore, withStore } from './command-store.js'
import { CHANNELS } from './entities.js'
import { parseId } from './http/ids.js'
import { configuredDatabase, databaseName, StartError, using } from './startup.js'

const NAMES = CHANNELS.map(({ channel }) => channel.name)

const USAGE = `usage: node dist/src/erase.js ${NAMES.map((name) => `[--${name} ID]…`).join(' ')}
  Makes labels, keys, request ids, actors named as the owner, and links of an owner unreadable in DATABASE_URL, while instances serve. Amounts and
  times stay. Keys of the owner end: a request that is sent again is a new one. What was interrupted is begun again.
  Exit code: 0 erased; 1 the owner is not known, the database cannot be used, or a process that reads a SQLite file keeps its -wal file; 2 wrong
  arguments.`

/** What the command cannot reach. */
const ELSEWHERE =
  "Still to be seen to, as docs/run/runbook.md says: backups and dumps from before, binary logs and replicas that lag, the database's free pages, " +
  'log files, and what was sent to webhooks.'

/** The minimum time between two lines about progress. */
const EVERY_MS = 10_000
/** A SQLite file that others use: how often, and at which interval, its -wal file is tried to be merged. */
const MERGES = 100
const MERGE_EVERY_MS = 50

await command(USAGE, async (args) => {
  const options = Object.fromEntries(NAMES.map((name) => [name, { type: 'string', multiple: true } as const]))
  const values = parseArgs({ args, options }).values as Readonly<Record<string, string[]>>
  const named = CHANNELS.flatMap((kind) =>
    (values[kind.channel.name] ?? []).map((text) => ({ kind, text, name: `${kind.channel.name} ${text}` })),
  )
  const wrong = named.filter(({ text }) => parseId(text) === undefined)
  if (wrong.length > 0)
    throw new ArgumentError(`no id, an integer from 1 to 2^53-1: ${wrong.map(({ name }) => `--${name}`).join(', ')}`)
  if (named.length === 0)
    throw new ArgumentError(`an owner is required: ${NAMES.map((name) => `--${name} ID`).join(' or ')}`)
  const database = configuredDatabase()
  tell(`Database ${databaseName(database)}`)
  // A failure of the database ends the command, which reports it.
  Logger.overrideLogger(false)
  const erase = async (store: CommandStore): Promise<{ unknown: string[]; isMerged: boolean }> => {
    const { dataSource, transactions, clock } = store
    const erasures = named.map(({ kind, text, name }) => ({
      name,
      erasure: new Erasure(kind, dataSource, transactions, clock, Number(text)),
    }))
    const unknown: string[] = []
    for (const { name, erasure } of erasures) if (!(await erasure.isKnown())) unknown.push(name)
    if (unknown.length > 0) return { unknown, isMerged: true }
    // Otherwise SQLite leaves the old text in the page.
    if (database.kind === 'sqlite') await dataSource.query('PRAGMA secure_delete = ON')
    for (const { name, erasure } of erasures) tell(`${name}: ${await run(erasure)}`)
    return { unknown, isMerged: database.kind !== 'sqlite' || (await merge(dataSource)) }
  }
  const { unknown, isMerged } = await using(database, async () => withStore(database, erase))
  if (unknown.length > 0) throw new StartError(`not known, so nothing was erased: ${unknown.join(', ')}`)
  tell(ELSEWHERE)
  if (isMerged) return EXIT.done
  throw new StartError(
    `old texts are still in the -wal file of ${databaseName(database)}, since another process reads it: end that, and run this again`,
  )
})

/** Empties the -wal file, which contains old texts. @returns whether nobody hindered it */
async function merge(dataSource: DataSource): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    const [result] = await dataSource.query<{ busy: number }[]>('PRAGMA wal_checkpoint(TRUNCATE)')
    if (result?.busy === 0) return true
    if (tries === MERGES) return false
    await sleep(MERGE_EVERY_MS)
  }
}

/** Erases an owner, with pauses as long as the steps, so that requests have at least half of the database. */
async function run(erasure: Pick<Erasure<never>, 'run'>): Promise<string> {
  const counts = new Map<string, { read: number; erased: number }>()
  const line = (): string =>
    [...counts].map(([what, { read, erased }]) => `${what}: ${erased} of ${read} erased`).join('; ')
  let told = performance.now()
  let began = told
  for await (const { what, read, erased } of erasure.run()) {
    const count = counts.get(what) ?? { read: 0, erased: 0 }
    counts.set(what, { read: count.read + read, erased: count.erased + erased })
    const now = performance.now()
    if (now - told >= EVERY_MS) {
      told = now
      process.stderr.write(`${line()}\n`)
    }
    await sleep(now - began)
    began = performance.now()
  }
  return line()
}
