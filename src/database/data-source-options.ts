import libsql from 'libsql'
import type { DataSourceOptions, EntityTarget, MixedList } from 'typeorm'
import { MIGRATIONS } from './migrations/index.js'
import { SESSION_TIMEOUT_SECONDS } from './unit-of-work.js'

/** Where the data lies: a file of SQLite's, or a server that speaks MySQL's protocol. */
export type DatabaseConfig =
  | { readonly kind: 'sqlite'; readonly path: string }
  | {
      readonly kind: 'mysql'
      /** As configured, with its password: never to be shown. */
      readonly url: string
      /** Connections this process opens at most. */
      readonly poolSize: number
    }

const CONNECT_TIMEOUT_MS = 3_000
/** No statement of the service runs longer in health; one that does has lost its server or its locks. */
const STATEMENT_TIMEOUT_MS = 5_000
const MOST_WAITING_FOR_A_CONNECTION = 2_000

/** How the options are to be used: `service` puts a limit on each statement, `migration` must not. */
export type Purpose = 'service' | 'migration'

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
  } as const
  if (config.kind === 'sqlite') {
    return {
      ...common,
      type: 'better-sqlite3',
      driver: libsql,
      database: config.path,
      enableWAL: true,
      timeout: 5_000,
      // What was answered must survive a power cut, not only the end of the process.
      prepareDatabase: (database: { pragma(text: string): unknown }) => {
        database.pragma('synchronous = FULL')
      },
    }
  }
  return {
    ...common,
    type: config.url.startsWith('mariadb:') ? 'mariadb' : 'mysql',
    // TypeORM reads user, password, host, port and database out of the URL.
    url: config.url,
    timezone: 'Z',
    supportBigNumbers: true,
    bigNumberStrings: false,
    connectTimeout: CONNECT_TIMEOUT_MS,
    poolSize: purpose === 'service' ? config.poolSize : 2,
    ...(purpose === 'service' ? { enableQueryTimeout: true, maxQueryExecutionTime: STATEMENT_TIMEOUT_MS } : {}),
    extra: {
      queueLimit: MOST_WAITING_FOR_A_CONNECTION,
      // Given up before the server does, so that no statement meets a session that has just ended.
      idleTimeout: (SESSION_TIMEOUT_SECONDS / 2) * 1000,
      maxIdle: config.poolSize,
      enableKeepAlive: true,
      keepAliveInitialDelay: 10_000,
    },
  }
}
