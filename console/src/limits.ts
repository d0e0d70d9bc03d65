import { amount, counted } from './amount.ts'
import { readWhole, type Reading } from './whole-number.ts'

/*
 * Quotas and caps in words; windows and thresholds as typed texts.
 */

/** The mode of a cap: it refuses, or only counts the refusals that it would have caused. */
export type CapMode = 'enforce' | 'observe'
export type QuotaType = 1 | 2 | 3

/** The role of a quota, in a word or two. */
export function roleText(cap: CapMode | null): string {
  return cap === null ? 'pays' : cap === 'enforce' ? 'limits' : 'only watches'
}

/* Windows: a number and a unit, as `24 hour`. */

export const WINDOW_UNITS = ['minute', 'hour', 'day'] as const
const SECONDS: Readonly<Record<string, number>> = { second: 1, minute: 60, hour: 3_600, day: 86_400 }
const WINDOW = { min: 60, max: 2_678_400 }
/** One day is written as 24 hours, so that it is not mistaken for a calendar day. */
const LEAST_DAYS = 2

/** The number and the unit of a typed window. */
export function windowParts(typed: string): { readonly count: string; readonly unit: string } {
  const at = typed.lastIndexOf(' ')
  return { count: typed.slice(0, Math.max(0, at)), unit: typed.slice(at + 1) }
}

/** The text of a window in a form; empty without a window. */
export function windowTyped(seconds: number | null): string {
  if (seconds === null) return ''
  const { count, unit } = inUnits(seconds)
  return `${count} ${unit}`
}

/** @returns seconds */
export function readWindow(typed: string): Reading {
  const { count, unit } = windowParts(typed)
  const reading = readWhole(count, { min: 1, max: WINDOW.max })
  const value = (reading.value ?? NaN) * (SECONDS[unit] ?? NaN)
  return value >= WINDOW.min && value <= WINDOW.max
    ? { value, shown: undefined }
    : { mistake: 'a whole number, and 1 minute to 31 days in all' }
}

/** `24 hours`, `1 hour`. */
export function windowText(seconds: number): string {
  const { count, unit } = inUnits(seconds)
  return counted(count, unit)
}

function inUnits(seconds: number): { count: number; unit: string } {
  const fits = (unit: string): boolean => seconds % (SECONDS[unit] ?? 1) === 0
  const unit =
    fits('day') && seconds >= LEAST_DAYS * 86_400 ? 'day' : fits('hour') ? 'hour' : fits('minute') ? 'minute' : 'second'
  return { count: seconds / (SECONDS[unit] ?? 1), unit }
}

/* Thresholds: percentages, as `50 80`. */

const MOST_THRESHOLDS = 10

/** The percentages in a text, or the mistake. */
export type ThresholdsReading =
  | { readonly value: readonly number[]; readonly mistake?: undefined }
  | { readonly mistake: string; readonly value?: undefined }

/** @param text percentages, separated by blanks, commas, semicolons or `%`; empty: none */
export function readThresholds(text: string): ThresholdsReading {
  const found = text.split(/[\s,;%]+/u).filter((one) => one !== '')
  const values = found.map((one) => readWhole(one, { min: 1, max: 100 }).value)
  if (values.includes(undefined)) return { mistake: 'whole per cents from 1 to 100, such as 50 80' }
  const value = [...new Set(values as number[])].sort((a, b) => a - b)
  return value.length > MOST_THRESHOLDS ? { mistake: `at most ${MOST_THRESHOLDS}` } : { value }
}

export function thresholdsText(thresholds: readonly number[]): string {
  return thresholds.map((one) => `${one}\u00a0%`).join(', ')
}

/** The highest threshold that `used` has reached, computed with integers; undefined if the total is 0. */
export function reachedThreshold({
  thresholds,
  used,
  total,
}: {
  readonly thresholds: readonly number[] | null
  readonly used: number
  readonly total: number
}): number | undefined {
  if (total === 0) return undefined
  return thresholds?.findLast((one) => BigInt(used) * 100n >= BigInt(one) * BigInt(total))
}

/* Sentences. */

/** A limit from a form or a record. */
export interface Limit {
  readonly cap: CapMode | null
  readonly quotaType: QuotaType
  readonly total: number
  readonly windowSeconds: number | null
  readonly cycleUnit: string | null
  /** The time of its end, in words; absent without an end. */
  readonly ends?: string | undefined
}

/** `300 in any 24 hours`, `1,000 each month`, `500 until 1 Dec 2026, 00:00`. */
export function limitText({ quotaType, total, windowSeconds, cycleUnit, ends }: Limit): string {
  const units = amount(total)
  if (quotaType === 3) return `${units} in any ${spanText(windowSeconds ?? 0)}`
  if (quotaType === 2) return `${units} each ${cycleUnit ?? 'cycle'}`
  return `${units} until ${ends ?? 'its end'}`
}

/** The effect of a quota or a cap, as an example. */
export function exampleOf(limit: Limit): string {
  const { cap, quotaType, total, windowSeconds, cycleUnit, ends } = limit
  const end = ends === undefined || quotaType === 1 ? '' : ` It ends ${ends}.`
  const next = `the ${ordinal(total + 1)}`
  if (cap === null) {
    return quotaType === 2
      ? `Pays for ${limitText(limit)}; what is left at a reset is lost.${end}`
      : `Pays for ${limitText(limit)}; what is left then is lost.`
  }
  if (cap === 'observe') {
    const where =
      quotaType === 3
        ? `in any ${spanText(windowSeconds ?? 0)}`
        : quotaType === 2
          ? `in one ${cycleUnit ?? 'cycle'}`
          : `before ${ends ?? 'its end'}`
    return `Lets everything through, and tells what it would have refused: ${next} ${where}.${end}`
  }
  if (total === 0) return `Lets nothing through${quotaType === 1 ? ` until ${ends ?? 'its end'}` : ''}.${end}`
  const until =
    quotaType === 3
      ? `the oldest are ${windowText(windowSeconds ?? 0)} old`
      : quotaType === 2
        ? `the next ${cycleUnit ?? 'cycle'} begins`
        : 'then'
  return `At most ${limitText(limit)}; ${next} waits until ${until}.${end}`
}

/** The span in "any …". */
function spanText(seconds: number): string {
  const { count, unit } = inUnits(seconds)
  return count === 1 ? unit : windowText(seconds)
}

const ORDINALS = new Intl.PluralRules('en', { type: 'ordinal' })
const ENDINGS: Readonly<Record<string, string>> = { one: 'st', two: 'nd', few: 'rd' }

/** `1st`, `22nd`, `1,003rd`. */
export function ordinal(value: number): string {
  return `${amount(value)}${ENDINGS[ORDINALS.select(value)] ?? 'th'}`
}
