import { randomBytes } from 'node:crypto'
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise'
import { findMariaDb, type MariaDbOptions, type MariaDbServer, startMariaDb } from '../../scripts/mariadb.mjs'
import { guard } from './guard.js'
import { opened } from './opened.js'

const given = process.env['TEST_DATABASE_URL']

/** Can a server be started that belongs to a suite alone, so that it may be killed? */
export const CAN_START_SERVER = findMariaDb() !== undefined

/** Is there any server to run on? */
export const HAS_SERVER = given !== undefined || CAN_START_SERVER

/** A server of the suite's own, to be killed at will. */
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

  /** Of the running server. */
  get pid(): number {
    const pid = this.server.pid()
    if (pid === undefined) throw new Error('the server is down')
    return pid
  }

  /** A crash. */
  async kill(): Promise<void> {
    this.release()
    await this.server.kill()
  }

  /** Starts it again after a crash, on the same data and port. */
  async start(): Promise<void> {
    await this.server.start()
    this.release = guard(this.pid)
  }

  async stop(): Promise<void> {
    this.release()
    await this.server.stop()
    this.closed()
  }
}

/** An empty database on a real server, which several instances of the service share. */
export class TestDatabase {
  private readonly closed: () => void

  private constructor(
    readonly url: string,
    private readonly name: string,
    private readonly pool: Pool,
    /** Where the server is the suite's own. */
    private readonly own: OwnServer | undefined,
  ) {
    this.closed = opened(async () => this.drop())
  }

  /** @param own start a server for this suite alone, even where TEST_DATABASE_URL names one */
  static async open({ own = false } = {}): Promise<TestDatabase> {
    const server = own || given === undefined ? await OwnServer.start() : undefined
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

  /** The server of the suite's own, to be killed at will. */
  get server(): OwnServer {
    if (this.own === undefined) throw new Error('the server belongs to somebody else')
    return this.own
  }

  async rows<T extends object = Record<string, unknown>>(sql: string, values: unknown[] = []): Promise<T[]> {
    const [rows] = await this.pool.query<RowDataPacket[]>(sql, values)
    return rows as T[]
  }

  async execute(sql: string, values: unknown[] = []): Promise<void> {
    await this.pool.query(sql, values)
  }

  /** The first value of the first row. */
  async number(sql: string, values: unknown[] = []): Promise<number> {
    const [row] = await this.rows(sql, values)
    return Number(Object.values(row ?? {})[0])
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
