import { Logger } from '@nestjs/common'
import type { Reach } from '../common/periodic-task.js'
import { faultName, faultOf, StoreUnavailable, withAdvice } from './store-error.js'

/** The use of the store by a unit of `TransactionRunner`. */
export type Use = 'read' | 'write'

/** The result of a probe, and the cause if it is less than all. */
export interface Found {
  readonly reach: Reach
  readonly cause?: unknown
  /** Is the cause that units found the server's disk full? */
  readonly full?: boolean
}

/** The interval between probes of an unavailable store: its return is noticed within this time plus the probe's own. */
const PROBE_EVERY_MS = 250
/**
 * The time for which the disk counts as full after a failed write: the probe's small write may succeed although a
 * unit's fails.
 */
const FULL_FOR_MS = 10_000
/** While the disk counts as full, at this interval … */
const TRIED_EVERY_MS = 1_000
/** … units are admitted for this time, to find out whether there is room again. */
const TRIED_FOR_MS = 50
/** The interval at which a persistent cause is logged again. */
const TOLD_AGAIN_MS = 60_000

interface Waiting {
  readonly use: Use
  readonly resolve: () => void
}

/**
 * Knows whether the store is available, so that requests need not find out by waiting.
 *
 * A single fault proves nothing: one connection may have been killed, one account may have too many connections. So a
 * unit that meets a fault of the kind `away` reports it, and a probe, on a separate connection, checks the store. Only
 * its result counts. While the store is unavailable, requests are refused at once, and probes run, one at a time, until
 * it is back. Requests in progress wait for its return, up to their own deadline: a fail-over of a few seconds only
 * delays them.
 *
 * A full disk of a server is the exception: the probe cannot detect it. Then the fault itself counts, for some seconds
 * after the last one, and a few units each second test whether it is over.
 */
export class StoreWatch {
  private found: Found = { reach: 'all' }
  private refusal = new StoreUnavailable('away', undefined)
  private since = 0
  private probing = false
  private stopped = false
  private timer: NodeJS.Timeout | undefined
  private readonly waiting = new Set<Waiting>()
  private readonly reported = new Map<string, number>()
  /** The last write that met a full disk, and its time. */
  private lastFull: { readonly error: unknown; readonly at: number } | undefined
  private readonly logger = new Logger('Database')

  /**
   * @param probe checks the store; it ends within a bounded time and never fails
   * @param everyMs between two probes
   * @param now milliseconds of a monotonic clock, for the time that a disk counts as full
   */
  constructor(
    private readonly probe: () => Promise<Found>,
    private readonly everyMs: number = PROBE_EVERY_MS,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** The known availability of the store. */
  get reach(): Reach {
    return this.found.reach
  }

  /** @throws StoreUnavailable at once, if the store is known not to admit this use */
  require(use: Use): void {
    if (!serves(this.found.reach, use) && !this.tries) throw this.refusal
  }

  /**
   * Is the store fully available, as far as known?
   * @throws StoreUnavailable if it is not, also while a few units test it
   */
  requireAll(): void {
    if (this.found.reach !== 'all') throw this.refusal
  }

  /**
   * A write met a full disk of the server.
   * @returns the refusal: an immediate retry would fail, too
   */
  full(error: unknown): StoreUnavailable {
    this.lastFull = { error, at: this.now() }
    if (this.found.reach === 'all') this.change({ reach: 'reads', cause: error, full: true })
    this.suspect()
    return this.found.reach === 'reads' ? this.refusal : new StoreUnavailable('away', error)
  }

  /** Reports a fault that may be an outage: starts the probe, unless it runs. */
  suspect(): void {
    if (this.probing || this.stopped) return
    this.probing = true
    void this.probeNow()
  }

  /**
   * Starts the probe, and waits until the store admits this use.
   * @param deadline by `performance.now()`, the end of the wait
   */
  async probed(use: Use, deadline: number): Promise<void> {
    this.suspect()
    if (this.stopped) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(done, deadline - performance.now())
      const waiting: Waiting = { use, resolve: done }
      const all = this.waiting
      all.add(waiting)
      function done(): void {
        clearTimeout(timer)
        all.delete(waiting)
        resolve()
      }
    })
  }

  /** Logs why the database delays some requests, each cause once a minute. */
  busy(error: unknown): void {
    const name = faultName(error)
    const now = performance.now()
    if (now - (this.reported.get(name) ?? -Infinity) < TOLD_AGAIN_MS) return
    this.reported.set(name, now)
    this.logger.warn(`the database rejected the connection or is out of resources: ${reasonOf(error)}`)
  }

  /** Stops probing, and releases those that wait for it. */
  stop(): void {
    this.stopped = true
    clearTimeout(this.timer)
    for (const { resolve } of [...this.waiting]) resolve()
  }

  private async probeNow(): Promise<void> {
    const found = this.withoutRoom(await this.probe())
    if (this.stopped) return
    if (found.reach !== this.found.reach || found.full !== this.found.full) this.change(found)
    for (const { use, resolve } of [...this.waiting]) if (serves(found.reach, use)) resolve()
    if (found.reach === 'all') {
      this.probing = false
      return
    }
    this.timer = setTimeout(() => void this.probeNow(), this.everyMs)
    // The timer does not keep the process alive.
    this.timer.unref()
  }

  /** The last result of a probe, unless the disk is full. */
  private withoutRoom(found: Found): Found {
    const { lastFull } = this
    if (found.reach !== 'all' || lastFull === undefined || this.now() - lastFull.at >= FULL_FOR_MS) return found
    return { reach: 'reads', cause: lastFull.error, full: true }
  }

  /** May a unit now test whether a full disk has room again? */
  private get tries(): boolean {
    const { lastFull } = this
    if (lastFull === undefined || this.found.full !== true) return false
    const since = this.now() - lastFull.at
    return since >= TRIED_EVERY_MS && since % TRIED_EVERY_MS < TRIED_FOR_MS
  }

  private change(found: Found): void {
    const now = performance.now()
    if (this.found.reach === 'all') this.since = now
    this.found = found
    this.refusal = new StoreUnavailable('away', found.cause)
    if (found.reach === 'all') {
      this.logger.warn(`the database is available again after ${((now - this.since) / 1000).toFixed(1)} s`)
    } else {
      const what = found.reach === 'none' ? 'is unavailable' : 'accepts no writes'
      this.logger.error(
        `the database ${what}; requests are refused until it is available again: ${reasonOf(found.cause)}`,
      )
    }
  }
}

function serves(reach: Reach, use: Use): boolean {
  return reach === 'all' || (reach === 'reads' && use === 'read')
}

function reasonOf(error: unknown): string {
  return withAdvice(`${faultName(error)}, ${error instanceof Error ? error.message : String(error)}`, error)
}

/**
 * Interprets a failed probe: after a fault other than `away`, the store has answered, and requests meet the fault
 * themselves.
 */
export function foundBy(error: unknown, reach: 'reads' | 'none'): Found {
  return faultOf(error) === 'away' ? { reach, cause: error } : { reach: 'all' }
}
