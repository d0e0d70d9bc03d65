/**
 * The pauses between the failed attempts of one event, in milliseconds; after the last one it is given up
 * (docs/webhooks.md).
 */
const PAUSES_MS = [
  5_000,
  5 * 60_000,
  30 * 60_000,
  2 * 3_600_000,
  5 * 3_600_000,
  10 * 3_600_000,
  14 * 3_600_000,
  20 * 3_600_000,
  24 * 3_600_000,
] as const
/** A pause is longer by a random share up to this, so that failed events are not all retried at the same time. */
const JITTER = 0.1
/** The maximum pause: events are kept for this time. */
const MAX_RETRY_AFTER_MS = 31 * 86_400_000

/**
 * The time until the next attempt, from the end of the failed one, in milliseconds.
 * @param failed number of failed attempts, including this one
 * @param retryAfterMs requested by the endpoint; used if it is longer
 * @param random 0 … 1
 * @returns undefined if the event is given up
 */
export function pauseAfter(failed: number, retryAfterMs: number | undefined, random: number): number | undefined {
  const pause = PAUSES_MS[failed - 1]
  if (pause === undefined) return undefined
  return Math.round(Math.max(pause * (1 + JITTER * random), Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)))
}

/** Parses `Retry-After`: seconds, or a time. In milliseconds from `now`; undefined if it is neither. */
export function readRetryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  if (/^\d+$/.test(text)) return Number(text) * 1000
  // HTTP's own format; Date.parse accepts nearly anything.
  const time = text.endsWith(' GMT') ? Date.parse(text) : NaN
  return Number.isNaN(time) ? undefined : Math.max(0, time - now)
}
