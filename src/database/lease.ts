import type { Instant } from '../common/instant.js'

/** The stored lease on some background work. */
export interface Lease {
  /** The instance's id; null: none. */
  readonly holder: string | null
  /** The end of the lease, unless renewed; by the store's clock. */
  readonly heldUntil: Instant | null
}

/**
 * May an instance take or renew a lease?
 * @param termMs the term of the lease
 * @returns `held`: the instance has it, with more than half of its term left; `free`: the instance may take or renew
 * it; `taken`: another one has it
 */
export function leaseFor(
  id: string,
  { holder, heldUntil }: Lease,
  now: Instant,
  termMs: number,
): 'held' | 'free' | 'taken' {
  const left = (heldUntil ?? now) - now
  if (holder === id) return left > termMs / 2 ? 'held' : 'free'
  // A longer one was taken before the time was set back.
  return holder !== null && left > 0 && left <= 2 * termMs ? 'taken' : 'free'
}
