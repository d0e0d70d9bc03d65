import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { DataSource, type EntityTarget, type Migration, MigrationExecutor, type QueryRunner } from 'typeorm'
import type { DatabaseConfig } from '../config/config.js'
import { dataSourceOptions } from './data-source-options.js'
import { FINISHING, FIRST, MIGRATIONS } from './migrations/index.js'
import { ascii, createTables, generated, integer, key, nullable, unicode, unicodeText } from './migrations/tables.js'
import { quote } from './row-codec.js'
import { ensureWritable } from './sqlite-file.js'
import { failedForTls, faultOf } from './store-error.js'

/** The beginning of the lock's name; MySQL accepts 64 characters. */
const LOCK = 'quota_service_'
const LOCK_WAIT_SECONDS = 60
const LOCK_PAUSE_MS = 50
const MAX_TRIES = 8

/** Work under the lock of migrations, which each instance takes at its start. */
export type UnderLock = (dataSource: DataSource, runner: QueryRunner) => Promise<void>

/**
 * Brings the schema up to date before an instance serves. Any number of processes may call it at once: one migrates
 * under a lock of the store, the others wait for it and then find nothing to do. If the lock does not apply (other
 * nodes of a cluster), the loser of the race fails, retries, and finds nothing to do.
 * @param options.finish also run migrations that instances of the previous version cannot handle; on an empty database
 * they always run
 * @param options.before under the lock; refuses by throwing Refused
 * @param options.after under the lock, when the schema is up to date
 * @returns the names of the migrations that ran, oldest first
 * @throws the error of the last attempt
 */
export async function migrate(
  config: DatabaseConfig,
  entities: readonly EntityTarget<unknown>[],
  { finish = false, before, after }: { finish?: boolean; before?: UnderLock | undefined; after?: UnderLock } = {},
): Promise<string[]> {
  return connected(config, entities, async (dataSource, runner) => {
    return underLock(config, runner, async () => {
      await refuseUnfinishedCopy(runner)
      await before?.(dataSource, runner)
      const ran = await runPending(dataSource, runner, finish)
      await after?.(dataSource, runner)
      return ran
    })
  })
}

/**
 * Makes an empty database the target of a copy: creates the schema, without any row, and marks it, so that no instance
 * starts on it before `finishCopy`. A target that the same copy has begun stays as it is.
 * @param source the name of the source, by which the copy is recognized when it is begun again
 * @throws CopyRefused the database holds anything else
 */
export async function prepareCopy(
  config: DatabaseConfig,
  entities: readonly EntityTarget<unknown>[],
  source: string,
): Promise<void> {
  await connected(config, entities, async (dataSource, runner) => {
    await underLock(config, runner, async () => {
      const begun = await unfinishedCopyIn(runner)
      if (begun === undefined) {
        const tables = (await tablesIn(runner)).filter((name) => name !== UNFINISHED_COPY.name)
        if (tables.length > 0)
          throw new CopyRefused(`it is not empty, it has ${tables.length} tables, such as ${tables[0]}`)
        await createTables(runner, [UNFINISHED_COPY])
        await runner.query(`INSERT INTO ${UNFINISHED_COPY.name} (id, source, prepared) VALUES (1, ?, 0)`, [source])
      } else if (begun.source !== source) throw new CopyRefused(`it is an unfinished copy of ${begun.source}`)
      await runPending(dataSource, runner, true)
      if (begun?.prepared === true) return
      // The rows that migrations insert are in the source, too.
      for (const { tableName } of dataSource.entityMetadatas) await runner.query(`DELETE FROM ${quote(tableName)}`)
      await runner.query(`UPDATE ${UNFINISHED_COPY.name} SET prepared = 1`)
    })
  })
}

/** Removes the mark of `prepareCopy`: instances may start. */
export async function finishCopy(config: DatabaseConfig, entities: readonly EntityTarget<unknown>[]): Promise<void> {
  await connected(config, entities, async (_, runner) => {
    await runner.query(`DELETE FROM ${UNFINISHED_COPY.name}`)
  })
}

/**
 * Runs work while no instance can start on the database, and nothing can migrate it: they wait for a minute, then fail.
 * @param work calls `stillLocked` again and again, which throws if that is over: a server ends a silent connection, and
 * the lock with it
 * @throws the error of the only attempt
 */
export async function withoutStarts<T>(
  config: DatabaseConfig,
  entities: readonly EntityTarget<unknown>[],
  work: (stillLocked: () => Promise<void>) => Promise<T>,
): Promise<T> {
  return connected(
    config,
    entities,
    async (_, runner) => {
      const stillLocked = async (): Promise<void> => {
        await runner.query('SELECT 1').catch((error: unknown) => {
          throw new LockLost({ cause: error })
        })
      }
      return underLock(config, runner, async () => {
        const result = await work(stillLocked)
        await stillLocked()
        return result
      })
    },
    1,
  )
}

/**
 * Reverts the last migration, with its data. No instance may use that data any more.
 * @param before under the lock; refuses by throwing Refused
 * @returns its name; undefined if there is none
 * @throws Refused this version does not know the migration, since a newer one ran it, or it is the baseline
 * @throws the error of the last attempt
 */
export async function migrateBack(
  config: DatabaseConfig,
  entities: readonly EntityTarget<unknown>[],
  before?: UnderLock,
): Promise<string | undefined> {
  if (isAbsent(config)) return undefined
  let begun: string | undefined
  return connected(config, entities, async (dataSource, runner) => {
    return underLock(config, runner, async () => {
      await before?.(dataSource, runner)
      const names = await recorded(dataSource, runner)
      // An earlier attempt has reverted it, and lost the answer: the one before it stays.
      if (begun !== undefined && !names.includes(begun)) return begun
      const last = names.at(-1)
      if (last !== undefined && notKnown([last]).length > 0) throw new UnknownMigration(last)
      if (last === FIRST.name) throw new OnlyBaseline(last)
      begun = last
      if (last !== undefined) await new Executor(dataSource, runner, true).undoLastMigration()
      return last
    })
  })
}

async function runPending(dataSource: DataSource, runner: QueryRunner, finish: boolean): Promise<string[]> {
  const empty = (await ranIn(dataSource, runner)).length === 0
  const executor = new Executor(dataSource, runner, finish || empty)
  if ((await executor.getPendingMigrations()).length === 0) return []
  await ensureOwnTables(runner)
  return (await executor.executePendingMigrations()).map(({ name }) => name)
}

/**
 * Creates TypeORM's own tables: as it makes them, their text has the database's default character set, and one of them
 * no primary key. Group Replication accepts no writes to such a table, nor does `sql_require_primary_key`.
 */
async function ensureOwnTables(runner: QueryRunner): Promise<void> {
  const { type, metadataTableName = 'typeorm_metadata', migrationsTableName = '' } = runner.dataSource.options
  if (type === 'better-sqlite3') return
  await createTables(runner, [
    {
      name: migrationsTableName,
      columns: { id: { ...generated, type: 'int' }, timestamp: integer, name: ascii(255) },
      // Of two nodes of a cluster that migrate at the same time, one fails, and finds nothing to do at its next try.
      unique: [['name']],
    },
    {
      name: metadataTableName,
      columns: {
        id: generated,
        type: ascii(255),
        database: nullable(unicode(255)),
        schema: nullable(unicode(255)),
        table: nullable(ascii(255)),
        name: nullable(ascii(255)),
        value: nullable(unicodeText),
      },
    },
  ])
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

/** The migrations by which the database and this version differ. */
export interface SchemaDifference {
  /** Those that wait for the operator's confirmation that no instance of the previous version is left. */
  readonly unfinished: string[]
  /** Those that this version does not know: a newer one ran them. */
  readonly unknown: string[]
}

/** The differences that an instance says at its start. */
export async function schemaDifference(dataSource: DataSource): Promise<SchemaDifference> {
  const runner = dataSource.createQueryRunner()
  try {
    const ran = await recorded(dataSource, runner)
    return {
      unfinished: FINISHING.map(({ name }) => name).filter((name) => !ran.includes(name)),
      unknown: notKnown(ran),
    }
  } finally {
    await runner.release()
  }
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

/**
 * The names of the migrations that the database has, oldest first.
 * @throws Refused it does not begin with this product's first one, or is an unfinished copy
 */
async function recorded(dataSource: DataSource, runner: QueryRunner): Promise<string[]> {
  await refuseUnfinishedCopy(runner)
  return ranIn(dataSource, runner)
}

async function ranIn(dataSource: DataSource, runner: QueryRunner): Promise<string[]> {
  const table = String(dataSource.options.migrationsTableName)
  if (!(await runner.hasTable(table))) return []
  const rows = (await runner.query(`SELECT name FROM \`${table}\` ORDER BY id`)) as { name: string }[]
  const names = rows.map(({ name }) => name)
  if (names[0] !== undefined && names[0] !== FIRST.name) throw new OtherHistory(names[0])
  return names
}

/** The mark of an unfinished copy: its one row. The table stays, since an account may not be allowed to drop it. */
const UNFINISHED_COPY = {
  name: 'unfinished_copy',
  columns: { id: key(integer), source: unicodeText, prepared: integer },
}

/** The unfinished copy that the database is; undefined: it is none. */
async function unfinishedCopyIn(runner: QueryRunner): Promise<{ source: string; prepared: boolean } | undefined> {
  if (!(await runner.hasTable(UNFINISHED_COPY.name))) return undefined
  const [row] = (await runner.query(`SELECT source, prepared FROM ${UNFINISHED_COPY.name}`)) as {
    source: string
    prepared: unknown
  }[]
  return row && { source: row.source, prepared: Number(row.prepared) === 1 }
}

async function refuseUnfinishedCopy(runner: QueryRunner): Promise<void> {
  const copy = await unfinishedCopyIn(runner)
  if (copy !== undefined) throw new UnfinishedCopy(copy.source)
}

/** The names of all tables and views, also of those that are not the service's. */
async function tablesIn(runner: QueryRunner): Promise<string[]> {
  const rows = (await runner.query(
    runner.dataSource.options.type === 'better-sqlite3'
      ? "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name"
      : 'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name',
  )) as { name: string }[]
  return rows.map(({ name }) => name)
}

/** A reason that does not go away if the work is tried again. */
export class Refused extends Error {}

class OtherHistory extends Refused {
  constructor(name: string) {
    super(
      `it was made by a version before 1.0.0 (${name}), whose data this version cannot use: name an empty database in DATABASE_URL`,
    )
  }
}

class UnknownMigration extends Refused {
  constructor(name: string) {
    super(`${name} was run by a newer version, which alone can take it back`)
  }
}

class OnlyBaseline extends Refused {
  constructor(name: string) {
    super(`only ${name} is left, which holds all data: to remove them, drop the database`)
  }
}

class UnfinishedCopy extends Refused {
  constructor(source: string) {
    super(`it is an unfinished copy of ${source}: begin npm run copy again until it is complete`)
  }
}

class CopyRefused extends Refused {
  constructor(what: string) {
    super(`${what}: name an empty database`)
  }
}

class WaitedInVain extends Refused {
  constructor(options?: ErrorOptions) {
    super(`another process has been migrating or copying it for ${LOCK_WAIT_SECONDS} s`, options)
  }
}

class LockLost extends Refused {
  constructor(options?: ErrorOptions) {
    super(
      'the connection that keeps instances from starting was lost: begin again, and it goes on where it ended',
      options,
    )
  }
}

/** Runs work on a separate connection, and retries it if that may help. */
export async function connected<T>(
  config: DatabaseConfig,
  entities: readonly EntityTarget<unknown>[],
  work: (dataSource: DataSource, runner: QueryRunner) => Promise<T>,
  tries = MAX_TRIES,
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
        error instanceof Refused || failedForTls(error) || (!dataSource.isInitialized && faultOf(error) === 'broken')
      if (hopeless || attempt >= tries) throw error
      await sleep(100 * attempt * (1 + Math.random()))
    } finally {
      if (dataSource.isInitialized) await dataSource.destroy()
    }
  }
}

/** Runs work under the lock of migrations, which each instance takes at its start. */
async function underLock<T>(config: DatabaseConfig, runner: QueryRunner, run: () => Promise<T>): Promise<T> {
  return config.kind === 'sqlite' ? underWriteLock(runner, run) : underNamedLock(runner, run)
}

/**
 * A named lock of the server, one for each database. It belongs to the connection that migrates, and ends with it. Its
 * name has at most 64 characters; MySQL 9.7 has no SHA1.
 */
async function underNamedLock<T>(runner: QueryRunner, run: () => Promise<T>): Promise<T> {
  const [answer] = (await runner.query('SELECT GET_LOCK(CONCAT(?, LEFT(SHA2(DATABASE(), 256), 40)), ?) AS locked', [
    LOCK,
    LOCK_WAIT_SECONDS,
  ])) as {
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
