import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise'
import { type Accounts, isAccountId, MAX_SENDER_LENGTH, type Payer } from './accounts.js'

const CONNECTIONS = 10
/** The maximum number of lookups that wait for a connection; further ones fail at once. */
const QUEUE = 1_000
/** The timeout of a connection attempt, and then of the query. */
const TIMEOUT_MS = 1_500
const MAX_CACHED = 10_000

/**
 * Reads accounts from a database of mail accounts (MySQL, MariaDB). The query gets `:user`, the whole name in lower
 * case, and its parts `:local` and `:domain`, as parameters; the first column of its one row is the account.
 */
export class AccountQuery implements Accounts {
  private readonly pool: Pool
  /** Oldest first. */
  private readonly cache = new Map<string, { readonly account: number | undefined; readonly until: number }>()

  /**
   * @param now milliseconds since an arbitrary moment
   * @param cacheMs how long a result is valid, also if there is no account
   */
  constructor(
    url: string,
    private readonly query: string,
    private readonly cacheMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.pool = createPool({
      uri: url.replace(/^mariadb:/, 'mysql:'),
      connectionLimit: CONNECTIONS,
      queueLimit: QUEUE,
      connectTimeout: TIMEOUT_MS,
      namedPlaceholders: true,
      supportBigNumbers: true,
    })
  }

  async find({ name }: Payer): Promise<number | undefined> {
    if (name === '' || name.length > MAX_SENDER_LENGTH) return undefined
    const user = name.toLowerCase()
    const cached = this.cache.get(user)
    if (cached !== undefined && cached.until > this.now()) return cached.account
    const account = await this.ask(user)
    this.cache.delete(user)
    this.cache.set(user, { account, until: this.now() + this.cacheMs })
    const [oldest] = this.cache.keys()
    if (this.cache.size > MAX_CACHED && oldest !== undefined) this.cache.delete(oldest)
    return account
  }

  /** Clears the cache. */
  forget(): void {
    this.cache.clear()
  }

  async close(): Promise<void> {
    await this.pool.end().catch(() => undefined)
  }

  private async ask(user: string): Promise<number | undefined> {
    const at = user.lastIndexOf('@')
    const parts = { user, local: at === -1 ? user : user.slice(0, at), domain: at === -1 ? '' : user.slice(at + 1) }
    const rows = await this.rows(parts)
    if (rows.length > 1) throw new Error(`the query finds ${rows.length} rows for one sender`)
    const [value] = Object.values(rows[0] ?? {}) as unknown[]
    if (value === undefined || value === null) return undefined
    if (!isAccountId(Number(value))) throw new Error('the query finds what is no account id')
    return Number(value)
  }

  private async rows(parts: Record<string, string>): Promise<RowDataPacket[]> {
    const connection = await this.pool.getConnection()
    try {
      const [rows] = await connection.execute<RowDataPacket[]>({ sql: this.query, timeout: TIMEOUT_MS }, parts)
      connection.release()
      return rows
    } catch (error) {
      // After a timeout, the next query would get this one's result.
      connection.destroy()
      throw error
    }
  }
}
