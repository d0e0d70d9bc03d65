import type { Instant } from '../../common/instant.js'

/** Totals exclude acts younger than this, by the time in their ids: so an act that is being written needs no new id. */
export const FOLD_LAG_MS = 60_000

/** A text that is less than every id made at this instant or later, and greater than every earlier one. */
export function firstIdAt(instant: Instant): string {
  const hex = Math.max(0, instant).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-0000-0000-000000000000`
}

/** The instant in an id, or the argument of `firstIdAt`; 0 for the empty text. */
export function instantOfId(id: string): Instant {
  return id === '' ? 0 : Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}
