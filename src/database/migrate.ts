import { setTimeout as sleep } from 'node:timers/promises'
import { DataSource, type EntityTarget } from 'typeorm'
import { type DatabaseConfig, dataSourceOptions } from './data-source-options.js'
import { faultOf } from './store-error.js'

const LOCK = 'quota_service_migration'
const LOCK_WAIT_SECONDS = 60
const MOST_TRIES = 8

/**
 * Brings the schema up to date before an instance serves. Several instances may start at once: on a server a named lock lets one of them
 * migrate while the others wait; where that lock does not reach (SQLite, other nodes of a cluster) the loser of the race fails, looks
 * again, and finds nothing left to do.
 */
export async function migrate(config: DatabaseConfig, entities: readonly EntityTarget<unknown>[]): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const dataSource = new DataSource(dataSourceOptions(config, [...entities], 'migration'))
    try {
      await dataSource.initialize()
      await migrateUnderLock(dataSource)
      return
    } catch (error) {
      // What is not there yet may be starting; what the driver cannot even try will not mend itself.
      if (attempt >= MOST_TRIES || (!dataSource.isInitialized && faultOf(error) === 'broken')) throw error
      await sleep(100 * attempt * (1 + Math.random()))
    } finally {
      if (dataSource.isInitialized) await dataSource.destroy()
    }
  }
}

async function migrateUnderLock(dataSource: DataSource): Promise<void> {
  if (dataSource.options.type === 'better-sqlite3') {
    await dataSource.runMigrations({ transaction: 'all' })
    return
  }
  const runner = dataSource.createQueryRunner()
  try {
    const [answer] = (await runner.query('SELECT GET_LOCK(?, ?) AS locked', [LOCK, LOCK_WAIT_SECONDS])) as {
      locked: unknown
    }[]
    if (Number(answer?.locked) !== 1) throw new Error(`another instance has been migrating for ${LOCK_WAIT_SECONDS} s`)
    // MySQL commits at every DDL statement, so a transaction would promise what it cannot keep.
    await dataSource.runMigrations({ transaction: 'none' })
    await runner.query('SELECT RELEASE_LOCK(?)', [LOCK])
  } finally {
    await runner.release()
  }
}
