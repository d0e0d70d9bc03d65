import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OnApplicationShutdown } from '@nestjs/common'
import type { DataSource } from 'typeorm'
import { ServiceError } from '../error/service-error.js'
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
import { type Found, foundBy, type Reach, StoreWatch, type Use } from './store-watch.js'
import { Turns } from './turns.js'

export type { Statement, Transaction, WriteResult } from './session.js'
export { StoreUnavailable } from './store-error.js'

/** Reads of one party, which take that party's turns. */
export type Reads = Pick<UnitOfWork, 'dialect' | 'read'>

/** Told how the store is used by all units of work and reads; for metrics. Every time is in seconds. */
export interface StoreObserver {
  /** How long a read or a unit of work waited for a connection. */
  waited(use: Use, seconds: number): void
  /** How long the store took to answer a packet of statements. */
  answered: OnAnswer
}

/** Tells what the unit of work went through; for metrics and logs. */
export interface UnitOfWorkObserver {
  /** A try failed with `name` (the driver's number or code) and is made again. */
  retried(fault: Fault, name: string): void
  /** How long COMMIT took, in seconds. */
  committed(seconds: number): void
}

// Parties of the service's own; no principal's name has a bracket.
const BACKGROUND = '(background)'
const WRITES = '(writes)'
const SNAPSHOTS = '(snapshots)'
const PROBE = '(probe)'

/** Tries go on for this long before the caller hears `unavailable`; a node's fail-over takes up to seven seconds. */
const DEADLINE_MS = 6_000
/**
 * What must be free on the disk of a SQLite file that was full before it is written to again: a large batch, with its
 * share of the -wal file.
 */
const ROOM_FOR_UNITS_BYTES = 1_048_576
const FIRST_PAUSE_MS = 5
const MAX_PAUSE_MS = 250

/**
 * Opens, settles and retries every transaction; nothing else in the service knows BEGIN, COMMIT, an error number or a
 * retry.
 *
 * - A unit is one function. It is run again as a whole, on a connection where nothing is open, with jitter and a
 *   deadline, after a deadlock, a lock timeout, a duplicate key, a lost connection or a COMMIT whose answer was lost.
 *   It must therefore be written so that a rerun finds its own earlier effect, if there is one, under the locks that it
 *   takes first.
 * - After any failed statement the rest is rolled back, or the connection is destroyed, which makes the server roll
 *   back.
 * - While the store is known to be away, units are refused before they begin; those in hand wait for its return, up to
 *   their deadline (StoreWatch).
 * - A snapshot (`snapshot`) reads several statements at one moment, beside all of this.
 * - MySQL/MariaDB: READ COMMITTED, one pooled connection per unit; what need not be waited for goes in one packet with
 *   what must be (ServerSession). SQLite: one connection for all, and a transaction begins IMMEDIATE.
 * - Reads take turns by party (Turns), on SQLite with the units. A turn is one try: the pause before the next one is
 *   the others' turn. A look at the store (`look`) waits for nobody.
 */
export class UnitOfWork implements OnApplicationShutdown {
  /** Which kind of SQL the store speaks. */
  readonly dialect: Dialect
  private readonly watch: StoreWatch
  /** Undefined on SQLite, which has one connection. */
  private readonly pools: Pools | undefined
  /** Undefined on a server, where a snapshot is a transaction like others. */
  private readonly snapshots: FileSnapshots | undefined
  /** Of reads; on SQLite, where two units on the shared connection would be one transaction, of everything. */
  private readonly turns: Turns
  /** Set by whoever wants to count; at most one. */
  storeObserver: StoreObserver | undefined
  /** Set by whoever traces requests; at most one. */
  tracer: StatementTracer | undefined

  constructor(
    private readonly dataSource: DataSource,
    private readonly deadlineMs: number = DEADLINE_MS,
  ) {
    this.dialect = dataSource.options.type === 'better-sqlite3' ? 'sqlite' : 'mysql'
    this.watch = new StoreWatch(async () => this.probe())
    this.pools = this.dialect === 'mysql' ? new Pools(dataSource) : undefined
    const { options } = dataSource
    this.snapshots = options.type === 'better-sqlite3' ? new FileSnapshots(options.database) : undefined
    // One connection for reads is nobody's, and so free for whoever looks whether the store is there.
    this.turns = new Turns(this.pools === undefined ? 1 : this.pools.readers - 1)
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

  /**
   * For whoever asks whether this instance can serve.
   * @throws StoreUnavailable where the store is known to be good for less than everything
   */
  requireAll(): void {
    this.watch.requireAll()
  }

  /** How connections to the server are used; undefined on SQLite, which has one. */
  connections(): ConnectionCounts | undefined {
    const counts = this.pools?.counts()
    return counts && { ...counts, waiting: counts.waiting + this.turns.size }
  }

  /** Ends the watch over the store, and the connections for units of work. */
  async onApplicationShutdown(): Promise<void> {
    this.watch.stop()
    await this.snapshots?.close()
    await this.pools?.end()
  }

  /**
   * Runs a unit in a transaction of its own and answers what it returned, once that is committed.
   * @param observer is told of the tries and of COMMIT
   */
  async write<T>(unit: (transaction: Transaction) => Promise<T>, observer?: UnitOfWorkObserver): Promise<T> {
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
   * @param party whose turn it takes; without it, that of what the service does by itself
   */
  async read<T>(unit: (transaction: Transaction) => Promise<T>, party = BACKGROUND): Promise<T> {
    return this.withRetries('read', async (how) =>
      this.turns.run(party, how.deadline, async () => this.readOnce(unit, how)),
    )
  }

  /**
   * Reads that take the turns of one party.
   * @param party a principal's name; or in brackets what several callers share, so that it is nobody's
   */
  readsOf(party: string): Reads {
    return { dialect: this.dialect, read: async (unit) => this.read(unit, party) }
  }

  /** The same for a short look at whether the store is there, which takes no turn and waits for no other read. */
  async look<T>(unit: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { snapshots } = this
    return this.withRetries('read', async (how) =>
      snapshots === undefined ? this.readOnce(unit, how) : snapshots.take(unit),
    )
  }

  /**
   * Runs statements that only read, all of them on what was committed at one moment. Nobody waits for them: a server
   * keeps the versions of rows that they may still read, and on SQLite they have a connection of their own beside the
   * one that writes. Short ones only, since for as long the server cannot tidy up behind its writers, nor SQLite take
   * its `-wal` in.
   */
  async snapshot<T>(unit: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { snapshots } = this
    return this.withRetries('read', async (how) =>
      snapshots === undefined
        ? this.turns.run(SNAPSHOTS, how.deadline, async () => this.snapshotOnce(unit, how))
        : snapshots.take(unit),
    )
  }

  private async withRetries<T>(use: Use, tryOnce: (how: Try) => Promise<T>, observer?: UnitOfWorkObserver): Promise<T> {
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
    if (this.dialect === 'mysql' || fault !== 'conflict') return new StoreUnavailable(fault, error)
    // SQLite has one lock for all writes: another process has kept it all the time, and whoever comes next would wait
    // as long.
    this.watch.suspect()
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
      // For the next transaction alone; whoever has the connection then reads as ever.
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
    observer: UnitOfWorkObserver | undefined,
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
      // A lock timeout (1205) takes back one statement only: the rest must go before anything else happens on this
      // connection.
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
    const connection = await before(deadline, connecting)
    if (connection === undefined) {
      // It comes when somebody is done with it, or never.
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
      // The little that is written here finds its place where a unit no longer does.
      const { bavail, bsize } = await statfs(dirname(options.database))
      if (bavail * bsize < ROOM_FOR_UNITS_BYTES) return { reach: 'reads', cause: DISK_IS_FULL }
      const session = new FileSession(this.dataSource.createQueryRunner())
      // Committed, so that it needs the lock and the right to write; it changes nothing.
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

/** As SQLite says it. */
const DISK_IS_FULL = Object.assign(new Error('the disk is full'), { code: 'SQLITE_FULL', rawCode: SQLITE_FULL })

/** One try at a unit. */
interface Try {
  /** By `performance.now()`: since when it waits for its turn and a connection. */
  readonly since: number
  /** By `performance.now()`: later than this it is not worth beginning. */
  readonly deadline: number
  readonly afterLockTimeout: boolean
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
