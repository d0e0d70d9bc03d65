import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { Logger } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { ArgumentError, command, EXIT, tell } from './command.js'
import { withTables } from './command-store.js'
import { ConfigError, type DatabaseConfig, loadDatabaseArguments } from './config/config.js'
import { readEnvironment } from './config/environment.js'
import { dataSourceOptions } from './database/data-source-options.js'
import { InstanceRow } from './database/instance.entity.js'
import { runningInstances } from './database/instances.js'
import { finishCopy, isAbsent, migrationStates, prepareCopy, withoutStarts } from './database/migrate.js'
import { type CopySide, StoreCopy } from './database/store-copy.js'
import { approximateRows, StoredTable } from './database/stored-table.js'
import { type Transaction, TransactionRunner } from './database/transaction-runner.js'
import { ENTITIES } from './entities.js'
import { Progress } from './common/progress.js'
import { databaseName, OTHER_SCHEMA, refuseBeside, StartError, using } from './startup.js'
import { counted, verify } from './verification.js'
import { WebhookReaderRow } from './webhook/webhook.entity.js'

const USAGE = `usage: node dist/src/copy.js --from URL --to URL
  Copies the database of a stopped service into an empty one, of either kind: a SQLite file, or a server. URL is as in DATABASE_URL, or
  @FILE, which names a file that contains it. DATABASE_TLS applies to both.
  Ended in its midst, run it again: it goes on where it was. No instance starts on the target before the copy is complete.
  At its end it compares every value of both, and verifies the target.
  Exit code: 0 the target equals the source, without contradiction; 1 it could not be copied, differs, or has contradictions, which the source
  then has, too; 2 wrong arguments.`

/** The time for which a database may be away, in milliseconds; then the copy ends, to be begun again. */
const PATIENCE_MS = 60_000

/** All tables except those about running instances of their store. */
const COPIED = ENTITIES.filter((entity) => entity !== InstanceRow && entity !== WebhookReaderRow)

/** One of the two databases, whose failures name it. */
class Side implements CopySide {
  private constructor(
    private readonly database: DatabaseConfig,
    readonly dataSource: DataSource,
    private readonly transactions: TransactionRunner,
  ) {}

  static async open(database: DatabaseConfig): Promise<Side> {
    const dataSource = new DataSource(dataSourceOptions(database, ENTITIES, 'service'))
    await using(database, async () => dataSource.initialize())
    return new Side(database, dataSource, new TransactionRunner(dataSource, PATIENCE_MS))
  }

  async read<T>(unit: (transaction: Transaction) => Promise<T>): Promise<T> {
    return using(this.database, async () => this.transactions.read(unit))
  }

  async write<T>(unit: (transaction: Transaction) => Promise<T>): Promise<T> {
    return using(this.database, async () => this.transactions.write(unit))
  }

  async rows(table: string): Promise<number> {
    return this.read(async (transaction) => approximateRows(transaction, table))
  }

  async close(): Promise<void> {
    await this.transactions.onApplicationShutdown()
    await this.dataSource.destroy()
  }
}

await command(USAGE, async (args) => {
  const [from, to] = databasesOf(args)
  tell(`From ${databaseName(from)}`, `To   ${databaseName(to)}`)
  // A failure of a database ends the command, which reports it.
  Logger.overrideLogger(false)
  if (placeOf(from) === placeOf(to)) throw new StartError('--from and --to name the same database')
  if (isAbsent(from)) throw new StartError(`${databaseName(from)} does not exist`)
  await using(from, async () => {
    const states = await migrationStates(from, ENTITIES)
    if (states.some(({ ran, known }) => !ran || !known)) throw new Error(OTHER_SCHEMA)
  })
  await ensureStopped(from)
  await ensureStopped(to)
  await using(to, async () => prepareCopy(to, ENTITIES, databaseName(from)))
  const equal = await using(from, async () =>
    withoutStarts(from, ENTITIES, async (stillLocked) => copy(from, to, stillLocked)),
  )
  if (!equal) {
    tell('The target differs from the source, as above. Stop what writes to them, empty the target, and begin again.')
    return EXIT.failed
  }
  const tally = await using(to, async () =>
    withTables(to, async (store) => verify(store, { repair: false, rest: false, json: false })),
  )
  tell(tally.line(false))
  await using(to, async () => finishCopy(to, ENTITIES))
  tell('The copy is complete: every value of the target equals that of the source.')
  if (tally.left === 0) return EXIT.done
  tell('The source has the same contradictions. docs/run/verify-and-metrics.md says for each rule what to do.')
  return EXIT.failed
})

/** @throws ArgumentError with all mistakes */
function databasesOf(args: string[]): readonly [DatabaseConfig, DatabaseConfig] {
  const { from, to } = parseArgs({ args, options: { from: { type: 'string' }, to: { type: 'string' } } }).values
  try {
    return loadDatabaseArguments(readEnvironment(), { '--from': from, '--to': to }) as [DatabaseConfig, DatabaseConfig]
  } catch (error) {
    if (error instanceof ConfigError) throw new ArgumentError(error.message)
    throw error
  }
}

/** The place of a database, whatever account uses it. */
function placeOf(database: DatabaseConfig): string {
  if (database.kind === 'sqlite') return isAbsent(database) ? resolve(database.path) : realpathSync(database.path)
  const { hostname, port, pathname } = new URL(database.url)
  return `${hostname}:${port || 3306}${pathname}`
}

async function ensureStopped(database: DatabaseConfig): Promise<void> {
  const here = await using(database, async () => runningInstances(database, ENTITIES))
  refuseBeside(here, `${databaseName(database)} is in use: instances`)
}

/** Copies all tables and compares them. @returns whether they are equal */
async function copy(from: DatabaseConfig, to: DatabaseConfig, stillLocked: () => Promise<void>): Promise<boolean> {
  await ensureStopped(from)
  const source = await Side.open(from)
  try {
    const target = await Side.open(to)
    try {
      return await copyTables(source, target, stillLocked)
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
    // An instance on another node of a cluster is not held by the lock.
    await ensureStopped(from)
  }
}

async function copyTables(source: Side, target: Side, stillLocked: () => Promise<void>): Promise<boolean> {
  const tables = COPIED.map((entity) => StoredTable.of(source.dataSource, entity))
  const about: Record<string, Record<string, number>> = {}
  for (const { name } of tables) {
    const all = await source.rows(name)
    about[name] = { 'rows copied': Math.max(0, all - (await target.rows(name))), 'rows compared': all }
  }
  const progress = new Progress(about, (line) => process.stderr.write(`${line}\n`))
  const copying = new StoreCopy(source, target, async ({ name }, what, rows) => {
    progress.read(name, `rows ${what}`, rows)
    await stillLocked()
  })
  for (const table of tables) {
    const copied = await copying.copy(table)
    if (copied > 0) tell(`copied   ${table.name}: ${counted(copied, 'row')}`)
  }
  let equal = true
  for (const table of tables) {
    const { rows, sum, difference } = await copying.compare(table)
    tell(
      difference === undefined
        ? `equal    ${table.name}: ${counted(rows, 'row')}, sum ${sum}`
        : `differs  ${difference}`,
    )
    equal &&= difference === undefined
  }
  return equal
}
