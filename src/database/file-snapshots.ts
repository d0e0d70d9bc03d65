import Database from 'libsql'
import type { RawRow, Scalar } from './row-codec.js'
import type { Statement, Transaction, WriteResult } from './session.js'

/** How long to wait within the call for a lock that another process has; the unit of work tries again. */
const BUSY_MS = 10

/**
 * Snapshots of a SQLite file: transactions that only read, on a connection of their own. In WAL mode they neither wait
 * for the one writer nor keep it waiting. One at a time.
 */
export class FileSnapshots {
  private database: Database.Database | undefined
  private turn: Promise<unknown> = Promise.resolve()

  constructor(private readonly path: string) {}

  /** Runs a unit on what is committed when its first statement starts. */
  async take<T>(unit: (transaction: Transaction) => Promise<T>): Promise<T> {
    const mine = this.turn.then(async () => this.once(unit))
    this.turn = mine.catch(() => undefined)
    return mine
  }

  /** Closes the connection, once the last unit is done. */
  async close(): Promise<void> {
    await this.turn
    this.database?.close()
    this.database = undefined
  }

  private async once<T>(unit: (transaction: Transaction) => Promise<T>): Promise<T> {
    const database = (this.database ??= new Database(this.path, { timeout: BUSY_MS }))
    database.exec('BEGIN')
    try {
      return await unit(new FileSnapshot(database))
    } finally {
      if (database.inTransaction) database.exec('COMMIT')
    }
  }
}

class FileSnapshot implements Transaction {
  readonly dialect = 'sqlite'
  readonly clustered = false
  readonly idStep = 1
  readonly afterLockTimeout = false

  constructor(private readonly database: Database.Database) {}

  async rows(sql: string, values: readonly Scalar[] = []): Promise<RawRow[]> {
    // A statement has the event loop to itself: between two of them it is the requests' turn.
    await new Promise(setImmediate)
    return this.database.prepare(sql).all([...values]) as RawRow[]
  }

  async all(statements: readonly Statement[]): Promise<RawRow[][]> {
    const found: RawRow[][] = []
    for (const { sql, values } of statements) found.push(await this.rows(sql, values))
    return found
  }

  async execute(): Promise<WriteResult> {
    throw new Error('a snapshot only reads')
  }

  async later(): Promise<void> {
    throw new Error('a snapshot only reads')
  }
}
