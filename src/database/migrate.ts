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
 * Brings the schema up to date before an instance serves. Any number of processes may call it at once: one migrates
 * under a lock of the store, the others wait for it and then find nothing to do. If the lock does not apply (other
 * nodes of a cluster), the loser of the race fails, retries, and finds nothing to do.
 * @param options.finish also run migrations that instances of the previous version cannot handle; on an empty database
 * they always run
 * @returns the names of the migrations that ran, oldest first
 * @throws the error of the last attempt
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
 * Reverts the last migration, with its data. No instance may use that data any more.
 * @returns its name; undefined if there is none
 * @throws the error of the last attempt, or that this version does not know the migration, since a newer one ran it
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

/** The only character sets of MySQL and MariaDB that do not store ASCII as single bytes. */
const NOT_ASCII: readonly unknown[] = ['binary', 'swe7']

/** The database's default character set is not usable for tables of the service. */
class UnfitCharacterSet extends Error {}

/** New tables use the database's default character set, and contain ASCII. */
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
 * Adds a primary key to TypeORM's table for the expressions of computed columns: Group Replication accepts no writes to
 * a table without one, and neither does a server with `sql_require_primary_key`.
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
  // On a server, each DDL statement commits, so a transaction would promise more than it keeps; on SQLite, the lock is
  // a transaction.
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

/** Has this migration run? */
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

/** The migrations that wait for the operator's confirmation that no instance of the previous version is left. */
export async function unfinished(dataSource: DataSource): Promise<string[]> {
  const waiting: string[] = []
  for (const migration of FINISHING) if (!(await hasRun(dataSource, migration))) waiting.push(migration.name)
  return waiting
}

/** The migrations that the database has and this version does not know: a newer version ran them. */
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
  /** Does it wait for the operator's confirmation that no instance of the previous version is left? */
  readonly finishing: boolean
  /** Does this version know it? If not, a newer one ran it. */
  readonly known: boolean
}

/**
 * Every migration of this version, oldest first, then the unknown ones, without any change: it creates no table and no
 * file.
 * @throws the error of the last attempt
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

/** Is it a SQLite file that does not exist yet? */
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

/** Runs work on a separate connection, and retries it if that may help. */
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
      // A server that does not answer may be starting. A configuration that the driver cannot use does not improve, and
      // work that has waited has waited long enough.
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

/** A named lock of the server. It belongs to the connection that migrates, and ends with it. */
async function underNamedLock<T>(runner: QueryRunner, run: () => Promise<T>): Promise<T> {
  const [answer] = (await runner.query('SELECT GET_LOCK(?, ?) AS locked', [LOCK, LOCK_WAIT_SECONDS])) as {
    locked: unknown
  }[]
  if (Number(answer?.locked) !== 1) throw new WaitedInVain()
  return run()
}

/** SQLite's one write lock, which all migrations hold as one transaction. */
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
