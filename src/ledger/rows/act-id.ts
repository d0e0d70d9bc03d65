import type { Instant } from '../../time/instant.js'

/**
 * Totals leave out what is younger, by the time that ids hold: nobody then has to take a new id for an act that is just
 * being written. It is also what protects them from instances of the versions before, which do not ask whether a time
 * is closed.
 */
export const FOLD_LAG_MS = 60_000

/** A text that every id made at this instant or later comes after, and every earlier one before. */
export function firstIdAt(instant: Instant): string {
  const hex = Math.max(0, instant).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-0000-0000-000000000000`
}

/** The instant that an id holds, or that `firstIdAt` was asked for; 0 for the empty text. */
export function instantOfId(id: string): Instant {
  return id === '' ? 0 : Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}
