import type { ReactNode } from 'react'
import { distanceText } from './distance.ts'

/*
 * Times in the format of the browser's locale, in its time zone; a tooltip shows UTC.
 */

const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const exactTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const clockTime = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })

/** The browser's time zone. */
export const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone

/** The present by this machine's clock: only for display, never for decisions. */
export function now(): number {
  return Date.now()
}

export function timeText(at: string, zone?: string): string {
  return zone === undefined
    ? dateTime.format(new Date(at))
    : new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short', timeZone: zone }).format(
        new Date(at),
      )
}

/** The day of an instant in UTC. */
export function dayText(at: string): string {
  return new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(new Date(at))
}

const dayOfYear = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const shortTime = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })

/** The names of bars on an axis: days in UTC; hours here, midnight by its day. */
export function barNames(starts: readonly number[], step: 'hour' | 'day'): readonly string[] {
  return starts.map((at) => {
    if (step === 'day') return dayText(new Date(at).toISOString())
    return new Date(at).getHours() === 0 ? dayOfYear.format(at) : shortTime.format(at)
  })
}

function utcText(at: string): string {
  return `${at.slice(0, 19).replace('T', ' ')} UTC`
}

/** `in 3 hours`, `yesterday`. */
export function fromNow(at: string): string {
  return distanceText(Date.parse(at), now())
}

/** A time in the browser's time zone; a tooltip shows it in UTC. */
export function Time({
  at,
  exact = false,
  ago = false,
  relative = false,
}: {
  at: string
  exact?: boolean
  ago?: boolean
  /** Shows only the distance from now; a tooltip shows the time. */
  relative?: boolean
}): ReactNode {
  const text = (exact ? exactTime : dateTime).format(new Date(at))
  if (relative) {
    return (
      <time dateTime={at} title={`${text}; ${utcText(at)}`}>
        {fromNow(at)}
      </time>
    )
  }
  return (
    <time dateTime={at} title={utcText(at)}>
      {text}
      {ago && <span className="muted"> ({fromNow(at)})</span>}
    </time>
  )
}

/** The time of day. */
export function ClockTime({ at }: { at: number }): ReactNode {
  const iso = new Date(at).toISOString()
  return (
    <time dateTime={iso} title={utcText(iso)}>
      {clockTime.format(at)}
    </time>
  )
}

/** The attributes of an input for a time. Without a maximum, browsers take six digits as a year. */
export const LOCAL_TIME = { type: 'datetime-local', max: '9999-12-31T23:59' } as const
/** The contract's times, in milliseconds since 1970. */
const EARLIEST = Date.parse('0000-01-01T00:00:00Z')
const LATEST = Date.parse('9999-12-31T23:59:59.999Z')

/** The value of an `<input type="datetime-local">` for an instant; empty for a text that is none. */
export function toLocalInput(at: string | null): string {
  const date = new Date(at ?? NaN)
  if (Number.isNaN(date.getTime())) return ''
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  const seconds = date.getSeconds() === 0 ? '' : `:${two(date.getSeconds())}`
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}${seconds}`
}

/** The reverse; null for an empty text, and for a time that the contract does not have. */
export function fromLocalInput(text: string): string | null {
  // The latest time is in the year 10000 east of UTC: the value of an input has no sign there, as `Date` needs it.
  const at = new Date(text.replace(/^\d{5,6}(?=-)/, (year) => `+${year.padStart(6, '0')}`)).getTime()
  return at >= EARLIEST && at <= LATEST ? new Date(at).toISOString() : null
}

/** The mistake in the value of such an input; undefined for an empty one. */
export function timeMistake(text: string): string | undefined {
  return text !== '' && fromLocalInput(text) === null ? 'a time until the end of the year 9999' : undefined
}
