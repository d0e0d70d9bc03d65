import mysql, { type QueryError } from 'mysql2'
import { INSTANCES } from './instance.entity.js'
import type { ServerOptions } from './server.js'
import { isLockTimeout } from './store-error.js'
import { type Found, foundBy } from './store-watch.js'

/** Connecting and both statements; a server that takes longer is of no use to requests either. */
const PATIENCE_MS = 2_000
/** The probe must not stay behind at the server, waiting for a lock, and what it writes must be committed. */
const BOUNDS = 'SET SESSION innodb_lock_wait_timeout = 1, lock_wait_timeout = 1, autocommit = 1'

/**
 * A change that is a change each time: what changes nothing needs no binary log, and so tells nothing of one whose disk
 * is full. The row belongs to no instance, was never seen, and goes with those that are gone for long.
 */
const WRITE =
  `INSERT INTO ${INSTANCES} (id, name, version, seen_at) VALUES ('probe', '', '', '2000-01-01') ` +
  'ON DUPLICATE KEY UPDATE seen_at = seen_at + INTERVAL 1000 MICROSECOND'

/**
 * Asks a server on a connection of its own, so that neither a full pool nor a dead connection is taken for an outage.
 * It reads a real table, since a node outside its cluster still answers `SELECT 1`, and commits a small write, which a
 * read-only server refuses, and which hangs where `COMMIT` does. An earlier probe's write may be what hangs: then this
 * one waits for its lock in vain.
 */
export async function probeServer(server: ServerOptions): Promise<Found> {
  const connection = mysql.createConnection({ ...server, connectTimeout: PATIENCE_MS })
  // Each failure is the answer to a statement as well.
  connection.on('error', () => undefined)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(Object.assign(new Error(`no answer within ${PATIENCE_MS} ms`), { code: 'ETIMEDOUT' }))
    }, PATIENCE_MS)
  })
  late.catch(() => undefined)
  const say = async (sql: string): Promise<void> =>
    Promise.race([
      late,
      new Promise<void>((resolve, reject) => {
        connection.query(sql, (error: QueryError | null) => {
          if (error === null) resolve()
          else reject(error)
        })
      }),
    ])
  try {
    await say(BOUNDS)
    await say(`SELECT 1 FROM ${INSTANCES} LIMIT 1`)
  } catch (error) {
    end()
    return foundBy(error, 'none')
  }
  try {
    await say(WRITE)
    return { reach: 'all' }
  } catch (error) {
    return isLockTimeout(error) ? { reach: 'reads', cause: error } : foundBy(error, 'reads')
  } finally {
    end()
  }

  function end(): void {
    clearTimeout(timer)
    connection.destroy()
  }
}
