import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../clock/clock.js'
import type { Instant } from '../../time/instant.js'

/** How old a shared count may be when it is answered (contract, §2 Lists). */
const OLDEST_MS = 60_000
/** Counts still asked for are made anew when they are this old, so that no request waits for one. */
const REFRESH_MS = 30_000
/** Counts nobody asked for within this time are forgotten. */
const IDLE_MS = 300_000
const MAX_COUNTS = 1_000

/** Up to here a list is counted exactly, on the request's path (contract, §2). */
export const EXACT_UP_TO = 10_000

/** How many a list holds, as it is answered. */
export interface Total {
  readonly total: number
  /** Counted exactly, or is it a count at most 60 s old of a list longer than 10,000? */
  readonly total_relation: 'exact' | 'recent'
}

interface Counted {
  value: Promise<number>
  at: Instant
  askedAt: Instant
  readonly count: () => Promise<number>
}

/** How long a request waits for a count that nobody has made yet. Up to some 100,000 rows that is long enough. */
const PATIENCE_MS = 100

/**
 * Shares the counts of long lists. The first request for a list starts its count and waits for it but shortly; from
 * then on a timer keeps it young, off every request's path, for as long as somebody asks.
 */
export class RecentCounts {
  private readonly counts = new Map<string, Counted>()

  constructor(private readonly clock: Clock) {}

  /**
   * A list's total: as it was counted, or where that went beyond what is counted exactly, the shared count of it.
   * @param counted up to `EXACT_UP_TO + 1`
   * @param all counts the whole list
   */
  async total(name: string, counted: number, all: () => Promise<number>): Promise<Total> {
    if (counted <= EXACT_UP_TO) return { total: counted, total_relation: 'exact' }
    const recent = await this.get(name, all)
    // As many have just been counted, and there is at least one more than the list tells exactly.
    return { total: Math.max(recent ?? 0, counted), total_relation: 'recent' }
  }

  /** Has anybody asked for the count under this name of late, since the list is long? */
  knows(name: string): boolean {
    return this.counts.has(name)
  }

  /** The count under this name, at most 60 s old; undefined where the first one is still under way. */
  async get(name: string, count: () => Promise<number>): Promise<number | undefined> {
    const now = this.clock.now()
    let known = this.counts.get(name)
    if (known === undefined || now - known.at > OLDEST_MS || now < known.at) known = this.start(name, count, now)
    known.askedAt = now
    return Promise.race([known.value, sleep(PATIENCE_MS, undefined, { ref: false })])
  }

  /** Makes the counts anew that are still asked for, and forgets the others; called by a timer. */
  async refresh(): Promise<void> {
    const now = this.clock.now()
    for (const [name, known] of [...this.counts]) {
      if (now - known.askedAt > IDLE_MS) this.counts.delete(name)
      else if (now - known.at >= REFRESH_MS) {
        const value = await known.count().catch(() => undefined)
        if (value !== undefined) this.counts.set(name, { ...known, value: Promise.resolve(value), at: now })
      }
    }
  }

  private start(name: string, count: () => Promise<number>, now: Instant): Counted {
    if (this.counts.size >= MAX_COUNTS) this.counts.clear()
    const started: Counted = { value: count(), at: now, askedAt: now, count }
    this.counts.set(name, started)
    started.value.catch(() => {
      if (this.counts.get(name) === started) this.counts.delete(name)
    })
    return started
  }
}
