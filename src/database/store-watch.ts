import { Logger } from '@nestjs/common'
import { faultName, faultOf, StoreUnavailable, withAdvice } from './store-error.js'

/** What the store can be used for: everything, reads alone (a full disk, a read-only server), or nothing. */
export type Reach = 'all' | 'reads' | 'none'

/** What a unit of work wants of the store. */
export type Use = 'read' | 'write'

/** What a probe found, and why where it is less than all. */
export interface Found {
  readonly reach: Reach
  readonly cause?: unknown
  /** Is it because units found no room on the server's disk? */
  readonly full?: boolean
}

/** Between two probes of a store that is away: its return is noticed within this time and the probe's own. */
const PROBE_EVERY_MS = 250
/**
 * For so long after a write has found no room the disk counts as full: what the probe writes finds its place where a
 * unit does not.
 */
const FULL_FOR_MS = 10_000
/** While the disk counts as full, so often … */
const TRIED_EVERY_MS = 1_000
/** … units are let through for so long, to find out whether there is room again. */
const TRIED_FOR_MS = 50
/** A cause that does not pass is told this often. */
const TOLD_AGAIN_MS = 60_000

interface Waiting {
  readonly use: Use
  readonly resolve: () => void
}

/**
 * Knows whether the store is away, so that nobody has to find out by waiting.
 *
 * A fault by itself proves nothing: one connection may have been killed, one account may have too many. So whoever
 * meets a fault of the kind `away` reports it, and a probe aside, on a connection of its own, says what is true. Only
 * what it finds counts. From then on requests are refused at once, and the probe goes on, one at a time, until the
 * store is back. Who was in hand when it went waits for that, up to its own deadline: a fail-over of a few seconds
 * costs them time alone.
 *
 * A full disk at a server is the exception: the probe cannot find it. There the fault itself counts, for some seconds
 * after it was last met, and a few units each second try whether it is over.
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
  /** The last write that found no room, and when. */
  private lastFull: { readonly error: unknown; readonly at: number } | undefined
  private readonly logger = new Logger('Database')

  /**
   * @param probe tries the store and says what it is good for; it ends within a bounded time and never fails
   * @param everyMs between two probes
   * @param now milliseconds of a clock that never goes back; for how long a disk counts as full
   */
  constructor(
    private readonly probe: () => Promise<Found>,
    private readonly everyMs: number = PROBE_EVERY_MS,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** What the store is known to be good for. */
  get reach(): Reach {
    return this.found.reach
  }

  /** @throws StoreUnavailable at once, where such use is known to be in vain */
  require(use: Use): void {
    if (!serves(this.found.reach, use) && !this.tries) throw this.refusal
  }

  /**
   * Can the store be used for everything, as far as is known?
   * @throws StoreUnavailable where it cannot, also while a few units try whether it is over
   */
  requireAll(): void {
    if (this.found.reach !== 'all') throw this.refusal
  }

  /**
   * A write found no room on the server's disk.
   * @returns what to refuse it with: to try it again at once is in vain
   */
  full(error: unknown): StoreUnavailable {
    this.lastFull = { error, at: this.now() }
    if (this.found.reach === 'all') this.change({ reach: 'reads', cause: error, full: true })
    this.suspect()
    return this.found.reach === 'reads' ? this.refusal : new StoreUnavailable('away', error)
  }

  /** Something failed that may be everybody's trouble: asks the probe, unless it is at it. */
  suspect(): void {
    if (this.probing || this.stopped) return
    this.probing = true
    void this.probeNow()
  }

  /**
   * Asks the probe, and waits until it says that the store can be used so.
   * @param deadline by `performance.now()`, when to wait no longer
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

  /** Tells the log why the database lets some of us wait, each cause once a minute. */
  busy(error: unknown): void {
    const name = faultName(error)
    const now = performance.now()
    if (now - (this.reported.get(name) ?? -Infinity) < TOLD_AGAIN_MS) return
    this.reported.set(name, now)
    this.logger.warn(`the database rejected the connection or is out of resources: ${reasonOf(error)}`)
  }

  /** Ends the probing, and lets go of whoever waits for it. */
  stop(): void {
    this.stopped = true
    clearTimeout(this.timer)
    for (const { resolve } of [...this.waiting]) resolve()
  }

  private async probeNow(): Promise<void> {
    const found = this.withoutRoom(await this.probe())
    if (this.stopped) return
    if (found.reach !== this.found.reach) this.change(found)
    for (const { use, resolve } of [...this.waiting]) if (serves(found.reach, use)) resolve()
    if (found.reach === 'all') {
      this.probing = false
      return
    }
    this.timer = setTimeout(() => void this.probeNow(), this.everyMs)
    // A process that has nothing else to do need not stay for this.
    this.timer.unref()
  }

  /** What a probe found, if the disk is not full. */
  private withoutRoom(found: Found): Found {
    const { lastFull } = this
    if (found.reach !== 'all' || lastFull === undefined || this.now() - lastFull.at >= FULL_FOR_MS) return found
    return { reach: 'reads', cause: lastFull.error, full: true }
  }

  /** Is it a unit's turn to try whether a full disk has room again? */
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
 * What a failed probe means: with another fault than `away` the store has answered, and requests will find out for
 * themselves.
 */
export function foundBy(error: unknown, reach: 'reads' | 'none'): Found {
  return faultOf(error) === 'away' ? { reach, cause: error } : { reach: 'all' }
}
