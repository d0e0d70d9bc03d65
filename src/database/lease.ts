import type { Instant } from '../time/instant.js'

/** Who does some background work, as the store has it. */
export interface Lease {
  /** The instance's id; null: nobody. */
  readonly holder: string | null
  /** Until when, unless it says so again; by the store's clock. */
  readonly heldUntil: Instant | null
}

/**
 * May an instance take a lease, or keep it?
 * @param termMs for how long it is taken
 * @returns `held`: it has it, and more than half of its time is left; `free`: it may write that it has it; `taken`:
 *   another one has it
 */
export function leaseFor(
  id: string,
  { holder, heldUntil }: Lease,
  now: Instant,
  termMs: number,
): 'held' | 'free' | 'taken' {
  const left = (heldUntil ?? now) - now
  if (holder === id) return left > termMs / 2 ? 'held' : 'free'
  // One that lasts for longer was left before the time was set back.
  return holder !== null && left > 0 && left <= 2 * termMs ? 'taken' : 'free'
}
