import { type Instant, MAX_INSTANT } from '../time/instant.js'
import { type CycleUnit, isBoundary, nextBoundary } from './cycle.js'
import { EMPTY_WINDOW, type RollingWindow, sumOf, withoutPast } from './rolling-window.js'

/**
 * Type 1 (total): `total` units until `expireAt`. Type 2 (cycle): `total` units in each cycle (contract, §1). Type 3
 * (rolling): `total` units in any stretch of `windowSeconds`; for caps alone (contract, §9).
 */
export type QuotaType = 1 | 2 | 3
export const TOTAL_QUOTA = 1 satisfies QuotaType
export const CYCLE_QUOTA = 2 satisfies QuotaType
export const ROLLING_QUOTA = 3 satisfies QuotaType
export const QUOTA_TYPES = [TOTAL_QUOTA, CYCLE_QUOTA, ROLLING_QUOTA] as const

/** What a cap does where an amount does not fit: `enforce` refuses it, `observe` lets it pass and says so. */
export const CAP_MODES = ['enforce', 'observe'] as const
export type CapMode = (typeof CAP_MODES)[number]

/** What a quota is at a given instant, as answered and as filtered by (contract, §3 Status). */
export const STATUSES = ['active', 'disabled', 'expired'] as const
export type Status = (typeof STATUSES)[number]

/**
 * The largest `total` and the largest amount of one act: sums over 200 quotas stay exact in a JSON number (contract,
 * §2).
 */
export const MAX_AMOUNT = 1_000_000_000_000

/** An owner may have at most this many live quotas, neither deleted nor expired (contract, §2). */
export const MAX_LIVE_QUOTAS = 200

/**
 * The settings and counters of one quota that the rules work on. Amounts are integers in the caller's unit.
 * The three counters of the running cycle (`used`, `reserved`, `holdDueAt`) are those of cycle number `cycleSeq`,
 * which may lie behind the present: `roll` brings them there.
 */
export interface QuotaState {
  id: number
  quotaType: QuotaType
  total: number
  used: number
  reserved: number
  /**
   * `disabled` is the administrator's switch; `expired` the stored conclusion that `expireAt` has come. It may lag
   * behind, never lead.
   */
  state: Status
  /** From this instant on the quota is over; null: never (types 2 and 3). */
  expireAt: Instant | null
  /**
   * The four of a cycle; null for types 1 and 3. `cycleEndsAt` is the end of cycle `cycleSeq`, `cycleAnchorAt` reset
   * number 0.
   */
  cycleUnit: CycleUnit | null
  cycleTimeZone: string | null
  cycleAnchorAt: Instant | null
  cycleEndsAt: Instant | null
  /**
   * Counts rolls and resets by hand, for types 1 and 3 too, and changes of the window; allocations name the count that
   * paid by it.
   */
  cycleSeq: number
  /** Not after the expiry of the earliest open hold in this cycle; null where there is none. */
  holdDueAt: Instant | null
  /** What people call it, 1 … 120 code points; null where nobody named it. */
  label: string | null
  /** Null: the quota pays. Else it is a cap: it never pays, and bounds what its owner takes. */
  cap: CapMode | null
  /** The window of a rolling quota, in seconds; null for types 1 and 2. */
  windowSeconds: number | null
  /** Per cent of `total`, as `thresholdsText` writes them; null where there are none, as for type 3. */
  thresholds: string | null
  /**
   * The thresholds that the running count has passed, with its `cycleSeq` (`threshold.ts`); null where there are none.
   */
  passed: string | null
  /** What a rolling cap counts, slot by slot; `used` and `reserved` are its sums. Null for types 1 and 2. */
  window: RollingWindow | null
  createdAt: Instant
  deletedAt: Instant | null
}

/**
 * Has `expireAt` come? At `expireAt` itself it has (half-open). A stored conclusion wins over a clock that is behind.
 */
export function isExpired(quota: QuotaState, now: Instant): boolean {
  return quota.state === 'expired' || (quota.expireAt !== null && now >= quota.expireAt)
}

/** The status on the wire, derived at the moment of reading. */
export function statusAt(quota: QuotaState, now: Instant): Status {
  if (quota.state === 'disabled') return 'disabled'
  return isExpired(quota, now) ? 'expired' : 'active'
}

/** Does it pay, or as a cap bound, at `now`? Deleted, disabled and expired quotas do not. */
export function isActive(quota: QuotaState, now: Instant): boolean {
  return quota.deletedAt === null && statusAt(quota, now) === 'active'
}

/** Does it count against the owner's limit of live quotas? Disabled ones do. */
export function isLive(quota: QuotaState, now: Instant): boolean {
  return quota.deletedAt === null && !isExpired(quota, now)
}

/**
 * Brings the counters into the cycle that holds `now`: `used` and `reserved` 0 in a cycle nobody spent in, once however
 * many were missed. An expired quota stands still at its end. A cycle never rolls back, so a clock that is behind
 * changes nothing. A rolling cap goes on emptying, ended or not: out of its window falls what has left it by then,
 * which begins no new count.
 * @returns whether anything changed
 */
export function roll(quota: QuotaState, now: Instant): boolean {
  if (quota.window !== null) return rollWindow(quota, quota.window, now)
  const { cycleUnit: unit, cycleTimeZone: timeZone, cycleAnchorAt: anchor, cycleEndsAt, expireAt } = quota
  if (unit === null || timeZone === null || anchor === null || cycleEndsAt === null) return false
  const at = expireAt === null ? now : Math.min(now, expireAt - 1)
  // The very last cycle ends where time does; there is no next one.
  if (at < cycleEndsAt || cycleEndsAt === MAX_INSTANT) return false
  quota.cycleEndsAt = nextBoundary({ unit, timeZone, anchor }, at).end
  beginCount(quota)
  return true
}

function rollWindow(quota: QuotaState, window: RollingWindow, now: Instant): boolean {
  const left = withoutPast(window, now)
  if (left === window) return false
  quota.window = left
  Object.assign(quota, sumOf(left))
  if (quota.reserved === 0) quota.holdDueAt = null
  return true
}

/** The first reset after `now` by a quota's rule, or after the last instant of an expired one; null without one. */
export function firstReset(quota: QuotaState, now: Instant): Instant | null {
  const { cycleUnit: unit, cycleTimeZone: timeZone, cycleAnchorAt: anchor, expireAt } = quota
  if (unit === null || timeZone === null || anchor === null) return null
  const at = expireAt === null ? now : Math.min(now, expireAt - 1)
  return at < anchor ? anchor : nextBoundary({ unit, timeZone, anchor }, at).end
}

/**
 * Begins a new count: what was paid, held or counted before is of another `cycleSeq`, so its settlement leaves the
 * quota alone (contract, §8 Reset).
 */
export function beginCount(quota: QuotaState): void {
  quota.used = 0
  quota.reserved = 0
  if (quota.window !== null) quota.window = EMPTY_WINDOW
  quota.holdDueAt = null
  quota.cycleSeq += 1
}

/** What one quota can still give: never negative, although `total` may have been lowered below what is used. */
export function remaining(quota: QuotaState): number {
  return Math.max(0, quota.total - quota.used - quota.reserved)
}

/**
 * Is `instant` a reset of this quota that has come already, by the clock or by what is stored? Such a value is the echo
 * of a record read before that reset.
 */
export function isPastReset(quota: QuotaState, instant: Instant, now: Instant): boolean {
  const { cycleUnit: unit, cycleTimeZone: timeZone, cycleAnchorAt: anchor, cycleEndsAt } = quota
  if (unit === null || timeZone === null || anchor === null || cycleEndsAt === null) return false
  if (instant > now && instant >= cycleEndsAt) return false
  return isBoundary({ unit, timeZone, anchor }, instant)
}

/** The sums over an owner's active payers (contract, §3 Summary). */
export interface Summary {
  total: number
  used: number
  reserved: number
  /** The sum of the quotas' own remaining: after a lowered total it may exceed total - used - reserved. */
  remaining: number
  quotaCount: number
}

/** Adds up those of the owner's payers that are active at `now`; they are to be rolled already. */
export function summarise(quotas: readonly QuotaState[], now: Instant): Summary {
  const sum: Summary = { total: 0, used: 0, reserved: 0, remaining: 0, quotaCount: 0 }
  for (const quota of quotas) {
    if (quota.cap !== null || !isActive(quota, now)) continue
    sum.total += quota.total
    sum.used += quota.used
    sum.reserved += quota.reserved
    sum.remaining += remaining(quota)
    sum.quotaCount += 1
  }
  return sum
}
