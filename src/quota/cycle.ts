import { Temporal } from 'temporal-polyfill'
import { type Instant, MAX_INSTANT } from '../time/instant.js'

/** What a cycle can last: elapsed hours, or calendar units in the quota's zone (contract, §3 Cycles). */
export const CYCLE_UNITS = ['hour', 'day', 'week', 'month', 'year'] as const
export type CycleUnit = (typeof CYCLE_UNITS)[number]

/** Says when a quota resets: reset n falls at anchor + n units, for every n from 0. */
export interface CycleRule {
  unit: CycleUnit
  /** An IANA name that `isTimeZone` accepts; with any other the calendar units throw a RangeError. */
  timeZone: string
  /** Reset number 0. Its local date and time in the zone are what the calendar units are added to. */
  anchor: Instant
}

/** The cycle around an instant, half-open: start <= instant < end. */
export interface Boundary {
  /** The last reset that has come; null before the anchor. */
  readonly start: Instant | null
  /** The first reset still to come; MAX_INSTANT where that lies beyond it. */
  readonly end: Instant
}

const HOUR = 3_600_000

/** At least as many of each unit as a year can hold. */
const MAX_PER_YEAR = { hour: 8784, day: 366, week: 53, month: 12, year: 1 } satisfies Record<CycleUnit, number>

/** From MIN_INSTANT to MAX_INSTANT it is fewer years than this. */
const YEARS_OF_TIME = 10_001

const MAX_ZONE_NAME_LENGTH = 64

function zoned(instant: Instant, timeZone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone)
}

/**
 * Reset number n, as a function of n: anchor + n units, computed from the anchor alone, so January 31 is followed by
 * February 28 or 29 and by March 31. A local time that a clock change skips is read with the offset from before it, one
 * that comes twice is the first (RFC 5545, §3.3.5). The function takes integers from 0, and never falls as n grows.
 * What lies beyond MAX_INSTANT is merely some larger number.
 */
export function resetsOf({ unit, timeZone, anchor }: CycleRule): (n: number) => number {
  if (unit === 'hour') return (n) => anchor + n * HOUR
  const origin = zoned(anchor, timeZone)
  const most = YEARS_OF_TIME * MAX_PER_YEAR[unit]
  return (n) => {
    // An anchor in the second pass of a repeated hour stays where it is; only what is added to it is read as the first.
    if (n === 0) return anchor
    // Temporal's own calendar ends too, and would throw.
    if (n > most) return Infinity
    return origin.add({ [`${unit}s`]: n }, { overflow: 'constrain' }).epochMilliseconds
  }
}

/**
 * A number of units from the anchor to `at`, right but for a few at most: it knows no time of day, month's end or clock
 * change.
 */
function roughly({ unit, timeZone, anchor }: CycleRule, at: Instant): number {
  if (unit === 'hour') return Math.floor((at - anchor) / HOUR)
  const from = zoned(anchor, timeZone).toPlainDate()
  return from.until(zoned(at, timeZone).toPlainDate(), { largestUnit: unit })[`${unit}s`]
}

interface Cycle {
  readonly start: Instant
  readonly end: Instant
}

/**
 * The cycles last found for a rule of the calendar. A quota that nobody writes is rolled anew by every read of it,
 * nearly always into the same cycle; a refusal looks at the next ones as well, up to the end of the longest hold. The
 * calendar costs a hundred times this look-up. It changes no result.
 */
const recent = new Map<string, readonly Cycle[]>()
const MAX_RECENT = 20_000
/** Of each rule: the cycle that is running, and those that begin within a day. */
const CYCLES_REMEMBERED = 3

/**
 * The cycle that holds `at`, in constant time however many cycles lie between it and the anchor. At a reset itself the
 * new cycle has begun. A cycle of no length (of two resets that a zone's skipped day makes one) holds nothing and is
 * never found.
 * @param at up to MAX_INSTANT; there, `end` is MAX_INSTANT too
 */
export function nextBoundary(rule: CycleRule, at: Instant): Boundary {
  if (at < rule.anchor) return { start: null, end: rule.anchor }
  // Hours are counted, not looked up in a calendar.
  if (rule.unit === 'hour') return cycleAround(rule, at)
  const key = `${rule.unit} ${rule.timeZone} ${rule.anchor}`
  const known = recent.get(key) ?? []
  const hit = known.find(({ start, end }) => start <= at && at < end)
  if (hit !== undefined) return hit

  const found = cycleAround(rule, at)
  if (recent.size >= MAX_RECENT) recent.clear()
  recent.set(key, [found, ...known.slice(0, CYCLES_REMEMBERED - 1)])
  return found
}

function cycleAround(rule: CycleRule, at: Instant): Cycle {
  const reset = resetsOf(rule)
  let n = Math.max(0, roughly(rule, at))
  let start = reset(n)
  while (start > at) start = reset((n -= 1))
  let end = reset(n + 1)
  while (end <= at) {
    start = end
    n += 1
    end = reset(n + 1)
  }
  return { start, end: Math.min(MAX_INSTANT, end) }
}

/** Is `instant` one of the rule's resets? MAX_INSTANT standing in for a reset beyond it is none. */
export function isBoundary(rule: CycleRule, instant: Instant): boolean {
  return nextBoundary(rule, instant).start === instant
}

/**
 * Does the IANA database as this runtime has it know the zone? Any case will do; offsets such as `+02:00` are no zones.
 */
export function isTimeZone(name: string): boolean {
  if (name.length > MAX_ZONE_NAME_LENGTH || !/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
