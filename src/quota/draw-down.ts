import { type Instant, MAX_INSTANT } from '../time/instant.js'
import { type QuotaState, remaining } from './quota.js'

/** The part of an operation that one quota paid, and in which of its cycles (contract, §1). */
export interface Allocation {
  quotaId: number
  cycleSeq: number
  /** Units drawn from that quota; at least 1. */
  amount: number
}

/** When what is left in the quota is lost: the earlier of its next reset and its end. */
export function expiresFirstAt(quota: QuotaState): Instant {
  return Math.min(quota.cycleEndsAt ?? MAX_INSTANT, quota.expireAt ?? MAX_INSTANT)
}

/**
 * The draw-down order: what would be lost soonest pays first, then the older quota, then the smaller id (contract, §4).
 * A comparator for rolled quotas.
 */
export function byDrawDown(a: QuotaState, b: QuotaState): number {
  return expiresFirstAt(a) - expiresFirstAt(b) || a.createdAt - b.createdAt || a.id - b.id
}

/**
 * Splits an amount over quotas, the first ones first. All or nothing; changes nothing.
 * @param quotas active and rolled, in draw-down order
 * @returns the allocations in that order, or undefined where the quotas cannot pay it together
 */
export function draw(quotas: readonly QuotaState[], amount: number): Allocation[] | undefined {
  const allocations: Allocation[] = []
  let open = amount
  for (const quota of quotas) {
    const part = Math.min(open, remaining(quota))
    if (part === 0) continue
    allocations.push({ quotaId: quota.id, cycleSeq: quota.cycleSeq, amount: part })
    open -= part
    if (open === 0) return allocations
  }
  return undefined
}

/**
 * Cuts the stretch `from` … `to` out of an operation's units, which lie in a row in the order they were drawn. What was
 * allocated last returns first, so what an operation keeps is always a prefix, and every commit and refund is such a
 * cut: the allocations themselves never change.
 * @param from units before the stretch; 0 … to
 * @param to units up to its end; at most the sum of the allocations
 */
export function cut(allocations: readonly Allocation[], from: number, to: number): Allocation[] {
  const parts: Allocation[] = []
  let start = 0
  for (const { quotaId, cycleSeq, amount } of allocations) {
    const part = Math.min(to, start + amount) - Math.max(from, start)
    if (part > 0) parts.push({ quotaId, cycleSeq, amount: part })
    start += amount
  }
  return parts
}
