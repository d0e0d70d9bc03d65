import { Temporal } from 'temporal-polyfill'
import type { Instant } from '../common/instant.js'
import { type Cycle, cycleAt, type CycleRule } from './cycle.js'
import type { EventType } from './event-type.js'

/** How often an endpoint for people tells what was collected (contract, §14). */
export const DIGESTS = ['none', 'hourly', 'daily'] as const
export type Digest = (typeof DIGESTS)[number]

/** The maximum number of events that a digest tells one by one. */
export const MAX_DIGEST_LINES = 50

/** The local time of daily digests, on a day from which they are counted. */
const DAILY = '2000-01-01T07:00'

/**
 * The period of a digest that contains `at`, half-open: the digest is due at its end. Periods begin at the full UTC
 * hour, or at 07:00 in the zone.
 */
export function digestPeriod(digest: Exclude<Digest, 'none'>, timeZone: string, at: Instant): Cycle {
  const rule: CycleRule =
    digest === 'hourly'
      ? { unit: 'hour', timeZone: 'UTC', anchor: 0 }
      : {
          unit: 'day',
          timeZone,
          anchor: Temporal.PlainDateTime.from(DAILY).toZonedDateTime(timeZone).epochMilliseconds,
        }
  return cycleAt(rule, at)
}

/** An event's place in its feed, with what its rank in a digest depends on. */
export interface Ranked {
  /** 0: the worst. */
  readonly weight: number
  readonly at: Instant
  readonly channel: string
  readonly position: number
}

/** Refusals and 100 % are 0, higher thresholds before lower ones, then all others, and the ends of refusals. */
export function weightOf(type: EventType, threshold: number | undefined): number {
  if (type === 'owner.refused') return 0
  if (type === 'owner.recovered') return 101
  return type === 'quota.threshold_reached' ? 100 - (threshold ?? 0) : 100
}

/** Events in order of time; two at one time in a fixed order. */
export function byTime(a: Ranked, b: Ranked): number {
  return a.at - b.at || (a.channel < b.channel ? -1 : a.channel > b.channel ? 1 : a.position - b.position)
}

/** What a digest has collected. Its size is bounded, however many events there are. */
export interface Collected {
  readonly count: number
  /** The earliest event, and the latest one. */
  readonly first: Ranked
  readonly last: Ranked
  /** The worst ones, the worst first. */
  readonly worst: readonly Ranked[]
}

/** Adds events to what was collected, in any order. @param events at least one */
export function collect(known: Collected | undefined, events: readonly Ranked[]): Collected {
  const all = [...(known === undefined ? [] : [known.first, known.last]), ...events]
  const ranked = [...(known?.worst ?? []), ...events].sort((a, b) => a.weight - b.weight || byTime(a, b))
  return {
    count: (known?.count ?? 0) + events.length,
    first: all.reduce((first, one) => (byTime(one, first) < 0 ? one : first)),
    last: all.reduce((last, one) => (byTime(one, last) > 0 ? one : last)),
    worst: ranked.slice(0, MAX_DIGEST_LINES),
  }
}

/**
 * May an event be among those that were collected? As long as all are listed, the list says so. Of more events, those
 * between the first and the last count as collected: all are, unless other types were selected meanwhile.
 */
export function isCollected({ count, first, last, worst }: Collected, event: Ranked): boolean {
  if (count === worst.length) return worst.some((one) => byTime(one, event) === 0)
  return byTime(first, event) <= 0 && byTime(event, last) <= 0
}
