import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolConnection } from 'mysql2'
import type { DataSource, QueryRunner } from 'typeorm'
import { ServiceError } from '../error/service-error.js'
import type { Dialect, RawRow, Scalar } from './row-codec.js'
import { type Fault, faultName, faultOf, poisons } from './store-error.js'

/** The statements of one unit of work, all on one connection. */
export interface Transaction {
  /** Which kind of SQL the store speaks. On SQLite a transaction holds the one write lock, so that nothing else has to be locked. */
  readonly dialect: Dialect
  /** Is the server a node of a cluster whose other nodes may be written to as well? Row locks are then no protection from writers elsewhere. */
  readonly clustered: boolean
  /** Rows of a SELECT. */
  rows(sql: string, values?: readonly Scalar[]): Promise<RawRow[]>
  /** Runs a statement that writes. */
  execute(sql: string, values?: readonly Scalar[]): Promise<Written>
}

/** What a writing statement did. */
export interface Written {
  /** Rows matched by an UPDATE or DELETE, rows made by an INSERT. */
  affected: number
  /** The generated id of the (first) row that an INSERT made. */
  insertId: number
}

/** Tells what the unit of work went through; for metrics and logs. */
export interface UnitOfWorkObserver {
  /** A try failed with `name` (the driver's number or code) and is made again. */
  retried(fault: Fault, name: string): void
  /** How long COMMIT took, in seconds. */
  committed(seconds: number): void
}

/** Tries go on for this long before the caller hears `unavailable`; a node's fail-over takes up to seven seconds (shared promise: clean 503s). */
const DEADLINE_MS = 6_000
const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 250

/**
 * Opens, settles and retries every transaction; nothing else in the service knows BEGIN, COMMIT, an error number or a retry.
 *
 * - A unit is one function. It is run again as a whole, on a fresh connection, with jitter and a deadline, after a deadlock, a lock timeout, a duplicate
 *   key, a lost connection or a COMMIT whose answer was lost. It must therefore be written so that a rerun finds its own earlier effect, if
 *   there is one, under the locks that it takes first.
 * - After any failed statement the rest is rolled back, or the connection is destroyed, which makes the server roll back.
 * - MySQL/MariaDB: READ COMMITTED, one pooled connection per unit. SQLite: one connection for all, so every unit and every read waits its turn, and a
 *   transaction begins IMMEDIATE.
 */
export class UnitOfWork {
  /** Which kind of SQL the store speaks. */
  readonly dialect: Dialect
  private readonly prepared = new WeakSet<object>()
  private sessionSettings: Promise<SessionSettings> | undefined
  private turn: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly dataSource: DataSource,
    private readonly deadlineMs: number = DEADLINE_MS,
  ) {
    this.dialect = dataSource.options.type === 'better-sqlite3' ? 'sqlite' : 'mysql'
  }

  /**
   * Runs a unit in a transaction of its own and answers what it returned, once that is committed.
   * @param observer is told of the tries and of COMMIT
   */
  async write<T>(unit: (transaction: Transaction) => Promise<T>, observer?: UnitOfWorkObserver): Promise<T> {
    return this.persistently(async () => this.inTurn(async () => this.transact(unit, observer)), observer)
  }

  /** Runs statements that only read, outside a transaction: each sees what is committed when it starts. */
  async read<T>(unit: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.persistently(async () => this.inTurn(async () => this.look(unit)))
  }

  private async persistently<T>(tryOnce: () => Promise<T>, observer?: UnitOfWorkObserver): Promise<T> {
    const deadline = performance.now() + this.deadlineMs
    let pause = FIRST_PAUSE_MS
    for (;;) {
      try {
        return await tryOnce()
      } catch (error) {
        if (error instanceof ServiceError) throw error
        const fault = faultOf(error)
        if (fault === 'broken') throw error
        observer?.retried(fault, faultName(error))
        const wait = fault === 'duplicate' ? 0 : pause * (0.5 + Math.random())
        if (performance.now() + wait > deadline) {
          throw new ServiceError(
            'unavailable',
            'The database cannot be reached or is too busy at the moment. A retry with the same Idempotency-Key is safe.',
            { cause: error },
          )
        }
        if (wait > 0) await sleep(wait)
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
      }
    }
  }

  /** SQLite's one queue: two units on the shared connection would be one transaction. A server has a connection for each. */
  private async inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.dialect === 'mysql') return work()
    const mine = this.turn.then(work)
    this.turn = mine.catch(() => undefined)
    return mine
  }

  private async look<T>(unit: (transaction: Transaction) => Promise<T>): Promise<T> {
    const session = await this.open()
    try {
      return await unit(session)
    } catch (error) {
      if (poisons(error)) session.destroy()
      throw error
    } finally {
      await session.release()
    }
  }

  private async transact<T>(
    unit: (transaction: Transaction) => Promise<T>,
    observer: UnitOfWorkObserver | undefined,
  ): Promise<T> {
    const session = await this.open()
    try {
      await session.execute(this.dialect === 'sqlite' ? 'BEGIN IMMEDIATE' : 'START TRANSACTION')
      const result = await unit(session)
      const start = performance.now()
      await session.execute('COMMIT')
      observer?.committed((performance.now() - start) / 1000)
      return result
    } catch (error) {
      if (poisons(error)) session.destroy()
      // A lock timeout (1205) takes back one statement only: the rest must go before anything else happens on this connection.
      else await session.execute('ROLLBACK').catch(() => session.destroy())
      throw error
    } finally {
      await session.release()
    }
  }

  private async open(): Promise<Session> {
    const runner = this.dataSource.createQueryRunner()
    const session = new Session(runner, this.dialect)
    if (this.dialect === 'sqlite') return session
    try {
      const connection = (await runner.connect()) as PoolConnection
      session.connection = connection
      if (!this.prepared.has(connection)) {
        this.sessionSettings ??= settingsFor(session)
        const settings = await this.sessionSettings.catch((error: unknown) => {
          this.sessionSettings = undefined
          throw error
        })
        for (const statement of settings.statements) await session.execute(statement)
        this.prepared.add(connection)
      }
      session.clustered = (await this.sessionSettings)?.clustered ?? false
      return session
    } catch (error) {
      session.destroy()
      await session.release()
      throw error
    }
  }
}

class Session implements Transaction {
  connection: PoolConnection | undefined
  clustered = false

  constructor(
    private readonly runner: QueryRunner,
    readonly dialect: Dialect,
  ) {}

  async rows(sql: string, values: readonly Scalar[] = []): Promise<RawRow[]> {
    return (await this.runner.query(sql, values as Scalar[])) as RawRow[]
  }

  async execute(sql: string, values: readonly Scalar[] = []): Promise<Written> {
    const result = await this.runner.query(sql, values as Scalar[], true)
    const raw: unknown = result.raw
    // SQLite's driver gives the id itself, mysql2 an object that holds it.
    const insertId = typeof raw === 'number' ? raw : ((raw as { insertId?: number } | undefined)?.insertId ?? 0)
    return { affected: result.affected ?? 0, insertId }
  }

  /** Ends the connection instead of giving it back to the pool; the server rolls back what was open on it. */
  destroy(): void {
    this.connection?.destroy()
  }

  async release(): Promise<void> {
    await this.runner.release()
  }
}

interface SessionSettings {
  readonly statements: readonly string[]
  readonly clustered: boolean
}

/**
 * What every connection to MySQL or MariaDB is told first. The server is asked once which of the settings it knows.
 *
 * - UTC, whatever the server's zone, and strict mode, so that nothing is cut off silently.
 * - READ COMMITTED: gap locks on absent keys would only add deadlocks; the rows that matter are locked by name.
 * - Waiting for a lock ends after 3 s, and a session that was cut off while it held locks ends within seconds.
 * - On Galera a read waits until this node has applied what was committed elsewhere before it.
 */
async function settingsFor(session: Session): Promise<SessionSettings> {
  const known = await session.rows(
    "SHOW VARIABLES WHERE Variable_name IN ('idle_write_transaction_timeout', 'wsrep_on')",
  )
  const has = new Map(known.map((row) => [String(row['Variable_name']), String(row['Value'])]))
  const settings = [
    "time_zone = '+00:00'",
    "sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'",
    'innodb_lock_wait_timeout = 3',
    `wait_timeout = ${SESSION_TIMEOUT_SECONDS}`,
  ]
  if (has.has('idle_write_transaction_timeout')) settings.push('idle_write_transaction_timeout = 5')
  const clustered = has.get('wsrep_on') === 'ON'
  if (clustered) settings.push('wsrep_sync_wait = 1')
  return {
    statements: [`SET SESSION ${settings.join(', ')}`, 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'],
    clustered,
  }
}

/** The server ends a session that was silent for this long; the pool gives connections up earlier (see options.ts). */
export const SESSION_TIMEOUT_SECONDS = 120
