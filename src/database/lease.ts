import type { Instant } from '../common/instant.js'

/** The stored lease on some background work. */
export interface Lease {
  /** The instance's id; null: none. */
  readonly holder: string | null
  /** The end of the lease, unless renewed; by the store's clock. */
  readonly heldUntil: Instant | null
}

/** Was the lease taken or renewed before the store's time was set back by more than its term? */
export function isFromTheFuture({ heldUntil }: Lease, now: Instant, termMs: number): boolean {
  return (heldUntil ?? now) - now > 2 * termMs
}

/**
 * May an instance take or renew a lease?
 * @param termMs the term of the lease
 * @returns `held`: the instance has it, with more than half of its term left; `free`: the instance may take or renew
 * it; `taken`: another one has it
 */
export function leaseFor(id: string, lease: Lease, now: Instant, termMs: number): 'held' | 'free' | 'taken' {
  if (isFromTheFuture(lease, now, termMs)) return 'free'
  const { holder, heldUntil } = lease
  const left = (heldUntil ?? now) - now
  if (holder === id) return left > termMs / 2 ? 'held' : 'free'
  return holder !== null && left > 0 ? 'taken' : 'free'
}
