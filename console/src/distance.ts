/*
 * The distance of a time from another one, in words of the browser's language.
 */

const words = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
]

/** `in 3 hours`, `yesterday`. @param at and @param from in milliseconds since 1970 */
export function distanceText(at: number, from: number): string {
  const [unit, size] = STEPS.find(([, ms]) => Math.abs(at - from) >= ms) ?? (['second', 1_000] as const)
  // `tomorrow` names a day of the calendar: 47 hours from now may be the day after.
  if (unit === 'day') return words.format((midnightOf(at) - midnightOf(from)) / size, unit)
  return words.format(Math.trunc((at - from) / size), unit)
}

/** The midnight in UTC of the day that an instant has here: between two of them lie whole days. */
function midnightOf(at: number): number {
  const day = new Date(at)
  return Date.UTC(day.getFullYear(), day.getMonth(), day.getDate())
}
