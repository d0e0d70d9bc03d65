import { DataSource } from 'typeorm'
import type { DatabaseConfig } from './config/config.js'
import { dataSourceOptions } from './database/data-source-options.js'
import { migrationStates } from './database/migrate.js'
import { StoreClock } from './database/store-clock.js'
import { TransactionRunner } from './database/transaction-runner.js'
import { ENTITIES } from './entities.js'
import { OTHER_SCHEMA, StartError } from './startup.js'

/** The store of a command that runs next to the service. */
export interface CommandStore {
  readonly dataSource: DataSource
  readonly transactions: TransactionRunner
  readonly clock: StoreClock
}

/**
 * Opens the database as an instance does, and closes it after use.
 * @throws StartError if the schema is not that of this version
 */
export async function withStore<T>(database: DatabaseConfig, use: (store: CommandStore) => Promise<T>): Promise<T> {
  const states = await migrationStates(database, ENTITIES)
  if (states.some(({ ran, finishing }) => !ran && !finishing)) throw new StartError(OTHER_SCHEMA)
  return withTables(database, use)
}

/** The same without a look at the schema. */
export async function withTables<T>(database: DatabaseConfig, use: (store: CommandStore) => Promise<T>): Promise<T> {
  const dataSource = await new DataSource(dataSourceOptions(database, ENTITIES, 'service')).initialize()
  const transactions = new TransactionRunner(dataSource)
  try {
    return await use({ dataSource, transactions, clock: await StoreClock.of(transactions) })
  } finally {
    await transactions.onApplicationShutdown()
    await dataSource.destroy()
  }
}
