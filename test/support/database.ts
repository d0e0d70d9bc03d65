import { randomBytes } from 'node:crypto'
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise'
import { findMariaDb, type MariaDbOptions, type MariaDbServer, startMariaDb } from '../../scripts/mariadb.mjs'
import { guard } from './guard.js'
import { readable } from './ids.js'
import { opened } from './opened.js'

const given = process.env['TEST_DATABASE_URL']

/** Can the suite start its own server, so that it may kill it? */
export const CAN_START_SERVER = findMariaDb() !== undefined

/** Is there any server to run on? */
export const HAS_SERVER = given !== undefined || CAN_START_SERVER

/** A server of the suite's own, which it may kill. */
export class OwnServer {
  private release: () => void
  private readonly closed: () => void

  private constructor(private readonly server: MariaDbServer) {
    this.release = guard(this.pid)
    this.closed = opened(async () => this.stop())
  }

  static async start(options: MariaDbOptions = {}): Promise<OwnServer> {
    return new OwnServer(await startMariaDb(options))
  }

  get url(): string {
    return this.server.url()
  }

  /** The process id of the running server. */
  get pid(): number {
    const pid = this.server.pid()
    if (pid === undefined) throw new Error('the server is down')
    return pid
  }

  /** Crashes it. */
  async kill(): Promise<void> {
    this.release()
    await this.server.kill()
  }

  /** Starts it again after a crash, on the same data and port; does nothing if it runs. */
  async start(): Promise<void> {
    if (this.server.pid() !== undefined) return
    await this.server.start()
    this.release = guard(this.pid)
  }

  async stop(): Promise<void> {
    this.release()
    await this.server.stop()
    this.closed()
  }
}

/** An empty database on a real server, shared by several instances of the service. */
export class TestDatabase {
  private readonly closed: () => void

  private constructor(
    readonly url: string,
    private readonly name: string,
    private readonly pool: Pool,
    /** Set if the server is the suite's own. */
    private readonly own: OwnServer | undefined,
  ) {
    this.closed = opened(async () => this.drop())
  }

  /**
   * @param own start a server only for this suite, even if TEST_DATABASE_URL names one
   * @param args further arguments of such a server
   */
  static async open({ own = false, args = [] }: { own?: boolean; args?: string[] } = {}): Promise<TestDatabase> {
    const server = own || given === undefined ? await OwnServer.start({ args }) : undefined
    const name = `quota_test_${randomBytes(6).toString('hex')}`
    const url = new URL((server?.url ?? given ?? '').replace(/^mariadb:/, 'mysql:'))
    const making = createPool({ uri: url.toString() })
    try {
      await making.query(`CREATE DATABASE \`${name}\``)
    } finally {
      await making.end()
    }
    url.pathname = `/${name}`
    const pool = createPool({ uri: url.toString(), supportBigNumbers: true, connectionLimit: 20 })
    return new TestDatabase(url.toString(), name, pool, server)
  }

  /** The suite's own server, which it may kill. */
  get server(): OwnServer {
    if (this.own === undefined) throw new Error('the server belongs to somebody else')
    return this.own
  }

  async rows<T extends object = Record<string, unknown>>(sql: string, values: unknown[] = []): Promise<T[]> {
    const [rows] = await this.pool.query<RowDataPacket[]>(sql, values)
    return readable(rows as T[])
  }

  /**
   * Queries on a connection whose temporary tables stay in memory. The joins of an audit of ten million acts take eight
   * minutes with it, and an hour with the server's default of 16 MB.
   */
  async inMemory<T>(read: (session: Pick<TestDatabase, 'rows'>) => Promise<T>): Promise<T> {
    const connection = await this.pool.getConnection()
    try {
      await connection.query(
        'SET SESSION tmp_table_size = 3000000000, max_heap_table_size = 3000000000, sort_buffer_size = 1000000000',
      )
      return await read({
        rows: async <R extends object>(sql: string, values?: unknown[]) => {
          const [rows] = await connection.query<RowDataPacket[]>(sql, values)
          return readable(rows as R[])
        },
      })
    } finally {
      connection.destroy()
    }
  }

  async execute(sql: string, values: unknown[] = []): Promise<void> {
    await this.pool.query(sql, values)
  }

  /** The first value of the first row. */
  async number(sql: string, values: unknown[] = []): Promise<number> {
    const [row] = await this.rows(sql, values)
    return Number(Object.values(row ?? {})[0])
  }

  /** The connections that the server counts, and logs, as ended without a farewell (COM_QUIT). */
  async aborted(): Promise<number> {
    const [row] = await this.rows<{ Value: string }>("SHOW GLOBAL STATUS LIKE 'Aborted_clients'")
    return Number(row?.Value)
  }

  async drop(): Promise<void> {
    try {
      if (this.own === undefined) await this.pool.query(`DROP DATABASE \`${this.name}\``)
    } finally {
      await this.pool.end()
      await this.own?.stop()
      this.closed()
    }
  }
}
