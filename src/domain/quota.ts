import { type Instant, MAX_INSTANT } from '../common/instant.js'
import { cycleAt, type CycleUnit, isReset } from './cycle.js'
import { EMPTY_WINDOW, type RollingWindow, sumOf, withoutPast } from './rolling-window.js'

/**
 * Type 1 (total): `total` units until `expireAt`. Type 2 (cycle): `total` units in each cycle (contract, §1). Type 3
 * (rolling): `total` units in any interval of `windowSeconds`; only for caps (contract, §9).
 */
export type QuotaType = 1 | 2 | 3
export const TOTAL_QUOTA = 1 satisfies QuotaType
export const CYCLE_QUOTA = 2 satisfies QuotaType
export const ROLLING_QUOTA = 3 satisfies QuotaType
export const QUOTA_TYPES = [TOTAL_QUOTA, CYCLE_QUOTA, ROLLING_QUOTA] as const
/** The word of each type, for people. */
export const TYPE_WORDS = { 1: 'total', 2: 'cycle', 3: 'rolling' } as const satisfies Record<QuotaType, string>

/** What a cap does if an amount does not fit: `enforce` refuses it, `observe` admits it and reports it. */
export const CAP_MODES = ['enforce', 'observe'] as const
export type CapMode = (typeof CAP_MODES)[number]

/** Who has a count of a group's quota: all members together, or each member one of its own (contract, §13). */
export const PERS = ['group', 'member'] as const
export type Per = (typeof PERS)[number]

/**
 * The status of a quota at an instant, in answers and filters (contract, §3 Status). `left`: a member's count whose
 * group is not in its owner's chain any more, or whose quota is deleted (contract, §13).
 */
export const STATUSES = ['active', 'disabled', 'expired', 'left'] as const
export type Status = (typeof STATUSES)[number]

/**
 * The maximum of `total` and of the amount of one act, so that sums over 200 quotas are exact JSON numbers (contract,
 * §2).
 */
export const MAX_AMOUNT = 1_000_000_000_000

/** The maximum number of an owner's live quotas: neither deleted nor expired (contract, §2). */
export const MAX_LIVE_QUOTAS = 200

/** The maximum number of quotas that a `quota_exceeded` names (docs/use/integrating.md). */
export const MAX_QUOTAS_SHOWN = 20

/**
 * The settings and counters of one quota, as input of the rules. Amounts are integers in the caller's unit. `used`,
 * `reserved` and `holdDueAt` belong to cycle number `cycleSeq`, which may have ended: `roll` advances them to the
 * present cycle.
 */
export interface QuotaState {
  id: number
  quotaType: QuotaType
  total: number
  used: number
  reserved: number
  /**
   * An administrator sets `disabled`; `expired` records that `expireAt` has passed. It may be recorded late, but never
   * early. `follow` sets that of a member's count.
   */
  state: Status
  /** The quota ends at this instant; null: never (types 2 and 3). */
  expireAt: Instant | null
  /**
   * The four members of a cycle; null for types 1 and 3. `cycleEndsAt` is the end of cycle `cycleSeq`, `cycleAnchorAt`
   * is reset number 0.
   */
  cycleUnit: CycleUnit | null
  cycleTimeZone: string | null
  cycleAnchorAt: Instant | null
  cycleEndsAt: Instant | null
  /**
   * The number of the count: increases with each roll, each manual reset (also for types 1 and 3) and each change of
   * the window. Allocations refer to it.
   */
  cycleSeq: number
  /** Not after the expiry of the earliest open hold in this cycle; null if there is none. */
  holdDueAt: Instant | null
  /** The name for people, 1 … 120 code points; null if it has none. */
  label: string | null
  /** Null: the quota pays. Otherwise it is a cap, which never pays and limits what its owner consumes. */
  cap: CapMode | null
  /** The window of a rolling quota, in seconds; null for types 1 and 2. */
  windowSeconds: number | null
  /** Per cent of `total`, in the format of `thresholdsText`; null if there are none, as for type 3. */
  thresholds: string | null
  /**
   * The thresholds that the current count has passed, with its `cycleSeq` (`threshold.ts`); null if there are none.
   */
  passed: string | null
  /** The counts of a rolling cap, slot by slot; `used` and `reserved` are their sums. Null for types 1 and 2. */
  window: RollingWindow | null
  /** The group of a group's quota, and of a member's count; null for an owner's own quota. */
  groupId: number | null
  /** Null for an owner's own quota. A member's count has `member`, as the quota that it follows. */
  per: Per | null
  /** The quota whose settings a member's count has; null for every other quota. */
  follows: number | null
  /** The settings of a member's count that are its own (`overridesText`); null for every other quota. */
  overrides: string | null
  /**
   * When the present count of a quota that counts follow began: its creation, its last reset, or the last change of its
   * window. A count with an earlier value has to begin anew (`follow`). Null for other quotas.
   */
  countBeganAt: Instant | null
  createdAt: Instant
  deletedAt: Instant | null
  /** Of a member's count, not stored: the end of the quota that it follows, with which it ends, too. */
  followedEndsAt?: Instant | null
}

/** From this instant, the quota neither pays nor bounds; null: it has no end. */
export function endOf({ expireAt, followedEndsAt = null }: QuotaState): Instant | null {
  return expireAt === null || (followedEndsAt !== null && followedEndsAt < expireAt) ? followedEndsAt : expireAt
}

/** The last instant up to `now` at which the quota has not ended. */
function lastInstant(quota: QuotaState, now: Instant): Instant {
  const end = endOf(quota)
  return end === null ? now : Math.min(now, end - 1)
}

/**
 * Is the quota expired? It is at `expireAt` itself (half-open). A stored conclusion takes precedence over a clock that
 * is behind.
 */
export function isExpired(quota: QuotaState, now: Instant): boolean {
  return quota.state === 'expired' || (quota.expireAt !== null && now >= quota.expireAt)
}

/** The status in answers, derived from the state and `now`. */
export function statusAt(quota: QuotaState, now: Instant): Status {
  if (quota.state === 'disabled' || quota.state === 'left') return quota.state
  return isExpired(quota, now) ? 'expired' : 'active'
}

/** Is the quota in force at `now`: not deleted, disabled or expired? */
export function isActive(quota: QuotaState, now: Instant): boolean {
  return quota.deletedAt === null && statusAt(quota, now) === 'active'
}

/** Does the quota count towards the owner's limit of live quotas? Disabled ones do. */
export function isLive(quota: QuotaState, now: Instant): boolean {
  return quota.deletedAt === null && !isExpired(quota, now)
}

/**
 * Advances the counters to the cycle that contains `now`: `used` and `reserved` become 0, in one step for any number of
 * missed cycles. An expired quota stays in the cycle of its end. A cycle never rolls back, so a clock that is behind
 * changes nothing. In a rolling cap, expired or not, the slots that have left its window are removed; this does not
 * begin a new count.
 * @returns whether anything changed
 */
export function roll(quota: QuotaState, now: Instant): boolean {
  if (quota.window !== null) return rollWindow(quota, quota.window, now)
  const { cycleUnit: unit, cycleTimeZone: timeZone, cycleAnchorAt: anchor, cycleEndsAt } = quota
  if (unit === null || timeZone === null || anchor === null || cycleEndsAt === null) return false
  const at = lastInstant(quota, now)
  // The last cycle ends at MAX_INSTANT; there is no next one.
  if (at < cycleEndsAt || cycleEndsAt === MAX_INSTANT) return false
  const cycle = cycleAt({ unit, timeZone, anchor }, at)
  quota.cycleEndsAt = cycle.end
  if (quota.countBeganAt !== null) quota.countBeganAt = cycle.start
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

/** The next reset after `now`, or after the end of an expired quota; null if the quota has none. */
export function firstReset(quota: QuotaState, now: Instant): Instant | null {
  const { cycleUnit: unit, cycleTimeZone: timeZone, cycleAnchorAt: anchor } = quota
  if (unit === null || timeZone === null || anchor === null) return null
  const at = lastInstant(quota, now)
  return at < anchor ? anchor : cycleAt({ unit, timeZone, anchor }, at).end
}

/**
 * Begins a new count: units paid, held or counted before have another `cycleSeq`, so their settlement does not change
 * the quota (contract, §8 Reset).
 */
export function beginCount(quota: QuotaState): void {
  quota.used = 0
  quota.reserved = 0
  if (quota.window !== null) quota.window = EMPTY_WINDOW
  quota.holdDueAt = null
  quota.cycleSeq += 1
}

/** The units that the quota can still give: never negative, although `total` may be lower than `used`. */
export function remaining(quota: QuotaState): number {
  return Math.max(0, quota.total - quota.used - quota.reserved)
}

/**
 * Is `instant` a past reset of this quota, by the clock or by the stored state? Such a value comes from a record that
 * was read before that reset.
 */
export function isPastReset(quota: QuotaState, instant: Instant, now: Instant): boolean {
  const { cycleUnit: unit, cycleTimeZone: timeZone, cycleAnchorAt: anchor, cycleEndsAt } = quota
  if (unit === null || timeZone === null || anchor === null || cycleEndsAt === null) return false
  if (instant > now && instant >= cycleEndsAt) return false
  return isReset({ unit, timeZone, anchor }, instant)
}

/** The sums over an owner's active payers (contract, §3 Summary). */
export interface Summary {
  total: number
  used: number
  reserved: number
  /** The sum of the quotas' remaining units: after a lowered total it may exceed total - used - reserved. */
  remaining: number
  quotaCount: number
}

/** Adds up the owner's payers that are active at `now`. The quotas must be rolled. */
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
