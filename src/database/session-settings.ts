import mysql, { type Connection, type Pool, type PoolConnection, type PoolOptions, type QueryError } from 'mysql2'

/** The purpose of a session: `service` has a time limit for everything, `migration` must have none. */
export type Purpose = 'service' | 'migration'

/** The known properties of the server at the other end of a connection. */
export interface ServerFacts {
  /** Is it a node of a cluster with other writable nodes? */
  readonly clustered: boolean
  /** The distance between the generated ids of one INSERT: `auto_increment_increment`. */
  readonly idStep: number
  /** The maximum size of a packet to the server: half of its `max_allowed_packet`, in bytes. */
  readonly packetBytes: number
}

/**
 * The server ends a session of the service that has been silent for this long, also within a transaction. This limits
 * the time for which a process that was suspended or disconnected keeps its locks; MariaDB and MySQL both support it.
 * Together with one lock wait before it (LOCK_WAIT_SECONDS) it is less than ten seconds.
 */
const SESSION_IDLE_SECONDS = 5
/**
 * The pool closes a connection earlier, by as much as a busy process may be late, so that no statement uses a session
 * that has just ended.
 */
export const POOL_IDLE_MS = 2_500
const LOCK_WAIT_SECONDS = 1
/** Less than the limit of a statement: nothing must wait at the server for a caller that has given up. */
const TABLE_LOCK_WAIT_SECONDS = 3
/** A migration may pause between statements for the server's original default, whatever it was set to. */
const MIGRATION_IDLE_SECONDS = 28_800
/** A new connection that does not accept its settings within this time is unusable. */
const SETTING_TIMEOUT_MS = 5_000

/** The server's value for none; DEFAULT would be the value that an administrator has set globally. */
const NO_LIMIT_ON_ROWS = '18446744073709551615'

const FACTS = new WeakMap<object, ServerFacts>()

/** The known properties of a pooled connection's server. */
export function factsOf(connection: object): ServerFacts {
  return FACTS.get(connection) ?? { clustered: false, idStep: 1, packetBytes: Infinity }
}

/**
 * mysql2 for TypeORM, with pools that hand out a connection only after they have set every variable that matters: so
 * each statement has the same meaning with any defaults of the server. The service, migrations and TypeORM's command
 * line all connect through it.
 */
export function sessionDriver(purpose: Purpose): { createPool(options: PoolOptions): Pool } {
  return {
    createPool(options: PoolOptions): Pool {
      const pool = mysql.createPool(options)
      const take = pool.getConnection.bind(pool)
      pool.getConnection = (callback) => {
        take((error: NodeJS.ErrnoException | null, connection: PoolConnection) => {
          if (error !== null || FACTS.has(connection)) {
            callback(error, connection)
            return
          }
          // A connection may report its end more than once, and after the first time there is no listener.
          connection.on('error', () => undefined)
          tell(connection, purpose).then(
            () => {
              callback(null, connection)
            },
            (reason: unknown) => {
              connection.destroy()
              callback(reason as NodeJS.ErrnoException, connection)
            },
          )
        })
      }
      return pool
    },
  }
}

async function tell(connection: PoolConnection, purpose: Purpose): Promise<void> {
  await say(connection, `SET ${[...EVERY_SESSION, ...OF_PURPOSE[purpose]].join(', ')} ${NO_LIMIT_ON_TIME}`)
  await say(connection, 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE')
  const cluster = await clusterOf(connection)
  const clustered = cluster !== 'none'
  if (clustered && purpose === 'service') await say(connection, WAITS_FOR_OTHERS[cluster])
  const facts = 'SELECT @@auto_increment_increment AS step, @@max_allowed_packet AS packet'
  const [row] = (await say(connection, facts)) as { step: unknown; packet: unknown }[]
  FACTS.set(connection, { clustered, idStep: Number(row?.step ?? 1), packetBytes: Number(row?.packet ?? Infinity) / 2 })
}

/**
 * The settings that define the meaning of a statement, whatever the server's defaults are: UTF-8, autocommit, UTC, only
 * strict mode, checked unique keys, no limit on rows, no veto on statements without a key, transactional tables.
 */
const EVERY_SESSION = [
  'NAMES utf8mb4 COLLATE utf8mb4_bin',
  'autocommit = 1',
  "completion_type = 'NO_CHAIN'",
  "time_zone = '+00:00'",
  "sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'",
  'sql_safe_updates = 0',
  `sql_select_limit = ${NO_LIMIT_ON_ROWS}`,
  'sql_big_selects = 1',
  'unique_checks = 1',
  "default_storage_engine = 'InnoDB'",
]

/**
 * The service limits its statements itself, and nothing else may interrupt a COMMIT. Each server has its own name for
 * this, and skips the other's.
 */
const NO_LIMIT_ON_TIME = '/*M!100101 , max_statement_time = 0 */ /*!80000 , max_execution_time = 0 */'

/** The time limits of a session: for its client, between statements and within one, and for locks. */
const OF_PURPOSE: Readonly<Record<Purpose, readonly string[]>> = {
  service: [
    `wait_timeout = ${SESSION_IDLE_SECONDS}`,
    `net_read_timeout = ${SESSION_IDLE_SECONDS}`,
    `net_write_timeout = ${SESSION_IDLE_SECONDS}`,
    `innodb_lock_wait_timeout = ${LOCK_WAIT_SECONDS}`,
    `lock_wait_timeout = ${TABLE_LOCK_WAIT_SECONDS}`,
  ],
  migration: [`wait_timeout = ${MIGRATION_IDLE_SECONDS}`],
}

/** The kind of cluster, if more than one of its nodes is writable. */
type Cluster = 'galera' | 'group-replication' | 'none'

/** The setting with which a read waits until this node has applied the commits of other nodes. */
export const WAITS_FOR_OTHERS: Readonly<Record<Exclude<Cluster, 'none'>, string>> = {
  galera: 'SET SESSION wsrep_sync_wait = 1',
  'group-replication': "SET SESSION group_replication_consistency = 'BEFORE'",
}

/**
 * MariaDB has one of the variables; MySQL has the other one if the plug-in is loaded. Every account may read both. With
 * one primary, Group Replication is a server with a fail-over: the others are read-only.
 */
export async function clusterOf(connection: Connection): Promise<Cluster> {
  const galera = await variable(connection, '@@wsrep_on')
  if (galera !== undefined) return galera === 1 ? 'galera' : 'none'
  return (await variable(connection, '@@group_replication_single_primary_mode')) === 0 ? 'group-replication' : 'none'
}

/** A variable that is 0 or 1; undefined if the server does not know it. */
async function variable(connection: Connection, name: string): Promise<number | undefined> {
  try {
    const [row] = (await say(connection, `SELECT ${name} AS value`)) as { value: unknown }[]
    return Number(row?.value)
  } catch (error) {
    if ((error as QueryError).errno === UNKNOWN_VARIABLE) return undefined
    throw error
  }
}

const UNKNOWN_VARIABLE = 1193

async function say(connection: Connection, sql: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    connection.query({ sql, timeout: SETTING_TIMEOUT_MS }, (error: QueryError | null, result: unknown) => {
      if (error === null) resolve(result)
      else reject(error)
    })
  })
}
