import { createPool, type RowDataPacket } from 'mysql2/promise'
import { Client, Pool } from 'pg'
import { type AccountSource, type Found, PARTS, REFERENCE, TIMEOUT_MS } from './account-query.js'
import { within } from './within.js'

const CONNECTIONS = 10
const IDLE_MS = 60_000

/**
 * The database of mail accounts at a URL. The query gets `:user`, `:local` and `:domain` as parameters; the account is
 * the first column of its one row.
 */
export function databaseOf(url: string, query: string): AccountSource {
  return /^postgres/.test(url) ? postgres(url, query) : mysql(url, query)
}

/** MySQL, MariaDB. */
function mysql(url: string, query: string): AccountSource {
  const pool = createPool({
    uri: url.replace(/^mariadb:/, 'mysql:'),
    connectionLimit: CONNECTIONS,
    connectTimeout: TIMEOUT_MS,
    idleTimeout: IDLE_MS,
    namedPlaceholders: true,
    supportBigNumbers: true,
  })
  return {
    async ask(name) {
      const connection = await pool.getConnection()
      try {
        // The driver's own limit leaves out the preparation, which waits for locks of the table.
        const asked = connection.execute<(RowDataPacket & Record<string, Found>)[]>(query, { ...name })
        const [rows] = await within(TIMEOUT_MS, asked)
        connection.release()
        return firstColumn(rows)
      } catch (error) {
        // After a timeout, the next query would get this one's result.
        connection.destroy()
        throw error
      }
    },
    close: () => pool.end(),
  }
}

/** @throws Error if the URL names a file that cannot be read */
function postgres(url: string, query: string): AccountSource {
  const { text, parts } = numbered(query)
  // Never connected: the pool would find the mistake at its first question.
  new Client({ connectionString: url })
  const pool = new Pool({
    connectionString: url,
    max: CONNECTIONS,
    connectionTimeoutMillis: TIMEOUT_MS,
    idleTimeoutMillis: IDLE_MS,
    query_timeout: TIMEOUT_MS,
    keepAlive: true,
  })
  // An idle connection that breaks; without a listener, it would end the process.
  pool.on('error', () => undefined)
  return {
    async ask(name) {
      const { rows } = await pool.query<Record<string, Found>>(
        text,
        parts.map((part) => name[part]),
      )
      return firstColumn(rows)
    },
    close: () => pool.end(),
  }
}

/** Quoted texts and names, casts (`::text`), and the parameters. */
const TOKENS = new RegExp(`'[^']*'|"[^"]*"|::|${REFERENCE.source}`, 'g')

/** The query with PostgreSQL's `$1` instead of names, and whose these are: the server wants no others. */
export function numbered(query: string): { text: string; parts: (typeof PARTS)[number][] } {
  const parts: (typeof PARTS)[number][] = []
  const text = query.replace(TOKENS, (token, name: string | undefined) => {
    const part = PARTS.find((one) => one === name)
    if (part === undefined) return token
    if (!parts.includes(part)) parts.push(part)
    return `$${parts.indexOf(part) + 1}`
  })
  return { text, parts }
}

function firstColumn(rows: readonly Record<string, Found>[]): Found[] {
  return rows.map((row) => Object.values(row)[0])
}
