import type Database from 'libsql'
import type { PoolConnection, QueryError, ResultSetHeader } from 'mysql2'
import type { QueryRunner } from 'typeorm'
import { STATEMENT_TIMEOUT_MS } from './data-source-options.js'
import { type Dialect, type RawRow, type Scalar, sizeOf } from './row-codec.js'
import { factsOf } from './session-settings.js'
import { StatementLog } from './statement-log.js'

/** A statement with the values of its placeholders. */
export interface Statement {
  readonly sql: string
  readonly values?: readonly Scalar[]
}

/** The result of a writing statement. */
export interface WriteResult {
  /** Rows matched by an UPDATE or DELETE, rows inserted by an INSERT. */
  affected: number
  /** The generated id of the (first) inserted row. */
  insertId: number
}

/** The statements of one unit of `TransactionRunner`, all on one connection. */
export interface Transaction {
  /**
   * The SQL dialect of the store. On SQLite, a transaction holds the only write lock, so that nothing else needs a
   * lock.
   */
  readonly dialect: Dialect
  /**
   * Is the server a node of a cluster with other writable nodes? Then row locks do not protect from writers on other
   * nodes.
   */
  readonly clustered: boolean
  /** The distance between the generated ids of one INSERT. */
  readonly idStep: number
  /** The maximum size of a statement, in bytes; `RowCodec.inserts` keeps to it. */
  readonly statementBytes: number
  /**
   * Did the previous attempt end because another session kept a row locked? Waiting for that lock again would take as
   * long again.
   */
  readonly afterLockTimeout: boolean
  /** Rows of a SELECT. */
  rows(sql: string, values?: readonly Scalar[]): Promise<RawRow[]>
  /** Rows of several SELECTs, which are sent together and run one after the other. */
  all(statements: readonly Statement[]): Promise<RawRow[][]>
  /** Runs a writing statement. */
  execute(sql: string, values?: readonly Scalar[]): Promise<WriteResult>
  /**
   * Sends a writing statement together with the next one that needs an answer, or with COMMIT; it fails with that one.
   */
  later(sql: string, values?: readonly Scalar[]): Promise<void>
}

/** One connection for one attempt at a unit. */
export interface Session extends Transaction {
  /** Begins a transaction: all later statements take effect together, or none does. */
  begin(): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
  /** Returns the connection to the pool. */
  release(): Promise<void>
  /** Closes the connection instead of returning it: the server rolls back its open transaction. */
  destroy(): void
}

/** Observes the store's answer time, in seconds; a packet of several statements is one. */
export type OnAnswer = (seconds: number) => void

/** Called when statements end, with the error if there is one. */
export type EndOfStatements = (error?: unknown) => void

/** Traces statements. */
export interface StatementTracer {
  /**
   * Statements are about to be sent.
   * @param sql with placeholders; the statements of a packet are separated by `;` and the end of a line
   * @returns is called with their result; undefined if they are not traced
   */
  sending(sql: string): EndOfStatements | undefined
}

/** The observers of statements. */
export interface StatementWatchers {
  readonly onAnswer?: OnAnswer | undefined
  readonly tracer?: StatementTracer | undefined
}

const log = new StatementLog()

/**
 * A session on a server. Statements that need no answer are sent with the next one that does: the beginning of a
 * transaction with its first statement, writes with COMMIT. The server runs the statements of a packet in order and
 * stops at the first failure. So after a failure the transaction must be rolled back, and if the connection is lost
 * during the packet with COMMIT, its outcome is unknown.
 */
export class ServerSession implements Session {
  readonly dialect = 'mysql'
  readonly clustered: boolean
  readonly idStep: number
  readonly statementBytes: number
  /** Statements to send with the next one. */
  private waiting: Statement[] = []

  constructor(
    private readonly connection: PoolConnection,
    readonly afterLockTimeout: boolean,
    private readonly watchers: StatementWatchers = {},
  ) {
    ;({ clustered: this.clustered, idStep: this.idStep, packetBytes: this.statementBytes } = factsOf(connection))
  }

  async begin(): Promise<void> {
    this.waiting.push({ sql: 'START TRANSACTION' })
  }

  async rows(sql: string, values?: readonly Scalar[]): Promise<RawRow[]> {
    const [rows] = await this.send([{ sql, ...(values === undefined ? {} : { values }) }])
    return rows as RawRow[]
  }

  async all(statements: readonly Statement[]): Promise<RawRow[][]> {
    return (await this.send(statements)) as RawRow[][]
  }

  async execute(sql: string, values?: readonly Scalar[]): Promise<WriteResult> {
    const [header] = await this.send([{ sql, ...(values === undefined ? {} : { values }) }])
    const { affectedRows, insertId } = header as ResultSetHeader
    return { affected: affectedRows, insertId }
  }

  async later(sql: string, values: readonly Scalar[] = []): Promise<void> {
    this.waiting.push({ sql, values })
  }

  async commit(): Promise<void> {
    await this.send([{ sql: 'COMMIT' }])
  }

  async rollback(): Promise<void> {
    this.waiting = []
    await this.send([{ sql: 'ROLLBACK' }])
  }

  async release(): Promise<void> {
    this.connection.release()
  }

  destroy(): void {
    this.connection.destroy()
  }

  /**
   * Sends the pending statements and these, in one packet, or in several if the server would refuse it. A node of a
   * cluster gets them one by one: on Galera, after another node's write had rolled back a transaction in the middle of
   * a packet, the rest of the packet took effect outside any transaction, and COMMIT succeeded.
   * @returns the results of these statements
   */
  private async send(statements: readonly Statement[]): Promise<unknown[]> {
    const all = this.waiting.length === 0 ? statements : [...this.waiting, ...statements]
    const before = all.length - statements.length
    this.waiting = []
    const results: unknown[] = []
    for (const packet of this.packetsOf(all)) {
      results.push(...(await this.sendPacket(packet)))
    }
    return results.slice(before)
  }

  private packetsOf(statements: readonly Statement[]): Statement[][] {
    const packets: Statement[][] = []
    let room = 0
    for (const statement of statements) {
      const size = statementSize(statement)
      if (packets.length === 0 || size > room || this.clustered) {
        packets.push([])
        room = this.statementBytes
      }
      packets.at(-1)?.push(statement)
      room -= size
    }
    return packets
  }

  private async sendPacket(packet: readonly Statement[]): Promise<unknown[]> {
    const [first] = packet
    const sql = packet.length === 1 && first !== undefined ? first.sql : packet.map((one) => one.sql).join(';\n')
    const values = packet.length === 1 && first !== undefined ? first.values : valuesOf(packet)
    const results = await this.query(sql, values as Scalar[] | undefined)
    return packet.length === 1 ? [results] : (results as unknown[])
  }

  private async query(sql: string, values: Scalar[] | undefined): Promise<unknown> {
    const { onAnswer, tracer } = this.watchers
    const ended = tracer?.sending(sql)
    const began = performance.now()
    return new Promise((resolve, reject) => {
      this.connection.query(
        { sql, values, timeout: STATEMENT_TIMEOUT_MS },
        (error: QueryError | null, results: unknown) => {
          const took = performance.now() - began
          onAnswer?.(took / 1000)
          ended?.(error ?? undefined)
          if (took > STATEMENT_TIMEOUT_MS) log.logQuerySlow(took, sql)
          if (error === null) resolve(results)
          else reject(error)
        },
      )
    })
  }
}

/** The values of all statements, in order. */
function valuesOf(packet: readonly Statement[]): Scalar[] {
  const all: Scalar[] = []
  for (const { values = [] } of packet) for (const value of values) all.push(value)
  return all
}

/** The maximum size of a statement with its values, in bytes. */
function statementSize({ sql, values = [] }: Statement): number {
  return values.reduce<number>((sum, value) => sum + sizeOf(value), sql.length)
}

/** The facts of a SQLite file, whose statements run one by one. */
export abstract class FileStatements implements Omit<Transaction, 'execute' | 'later'> {
  readonly dialect = 'sqlite'
  readonly clustered = false
  readonly idStep = 1
  readonly statementBytes = Infinity
  readonly afterLockTimeout = false

  abstract rows(sql: string, values?: readonly Scalar[]): Promise<RawRow[]>

  async all(statements: readonly Statement[]): Promise<RawRow[][]> {
    const found: RawRow[][] = []
    for (const { sql, values } of statements) found.push(await this.rows(sql, values))
    return found
  }
}

/** A session on the only connection to a SQLite file. */
export class FileSession extends FileStatements implements Session {
  constructor(
    private readonly runner: QueryRunner,
    private readonly watchers: StatementWatchers = {},
  ) {
    super()
  }

  async begin(): Promise<void> {
    await this.command('BEGIN IMMEDIATE')
  }

  async rows(sql: string, values: readonly Scalar[] = []): Promise<RawRow[]> {
    return this.watched(sql, async () => (await this.runner.query(sql, values as Scalar[])) as RawRow[])
  }

  async execute(sql: string, values: readonly Scalar[] = []): Promise<WriteResult> {
    const result = await this.watched(sql, async () => this.runner.query(sql, values as Scalar[], true))
    const { affected = 0 } = result
    const raw: unknown = result.raw
    // The driver returns the id of the last row of an INSERT.
    const insertId = typeof raw === 'number' ? raw - Math.max(0, affected - 1) : 0
    return { affected, insertId }
  }

  async later(sql: string, values?: readonly Scalar[]): Promise<void> {
    await this.execute(sql, values)
  }

  async commit(): Promise<void> {
    await this.command('COMMIT')
  }

  async rollback(): Promise<void> {
    await this.command('ROLLBACK')
  }

  async release(): Promise<void> {
    await this.runner.release()
  }

  destroy(): void {
    // It is the only connection and stays open.
  }

  /**
   * Prepares, runs and closes the statement: a BEGIN that met another's lock would stay open as a statement, and keep
   * every later read at its snapshot.
   */
  async command(sql: string): Promise<void> {
    const database = (await this.runner.connect()) as Database.Database
    await this.watched(sql, async () => database.exec(sql))
  }

  private async watched<T>(sql: string, work: () => Promise<T>): Promise<T> {
    const { onAnswer, tracer } = this.watchers
    const ended = tracer?.sending(sql)
    const began = performance.now()
    try {
      const result = await work()
      ended?.()
      return result
    } catch (error) {
      ended?.(error)
      throw error
    } finally {
      onAnswer?.((performance.now() - began) / 1000)
    }
  }
}
