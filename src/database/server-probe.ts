import mysql, { type QueryError } from 'mysql2'
import type { ServerOptions } from './server.js'
import { type Found, foundBy } from './store-watch.js'

/** Connecting and both statements; a server that takes longer is of no use to requests either. */
const PATIENCE_MS = 2_000
/** The probe must not stay behind at the server, waiting for a lock. */
const BOUNDS = 'SET SESSION innodb_lock_wait_timeout = 1, lock_wait_timeout = 1, sql_safe_updates = 0'

/**
 * Asks a server on a connection of its own, so that neither a full pool nor a dead connection is taken for an outage.
 * @param table a real one, of a few rows: a node outside its cluster still answers `SELECT 1`. Its rows are written as
 *   they are, which changes nothing, and which a read-only server refuses
 */
export async function probeServer(server: ServerOptions, table: string): Promise<Found> {
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
    await say(`SELECT 1 FROM \`${table}\` LIMIT 1`)
  } catch (error) {
    end()
    return foundBy(error, 'none')
  }
  try {
    await say(`UPDATE \`${table}\` SET \`name\` = \`name\``)
    return { reach: 'all' }
  } catch (error) {
    return foundBy(error, 'reads')
  } finally {
    end()
  }

  function end(): void {
    clearTimeout(timer)
    connection.destroy()
  }
}
