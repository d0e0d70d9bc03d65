import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  DataSource,
  type EntityTarget,
  type Migration,
  MigrationExecutor,
  type QueryRunner,
  Table,
  type TableColumnOptions,
} from 'typeorm'
import type { DatabaseConfig } from '../config/config.js'
import { dataSourceOptions } from './data-source-options.js'
import { FINISHING, MIGRATIONS } from './migrations/index.js'
import { ensureWritable } from './sqlite-file.js'
import { failedForTls, faultOf } from './store-error.js'

const LOCK = 'quota_service_migration'
const LOCK_WAIT_SECONDS = 60
const LOCK_PAUSE_MS = 50
const MAX_TRIES = 8

/**
 * Brings the schema up to date before an instance serves. Any number of processes may do so at once: one migrates under
 * a lock of the store, the others wait for it and then find nothing to do. Where the lock does not reach (other nodes
 * of a cluster) the loser of the race fails, looks again, and finds nothing either.
 * @param options.finish run also what instances of the version before could not stand; on an empty database that is
 *   done in any case
 * @returns the names of the migrations that ran, oldest first
 * @throws what the last of several tries failed of
 */
export async function migrate(
  config: DatabaseConfig,
  entities: readonly EntityTarget<unknown>[],
  { finish = false } = {},
): Promise<string[]> {
  return connected(config, entities, async (dataSource, runner) => {
    const run = async () => runPending(dataSource, runner, finish)
    return config.kind === 'sqlite' ? underWriteLock(runner, run) : underNamedLock(runner, run)
  })
}

/**
 * Takes back the migration that ran last, with the data in what it made. Nobody may use what it made any more.
 * @returns its name; undefined where there is none
 * @throws what the last of several tries failed of; that this version does not know it, since a newer one ran it
 */
export async function migrateBack(
  config: DatabaseConfig,
  entities: readonly EntityTarget<unknown>[],
): Promise<string | undefined> {
  if (isAbsent(config)) return undefined
  return connected(config, entities, async (dataSource, runner) => {
    const run = async () => {
      const last = (await recorded(dataSource, runner)).at(-1)
      if (last !== undefined && notKnown([last]).length > 0) throw new UnknownMigration(last)
      if (last !== undefined) await new Executor(dataSource, runner, true).undoLastMigration()
      return last
    }
    return config.kind === 'sqlite' ? underWriteLock(runner, run) : underNamedLock(runner, run)
  })
}

async function runPending(dataSource: DataSource, runner: QueryRunner, finish: boolean): Promise<string[]> {
  const empty = (await recorded(dataSource, runner)).length === 0
  const executor = new Executor(dataSource, runner, finish || empty)
  if ((await executor.getPendingMigrations()).length === 0) return []
  await ensureAscii(runner)
  await ensureMetadataTable(runner)
  return (await executor.executePendingMigrations()).map(({ name }) => name)
}

/** The only ones of MySQL and MariaDB that do not hold ASCII as the text that it is. */
const NOT_ASCII: readonly unknown[] = ['binary', 'swe7']

/** The database's default character set is one that tables of the service must not have. */
class UnfitCharacterSet extends Error {}

/** New tables take the database's default character set, and hold ASCII. */
async function ensureAscii(runner: QueryRunner): Promise<void> {
  if (runner.dataSource.options.type === 'better-sqlite3') return
  const [row] = (await runner.query('SELECT @@character_set_database AS name, DATABASE() AS `database`')) as {
    name: string
    database: string
  }[]
  if (row === undefined || !NOT_ASCII.includes(row.name)) return
  throw new UnfitCharacterSet(
    `the default character set of the database ${row.database} is ${row.name}, which does not hold ASCII text: ` +
      `ALTER DATABASE \`${row.database}\` CHARACTER SET utf8mb4, then start again`,
  )
}

/**
 * TypeORM's table for the expressions of computed columns, with a key: Group Replication takes no writes to a table
 * without one, and neither does a server with `sql_require_primary_key`.
 */
async function ensureMetadataTable(runner: QueryRunner): Promise<void> {
  const { type, metadataTableName = 'typeorm_metadata' } = runner.dataSource.options
  if (type === 'better-sqlite3') return
  const table = await runner.getTable(metadataTableName)
  if (table === undefined) {
    const text = ['database', 'schema', 'table', 'name'].map((name) => ({ name, type: 'varchar', length: '255' }))
    await runner.createTable(
      new Table({
        name: metadataTableName,
        columns: [
          METADATA_KEY,
          { name: 'type', type: 'varchar', length: '255' },
          ...text.map((column) => ({ ...column, isNullable: true })),
          { name: 'value', type: 'text', isNullable: true },
        ],
      }),
      true,
    )
  } else if (table.primaryColumns.length === 0) {
    await runner.query(
      `ALTER TABLE \`${metadataTableName}\` ADD COLUMN \`id\` bigint NOT NULL AUTO_INCREMENT PRIMARY KEY`,
    )
  }
}

const METADATA_KEY: TableColumnOptions = {
  name: 'id',
  type: 'bigint',
  isPrimary: true,
  isGenerated: true,
  generationStrategy: 'increment',
}

class Executor extends MigrationExecutor {
  // On a server every DDL statement commits, so that a transaction would promise what it cannot keep; on SQLite the
  // lock is one.
  override transaction = 'none' as const

  constructor(
    dataSource: DataSource,
    runner: QueryRunner,
    private readonly finish: boolean,
  ) {
    super(dataSource, runner)
  }

  protected override getMigrations(): Migration[] {
    return super.getMigrations().filter(({ name }) => this.finish || !isFinishing(name))
  }
}

function isFinishing(name: string): boolean {
  return FINISHING.some((migration) => migration.name === name)
}

/** Has the database this migration? */
export async function hasRun(
  dataSource: DataSource,
  migration: { readonly name: string },
  query = async (sql: string, values: string[]): Promise<unknown[]> => dataSource.query(sql, values),
): Promise<boolean> {
  const rows = await query(`SELECT 1 FROM \`${String(dataSource.options.migrationsTableName)}\` WHERE name = ?`, [
    migration.name,
  ])
  return rows.length > 0
}

/** The migrations that wait for the operator's word that no instance of the version before is left. */
export async function unfinished(dataSource: DataSource): Promise<string[]> {
  const waiting: string[] = []
  for (const migration of FINISHING) if (!(await hasRun(dataSource, migration))) waiting.push(migration.name)
  return waiting
}

/** The migrations that the database has and this version does not know: a newer one has been here. */
export async function unknownHere(dataSource: DataSource): Promise<string[]> {
  const table = String(dataSource.options.migrationsTableName)
  const rows: { name: string }[] = await dataSource.query(`SELECT name FROM \`${table}\` ORDER BY id`)
  return notKnown(rows.map(({ name }) => name))
}

function notKnown(names: readonly string[]): string[] {
  return names.filter((name) => !MIGRATIONS.some((migration) => migration.name === name))
}

/** A migration, and whether the database has it. */
export interface MigrationState {
  readonly name: string
  readonly ran: boolean
  /** Does it wait for the operator's word that no instance of the version before is left? */
  readonly finishing: boolean
  /** Is it one of this version's? If not, a newer one has run it. */
  readonly known: boolean
}

/**
 * Every migration of this version, oldest first, and after them those that it does not know, without changing anything:
 * no table is made, and no file.
 * @throws what the last of several tries failed of
 */
export async function migrationStates(
  config: DatabaseConfig,
  entities: readonly EntityTarget<unknown>[],
): Promise<MigrationState[]> {
  const ran = new Set(isAbsent(config) ? [] : await connected(config, entities, recorded))
  return [
    ...MIGRATIONS.map(({ name }) => ({
      name,
      ran: ran.has(name),
      finishing: ran.size > 0 && isFinishing(name),
      known: true,
    })),
    ...notKnown([...ran]).map((name) => ({ name, ran: true, finishing: false, known: false })),
  ]
}

/** Is it a SQLite file that nobody has made yet? */
export function isAbsent(config: DatabaseConfig): boolean {
  return config.kind === 'sqlite' && statSync(config.path, { throwIfNoEntry: false }) === undefined
}

async function recorded(dataSource: DataSource, runner: QueryRunner): Promise<string[]> {
  const table = String(dataSource.options.migrationsTableName)
  if (!(await runner.hasTable(table))) return []
  return ((await runner.query(`SELECT name FROM \`${table}\` ORDER BY id`)) as { name: string }[]).map(
    ({ name }) => name,
  )
}

class UnknownMigration extends Error {
  constructor(name: string) {
    super(`${name} was run by a newer version, which alone can take it back`)
  }
}

class WaitedInVain extends Error {
  constructor(options?: ErrorOptions) {
    super(`another process has been migrating for ${LOCK_WAIT_SECONDS} s`, options)
  }
}

/** Does something on a connection of its own, and does it again where that may help. */
export async function connected<T>(
  config: DatabaseConfig,
  entities: readonly EntityTarget<unknown>[],
  work: (dataSource: DataSource, runner: QueryRunner) => Promise<T>,
): Promise<T> {
  if (config.kind === 'sqlite') ensureWritable(config.path)
  for (let attempt = 1; ; attempt += 1) {
    const dataSource = new DataSource(dataSourceOptions(config, [...entities], 'migration'))
    try {
      await dataSource.initialize()
      const runner = dataSource.createQueryRunner()
      try {
        return await work(dataSource, runner)
      } finally {
        await runner.release()
      }
    } catch (error) {
      // What is not there yet may be starting; what the driver cannot even try will not mend itself, and who waited has
      // waited enough.
      const hopeless =
        error instanceof WaitedInVain ||
        error instanceof UnfitCharacterSet ||
        error instanceof UnknownMigration ||
        failedForTls(error) ||
        (!dataSource.isInitialized && faultOf(error) === 'broken')
      if (hopeless || attempt >= MAX_TRIES) throw error
      await sleep(100 * attempt * (1 + Math.random()))
    } finally {
      if (dataSource.isInitialized) await dataSource.destroy()
    }
  }
}

/** A named lock of the server's. It belongs to the connection that migrates, and ends with it. */
async function underNamedLock<T>(runner: QueryRunner, run: () => Promise<T>): Promise<T> {
  const [answer] = (await runner.query('SELECT GET_LOCK(?, ?) AS locked', [LOCK, LOCK_WAIT_SECONDS])) as {
    locked: unknown
  }[]
  if (Number(answer?.locked) !== 1) throw new WaitedInVain()
  return run()
}

/** SQLite's one write lock, which all of the migrations then hold as one transaction. */
async function underWriteLock<T>(runner: QueryRunner, run: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + LOCK_WAIT_SECONDS * 1000
  for (;;) {
    try {
      await runner.query('BEGIN IMMEDIATE')
      break
    } catch (error) {
      if (faultOf(error) !== 'conflict') throw error
      if (performance.now() > deadline) throw new WaitedInVain({ cause: error })
      await sleep(LOCK_PAUSE_MS)
    }
  }
  try {
    const result = await run()
    await runner.query('COMMIT')
    return result
  } catch (error) {
    await runner.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}
