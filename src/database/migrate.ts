import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { DataSource, type EntityTarget, type Migration, MigrationExecutor, type QueryRunner } from 'typeorm'
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
    const run = async () => {
      const empty = (await recorded(dataSource, runner)).length === 0
      const executor = new Executor(dataSource, runner, finish || empty)
      return (await executor.executePendingMigrations()).map(({ name }) => name)
    }
    return config.kind === 'sqlite' ? underWriteLock(runner, run) : underNamedLock(runner, run)
  })
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
export async function hasRun(dataSource: DataSource, migration: { readonly name: string }): Promise<boolean> {
  const rows: unknown[] = await dataSource.query(
    `SELECT 1 FROM \`${String(dataSource.options.migrationsTableName)}\` WHERE name = ?`,
    [migration.name],
  )
  return rows.length > 0
}

/** The migrations that wait for the operator's word that no instance of the version before is left. */
export async function unfinished(dataSource: DataSource): Promise<string[]> {
  const waiting: string[] = []
  for (const migration of FINISHING) if (!(await hasRun(dataSource, migration))) waiting.push(migration.name)
  return waiting
}

/** A migration, and whether the database has it. */
export interface MigrationState {
  readonly name: string
  readonly ran: boolean
  /** Does it wait for the operator's word that no instance of the version before is left? */
  readonly finishing: boolean
}

/**
 * Every migration of this version, oldest first, without changing anything: no table is made, and no file.
 * @throws what the last of several tries failed of
 */
export async function migrationStates(
  config: DatabaseConfig,
  entities: readonly EntityTarget<unknown>[],
): Promise<MigrationState[]> {
  const nothingYet = config.kind === 'sqlite' && statSync(config.path, { throwIfNoEntry: false }) === undefined
  const ran = nothingYet ? new Set() : new Set(await connected(config, entities, recorded))
  return MIGRATIONS.map(({ name }) => ({ name, ran: ran.has(name), finishing: ran.size > 0 && isFinishing(name) }))
}

async function recorded(dataSource: DataSource, runner: QueryRunner): Promise<string[]> {
  const table = String(dataSource.options.migrationsTableName)
  if (!(await runner.hasTable(table))) return []
  return ((await runner.query(`SELECT name FROM \`${table}\``)) as { name: string }[]).map(({ name }) => name)
}

class WaitedInVain extends Error {
  constructor(options?: ErrorOptions) {
    super(`another process has been migrating for ${LOCK_WAIT_SECONDS} s`, options)
  }
}

/** Does something on a connection of its own, and does it again where that may help. */
async function connected<T>(
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
