import type { DataSourceOptions, EntityTarget, MixedList } from 'typeorm'
import type { DatabaseConfig } from '../config/config.js'
import { MIGRATIONS } from './migrations/index.js'
import { serverOptions } from './server.js'
import { POOL_IDLE_MS, type Purpose, sessionDriver } from './session-settings.js'
import { SqliteFile } from './sqlite-driver.js'
import { StatementLog } from './statement-log.js'

const CONNECT_TIMEOUT_MS = 3_000
/**
 * No statement of the service, and no packet of several, runs longer in health; one that does has lost its server or
 * its locks. In milliseconds.
 */
export const STATEMENT_TIMEOUT_MS = 5_000
const MAX_WAITING_FOR_A_CONNECTION = 2_000

/** How every connection to a server is made, and how its values are read. */
export const CONNECTING = {
  timezone: 'Z',
  // mysql2 would make 2040 of the year 40; see `instantFromStore`.
  dateStrings: true,
  supportBigNumbers: true,
  bigNumberStrings: false,
  connectTimeout: CONNECT_TIMEOUT_MS,
  queueLimit: MAX_WAITING_FOR_A_CONNECTION,
  idleTimeout: POOL_IDLE_MS,
  enableKeepAlive: true,
  keepAliveInitialDelay: 10_000,
} as const

/**
 * How long libsql waits for a lock that another process has. It waits within the call, and the event loop with it: so
 * hardly at all while requests are served, since the unit of work tries again, and as long as it takes where nobody
 * else is there.
 */
const BUSY_MS: Readonly<Record<Purpose, number>> = { service: 10, migration: 5_000 }

/** The one place that says how TypeORM reaches each kind of store. The schema comes from migrations alone. */
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
      // What was answered must survive a power cut, not only the end of the process.
      prepareDatabase: (database: { pragma(text: string): unknown }) => {
        database.pragma('synchronous = FULL')
      },
    }
  }
  // Units of work have as many of their own: see `Pools`. Of those for reads one is kept for looks at the store.
  const connections = purpose === 'service' ? Math.max(2, Math.floor(config.poolSize / 2)) : 2
  const server = serverOptions(config)
  const { connectTimeout, timezone, dateStrings, supportBigNumbers, bigNumberStrings, ...pooling } = CONNECTING
  return {
    ...common,
    type: config.url.startsWith('mariadb:') ? 'mariadb' : 'mysql',
    driver: sessionDriver(purpose),
    database: server.database,
    timezone,
    dateStrings,
    supportBigNumbers,
    bigNumberStrings,
    connectTimeout,
    poolSize: connections,
    ...(purpose === 'service' ? { enableQueryTimeout: true, maxQueryExecutionTime: STATEMENT_TIMEOUT_MS } : {}),
    // As mysql2 takes them, past TypeORM's own names for the same.
    extra: { ...pooling, ...(purpose === 'service' ? { maxIdle: connections - 1 } : {}), ...server },
  }
}
