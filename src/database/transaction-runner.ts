import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OnApplicationBootstrap, OnApplicationShutdown, OnModuleDestroy } from '@nestjs/common'
import type { DataSource } from 'typeorm'
import { ServiceError } from '../common/service-error.js'
import type { PeriodicTask, Reach } from '../common/periodic-task.js'
import { inTime } from '../common/time-limit.js'
import { type ConnectionCounts, Pools } from './pools.js'
import type { Dialect } from './row-codec.js'
import { serverOf } from './server.js'
import { probeServer } from './server-probe.js'
import {
  FileSession,
  type OnAnswer,
  ServerSession,
  type Session,
  type StatementTracer,
  type Transaction,
} from './session.js'
import { FileSnapshots } from './file-snapshots.js'
import {
  type Fault,
  faultName,
  faultOf,
  isDiskFull,
  isLockTimeout,
  leavesUnusable,
  SQLITE_FULL,
  StoreUnavailable,
} from './store-error.js'
import { type Found, foundBy, StoreWatch, type Use } from './store-watch.js'
import { Turns } from './turns.js'

export type { Statement, Transaction, WriteResult } from './session.js'
export { StoreUnavailable } from './store-error.js'

/** Reads that take the turns of one flow. */
export type Reads = Pick<TransactionRunner, 'dialect' | 'read'>

/** Observes the use of the store by all reads and writes; for metrics. Every time is in seconds. */
export interface StoreObserver {
  /** How long a read or a write waited for a connection. */
  waited(use: Use, seconds: number): void
  /** How long the store took to answer a packet of statements. */
  answered: OnAnswer
}

/** Observes the attempts at a unit; for metrics and logs. */
export interface TransactionObserver {
  /** An attempt failed with `name` (the driver's number or code) and is made again. */
  retried(fault: Fault, name: string): void
  /** The duration of COMMIT, in seconds. */
  committed(seconds: number): void
}

// The service's own flows; no principal's name contains a bracket.
const BACKGROUND = '(background)'
const WRITES = '(writes)'
const SNAPSHOTS = '(snapshots)'
const PROBE = '(probe)'

/**
 * The time limit of all attempts, after which the caller gets `unavailable`; a node's fail-over takes up to seven
 * seconds.
 */
const DEADLINE_MS = 6_000
/**
 * The free space that a SQLite file's disk needs after it was full, before it is written to again: a large batch, with
 * its share of the -wal file.
 */
const ROOM_FOR_UNITS_BYTES = 1_048_576
const FIRST_PAUSE_MS = 5
const MAX_PAUSE_MS = 250

/**
 * Opens, settles and retries every transaction; no other part of the service uses BEGIN, COMMIT, error numbers or
 * retries.
 *
 * - A unit is one function. It runs again as a whole, on a connection without an open transaction, with jitter and a
 *   deadline, after a deadlock, a lock timeout, a duplicate key, a lost connection or a COMMIT whose answer was lost.
 *   So a rerun must find its own earlier effect, if there is one, under the locks that it takes first.
 * - After a failed statement, the unit rolls back, or destroys the connection, which makes the server roll back.
 * - While the store is known to be unavailable, units are refused before they begin; those in progress wait for its
 *   return, up to their deadline (StoreWatch).
 * - A snapshot (`snapshot`) reads several statements at one moment, independently of the above.
 * - MySQL/MariaDB: READ COMMITTED, one pooled connection per unit; statements that need no answer are sent in one
 *   packet with the next one that does (ServerSession). SQLite: one connection for all, and a transaction begins
 *   IMMEDIATE.
 * - Reads take turns by flow (Turns); on SQLite, so do units. A turn is one attempt: during the pause before the next
 *   attempt, others have their turn. `look` waits for no turn.
 */
export class TransactionRunner implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  /** The SQL dialect of the store. */
  readonly dialect: Dialect
  private readonly watch: StoreWatch
  /** Undefined on SQLite, which has one connection. */
  private readonly pools: Pools | undefined
  /** Undefined on a server, where a snapshot is an ordinary transaction. */
  private readonly snapshots: FileSnapshots | undefined
  /** The same for `look`, which must not wait for a snapshot: a verification's may last for many statements. */
  private readonly looks: FileSnapshots | undefined
  /** Turns of reads; on SQLite, where two units on the shared connection would be one transaction, of everything. */
  private readonly turns: Turns
  /** An observer for metrics; at most one. */
  storeObserver: StoreObserver | undefined
  /** The tracer of requests; at most one. */
  tracer: StatementTracer | undefined

  /** The work that is repeated in the background, as long as the application runs. */
  readonly tasks = new Set<PeriodicTask>()

  constructor(
    private readonly dataSource: DataSource,
    private readonly deadlineMs: number = DEADLINE_MS,
  ) {
    this.dialect = dataSource.options.type === 'better-sqlite3' ? 'sqlite' : 'mysql'
    this.watch = new StoreWatch(async () => this.probe())
    this.pools = this.dialect === 'mysql' ? new Pools(dataSource) : undefined
    const { options } = dataSource
    const file = options.type === 'better-sqlite3' ? options.database : undefined
    this.snapshots = file === undefined ? undefined : new FileSnapshots(file)
    this.looks = file === undefined ? undefined : new FileSnapshots(file)
    // One connection for reads stays free for the availability check.
    this.turns = new Turns(this.pools === undefined ? 1 : this.pools.readers - 1)
  }

  /** The present availability of the store, as far as known. */
  get reach(): Reach {
    return this.watch.reach
  }

  /**
   * For callers that collect writes before they become a unit.
   * @throws StoreUnavailable at once while the store is known to accept no writes
   */
  requireWrites(): void {
    this.watch.require('write')
  }

  /**
   * For checks whether this instance can serve.
   * @throws StoreUnavailable if the store is known to be restricted
   */
  requireAll(): void {
    this.watch.requireAll()
  }

  /** The use of connections to the server; undefined on SQLite, which has one. */
  connections(): ConnectionCounts | undefined {
    const counts = this.pools?.counts()
    return counts && { ...counts, waiting: counts.waiting + this.turns.size }
  }

  onApplicationBootstrap(): void {
    for (const task of this.tasks) task.start()
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all([...this.tasks].map(async (task) => task.stop()))
  }

  /** Stops the watch over the store, and closes its connections for writes. */
  async onApplicationShutdown(): Promise<void> {
    this.watch.stop()
    await this.snapshots?.close()
    await this.looks?.close()
    await this.pools?.end()
  }

  /**
   * Runs a unit in a separate transaction and returns its result after the commit.
   * @param observer observes the attempts and COMMIT
   */
  async write<T>(unit: (transaction: Transaction) => Promise<T>, observer?: TransactionObserver): Promise<T> {
    return this.withRetries(
      'write',
      async (how) =>
        this.dialect === 'mysql'
          ? this.transact(unit, observer, how)
          : this.turns.run(WRITES, how.deadline, async () => this.transact(unit, observer, how)),
      observer,
    )
  }

  /**
   * Runs statements that only read, outside a transaction: each sees what is committed when it starts.
   * @param flow the flow whose turn it takes; if absent, the service's own
   */
  async read<T>(unit: (transaction: Transaction) => Promise<T>, flow = BACKGROUND): Promise<T> {
    return this.withRetries('read', async (how) =>
      this.turns.run(flow, how.deadline, async () => this.readOnce(unit, how)),
    )
  }

  /**
   * Returns reads that take the turns of one flow.
   * @param flow a principal's name; or a name in brackets for reads that several callers share
   */
  readsOf(flow: string): Reads {
    return { dialect: this.dialect, read: async (unit) => this.read(unit, flow) }
  }

  /** The same for a short check of the store's availability, which takes no turn and waits for no other read. */
  async look<T>(unit: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { looks } = this
    return this.withRetries('read', async (how) => (looks === undefined ? this.readOnce(unit, how) : looks.take(unit)))
  }

  /**
   * Runs statements that only read, all of them on one snapshot. They make no writer wait: a server keeps the row
   * versions that they may still read, and on SQLite they use a separate connection. Keep these units short: meanwhile
   * the server cannot purge old versions, and SQLite cannot merge its `-wal`.
   */
  async snapshot<T>(unit: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { snapshots } = this
    return this.withRetries('read', async (how) =>
      snapshots === undefined
        ? this.turns.run(SNAPSHOTS, how.deadline, async () => this.snapshotOnce(unit, how))
        : snapshots.take(unit),
    )
  }

  private async withRetries<T>(
    use: Use,
    tryOnce: (how: Try) => Promise<T>,
    observer?: TransactionObserver,
  ): Promise<T> {
    this.watch.require(use)
    const deadline = performance.now() + this.deadlineMs
    let pause = FIRST_PAUSE_MS
    let afterLockTimeout = false
    for (;;) {
      try {
        return await tryOnce({ since: performance.now(), deadline, afterLockTimeout })
      } catch (error) {
        if (error instanceof ServiceError) throw error
        const fault = faultOf(error)
        if (fault === 'broken') throw error
        observer?.retried(fault, faultName(error))
        if (use === 'write' && this.dialect === 'mysql' && isDiskFull(error)) throw this.watch.full(error)
        afterLockTimeout = isLockTimeout(error)
        if (fault === 'busy') this.watch.busy(error)
        if (fault === 'away') await this.watch.probed(use, deadline)
        const wait = fault === 'duplicate' ? 0 : pause * (0.5 + Math.random())
        if (performance.now() + wait > deadline) throw this.givenUp(fault, error)
        if (wait > 0) await sleep(wait)
        pause = Math.min(pause * 2, MAX_PAUSE_MS)
      }
    }
  }

  private givenUp(fault: Fault, error: unknown): StoreUnavailable {
    // A lock on everything, as a backup may take it, is an outage for writes: the probe's own write meets it, too.
    if (fault === 'conflict') this.watch.suspect()
    if (this.dialect === 'mysql' || fault !== 'conflict') return new StoreUnavailable(fault, error)
    // SQLite has one lock for all writes: another process has kept it during all attempts, and the next unit would wait
    // as long.
    return new StoreUnavailable('away', error)
  }

  private async readOnce<T>(unit: (transaction: Transaction) => Promise<T>, how: Try): Promise<T> {
    const session = await this.open('read', how)
    try {
      return await unit(session)
    } catch (error) {
      if (leavesUnusable(error)) session.destroy()
      throw error
    } finally {
      await session.release()
    }
  }

  private async snapshotOnce<T>(unit: (transaction: Transaction) => Promise<T>, how: Try): Promise<T> {
    const session = await this.open('read', how)
    try {
      // Only for the next transaction; later reads on the connection are not affected.
      await session.rows('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ')
      await session.rows('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY')
      const result = await unit(session)
      await session.commit()
      return result
    } catch (error) {
      if (leavesUnusable(error)) session.destroy()
      else await session.rollback().catch(() => session.destroy())
      throw error
    } finally {
      await session.release()
    }
  }

  private async transact<T>(
    unit: (transaction: Transaction) => Promise<T>,
    observer: TransactionObserver | undefined,
    how: Try,
  ): Promise<T> {
    const session = await this.open('write', how)
    try {
      await session.begin()
      const result = await unit(session)
      const start = performance.now()
      await session.commit()
      observer?.committed((performance.now() - start) / 1000)
      return result
    } catch (error) {
      if (this.dialect === 'mysql' && leavesUnusable(error)) session.destroy()
      // A lock timeout (1205) rolls back one statement only: the rest must be rolled back before anything else uses
      // this connection.
      else await session.rollback().catch(() => session.destroy())
      throw error
    } finally {
      await session.release()
    }
  }

  private async open(use: Use, { since, deadline, afterLockTimeout }: Try): Promise<Session> {
    const { storeObserver: observer, tracer } = this
    const watchers = { onAnswer: observer?.answered, tracer }
    if (this.pools === undefined) return new FileSession(this.dataSource.createQueryRunner(), watchers)
    const connecting = this.pools.take(use)
    const connection = await inTime(deadline - performance.now(), connecting)
    if (connection === undefined) {
      // It may come later, or never.
      connecting.then(
        (late) => late.release(),
        () => undefined,
      )
      throw new StoreUnavailable('busy', new Error('no connection became free in time'))
    }
    observer?.waited(use, (performance.now() - since) / 1000)
    return new ServerSession(connection, afterLockTimeout, watchers)
  }

  private async probe(): Promise<Found> {
    const { options } = this.dataSource
    if (options.type !== 'better-sqlite3') {
      this.pools?.dropIdle()
      return probeServer(serverOf(this.dataSource))
    }
    try {
      // This small write may succeed although that of a unit fails.
      const { bavail, bsize } = await statfs(dirname(options.database))
      if (bavail * bsize < ROOM_FOR_UNITS_BYTES) return { reach: 'reads', cause: DISK_IS_FULL }
      const session = new FileSession(this.dataSource.createQueryRunner())
      // Committed, so that it needs the lock and the privilege to write; it changes nothing.
      const table = options.migrationsTableName ?? ''
      await this.turns.run(PROBE, performance.now() + this.deadlineMs, async () =>
        session.command(`UPDATE \`${table}\` SET \`name\` = \`name\``),
      )
      return { reach: 'all' }
    } catch (error) {
      return faultOf(error) === 'conflict' ? { reach: 'reads', cause: error } : foundBy(error, 'reads')
    }
  }
}

/** The message that SQLite itself uses. */
const DISK_IS_FULL = Object.assign(new Error('the disk is full'), { code: 'SQLITE_FULL', rawCode: SQLITE_FULL })

/** One attempt at a unit. */
interface Try {
  /** By `performance.now()`: when it began to wait for its turn and a connection. */
  readonly since: number
  /** By `performance.now()`: it must begin before this time. */
  readonly deadline: number
  readonly afterLockTimeout: boolean
}
