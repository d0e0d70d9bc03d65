import { Unavailable, type UnavailableReason } from '../common/service-error.js'

/** The meaning of a database fault for the unit of `TransactionRunner` that met it. */
export type Fault =
  /** Rolled back by the server (or must be rolled back); a retry may succeed. */
  | 'conflict'
  /** Another transaction committed the same unique key first: a rerun finds it. */
  | 'duplicate'
  /**
   * The database is available but has no room for this now, or rejects the connection: too many connections, no memory,
   * no disk. A later attempt may succeed.
   */
  | 'busy'
  /**
   * The connection, the server or its cluster is unavailable, or accepts no writes; a new connection may succeed. It
   * may affect all requests.
   */
  | 'away'
  /** The statement itself is faulty; a retry would fail again. */
  | 'broken'

/**
 * A unit did not succeed within its deadline; it had no effect, or the outcome of its COMMIT is unknown.
 */
export class StoreUnavailable extends Unavailable {
  /**
   * @param fault why the last attempt failed: `away` affects all requests, `conflict` only the rows that the unit locks
   */
  constructor(
    readonly fault: Fault,
    cause: unknown,
  ) {
    super(reasonOf(fault, cause), { cause })
    this.name = 'StoreUnavailable'
  }
}

/** Maps a fault to the reason that operators see. */
function reasonOf(fault: Fault, cause: unknown): UnavailableReason {
  if (isReadOnly(cause)) return 'database_read_only'
  if (isDiskFull(cause)) return 'database_full'
  switch (fault) {
    case 'away':
    case 'broken':
      return 'database_away'
    case 'busy':
      return 'database_busy'
    case 'conflict':
    case 'duplicate':
      return 'database_conflict'
  }
}

interface DriverError {
  readonly errno?: number
  readonly code?: string
  /** SQLite's extended result code, from libsql. */
  readonly rawCode?: number
  readonly message?: string
  readonly fatal?: boolean
  readonly driverError?: DriverError
}

const LOCK_WAIT_TIMEOUT = 1205
const COMMIT_FAILED = 1180
const ACCESS_DENIED = 1045
/** `require_secure_transport` is on, and the connection is not encrypted. */
const ONLY_ENCRYPTED = 3159

// Numbers and not names, which differ between MySQL and MariaDB (shared error numbers: mysqld_error.h). Above 1900 each
// server has its own; if both use one, the list contains the meaning that a statement of this service can meet. 8001 to
// 9011 are TiDB's, from its documentation: docs/run/database.md says what is supported, and that TiDB is untested.
const SERVER_FAULTS: Readonly<Record<Exclude<Fault, 'broken'>, readonly number[]>> = {
  duplicate: [
    1062, // duplicate entry
  ],
  conflict: [
    LOCK_WAIT_TIMEOUT, // rolls back the statement alone, so `TransactionRunner` rolls back the rest
    1213, // deadlock; on Galera any lost certification, COMMIT included
    1020, // record has changed since last read (MariaDB's snapshot isolation)
    1412, // table definition has changed: a migration beside us
    1689, // wait for a lock aborted by somebody who wants it alone
    3572, // lock not available at once
    3100, // Group Replication: a hook before COMMIT said no
    3101, // Group Replication rolled the transaction back
    3797,
    3798, // Group Replication: what others committed did not arrive in time
    COMMIT_FAILED, // unknown whether it took effect
    8002, // write conflict at COMMIT
    8005,
    8022,
    8027, // the node's schema is out of date
    8028, // the schema has changed since the transaction began
    9004, // resolving a lock took too long
    9006, // the transaction is older than what is kept
    9007, // write conflict
  ],
  busy: [
    // Connections
    1040, // too many
    1129, // host blocked after many broken ones
    1135, // no thread for it
    1203, // too many of this account
    1226, // the account has used up what it may per hour, or its connections
    // The account, for example while it is being set up or its password changes; existing connections continue
    1044,
    ACCESS_DENIED,
    1049, // access or database refused
    1130, // host not allowed
    1698, // access refused
    1820,
    1862, // password expired
    3118, // account locked
    3955, // account blocked for a time
    ONLY_ENCRYPTED,
    4150, // MariaDB: account blocked after wrong passwords
    4151, // MariaDB: account locked
    // Memory
    5, // mysys: out of memory
    1037,
    1038, // for sorting
    1041,
    1206, // no room for more locks
    3015, // in the storage engine
    3044,
    3170, // a limit on memory
    3950,
    3985, // no room for more metadata locks
    // Disk and files; mysys' own errors have their own small numbers
    1, // cannot create or write
    3, // error writing
    20, // disk full
    23, // out of file handles
    1021, // disk full
    1026, // error writing
    1030, // the storage engine failed, of what only the text says
    1114, // table full, which with InnoDB is the disk
    1878, // temporary file
    3019, // undo log full
    3675, // disk full
    // Other limits
    1223, // somebody holds a read lock on everything
    1296,
    1297, // an engine's temporary error
    1637, // too many transactions at once
    8001, // a limit on memory
    9002,
    9003,
    9005,
    9008,
    9010,
    9011, // storage does not answer in time, is busy, or has no leader
  ],
  away: [
    1043, // the handshake failed, as with a proxy that has no server behind it
    1047, // Galera: node outside the primary component
    3796,
    3799, // Group Replication: node outside its group, or not done with joining it
    1053, // server shutdown in progress
    1077,
    1079,
    1152,
    1154,
    1156,
    1158,
    1159,
    1160,
    1161,
    1184, // connection broken off
    1290,
    1792,
    1836, // read-only server, as during a fail-over
    1874,
    1881, // InnoDB read-only, or under recovery
    3989, // the schema is read-only
    3032,
    6400, // offline mode: only administrators may connect; since MySQL 9.7 with when and why
    1317,
    1927,
    1969,
    3024,
    3169, // query or connection ended by the server
    2002,
    2003,
    2005,
    2006,
    2013,
    2055, // not reached, gone away, lost; proxies say so too
    4031, // disconnected for inactivity
    4081,
    4082, // disconnected for the memory it used
    9001, // TiDB: the placement driver does not answer; ProxySQL: no server does
  ],
}

/** A subset of the above: writes are refused, by a setting or by the cluster. */
const READ_ONLY: ReadonlySet<number> = new Set([1290, 1792, 1836, 1874, 3989])
/** A subset of the above: the disk is full. */
const DISK_FULL: ReadonlySet<number> = new Set([20, 1021, 1114, 3675])

const FAULT_OF_NUMBER: ReadonlyMap<number, Fault> = new Map(
  Object.entries(SERVER_FAULTS).flatMap(([fault, numbers]) => numbers.map((number) => [number, fault as Fault])),
)

// Error codes of the system, of its resolver and of mysql2.
const CODE_FAULTS: Readonly<Record<'busy' | 'away', readonly string[]>> = {
  // This process or this machine has no room for another connection; existing ones continue.
  busy: ['EADDRNOTAVAIL', 'EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'],
  away: [
    'ECONNREFUSED',
    'ECONNRESET',
    'ECONNABORTED',
    'EPIPE',
    'ETIMEDOUT',
    'EHOSTDOWN',
    'EHOSTUNREACH',
    'ENETDOWN',
    'ENETRESET',
    'ENETUNREACH',
    'ENOTCONN',
    'ENOTFOUND',
    'EAI_AGAIN',
    'EAI_FAIL',
    'EAI_NODATA',
    'EAI_NONAME',
    'PROTOCOL_CONNECTION_LOST',
    'PROTOCOL_SEQUENCE_TIMEOUT',
    'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
    'PROTOCOL_ENQUEUE_AFTER_QUIT',
    'ERR_STREAM_WRITE_AFTER_END',
    'ERR_STREAM_DESTROYED',
    'HANDSHAKE_NO_SSL_SUPPORT',
    'POOL_CLOSED',
  ],
}

const FAULT_OF_CODE: ReadonlyMap<string, Fault> = new Map(
  Object.entries(CODE_FAULTS).flatMap(([fault, codes]) => codes.map((code) => [code, fault as Fault])),
)

const SQLITE_READONLY = 8
/** SQLite's result code for a full disk. */
export const SQLITE_FULL = 13

// The low byte of SQLite's result code (sqlite.org/rescode.html); the other bytes specify it.
const SQLITE_FAULTS: ReadonlyMap<number, Fault> = new Map([
  [5, 'conflict'], // BUSY: another process has the lock
  [6, 'conflict'], // LOCKED
  [15, 'conflict'], // PROTOCOL: the race for the WAL's locks was lost
  [7, 'busy'], // NOMEM
  [9, 'busy'], // INTERRUPT
  [SQLITE_READONLY, 'away'],
  [10, 'away'], // IOERR
  [SQLITE_FULL, 'away'],
  [14, 'away'], // CANTOPEN, as where a folder is gone or file handles are
])
const SQLITE_CONSTRAINT_PRIMARYKEY = 1555
const SQLITE_CONSTRAINT_UNIQUE = 2067

function rootOf(error: unknown): DriverError {
  let root = (error ?? {}) as DriverError
  while (root.driverError !== undefined) root = root.driverError
  return root
}

/**
 * Classifies by the driver's number or code, never by its wording; the exceptions are mysql2's messages that have
 * neither.
 */
export function faultOf(error: unknown): Fault {
  const { errno, code = '', rawCode, message = '', fatal } = rootOf(error)
  if (rawCode !== undefined) {
    if (rawCode === SQLITE_CONSTRAINT_PRIMARYKEY || rawCode === SQLITE_CONSTRAINT_UNIQUE) return 'duplicate'
    return SQLITE_FAULTS.get(rawCode & 0xff) ?? 'broken'
  }
  const known = (errno === undefined ? undefined : FAULT_OF_NUMBER.get(errno)) ?? FAULT_OF_CODE.get(code)
  if (known !== undefined) return known
  if (message === 'Queue limit reached.') return 'busy'
  if (message === 'Pool is closed.' || message.includes('closed state')) return 'away'
  // A number comes from the server, which has answered. Without a number, a fatal error is a protocol violation.
  return fatal === true && !(errno !== undefined && errno > 0) ? 'away' : 'broken'
}

/** Did the wait for a row lock of another session time out? */
export function isLockTimeout(error: unknown): boolean {
  return rootOf(error).errno === LOCK_WAIT_TIMEOUT
}

/** Does the database refuse writes because its administrator or its cluster made it read-only? */
function isReadOnly(error: unknown): boolean {
  const { errno = 0, rawCode } = rootOf(error)
  return rawCode === undefined ? READ_ONLY.has(errno) : (rawCode & 0xff) === SQLITE_READONLY
}

/** Is the database's disk full? */
export function isDiskFull(error: unknown): boolean {
  const { errno = 0, rawCode } = rootOf(error)
  return rawCode === undefined ? DISK_FULL.has(errno) : (rawCode & 0xff) === SQLITE_FULL
}

/** A short name of the fault for logs and metrics: its number or code. */
export function faultName(error: unknown): string {
  const { errno, code } = rootOf(error)
  return String(errno !== undefined && errno > 0 ? errno : (code ?? 'unknown'))
}

/** The reason, in one line, with advice if there is any. */
export function withAdvice(reason: string, error: unknown): string {
  const advice = adviceOnTls(error)
  return advice === undefined ? reason : `${reason.replace(/\.$/, '')}. ${advice}`
}

/** Did a connection fail because of TLS? Waiting does not help then. */
export function failedForTls(error: unknown): boolean {
  const { errno, code, message = '' } = rootOf(error)
  if (errno === ONLY_ENCRYPTED || code === 'HANDSHAKE_NO_SSL_SUPPORT') return true
  // mysql2 uses this code for all failures here, also for a server that has just stopped.
  return code === 'HANDSHAKE_SSL_ERROR' && !message.includes('disconnected before secure TLS')
}

/**
 * Advice for the operator about a connection that was denied, or failed because of TLS; undefined for other failures.
 */
export function adviceOnTls(error: unknown): string | undefined {
  const { errno, code, ...more } = rootOf(error)
  // MariaDB's message to an unencrypted client, and both servers' message to one whose account requires TLS, or whom
  // an account without a name for that host takes in.
  if (errno === ACCESS_DENIED) {
    return (
      'Where user and password are right, the server may have an account without a name for that host, which comes ' +
      "before that of any host (DROP USER ''@localhost), or, if DATABASE_TLS is off, accept only encrypted connections"
    )
  }
  if (!failedForTls(error)) return undefined
  if (errno === ONLY_ENCRYPTED) {
    return 'The server accepts only encrypted connections: set DATABASE_TLS=verify, or DATABASE_TLS=required'
  }
  if (code === 'HANDSHAKE_NO_SSL_SUPPORT') {
    return 'DATABASE_TLS asks for TLS, which the server does not offer: give it a certificate, or set DATABASE_TLS=off'
  }
  if ('cert' in more) {
    return (
      'DATABASE_URL must name the server as its certificate does, or the certificate must name that host, ' +
      'as a subjectAltName'
    )
  }
  return (
    'With DATABASE_TLS=verify the server needs a certificate that is valid now and that DATABASE_TLS_CA has issued ' +
    '(without it: somebody whom Node.js trusts)'
  )
}

/**
 * Is the connection that reported this unusable for another statement? After a timeout, the old answer is still in its
 * pipe.
 */
export function leavesUnusable(error: unknown): boolean {
  const { errno, fatal } = rootOf(error)
  return fatal === true || errno === COMMIT_FAILED || errno === PACKET_TOO_LARGE || faultOf(error) === 'away'
}

/** The statement is faulty, but the server also closes the connection. */
const PACKET_TOO_LARGE = 1153
