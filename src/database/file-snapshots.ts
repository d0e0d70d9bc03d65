import Database from 'libsql'
import type { RawRow, Scalar } from './row-codec.js'
import { FileStatements, type Transaction, type WriteResult } from './session.js'

/** The time to wait within the call for another process's lock; `TransactionRunner` retries. */
const BUSY_MS = 10

/**
 * Snapshots of a SQLite file: read-only transactions on a separate connection. In WAL mode they neither wait for the
 * writer nor delay it. One runs at a time.
 */
export class FileSnapshots {
  private database: Database.Database | undefined
  private turn: Promise<unknown> = Promise.resolve()

  constructor(private readonly path: string) {}

  /** Runs a unit on the data that is committed when its first statement starts. */
  async take<T>(unit: (transaction: Transaction) => Promise<T>): Promise<T> {
    const mine = this.turn.then(async () => this.once(unit))
    this.turn = mine.catch(() => undefined)
    return mine
  }

  /** Closes the connection after the last unit. */
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

class FileSnapshot extends FileStatements implements Transaction {
  constructor(private readonly database: Database.Database) {
    super()
  }

  async rows(sql: string, values: readonly Scalar[] = []): Promise<RawRow[]> {
    // A statement blocks the event loop: requests run between two statements.
    await new Promise(setImmediate)
    return this.database.prepare(sql).all([...values]) as RawRow[]
  }

  async execute(): Promise<WriteResult> {
    throw new Error('a snapshot only reads')
  }

  async later(): Promise<void> {
    throw new Error('a snapshot only reads')
  }
}
