import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../common/clock.js'
import type { Instant } from '../../common/instant.js'
import { PeriodicTask, type TaskStore } from '../../common/periodic-task.js'

/** The maximum age of a shared count in an answer (contract, §2 Lists). */
const OLDEST_MS = 60_000
/** Counts that are in use are renewed at this age, so that no request waits for one. */
const REFRESH_MS = 30_000
/** Counts that were not requested for this time are removed. */
const IDLE_MS = 300_000
const MAX_COUNTS = 1_000
/** From the end of one renewal to the beginning of the next. */
const EVERY_MS = 2_000

/** Lists up to this length are counted exactly, in the request (contract, §2). */
export const EXACT_UP_TO = 10_000

/** The length of a list, in the form of answers. */
export interface Total {
  readonly total: number
  /** `exact`, or `recent`: a count at most 60 s old of a list longer than 10,000. */
  readonly total_relation: 'exact' | 'recent'
}

interface Counted {
  /** Undefined: it failed, or nobody needs it any more. */
  value: Promise<number | undefined>
  at: Instant
  askedAt: Instant
  /** Does its first count wait, or run? */
  isFirst: boolean
  readonly count: () => Promise<number>
}

/** The maximum time that a request waits for a first count. It suffices for some 100,000 rows. */
const PATIENCE_MS = 100

/**
 * Shares the counts of long lists and groups. The first request for a list starts its count and waits for it only
 * briefly; from then on, a timer renews the count outside of requests, as long as it is requested. The timer is its
 * own: a count may take minutes, for which nothing else in the background waits. First counts run one after another:
 * requests may name any number of lists, and other reads of the service share their turns.
 */
export class RecentCounts {
  readonly task: PeriodicTask
  private readonly counts = new Map<string, Counted>()
  /** The last of the first counts. */
  private last: Promise<unknown> = Promise.resolve()

  /**
   * @param store what the counts are read from
   * @param name of the channel
   */
  constructor(
    store: TaskStore,
    name: string,
    private readonly clock: Clock,
  ) {
    this.task = new PeriodicTask(store, `${name} counts`, EVERY_MS, async (signal) => this.refresh(signal), 'reads')
  }

  /**
   * A list's total: the given count or, if that exceeds the limit of exact counts, the shared count.
   * @param counted up to `EXACT_UP_TO + 1`
   * @param all counts the whole list
   */
  async total(name: string, counted: number, all: () => Promise<number>): Promise<Total> {
    if (counted <= EXACT_UP_TO) return { total: counted, total_relation: 'exact' }
    const recent = await this.get(name, all)
    // The list has just been counted up to the limit, so the total is at least that.
    return { total: Math.max(recent ?? 0, counted), total_relation: 'recent' }
  }

  /** Has the count with this name been requested recently? Then the list is long. */
  knows(name: string): boolean {
    return this.counts.has(name)
  }

  /** The count with this name, at most 60 s old; undefined if the first count has not finished. */
  private async get(name: string, count: () => Promise<number>): Promise<number | undefined> {
    const now = this.clock.now()
    let known = this.counts.get(name)
    if (known === undefined || (!known.isFirst && (now - known.at > OLDEST_MS || now < known.at)))
      known = this.start(name, count, now)
    known.askedAt = now
    return Promise.race([known.value, sleep(PATIENCE_MS, undefined, { ref: false })])
  }

  /** Renews the counts that are in use, the oldest first, and removes the others. */
  private async refresh(signal: AbortSignal): Promise<void> {
    for (const [name, known] of [...this.counts].sort(([, one], [, other]) => one.at - other.at)) {
      if (signal.aborted) return
      const now = this.clock.now()
      if (now - known.askedAt > IDLE_MS) this.counts.delete(name)
      else if (!known.isFirst && now - known.at >= REFRESH_MS) {
        const value = await known.count().catch(() => undefined)
        if (value !== undefined) this.counts.set(name, { ...known, value: Promise.resolve(value), at: now })
      }
    }
  }

  private start(name: string, count: () => Promise<number>, now: Instant): Counted {
    if (this.counts.size >= MAX_COUNTS) this.counts.clear()
    const started: Counted = { value: Promise.resolve(undefined), at: now, askedAt: now, isFirst: true, count }
    this.counts.set(name, started)
    const isWanted = (): boolean => this.counts.get(name) === started
    started.value = this.last.then(async () => {
      if (!isWanted()) return undefined
      started.at = this.clock.now()
      const value = await count().catch(() => undefined)
      started.isFirst = false
      if (value === undefined && isWanted()) this.counts.delete(name)
      return value
    })
    this.last = started.value
    return started
  }
}
