import type { Clock } from '../clock/clock.js'
import type { Instant } from '../quota/instant.js'

/** How old a shared count may be when it is answered (contract, §2 Lists). */
const OLDEST_MS = 60_000
/** Counts still asked for are made anew when they are this old, so that no request waits for one. */
const REFRESH_MS = 30_000
/** Counts nobody asked for within this time are forgotten. */
const IDLE_MS = 300_000
const MOST_COUNTS = 1_000

interface Counted {
  value: Promise<number>
  at: Instant
  askedAt: Instant
  readonly count: () => Promise<number>
}

/**
 * Shares the counts of long lists. The first request for a list waits for its count; from then on a timer keeps it young, off every request's path,
 * for as long as somebody asks.
 */
export class RecentCounts {
  private readonly counts = new Map<string, Counted>()

  constructor(private readonly clock: Clock) {}

  /** The count under this name, at most 60 s old. */
  async get(name: string, count: () => Promise<number>): Promise<number> {
    const now = this.clock.now()
    const known = this.counts.get(name)
    if (known !== undefined && now - known.at <= OLDEST_MS && now >= known.at) {
      known.askedAt = now
      return known.value
    }
    return this.start(name, count, now)
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

  private async start(name: string, count: () => Promise<number>, now: Instant): Promise<number> {
    if (this.counts.size >= MOST_COUNTS) this.counts.clear()
    const value = count()
    this.counts.set(name, { value, at: now, askedAt: now, count })
    try {
      return await value
    } catch (error) {
      this.counts.delete(name)
      throw error
    }
  }
}
