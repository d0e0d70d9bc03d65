import { type Instant, MAX_INSTANT } from '../common/instant.js'
import { endOf, type QuotaState, remaining } from './quota.js'

/** The part of an operation that one quota paid, and in which of its cycles (contract, §1). */
export interface Allocation {
  quotaId: number
  cycleSeq: number
  /** Units drawn from that quota; at least 1. */
  amount: number
}

/**
 * The time at which the quota's remaining units are lost: the earlier of its next reset and its end, which for a
 * member's count is at the latest that of the quota that it follows.
 */
export function expiresFirstAt(quota: QuotaState): Instant {
  return Math.min(quota.cycleEndsAt ?? MAX_INSTANT, endOf(quota) ?? MAX_INSTANT)
}

/**
 * Compares rolled quotas in draw-down order: units that would be lost soonest pay first, then the older quota, then the
 * smaller id (contract, §4).
 */
export function byDrawDown(a: QuotaState, b: QuotaState): number {
  return expiresFirstAt(a) - expiresFirstAt(b) || a.createdAt - b.createdAt || a.id - b.id
}

/**
 * Splits an amount over quotas, in their order, all or nothing. It does not change them.
 * @param quotas active and rolled, in draw-down order
 * @returns the allocations in that order, or undefined if the quotas cannot pay the amount together
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
 * Returns the range `from` … `to` of an operation's units, which are in the order in which they were drawn. Units
 * allocated last return first, so an operation always keeps a prefix, and every commit and refund is such a range: the
 * allocations themselves never change.
 * @param from units before the range; 0 … to
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
