import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OnApplicationShutdown } from '@nestjs/common'
import type Database from 'libsql'
import type { PoolConnection } from 'mysql2'
import type { DataSource, QueryRunner } from 'typeorm'
import { ServiceError } from '../error/service-error.js'
import type { Dialect, RawRow, Scalar } from './row-codec.js'
import { probeServer } from './server-probe.js'
import { factsOf } from './sessions.js'
import { type Fault, faultName, faultOf, isLockTimeout, poisons, StoreUnavailable } from './store-error.js'
import { type Found, foundBy, type Reach, StoreWatch, type Use } from './store-watch.js'

export { StoreUnavailable } from './store-error.js'

/** The statements of one unit of work, all on one connection. */
export interface Transaction {
  /** Which kind of SQL the store speaks. On SQLite a transaction holds the one write lock, so that nothing else has to be locked. */
  readonly dialect: Dialect
  /** Is the server a node of a cluster whose other nodes may be written to as well? Row locks are then no protection from writers elsewhere. */
  readonly clustered: boolean
  /** Did the try before this one end because somebody else kept a row locked? Waiting for that lock again would take as long again. */
  readonly afterLockTimeout: boolean
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

/** Tries go on for this long before the caller hears `unavailable`; a node's fail-over takes up to seven seconds. */
const DEADLINE_MS = 6_000
/** What must be free on the disk of a SQLite file that was full before it is written to again: a large batch, with its share of the -wal file. */
const ROOM_FOR_UNITS_BYTES = 1_048_576
const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 250

/**
 * Opens, settles and retries every transaction; nothing else in the service knows BEGIN, COMMIT, an error number or a retry.
 *
 * - A unit is one function. It is run again as a whole, on a fresh connection, with jitter and a deadline, after a deadlock, a lock timeout, a duplicate
 *   key, a lost connection or a COMMIT whose answer was lost. It must therefore be written so that a rerun finds its own earlier effect, if
 *   there is one, under the locks that it takes first.
 * - After any failed statement the rest is rolled back, or the connection is destroyed, which makes the server roll back.
 * - While the store is known to be away, units are refused before they begin; those in hand wait for its return, up to their deadline (StoreWatch).
 * - MySQL/MariaDB: READ COMMITTED, one pooled connection per unit. SQLite: one connection for all, so every unit and every read waits its turn, and a
 *   transaction begins IMMEDIATE. A turn is one try: the pause before the next one is the others' turn.
 */
export class UnitOfWork implements OnApplicationShutdown {
  /** Which kind of SQL the store speaks. */
  readonly dialect: Dialect
  private readonly watch: StoreWatch
  private turn: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly dataSource: DataSource,
    private readonly deadlineMs: number = DEADLINE_MS,
  ) {
    this.dialect = dataSource.options.type === 'better-sqlite3' ? 'sqlite' : 'mysql'
    this.watch = new StoreWatch(async () => this.probe())
  }

  /** What the store is known to be good for at this moment. */
  get reach(): Reach {
    return this.watch.reach
  }

  /**
   * For whoever lets writes gather before they become a unit.
   * @throws StoreUnavailable at once while the store is known to take none
   */
  requireWrites(): void {
    this.watch.require('write')
  }

  /** Ends the watch over the store. */
  onApplicationShutdown(): void {
    this.watch.stop()
  }

  /**
   * Runs a unit in a transaction of its own and answers what it returned, once that is committed.
   * @param observer is told of the tries and of COMMIT
   */
  async write<T>(unit: (transaction: Transaction) => Promise<T>, observer?: UnitOfWorkObserver): Promise<T> {
    return this.persistently(
      'write',
      async (how) => this.inTurn(async () => this.transact(unit, observer, how)),
      observer,
    )
  }

  /** Runs statements that only read, outside a transaction: each sees what is committed when it starts. */
  async read<T>(unit: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.persistently('read', async (how) => this.inTurn(async () => this.look(unit, how)))
  }

  private async persistently<T>(
    use: Use,
    tryOnce: (how: Try) => Promise<T>,
    observer?: UnitOfWorkObserver,
  ): Promise<T> {
    this.watch.require(use)
    const deadline = performance.now() + this.deadlineMs
    let pause = FIRST_PAUSE_MS
    let afterLockTimeout = false
    for (;;) {
      try {
        return await tryOnce({ deadline, afterLockTimeout })
      } catch (error) {
        if (error instanceof ServiceError) throw error
        const fault = faultOf(error)
        if (fault === 'broken') throw error
        observer?.retried(fault, faultName(error))
        afterLockTimeout = isLockTimeout(error)
        if (fault === 'busy') this.watch.busy(error)
        if (fault === 'away') await this.watch.settled(use, deadline)
        const wait = fault === 'duplicate' ? 0 : pause * (0.5 + Math.random())
        if (performance.now() + wait > deadline) throw this.givenUp(fault, error)
        if (wait > 0) await sleep(wait)
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
      }
    }
  }

  private givenUp(fault: Fault, error: unknown): StoreUnavailable {
    if (this.dialect === 'mysql' || fault !== 'conflict') return new StoreUnavailable(fault, error)
    // SQLite has one lock for all writes: another process has kept it all the time, and whoever comes next would wait as long.
    this.watch.suspect()
    return new StoreUnavailable('away', error)
  }

  /** SQLite's one queue: two units on the shared connection would be one transaction. A server has a connection for each. */
  private async inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.dialect === 'mysql') return work()
    const mine = this.turn.then(work)
    // A try that failed may have held the event loop while it waited for a lock: the next one must not do so in the same breath.
    this.turn = mine.catch(async () => new Promise(setImmediate))
    return mine
  }

  private async look<T>(unit: (transaction: Transaction) => Promise<T>, how: Try): Promise<T> {
    const session = await this.open(how)
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
    how: Try,
  ): Promise<T> {
    const session = await this.open(how)
    session.afterLockTimeout = how.afterLockTimeout
    try {
      await session.command(this.dialect === 'sqlite' ? 'BEGIN IMMEDIATE' : 'START TRANSACTION')
      const result = await unit(session)
      const start = performance.now()
      await session.command('COMMIT')
      observer?.committed((performance.now() - start) / 1000)
      return result
    } catch (error) {
      if (this.dialect === 'mysql' && poisons(error)) session.destroy()
      // A lock timeout (1205) takes back one statement only: the rest must go before anything else happens on this connection.
      else await session.command('ROLLBACK').catch(() => session.destroy())
      throw error
    } finally {
      await session.release()
    }
  }

  private async open({ deadline }: Try): Promise<Session> {
    const runner = this.dataSource.createQueryRunner()
    const session = new Session(runner, this.dialect)
    if (this.dialect === 'sqlite') return session
    const connecting = runner.connect() as Promise<PoolConnection>
    const connection = await before(deadline, connecting)
    if (connection === undefined) {
      // It comes when somebody is done with it, or never.
      connecting.then(
        (late) => late.release(),
        () => undefined,
      )
      throw new StoreUnavailable('busy', new Error('every connection was in use all the time'))
    }
    session.connection = connection
    session.clustered = factsOf(connection).clustered
    return session
  }

  private async probe(): Promise<Found> {
    const { options } = this.dataSource
    const table = options.migrationsTableName ?? ''
    if (options.type !== 'better-sqlite3') {
      this.dropIdle()
      return probeServer('url' in options ? (options.url ?? '') : '', table)
    }
    try {
      // The little that is written here finds its place where a unit no longer does.
      const { bavail, bsize } = await statfs(dirname(options.database))
      if (bavail * bsize < ROOM_FOR_UNITS_BYTES) return { reach: 'reads', cause: new Error('the disk is full') }
      const session = new Session(this.dataSource.createQueryRunner(), this.dialect)
      // Committed, so that it needs the lock and the right to write; it changes nothing.
      await this.inTurn(async () => session.command(`UPDATE \`${table}\` SET \`name\` = \`name\``))
      return { reach: 'all' }
    } catch (error) {
      return faultOf(error) === 'conflict' ? { reach: 'reads', cause: error } : foundBy(error, 'reads')
    }
  }

  /** Where one connection has died, its like may have, and none must be handed out to find that out by waiting. */
  private dropIdle(): void {
    const { pool } = this.dataSource.driver as { readonly pool?: IdlePool }
    const idle = Array.from({ length: pool?._freeConnections.length ?? 0 }, (_, place) =>
      pool?._freeConnections.get(place),
    )
    for (const connection of idle) connection?.destroy()
  }
}

/** One try at a unit. */
interface Try {
  /** By `performance.now()`: later than this it is not worth beginning. */
  readonly deadline: number
  readonly afterLockTimeout: boolean
}

/** What mysql2's pool keeps of the connections that nobody uses. */
interface IdlePool {
  readonly _freeConnections: { readonly length: number; get(place: number): PoolConnection | undefined }
}

/** What a promise resolves to, or undefined where it has not by then. */
async function before<T>(deadline: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), deadline - performance.now())
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

class Session implements Transaction {
  connection: PoolConnection | undefined
  clustered = false
  afterLockTimeout = false

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

  /** Runs a statement of the transaction itself, or one by itself. */
  async command(sql: string): Promise<void> {
    if (this.dialect === 'mysql') {
      await this.execute(sql)
      return
    }
    // Prepared, run and put away: a BEGIN that met another's lock would stay open as a statement, and keep every later read at its snapshot.
    const database = (await this.runner.connect()) as Database.Database
    database.exec(sql)
  }

  /** Ends the connection instead of giving it back to the pool; the server rolls back what was open on it. */
  destroy(): void {
    this.connection?.destroy()
  }

  async release(): Promise<void> {
    await this.runner.release()
  }
}
