import { formatInstant, type Instant } from '../time/instant.js'
import type { CycleUnit } from './cycle.js'
import {
  beginCount,
  type CapMode,
  CYCLE_QUOTA,
  firstReset,
  isPastReset,
  type QuotaState,
  type QuotaType,
  roll,
  ROLLING_QUOTA,
  type Status,
  statusAt,
  TOTAL_QUOTA,
} from './quota.js'
import { EMPTY_WINDOW } from './rolling-window.js'
import { thresholdsOf, thresholdsText } from './threshold.js'

/** What a create asks for, in the domain's terms. */
export interface NewSettings {
  quotaType: QuotaType
  total: number
  expireAt: Instant | null
  cycleUnit: CycleUnit | null
  /** The first reset; it becomes the anchor. */
  cycleResetAt: Instant | null
  cycleTimeZone: string | null
  /** Of every type; null for none. */
  label: string | null
  /** Null: it pays. */
  cap: CapMode | null
  /** Type 3 alone, required there. */
  windowSeconds: number | null
  /** Per cent of `total`; empty for none. Null is the form of type 3, which has none. */
  thresholds: readonly number[] | null
}

/** What an update asks for; an absent member stays as it is. The type of a quota stays. */
export type SettingsPatch = Partial<Omit<NewSettings, 'quotaType'>> & { status?: Status }

type Snake<S extends string> = S extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : ''

/** A setting's name on the wire. */
export type SettingName = Snake<keyof SettingsPatch>

/** A broken rule among the settings, by the setting's wire name. */
export interface Violation {
  field: string
  message: string
}

/** The settings as the history of changes shows them. */
export interface SettingsView extends Record<SettingName, unknown> {
  total: number
  status: 'active' | 'disabled'
  expire_at: string | null
  cycle_unit: CycleUnit | null
  cycle_reset_at: string | null
  cycle_time_zone: string | null
  label: string | null
  cap: CapMode | null
  window_seconds: number | null
  thresholds: number[] | null
}

/** Counters as a change shows them that begins a new count. */
export interface CountersView {
  used: number
  reserved: number
}

/** A difference in settings: only the members that changed, and the counters where a new count began. */
export interface SettingsChange {
  before: Partial<SettingsView & CountersView>
  after: Partial<SettingsView & CountersView>
}

const CYCLE_FIELDS = [
  ['cycle_unit', 'cycleUnit'],
  ['cycle_reset_at', 'cycleResetAt'],
  ['cycle_time_zone', 'cycleTimeZone'],
] as const

const TYPE_NAMES = { 1: 'quota_type 1 (total)', 2: 'quota_type 2 (cycle)', 3: 'quota_type 3 (rolling)' } as const

const foreignCycle = (type: QuotaType): string =>
  `belongs to quota_type 2 (cycle); leave it out or null for ${TYPE_NAMES[type]}`
const foreignWindow = (type: QuotaType): string =>
  `belongs to quota_type 3 (rolling); leave it out or null for ${TYPE_NAMES[type]}`
const FOREIGN_THRESHOLDS = 'belongs to quota_types 1 and 2; leave it out or null for quota_type 3 (rolling)'
const THRESHOLDS_NULL = 'may not be null: [] stands for none'
const IN_THE_PAST = 'must lie in the future'

/**
 * The rules of a create that hold at any time: what each type requires and what is foreign to it (contract, §3 Create).
 */
export function typeViolations(settings: Partial<NewSettings>): Violation[] {
  const violations: Violation[] = []
  const { quotaType } = settings
  if (quotaType === TOTAL_QUOTA && settings.expireAt == null)
    violations.push({ field: 'expire_at', message: 'is required for quota_type 1 (total)' })
  if (quotaType === TOTAL_QUOTA || quotaType === ROLLING_QUOTA) {
    for (const [field, property] of CYCLE_FIELDS) {
      if (settings[property] != null) violations.push({ field, message: foreignCycle(quotaType) })
    }
  }
  if (quotaType === ROLLING_QUOTA) {
    if (settings.windowSeconds == null)
      violations.push({ field: 'window_seconds', message: 'is required for quota_type 3 (rolling)' })
    if (settings.cap == null)
      violations.push({ field: 'cap', message: 'must be enforce or observe for quota_type 3 (rolling): it never pays' })
    if (settings.thresholds != null) violations.push({ field: 'thresholds', message: FOREIGN_THRESHOLDS })
  } else if (quotaType !== undefined) {
    if (settings.windowSeconds != null) violations.push({ field: 'window_seconds', message: foreignWindow(quotaType) })
    if (settings.thresholds === null) violations.push({ field: 'thresholds', message: THRESHOLDS_NULL })
  }
  if (quotaType === CYCLE_QUOTA) {
    if (settings.cycleUnit == null)
      violations.push({ field: 'cycle_unit', message: 'is required for quota_type 2 (cycle)' })
    if (settings.cycleResetAt == null)
      violations.push({ field: 'cycle_reset_at', message: 'is required for quota_type 2 (cycle)' })
  }
  return violations
}

const CAP_OF_PAYER = 'may not be set on a quota that pays; create a cap beside it'
const PAYER_OF_CAP = 'may not be null: a cap stays one; change it between enforce and observe, or delete it'

/** The rules of a create that depend on the time of asking; a replayed create is not measured by them again. */
export function timeViolations(settings: Partial<NewSettings>, now: Instant): Violation[] {
  const violations: Violation[] = []
  if (settings.expireAt != null && settings.expireAt <= now)
    violations.push({ field: 'expire_at', message: IN_THE_PAST })
  if (settings.quotaType === CYCLE_QUOTA && settings.cycleResetAt != null && settings.cycleResetAt <= now) {
    violations.push({ field: 'cycle_reset_at', message: IN_THE_PAST })
  }
  return violations
}

/** The state of a new quota: active, its first cycle running from now to `cycleResetAt`, however long. */
export function newQuota(settings: NewSettings, now: Instant): Omit<QuotaState, 'id'> {
  const cycle = settings.quotaType === CYCLE_QUOTA
  return {
    quotaType: settings.quotaType,
    total: settings.total,
    used: 0,
    reserved: 0,
    state: 'active',
    expireAt: settings.expireAt,
    cycleUnit: cycle ? settings.cycleUnit : null,
    cycleTimeZone: cycle ? (settings.cycleTimeZone ?? 'UTC') : null,
    cycleAnchorAt: cycle ? settings.cycleResetAt : null,
    cycleEndsAt: cycle ? settings.cycleResetAt : null,
    cycleSeq: 0,
    holdDueAt: null,
    label: settings.label,
    cap: settings.cap,
    windowSeconds: settings.windowSeconds,
    thresholds: thresholdsText(settings.thresholds ?? []),
    passed: null,
    window: settings.quotaType === ROLLING_QUOTA ? EMPTY_WINDOW : null,
    createdAt: now,
    deletedAt: null,
  }
}

/** What of a patch can be judged by the quota's type alone: foreign fields, and nulls where a value must stay. */
export function foreignViolations(quota: QuotaState, patch: SettingsPatch): Violation[] {
  const violations: Violation[] = []
  const { quotaType } = quota
  if (quotaType === TOTAL_QUOTA && patch.expireAt === null)
    violations.push({ field: 'expire_at', message: 'may not be null for quota_type 1 (total)' })
  for (const [field, property] of CYCLE_FIELDS) {
    if (quotaType === CYCLE_QUOTA) {
      if (patch[property] === null) violations.push({ field, message: 'may not be null for quota_type 2 (cycle)' })
    } else if (patch[property] != null) violations.push({ field, message: foreignCycle(quotaType) })
  }
  if (quotaType === ROLLING_QUOTA) {
    if (patch.windowSeconds === null)
      violations.push({ field: 'window_seconds', message: 'may not be null for quota_type 3 (rolling)' })
    if (patch.thresholds != null) violations.push({ field: 'thresholds', message: FOREIGN_THRESHOLDS })
  } else {
    if (patch.windowSeconds != null) violations.push({ field: 'window_seconds', message: foreignWindow(quotaType) })
    if (patch.thresholds === null) violations.push({ field: 'thresholds', message: THRESHOLDS_NULL })
  }
  if (patch.cap !== undefined && (patch.cap === null) !== (quota.cap === null))
    violations.push({ field: 'cap', message: quota.cap === null ? CAP_OF_PAYER : PAYER_OF_CAP })
  return violations
}

/** What becomes of a patch: the difference it makes (undefined: none), or the rules it breaks. */
export type Applied = { violations: Violation[] } | { violations?: never; change: SettingsChange | undefined }

/**
 * Applies a patch to a rolled quota (contract, §3 Update and §7 Of updates). A field that equals what is shown changes
 * nothing, so a record that was read may be sent back whole; a reset of the same anchor that has passed since the
 * reading is such an echo too. A changed reset is the new anchor and ends the running cycle then; a changed unit or
 * zone alone keeps the next reset and makes it the anchor. `used` is never touched. The quota is changed only where
 * nothing is broken.
 */
export function applyPatch(quota: QuotaState, patch: SettingsPatch, now: Instant): Applied {
  const violations: Violation[] = []
  const { total, status, expireAt, cycleUnit, cycleResetAt: resetAt, cycleTimeZone, label, ...rest } = patch
  const { cap, windowSeconds, thresholds, ...others } = rest
  nothing(others)
  const resetChanges =
    resetAt != null &&
    resetAt !== quota.cycleEndsAt &&
    quota.quotaType === CYCLE_QUOTA &&
    !isPastReset(quota, resetAt, now)
  if (resetChanges && resetAt <= now) violations.push({ field: 'cycle_reset_at', message: IN_THE_PAST })
  if (status === 'expired' && statusAt(quota, now) !== 'expired') {
    violations.push({ field: 'status', message: 'can be set to active or disabled; a quota expires by its expire_at' })
  }
  if (violations.length > 0) return { violations }

  const settings = settingsView(quota)
  if (total !== undefined) quota.total = total
  if (expireAt !== undefined) quota.expireAt = expireAt
  if (label !== undefined) quota.label = label
  if (cap !== undefined) quota.cap = cap
  if (thresholds != null) quota.thresholds = thresholdsText(thresholds)
  const disabled = status === undefined ? quota.state === 'disabled' : status === 'disabled'
  quota.state = 'active'
  quota.state = disabled ? 'disabled' : statusAt(quota, now)
  // Revived, it rolls on from its end first, by the rule it had: what is changed then is the cycle that runs now.
  roll(quota, now)
  const before = { ...settings, cycle_reset_at: settingsView(quota).cycle_reset_at }
  const unit = cycleUnit ?? quota.cycleUnit
  const timeZone = cycleTimeZone ?? quota.cycleTimeZone
  if (
    quota.quotaType === CYCLE_QUOTA &&
    (resetChanges || unit !== quota.cycleUnit || timeZone !== quota.cycleTimeZone)
  ) {
    const anchor = resetChanges ? resetAt : quota.cycleEndsAt
    quota.cycleAnchorAt = anchor
    quota.cycleEndsAt = anchor
    quota.cycleUnit = unit
    quota.cycleTimeZone = timeZone
  }
  const counted = windowSeconds === undefined ? undefined : changeWindow(quota, windowSeconds)
  const change = difference(before, settingsView(quota))
  if (change === undefined || counted === undefined) return { change }
  return {
    change: { before: { ...change.before, ...counted }, after: { ...change.after, used: 0, reserved: 0 } },
  }
}

/**
 * A changed window begins a new count, as a reset by hand does.
 * @returns what the count was that it ends; undefined where nothing changes
 */
function changeWindow(quota: QuotaState, windowSeconds: number | null): CountersView | undefined {
  if (windowSeconds === quota.windowSeconds) return undefined
  const { used, reserved } = quota
  quota.windowSeconds = windowSeconds
  beginCount(quota)
  return { used, reserved }
}

/**
 * Applies a patch that takes an earlier change of a cycle's rule back: as `applyPatch`, and with the anchor that the
 * quota had then. Its next reset is the first one of that rule that has not come.
 */
export function putBack(quota: QuotaState, patch: SettingsPatch, anchorAt: Instant, now: Instant): Applied {
  const before = { ...quota }
  const applied = applyPatch(quota, patch, now)
  if (applied.violations !== undefined || quota.quotaType !== CYCLE_QUOTA) return applied
  // An expired quota is rolled up to its end alone, and on from there once it is revived.
  roll(before, now)
  quota.cycleAnchorAt = anchorAt
  quota.cycleEndsAt = firstReset(quota, now)
  return { change: difference(settingsView(before), settingsView(quota)) }
}

/** Lets nothing be left over, so that a setting which is not applied does not compile. */
function nothing(_others: Record<string, never>): void {}

/** The settings of a rolled quota, as the history of changes shows them. */
export function settingsView(quota: QuotaState): SettingsView {
  return {
    total: quota.total,
    status: quota.state === 'disabled' ? 'disabled' : 'active',
    expire_at: quota.expireAt === null ? null : formatInstant(quota.expireAt),
    cycle_unit: quota.cycleUnit,
    cycle_reset_at: quota.cycleEndsAt === null ? null : formatInstant(quota.cycleEndsAt),
    cycle_time_zone: quota.cycleTimeZone,
    label: quota.label,
    cap: quota.cap,
    window_seconds: quota.windowSeconds,
    thresholds: quota.quotaType === ROLLING_QUOTA ? null : thresholdsOf(quota.thresholds),
  }
}

/** Are two settings the same as they are shown? Thresholds are lists. */
function isSame(a: unknown, b: unknown): boolean {
  return a === b || (Array.isArray(a) && Array.isArray(b) && a.join() === b.join())
}

function difference(before: SettingsView, after: SettingsView): SettingsChange | undefined {
  const names = (Object.keys(before) as (keyof SettingsView)[]).filter((name) => !isSame(before[name], after[name]))
  if (names.length === 0) return undefined
  const pick = (from: SettingsView): Partial<SettingsView> =>
    Object.fromEntries(names.map((name) => [name, from[name]]))
  return { before: pick(before), after: pick(after) }
}
