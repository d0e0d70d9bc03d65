/** What a fault of the database means for the unit of work that met it. */
export type Fault =
  /** Rolled back by the server (or to be rolled back) and worth another try on the same footing. */
  | 'conflict'
  /** Another transaction committed the same unique key first: a rerun will find it. */
  | 'duplicate'
  /** The connection, the server or its cluster is away; a fresh connection may find it again. */
  | 'away'
  /** The statement itself is at fault; the same again would fail again. */
  | 'broken'

interface DriverError {
  readonly errno?: number
  readonly code?: string
  readonly message?: string
  readonly fatal?: boolean
  readonly driverError?: DriverError
}

// Numbers and not names, which differ between MySQL and MariaDB (shared error numbers: mysqld_error.h).
const CONFLICT = new Set([
  1205, // lock wait timeout; rolls back the statement alone, so the unit of work rolls back the rest
  1213, // deadlock; on Galera any lost certification, COMMIT included
  1020, // record has changed since last read (MariaDB's snapshot isolation)
  3572, // lock not available at once
  3101, // Group Replication rolled the transaction back
  1180, // COMMIT failed; unknown whether it took effect
])

const AWAY = new Set([
  1040, // too many connections
  1044,
  1045,
  1049, // access or database refused, as while a server is being set up
  1047, // Galera: node outside the primary component
  1053, // server shutdown in progress
  1077,
  1079,
  1152,
  1153,
  1158,
  1159,
  1160,
  1161,
  1184, // connection broken off
  1290,
  1792,
  1836, // read-only server, as during a fail-over
  1317,
  1927,
  1969,
  3024, // query or connection ended by the server
  2006,
  2013, // gone away, lost
  4031, // disconnected for inactivity
  4166, // MariaDB: connection ended by a time limit of the transaction
])

const AWAY_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ECONNABORTED',
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
  'PROTOCOL_ENQUEUE_AFTER_QUIT',
  'ERR_STREAM_WRITE_AFTER_END',
  'ERR_STREAM_DESTROYED',
  'HANDSHAKE_NO_SSL_SUPPORT',
  'POOL_CLOSED',
])

function rootOf(error: unknown): DriverError {
  let root = (error ?? {}) as DriverError
  while (root.driverError !== undefined) root = root.driverError
  return root
}

/** Reads the driver's number or code, never its wording; the two exceptions are pool messages that have neither. */
export function faultOf(error: unknown): Fault {
  const { errno, code = '', message = '', fatal } = rootOf(error)
  if (errno === 1062 || code === 'SQLITE_CONSTRAINT_UNIQUE' || code === 'SQLITE_CONSTRAINT_PRIMARYKEY')
    return 'duplicate'
  if (errno !== undefined && CONFLICT.has(errno)) return 'conflict'
  if (code === 'SQLITE_BUSY' || code.startsWith('SQLITE_BUSY_') || code === 'SQLITE_LOCKED') return 'conflict'
  if (errno !== undefined && AWAY.has(errno)) return 'away'
  if (AWAY_CODES.has(code) || fatal === true) return 'away'
  if (message === 'Queue limit reached.' || message === 'Pool is closed.' || message.includes('closed state'))
    return 'away'
  return 'broken'
}

/** A short name of the fault for logs and metrics: its number or code. */
export function faultName(error: unknown): string {
  const { errno, code } = rootOf(error)
  return String(errno !== undefined && errno > 0 ? errno : (code ?? 'unknown'))
}

/** Is the connection that reported this unfit for another statement? A timed-out one still has the old answer in its pipe. */
export function poisons(error: unknown): boolean {
  return faultOf(error) === 'away' || rootOf(error).errno === 1180
}
