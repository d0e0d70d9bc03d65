/** A point in time in milliseconds since 1970-01-01T00:00:00Z; always an integer. */
export type Instant = number

/** The latest time, 9999-12-31T23:59:59.999Z: the maximum of RFC 3339 and of DATETIME. */
export const MAX_INSTANT: Instant = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** The earliest time, 0000-01-01T00:00:00.000Z, for the same reasons. */
export const MIN_INSTANT: Instant = Date.parse('0000-01-01T00:00:00.000Z')

// Times are also kept as they were sent, in columns of limited size.
const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,1000}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/

/**
 * Parses a timestamp with its offset (RFC 3339, section 5.6), of at most 1,000 digits of fraction. Fractions of a
 * millisecond are truncated, never rounded up. A leap second (`:60`) does not exist in epoch time and is refused.
 * @returns undefined if the text is not a valid time, has no offset, or is outside MIN_INSTANT … MAX_INSTANT
 */
export function parseInstant(text: string): Instant | undefined {
  const match = RFC_3339.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour, minute, second, fraction = '', sign, offsetHour = '0', offsetMinute = '0'] = match
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return undefined
  const date = `${year}-${month}-${day}`
  const midnight = Date.parse(`${date}T00:00:00.000Z`)
  // Date.parse converts February 30 to March 1 instead of refusing it.
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== date) return undefined
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0'))
  const time = ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000 + milliseconds
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000
  const instant = midnight + time + (sign === '-' ? offset : -offset)
  return instant < MIN_INSTANT || instant > MAX_INSTANT ? undefined : instant
}

/** Formats an instant for answers: UTC with milliseconds, `2026-12-01T00:00:00.000Z`. */
export function formatInstant(instant: Instant): string {
  return new Date(instant).toISOString()
}

/** The same of an instant that may be missing. */
export function timeOrNull(instant: Instant | null): string | null {
  return instant === null ? null : formatInstant(instant)
}
