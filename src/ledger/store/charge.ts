import type { CapCount } from '../../domain/cap.js'
import { type Allocation, cut } from '../../domain/draw-down.js'
import type { Instant } from '../../common/instant.js'
import type { ActRow } from '../rows/act.entity.js'
import { capsOf } from '../rows/counted-caps.js'

/**
 * The units that an act charged to one quota or refunded to it, in the cycle that paid; or the units that a cap
 * counted.
 */
export interface Charge {
  readonly ownerId: number
  readonly quotaId: number
  readonly cycleSeq: number
  readonly at: Instant
  readonly charged: number
  readonly refunded: number
  /** Did a cap count the units? Then other quotas paid them. */
  readonly byCap: boolean
}

/** The columns of an act that determine which units it moved. */
export type UsageAct = Pick<
  ActRow,
  'id' | 'kind' | 'ownerId' | 'operationId' | 'amount' | 'at' | 'plainQuotaId' | 'cycleSeq' | 'caps'
>

/** The properties of an operation that determine whose units its acts moved. */
export interface PaidOperation {
  /** In draw-down order. */
  readonly allocations: readonly Allocation[]
  /** The counts of the caps that counted it. */
  readonly caps: readonly CapCount[]
  /** Units charged in total, gross. */
  readonly charged: number
  /** The units that its refunds with smaller ids returned, by the id of a refund (`refundedBefore`). */
  readonly refundedBefore: ReadonlyMap<string, number>
}

/** The kinds of acts that charge or refund units. */
export const USAGE_KINDS = ['consume', 'commit', 'refund'] as const

/**
 * Returns the effects of an act on the counters `used`, of the payers and of the caps that counted its whole amount.
 * They never change.
 *
 * Refunds return units from the end of the charged ones. The order of their ids determines which units each of several
 * refunds returned, regardless of the order of their commits: their sum is the same, and the effect of one does not
 * depend on acts with larger ids.
 * @param operation not needed for a plain consume
 */
export function chargesOf(act: UsageAct, operation?: PaidOperation): Charge[] {
  const { kind, ownerId, at, amount } = act
  if (amount === null) return []
  const chargesFor = (paid: readonly Allocation[], caps: readonly CapCount[], charged: boolean): Charge[] => {
    const charge = ({ quotaId, cycleSeq }: CapCount, units: number, byCap: boolean): Charge => ({
      ownerId,
      quotaId,
      cycleSeq,
      at,
      charged: charged ? units : 0,
      refunded: charged ? 0 : units,
      byCap,
    })
    return [...paid.map((part) => charge(part, part.amount, false)), ...caps.map((cap) => charge(cap, amount, true))]
  }
  if (kind === 'consume' && act.plainQuotaId !== null && act.cycleSeq !== null) {
    return chargesFor([{ quotaId: act.plainQuotaId, cycleSeq: act.cycleSeq, amount }], capsOf(act.caps), true)
  }
  if (operation === undefined) return []
  const { allocations, caps, charged } = operation
  if (kind === 'consume' || kind === 'commit') return chargesFor(cut(allocations, 0, amount), caps, true)
  if (kind !== 'refund') return []
  const before = operation.refundedBefore.get(act.id) ?? 0
  return chargesFor(cut(allocations, charged - before - amount, charged - before), caps, false)
}

/**
 * Returns the units that an operation's refunds had returned before each of its refunds, by id.
 * @param refunds the refunds from one id on, in any order
 * @param earlier the units that those with smaller ids returned
 */
export function refundedBefore(refunds: readonly Pick<ActRow, 'id' | 'amount'>[], earlier = 0): Map<string, number> {
  let sum = earlier
  const before = new Map<string, number>()
  for (const { id, amount } of refunds.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    before.set(id, sum)
    sum += amount ?? 0
  }
  return before
}
