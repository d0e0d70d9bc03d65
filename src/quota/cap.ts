import type { Instant } from '../time/instant.js'
import { isActive, type QuotaState, remaining } from './quota.js'
import { added, countsUntil, counter, type Move, type RollingWindow, settled, sumOf } from './rolling-window.js'

/**
 * A live owner holds at most this many caps that are neither deleted nor expired, within its live quotas (contract, §9
 * Bounds).
 */
export const MAX_LIVE_CAPS = 16

/**
 * In which count of which cap an operation was counted, with its whole amount. Each cap's count is its own: a roll, a
 * reset by hand or another window begins a new one, and units leave a rolling window without any.
 */
export interface CapCount {
  readonly quotaId: number
  readonly cycleSeq: number
}

/** An owner's quotas that are active, apart. */
export interface Limits<Q extends QuotaState> {
  /** What pays, in the order given. */
  readonly payers: readonly Q[]
  /** What bounds, of both kinds, ids ascending. */
  readonly caps: readonly Q[]
}

/** Does it bound what its owner takes, and pay nothing? */
export function isCap({ cap }: QuotaState): boolean {
  return cap != null
}

/** Those that are active at `now`, apart. Rolled quotas, in any order. */
export function limitsAt<Q extends QuotaState>(quotas: Iterable<Q>, now: Instant): Limits<Q> {
  const payers: Q[] = []
  const caps: Q[] = []
  for (const quota of quotas) if (isActive(quota, now)) (isCap(quota) ? caps : payers).push(quota)
  return { payers, caps: caps.sort((a, b) => a.id - b.id) }
}

/**
 * What one consume could take now: the payers' remaining added up, bounded by what remains of each `enforce` cap; 0
 * without a payer (contract, §9 Available).
 */
export function available({ payers, caps }: Limits<QuotaState>): number {
  let least = payable(payers)
  for (const quota of caps) if (quota.cap === 'enforce') least = Math.min(least, remaining(quota))
  return least
}

/** What the payers could pay, whatever caps say. */
export function payable(payers: readonly QuotaState[]): number {
  return payers.reduce((sum, quota) => sum + remaining(quota), 0)
}

/** The `enforce` caps that cannot take an amount: what remains of them is less. */
export function inTheWay<Q extends QuotaState>(caps: readonly Q[], amount: number): Q[] {
  return caps.filter((quota) => quota.cap === 'enforce' && remaining(quota) < amount)
}

/** The `observe` caps that would have refused an amount. Asked before it is counted. */
export function wouldRefuse<Q extends QuotaState>(caps: readonly Q[], amount: number): Q[] {
  return caps.filter((quota) => quota.cap === 'observe' && remaining(quota) < amount)
}

/**
 * Counts an operation that is taken now.
 * @param cap active, rolled to `now`
 * @param now the operation's `created_at`
 * @param move its whole amount, as used or as reserved
 * @returns in which count, for what becomes of the operation later
 */
export function countIn(cap: QuotaState, now: Instant, move: Move): CapCount {
  if (cap.windowSeconds != null && cap.window != null)
    setWindow(cap, added(cap.window, countsUntil(cap.windowSeconds, now), move))
  else moveCounters(cap, move)
  return { quotaId: cap.id, cycleSeq: cap.cycleSeq }
}

/**
 * Moves what a cap counted of an operation: a commit, a release, an expiry or a refund, each as one move. Disabled,
 * ended and deleted caps take it too. Where the cap's own count does not hold it any more nothing changes.
 * @param cap rolled to now
 * @param at the operation's `created_at`: a rolling cap counts from then, also what a commit keeps
 * @returns whether the count still held it
 */
export function settleIn(cap: QuotaState, count: CapCount, at: Instant, move: Move): boolean {
  if (cap.id !== count.quotaId || cap.cycleSeq !== count.cycleSeq) return false
  if (cap.windowSeconds == null || cap.window == null) {
    moveCounters(cap, move)
    return true
  }
  const window = settled(cap.window, countsUntil(cap.windowSeconds, at), move)
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
