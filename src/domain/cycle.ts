import { Temporal } from 'temporal-polyfill'
import { type Instant, MAX_INSTANT } from '../common/instant.js'

/** The unit of a cycle: elapsed hours, or calendar units in the quota's zone (contract, §3 Cycles). */
export const CYCLE_UNITS = ['hour', 'day', 'week', 'month', 'year'] as const
export type CycleUnit = (typeof CYCLE_UNITS)[number]

/** The rule of a quota's resets: reset n is at anchor + n units, for every n from 0. */
export interface CycleRule {
  unit: CycleUnit
  /** An IANA name that `isTimeZone` accepts; with any other name, calendar units throw a RangeError. */
  timeZone: string
  /** Reset number 0. Calendar units are added to its local date and time in the zone. */
  anchor: Instant
}

/** The cycle around an instant, half-open: start <= instant < end. */
export interface Cycle {
  /** The last reset up to the instant; null before the anchor. */
  readonly start: Instant | null
  /** The next reset, at most MAX_INSTANT. */
  readonly end: Instant
}

const HOUR = 3_600_000

/** At least as many of each unit as a year can hold. */
const MAX_PER_YEAR = { hour: 8784, day: 366, week: 53, month: 12, year: 1 } satisfies Record<CycleUnit, number>

/** Each unit of the calendar as a member of Temporal's durations. */
const OF_CALENDAR = { day: 'days', week: 'weeks', month: 'months', year: 'years' } as const satisfies Record<
  Exclude<CycleUnit, 'hour'>,
  string
>

/** More than the number of years from MIN_INSTANT to MAX_INSTANT. */
const YEARS_OF_TIME = 10_001

/** The characters of zone names. Other letters may have one of these as their capital. */
const ZONE_NAME = /^[A-Za-z][\w+/-]{0,63}$/

/** An instant in a zone. */
export function zoned(instant: Instant, timeZone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone)
}

/**
 * Reset number n, as a function of n: anchor + n units, computed only from the anchor, so that February 28 or 29 and
 * March 31 follow January 31. A local time that a clock change skips is read with the offset before the change; of a
 * local time that occurs twice, the first counts (RFC 5545, §3.3.5). The function accepts integers from 0 and never
 * decreases. Beyond MAX_INSTANT, it returns some larger number.
 */
export function resetsOf({ unit, timeZone, anchor }: CycleRule): (n: number) => number {
  if (unit === 'hour') return (n) => anchor + n * HOUR
  const origin = zoned(anchor, timeZone)
  const most = YEARS_OF_TIME * MAX_PER_YEAR[unit]
  return (n) => {
    // An anchor in the second pass of a repeated hour is not moved; only later resets use the first pass.
    if (n === 0) return anchor
    // Temporal throws beyond the end of its own calendar.
    if (n > most) return Infinity
    return origin.add({ [OF_CALENDAR[unit]]: n }, { overflow: 'constrain' }).epochMilliseconds
  }
}

/**
 * Estimates the number of units from the anchor to `at`, with an error of a few units: it ignores the time of day, ends
 * of months and clock changes.
 */
function roughly({ unit, timeZone, anchor }: CycleRule, at: Instant): number {
  if (unit === 'hour') return Math.floor((at - anchor) / HOUR)
  const from = zoned(anchor, timeZone).toPlainDate()
  return from.until(zoned(at, timeZone).toPlainDate(), { largestUnit: unit })[OF_CALENDAR[unit]]
}

interface StartedCycle extends Cycle {
  readonly start: Instant
}

/**
 * A cache of the cycles of calendar rules. Every read of a quota that is not written rolls it again, nearly always into
 * the same cycle; a refusal also examines later cycles, up to the end of the longest hold. A calendar computation costs
 * a hundred times this look-up.
 */
const recent = new Map<string, readonly StartedCycle[]>()
const MAX_RECENT = 20_000
/** For each rule: the current cycle, and those that begin within a day. */
const CYCLES_REMEMBERED = 3

/**
 * Returns the cycle that contains `at`, in constant time for any number of cycles since the anchor. A cycle begins
 * exactly at its reset. An empty cycle (two resets coincide because a zone skips a day) is never returned.
 * @param at at most MAX_INSTANT; in the last cycle, `end` is MAX_INSTANT
 */
export function cycleAt(rule: CycleRule, at: Instant): Cycle {
  if (at < rule.anchor) return { start: null, end: rule.anchor }
  // Hours need no calendar.
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

function cycleAround(rule: CycleRule, at: Instant): StartedCycle {
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

/** Is `instant` one of the rule's resets? MAX_INSTANT, which replaces a reset beyond it, is not a reset. */
export function isReset(rule: CycleRule, instant: Instant): boolean {
  return cycleAt(rule, instant).start === instant
}

/** The zones that were found, in capitals: a search takes a tenth of a millisecond. */
const knownZones = new Set<string>()

/**
 * Does this runtime's IANA database contain the zone? Case does not matter; offsets such as `+02:00` are not zones, nor
 * are abbreviations such as `PST`.
 */
export function isTimeZone(name: string): boolean {
  if (!ZONE_NAME.test(name)) return false
  const capitals = name.toUpperCase()
  if (knownZones.has(capitals)) return true
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    // Intl accepts such abbreviations, with which Temporal computes nothing; it recognizes them by their capitals.
    zoned(0, capitals)
  } catch {
    return false
  }
  knownZones.add(capitals)
  return true
}
