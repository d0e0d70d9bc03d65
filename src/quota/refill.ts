import { nextBoundary } from './cycle.js'
import type { Allocation } from './draw-down.js'
import type { Instant } from './instant.js'
import { type QuotaState, remaining } from './quota.js'

/** An open hold: what it keeps from which quotas, and until when. */
export interface Hold {
  operationId: string
  expiresAt: Instant
  allocations: readonly Allocation[]
}

/** The quota's next reset where it comes before the quota's end, else null: refilled after the end helps nobody. */
export function nextRefill(quota: QuotaState): Instant | null {
  const { cycleEndsAt, expireAt } = quota
  return cycleEndsAt !== null && (expireAt === null || cycleEndsAt < expireAt) ? cycleEndsAt : null
}

/** Reset times of one quota worth looking at: those up to `horizon` and the first one after it, all before its end. */
function resets(quota: QuotaState, horizon: Instant): Instant[] {
  const { cycleUnit: unit, cycleTimeZone: timeZone, cycleAnchorAt: anchor } = quota
  const found: Instant[] = []
  let reset = nextRefill(quota)
  if (unit === null || timeZone === null || anchor === null) return found
  while (reset !== null) {
    found.push(reset)
    if (reset > horizon) break
    const next = nextBoundary({ unit, timeZone, anchor }, reset).end
    reset = next > reset && (quota.expireAt === null || next < quota.expireAt) ? next : null
  }
  return found
}

/** What the quota could give at a later instant if nobody took anything until then. */
function capacityAt(quota: QuotaState, holds: readonly Hold[], at: Instant): number {
  if (quota.expireAt !== null && at >= quota.expireAt) return 0
  if (quota.cycleEndsAt !== null && at >= quota.cycleEndsAt) return quota.total
  let due = 0
  for (const hold of holds) {
    if (hold.expiresAt > at) continue
    for (const part of hold.allocations)
      if (part.quotaId === quota.id && part.cycleSeq === quota.cycleSeq) due += part.amount
  }
  return remaining({ ...quota, reserved: quota.reserved - due })
}

/**
 * The earliest reset of these quotas, before their end, from which `amount` could fit if nobody else took anything; null where there is
 * none (contract, §4 and §7). A quota that is over by then gives nothing, a hold that is due by then is counted as returned.
 *
 * Capacity grows at a quota's first reset and at the end of a hold, and only shrinks otherwise. So beyond the last hold's end no reset but
 * each quota's first one can be the earliest that fits; before it every reset may be.
 *
 * @param quotas the owner's active quotas, rolled
 * @param holds the owner's open holds
 */
export function refillsAt(quotas: readonly QuotaState[], holds: readonly Hold[], amount: number): Instant | null {
  // What no cycle can hold will never fit; the search below need not find that out.
  if (quotas.reduce((sum, { total }) => sum + total, 0) < amount) return null
  const horizon = holds.reduce((latest, hold) => Math.max(latest, hold.expiresAt), -Infinity)
  const candidates = new Set(quotas.flatMap((quota) => resets(quota, horizon)))
  for (const at of [...candidates].sort((a, b) => a - b)) {
    let capacity = 0
    for (const quota of quotas) capacity += capacityAt(quota, holds, at)
    if (capacity >= amount) return at
  }
  return null
}
