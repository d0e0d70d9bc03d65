import type { CapCount } from '../../quota/cap.js'
import { type Allocation, cut } from '../../quota/draw-down.js'
import type { Instant } from '../../time/instant.js'
import type { Act, ActRow } from '../rows/act.entity.js'
import { capsOf } from '../rows/counted-caps.js'

/** What an act charged one quota with, or gave back to it, in the cycle that paid; or what a cap counted of it. */
export interface Charge {
  readonly ownerId: number
  readonly quotaId: number
  readonly cycleSeq: number
  readonly at: Instant
  readonly charged: number
  readonly refunded: number
  /** Is it what a cap counted? Then others paid it. */
  readonly byCap: boolean
}

/** Of an act, what says which units it moved. */
export type UsageAct = Pick<
  ActRow,
  'id' | 'kind' | 'ownerId' | 'operationId' | 'amount' | 'at' | 'plainQuotaId' | 'cycleSeq' | 'caps'
>

/** Of an operation, what says whose units its acts moved. */
export interface PaidOperation {
  /** In draw-down order. */
  readonly allocations: readonly Allocation[]
  /** In which counts of caps it was counted. */
  readonly caps: readonly CapCount[]
  /** Units charged in all, gross. */
  readonly charged: number
  /** Every refund of it. */
  readonly refunds: readonly Pick<Act, 'id' | 'amount'>[]
}

/** The kinds of acts that charge units or give them back. */
export const USAGE_KINDS = ['consume', 'commit', 'refund'] as const

/**
 * What an act did to the counters `used`, of what paid and of the caps that counted it with all of its units: a fact of
 * the past, the same whenever it is asked.
 *
 * Refunds give back from the end of what was charged. Which part one of several gave back is decided by the order of
 * their ids, whatever the order in which they were committed: all together give back the same, and an act's part does
 * not depend on acts with larger ids.
 * @param operation may be absent where the act is a plain consume
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
  const { allocations, caps, charged, refunds } = operation
  if (kind === 'consume' || kind === 'commit') return chargesFor(cut(allocations, 0, amount), caps, true)
  if (kind !== 'refund') return []
  const before = refunds.reduce((sum, other) => (other.id < act.id ? sum + (other.amount ?? 0) : sum), 0)
  return chargesFor(cut(allocations, charged - before - amount, charged - before), caps, false)
}
