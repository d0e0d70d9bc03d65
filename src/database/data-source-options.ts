import type { DataSourceOptions, EntityTarget, MixedList } from 'typeorm'
import type { DatabaseConfig } from '../config/config.js'
import { MIGRATIONS } from './migrations/index.js'
import { serverOptions } from './server.js'
import { POOL_IDLE_MS, type Purpose, sessionDriver } from './session-settings.js'
import { SqliteFile } from './sqlite-driver.js'
import { StatementLog } from './statement-log.js'

const CONNECT_TIMEOUT_MS = 3_000
/**
 * The time limit of a statement of the service, or of a packet of several; a longer one has lost its server or its
 * locks. In milliseconds.
 */
export const STATEMENT_TIMEOUT_MS = 5_000
const MAX_WAITING_FOR_A_CONNECTION = 2_000

/** The options of every connection to a server, and of the conversion of its values. */
export const CONNECTING = {
  timezone: 'Z',
  // mysql2 would convert the year 40 to 2040; see `instantFromStore`.
  dateStrings: true,
  supportBigNumbers: true,
  bigNumberStrings: false,
  connectTimeout: CONNECT_TIMEOUT_MS,
  queueLimit: MAX_WAITING_FOR_A_CONNECTION,
  idleTimeout: POOL_IDLE_MS,
  // Otherwise the server counts and logs each connection that the pool gives up as aborted.
  gracefulEnd: true,
  enableKeepAlive: true,
  keepAliveInitialDelay: 10_000,
} as const

/**
 * The time for which libsql waits for another process's lock. It waits within the call and blocks the event loop: so it
 * is short while requests are served, since `TransactionRunner` retries, and long if nothing else runs.
 */
const BUSY_MS: Readonly<Record<Purpose, number>> = { service: 10, migration: 5_000 }

/** The only place that configures TypeORM for each kind of store. The schema comes only from migrations. */
export function dataSourceOptions(
  config: DatabaseConfig,
  entities: MixedList<EntityTarget<unknown>>,
  purpose: Purpose,
): DataSourceOptions {
  const common = {
    entities: entities as MixedList<NonNullable<EntityTarget<unknown>> & string>,
    migrations: MIGRATIONS,
    migrationsTableName: 'schema_migration',
    synchronize: false,
    migrationsRun: false,
    logging: false,
    logger: new StatementLog(),
  } as const
  if (config.kind === 'sqlite') {
    return {
      ...common,
      type: 'better-sqlite3',
      driver: SqliteFile,
      database: config.path,
      enableWAL: true,
      timeout: BUSY_MS[purpose],
      // Acknowledged writes must survive a power failure, not only the end of the process.
      prepareDatabase: (database: { pragma(text: string): unknown }) => {
        database.pragma('synchronous = FULL')
      },
    }
  }
  // Units of work have their own pool of the same size: see `Pools`. One connection for reads is reserved for
  // availability checks.
  const connections = purpose === 'service' ? Math.max(2, Math.floor(config.poolSize / 2)) : 2
  const server = serverOptions(config)
  const { connectTimeout, timezone, dateStrings, supportBigNumbers, bigNumberStrings, ...pooling } = CONNECTING
  return {
    ...common,
    // As `mysql`, TypeORM writes NULL behind a computed column, which MariaDB refuses. MySQL accepts it without.
    type: purpose === 'migration' || config.url.startsWith('mariadb:') ? 'mariadb' : 'mysql',
    driver: sessionDriver(purpose),
    database: server.database,
    timezone,
    dateStrings,
    supportBigNumbers,
    bigNumberStrings,
    connectTimeout,
    poolSize: connections,
    ...(purpose === 'service' ? { enableQueryTimeout: true, maxQueryExecutionTime: STATEMENT_TIMEOUT_MS } : {}),
    // In mysql2's names, which bypass TypeORM's own.
    extra: { ...pooling, ...(purpose === 'service' ? { maxIdle: connections - 1 } : {}), ...server },
  }
}
