import type { Instant } from '../quota/instant.js'

/**
 * How the totals can tell, from an act's id alone, that no act with a smaller id is still to come. An id holds the time
 * at which its request came in.
 *
 * - A request that is older than MAX_REQUEST_AGE_MS is not tried any more. What is tried by then ends within seconds:
 *   tries end after six, a statement after five, and the server ends a silent session after five.
 * - Totals leave out the last FOLD_LAG_MS.
 * - Where an instance's clock is behind that of the one that adds up, its ids are kept MIN_AHEAD_MS ahead of what the
 *   totals have reached, which it looks up every few seconds.
 */
export const MAX_REQUEST_AGE_MS = 15_000
export const FOLD_LAG_MS = 60_000
export const MIN_AHEAD_MS = 40_000

/** A text that every id made at this instant or later comes after, and every earlier one before. */
export function firstIdAt(instant: Instant): string {
  const hex = Math.max(0, instant).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-0000-0000-000000000000`
}

/** The instant that an id holds, or that `firstIdAt` was asked for; 0 for the empty text. */
export function instantOfId(id: string): Instant {
  return id === '' ? 0 : Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}
