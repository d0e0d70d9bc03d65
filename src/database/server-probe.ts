import mysql, { type QueryError } from 'mysql2'
import type { Reach } from '../common/periodic-task.js'
import { INSTANCES } from './instance.entity.js'
import type { ServerOptions } from './server.js'
import { clusterOf, WAITS_FOR_OTHERS } from './session-settings.js'
import { isLockTimeout } from './store-error.js'
import { type Found, foundBy } from './store-watch.js'

/** The time limit for the connection and all statements; a slower server is of no use to requests either. */
const PATIENCE_MS = 2_000
/** The probe must not wait for a lock at the server, and its write must be committed. */
const BOUNDS = 'SET SESSION innodb_lock_wait_timeout = 1, lock_wait_timeout = 1, autocommit = 1'
/** As every session of the service, whatever the server's default is. */
const WRITABLE = 'SET SESSION TRANSACTION READ WRITE'

/**
 * A statement that changes a row each time: a statement without a change needs no binary log, and so does not detect
 * that the log's disk is full. The row belongs to no instance, counts as never seen, and is removed with old ones.
 */
const WRITE =
  `INSERT INTO ${INSTANCES} (id, name, version, seen_at) VALUES ('probe', '', '', '2000-01-01') ` +
  'ON DUPLICATE KEY UPDATE seen_at = seen_at + INTERVAL 1000 MICROSECOND'

/**
 * Probes a server on a separate connection, so that neither a full pool nor a dead connection counts as an outage. It
 * reads a real table, since a node outside its cluster still answers `SELECT 1`, and commits a small write, which a
 * read-only server refuses, and which hangs if `COMMIT` does. If an earlier probe's write hangs, this one's lock wait
 * times out.
 */
export async function probeServer(server: ServerOptions): Promise<Found> {
  const connection = mysql.createConnection({ ...server, connectTimeout: PATIENCE_MS })
  // Each failure also rejects the statement's promise.
  connection.on('error', () => undefined)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      connection.destroy()
      reject(Object.assign(new Error(`no answer within ${PATIENCE_MS} ms`), { code: 'ETIMEDOUT' }))
    }, PATIENCE_MS)
  })
  late.catch(() => undefined)
  const inTime = async <T>(promise: Promise<T>): Promise<T> => Promise.race([late, promise])
  const say = async (sql: string): Promise<void> =>
    inTime(
      new Promise<void>((resolve, reject) => {
        connection.query(sql, (error: QueryError | null) => {
          if (error === null) resolve()
          else reject(error)
        })
      }),
    )
  // Every member of a group is writable: one that is not is outside, and lacks what the others have committed.
  let outside: Reach = 'reads'
  try {
    await say(BOUNDS)
    await say(WRITABLE)
    const cluster = await inTime(clusterOf(connection))
    if (cluster === 'group-replication') {
      outside = 'none'
      // An expelled member still answers those who ask without this; the service's sessions do not.
      await say(WAITS_FOR_OTHERS[cluster])
    }
    await say(`SELECT 1 FROM ${INSTANCES} LIMIT 1`)
  } catch (error) {
    end()
    return foundBy(error, 'none')
  }
  try {
    await say(WRITE)
    return { reach: 'all' }
  } catch (error) {
    return isLockTimeout(error) ? { reach: 'reads', cause: error } : foundBy(error, outside)
  } finally {
    end()
  }

  function end(): void {
    clearTimeout(timer)
    // In order, unless it is destroyed: the server counts and logs other ends as aborted.
    connection.end()
  }
}
