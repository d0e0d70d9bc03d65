import type { Instant } from '../common/instant.js'
import { type QuotaState, remaining } from './quota.js'
import { addUnits, countsUntil, counter, type Move, type RollingWindow, settleUnits, sumOf } from './rolling-window.js'

/**
 * The maximum number of caps of an owner that are neither deleted nor expired; they also count as live quotas
 * (contract, §9 Bounds).
 */
export const MAX_LIVE_CAPS = 16

/**
 * The cap, and its count, in which an operation was counted with its whole amount. Each cap has its own count: a roll,
 * a manual reset or a changed window begins a new one; units that leave a rolling window do not.
 */
export interface CapCount {
  readonly quotaId: number
  readonly cycleSeq: number
}

/** An owner's active quotas: payers and caps. */
export interface Limits<Q extends QuotaState> {
  /** The quotas that pay, in the given order. */
  readonly payers: readonly Q[]
  /** The caps, `enforce` and `observe`, ids ascending. */
  readonly caps: readonly Q[]
}

/** Is the quota a cap: does it limit consumption and pay nothing? */
export function isCap({ cap }: QuotaState): boolean {
  return cap != null
}

/**
 * The largest amount that one consume can take now: the sum of the payers' remaining units, limited by what remains of
 * each `enforce` cap; 0 without a payer (contract, §9 Available).
 */
export function available({ payers, caps }: Limits<QuotaState>): number {
  let least = payable(payers)
  for (const quota of caps) if (quota.cap === 'enforce') least = Math.min(least, remaining(quota))
  return least
}

/** The amount that the payers can pay, regardless of caps. */
export function payable(payers: readonly QuotaState[]): number {
  return payers.reduce((sum, quota) => sum + remaining(quota), 0)
}

/** The `enforce` caps whose remaining units are less than the amount. */
export function refusingCaps<Q extends QuotaState>(caps: readonly Q[], amount: number): Q[] {
  return caps.filter((quota) => quota.cap === 'enforce' && remaining(quota) < amount)
}

/** The `observe` caps that would refuse the amount. Call it before the amount is counted. */
export function wouldRefuse<Q extends QuotaState>(caps: readonly Q[], amount: number): Q[] {
  return caps.filter((quota) => quota.cap === 'observe' && remaining(quota) < amount)
}

/**
 * Counts a new operation.
 * @param cap active, rolled to `now`
 * @param now the operation's `created_at`
 * @param move its whole amount, as used or as reserved
 * @returns the count, for later acts on the operation
 */
export function countIn(cap: QuotaState, now: Instant, move: Move): CapCount {
  if (cap.windowSeconds != null && cap.window != null)
    setWindow(cap, addUnits(cap.window, countsUntil(cap.windowSeconds, now), move))
  else moveCounters(cap, move)
  return { quotaId: cap.id, cycleSeq: cap.cycleSeq }
}

/**
 * Moves an operation's units in a cap after a commit, a release, an expiry or a refund, each as one move. This includes
 * disabled, ended and deleted caps. If the cap's count no longer contains the operation, nothing changes.
 * @param cap rolled to now
 * @param at the operation's `created_at`, from which a rolling cap counts it, even after a commit
 * @returns whether the count still contains the operation
 */
export function settleIn(cap: QuotaState, count: CapCount, at: Instant, move: Move): boolean {
  if (cap.id !== count.quotaId || cap.cycleSeq !== count.cycleSeq) return false
  if (cap.windowSeconds == null || cap.window == null) {
    moveCounters(cap, move)
    return true
  }
  const window = settleUnits(cap.window, countsUntil(cap.windowSeconds, at), move)
  if (window === undefined) return false
  setWindow(cap, window)
  return true
}

function moveCounters(cap: QuotaState, move: Move): void {
  cap.used = counter(cap.used, move.used)
  cap.reserved = counter(cap.reserved, move.reserved)
}

function setWindow(cap: QuotaState, window: RollingWindow): void {
  cap.window = window
  Object.assign(cap, sumOf(window))
}
