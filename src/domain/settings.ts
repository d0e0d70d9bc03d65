import { formatInstant, type Instant } from '../common/instant.js'
import type { CycleUnit } from './cycle.js'
import {
  beginCount,
  type CapMode,
  CYCLE_QUOTA,
  firstReset,
  isPastReset,
  type Per,
  type QuotaState,
  type QuotaType,
  roll,
  QUOTA_TYPES,
  ROLLING_QUOTA,
  type Status,
  statusAt,
  TOTAL_QUOTA,
  TYPE_WORDS,
} from './quota.js'
import { openingWindow } from './rolling-window.js'
import { thresholdsOf, thresholdsText } from './threshold.js'

/** The settings of a create, in the domain's terms. */
export interface NewSettings {
  quotaType: QuotaType
  total: number
  /**
   * The opening balance (contract, §15): units used elsewhere in the count that begins; 0 for none. It is no setting of
   * the quota, and no update changes it.
   */
  used: number
  expireAt: Instant | null
  cycleUnit: CycleUnit | null
  /** The first reset; it becomes the anchor. */
  cycleResetAt: Instant | null
  cycleTimeZone: string | null
  /** For every type; null for none. */
  label: string | null
  /** Null: the quota pays. */
  cap: CapMode | null
  /** Required for type 3, absent for others. */
  windowSeconds: number | null
  /** Per cent of `total`; empty for none. Null for type 3, which has none. */
  thresholds: readonly number[] | null
}

/** The settings of an update; absent members are unchanged. The type of a quota cannot change. */
export type SettingsPatch = Partial<Omit<NewSettings, 'quotaType' | 'used'>> & { status?: Status }

type Snake<S extends string> = S extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : ''

/** A setting's name in the API. */
export type SettingName = Snake<keyof SettingsPatch>

/** A violated rule, with the setting's name in the API. */
export interface Violation {
  field: string
  message: string
}

/** The settings in the history of changes. */
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

/** The counters in a change that begins a new count. */
export interface CountersView {
  used: number
  reserved: number
}

/** What a change of a member's count also shows: the settings that are its own. */
export interface OverridesView {
  overrides: SettingName[]
}

/** A difference in settings: only the members that changed, and the counters if a new count begins. */
export interface SettingsChange {
  before: Partial<SettingsView & CountersView & OverridesView>
  after: Partial<SettingsView & CountersView & OverridesView>
}

/** The members of a cycle, by their names in the API and here. */
export const CYCLE_FIELDS = [
  ['cycle_unit', 'cycleUnit'],
  ['cycle_reset_at', 'cycleResetAt'],
  ['cycle_time_zone', 'cycleTimeZone'],
] as const

const typeName = (type: QuotaType): string => `quota_type ${type} (${TYPE_WORDS[type]})`

/** The types that have a setting which not all of them have. */
const TYPES_WITH: Readonly<Record<string, readonly QuotaType[]>> = {
  cycle_unit: [CYCLE_QUOTA],
  cycle_reset_at: [CYCLE_QUOTA],
  cycle_time_zone: [CYCLE_QUOTA],
  window_seconds: [ROLLING_QUOTA],
  thresholds: [TOTAL_QUOTA, CYCLE_QUOTA],
}

/** Returns the mistake of a value other than null of a setting that the type does not have; undefined if it has it. */
function foreignTo(type: QuotaType, field: string): string | undefined {
  const types = Object.hasOwn(TYPES_WITH, field) ? TYPES_WITH[field] : undefined
  if (types === undefined || types.includes(type)) return undefined
  return `belongs to ${types.map(typeName).join(' and ')}; leave it out or null for ${typeName(type)}`
}

const FOREIGN_FIELDS = [...CYCLE_FIELDS, ['window_seconds', 'windowSeconds'], ['thresholds', 'thresholds']] as const

/** The mistakes of all settings that the type does not have. */
function foreignSettings(type: QuotaType, settings: Partial<NewSettings>): Violation[] {
  return FOREIGN_FIELDS.flatMap(([field, property]) => {
    const message = settings[property] == null ? undefined : foreignTo(type, field)
    return message === undefined ? [] : [{ field, message }]
  })
}

const STATUS_MESSAGES = {
  expired: 'can be set to active or disabled; a quota expires by its expire_at',
  left: 'can be set to active or disabled; the count of a member has left with its group',
}
const THRESHOLDS_NULL = 'may not be null: [] stands for none'
const IN_THE_PAST = 'must lie in the future'

/**
 * The rules of a create that do not depend on time: the required and the foreign settings of each type (contract, §3
 * Create).
 */
export function typeViolations(settings: Partial<NewSettings>): Violation[] {
  const { quotaType } = settings
  const known = quotaType !== undefined && QUOTA_TYPES.includes(quotaType)
  const violations: Violation[] = known ? foreignSettings(quotaType, settings) : []
  const { used = 0, total = used, cap } = settings
  // A total below 0 is a mistake of its own.
  if (used > Math.max(total, 0) && cap !== 'observe')
    violations.push({ field: 'used', message: 'may not exceed total, except for an observe cap' })
  if (quotaType === TOTAL_QUOTA && settings.expireAt == null)
    violations.push({ field: 'expire_at', message: 'is required for quota_type 1 (total)' })
  if (quotaType === ROLLING_QUOTA) {
    if (settings.windowSeconds == null)
      violations.push({ field: 'window_seconds', message: 'is required for quota_type 3 (rolling)' })
    if (settings.cap == null)
      violations.push({ field: 'cap', message: 'must be enforce or observe for quota_type 3 (rolling): it never pays' })
  } else if (known && settings.thresholds === null) violations.push({ field: 'thresholds', message: THRESHOLDS_NULL })
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

/** The rules of a create that depend on the present time; a replayed create is not checked against them again. */
export function timeViolations(settings: Partial<NewSettings>, now: Instant): Violation[] {
  const violations: Violation[] = []
  if (settings.expireAt != null && settings.expireAt <= now)
    violations.push({ field: 'expire_at', message: IN_THE_PAST })
  if (settings.quotaType === CYCLE_QUOTA && settings.cycleResetAt != null && settings.cycleResetAt <= now) {
    violations.push({ field: 'cycle_reset_at', message: IN_THE_PAST })
  }
  return violations
}

/** The group of a new quota, and who has a count of it. */
export type GroupPlace = { readonly groupId: number; readonly per: Per }

/**
 * The state of a new quota: active, with a first cycle from now to `cycleResetAt`, of any length, and with the opening
 * balance as `used` of its first count.
 * @param place undefined for an owner's own quota
 */
export function newQuota(settings: NewSettings, now: Instant, place?: GroupPlace): Omit<QuotaState, 'id'> {
  const cycle = settings.quotaType === CYCLE_QUOTA
  const { used, windowSeconds } = settings
  return {
    quotaType: settings.quotaType,
    total: settings.total,
    used,
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
    windowSeconds,
    thresholds: thresholdsText(settings.thresholds ?? []),
    passed: null,
    window: settings.quotaType === ROLLING_QUOTA ? openingWindow(windowSeconds ?? 0, now, used) : null,
    groupId: place?.groupId ?? null,
    per: place?.per ?? null,
    follows: null,
    overrides: null,
    countBeganAt: place?.per === 'member' ? now : null,
    createdAt: now,
    deletedAt: null,
  }
}

/** The rules of a patch that depend only on the quota's type: foreign fields, and null for required values. */
export function foreignViolations(quota: QuotaState, patch: SettingsPatch): Violation[] {
  const { quotaType } = quota
  const violations = foreignSettings(quotaType, patch)
  if (quotaType === TOTAL_QUOTA && patch.expireAt === null)
    violations.push({ field: 'expire_at', message: 'may not be null for quota_type 1 (total)' })
  if (quotaType === CYCLE_QUOTA) {
    for (const [field, property] of CYCLE_FIELDS)
      if (patch[property] === null) violations.push({ field, message: 'may not be null for quota_type 2 (cycle)' })
  }
  if (quotaType === ROLLING_QUOTA) {
    if (patch.windowSeconds === null)
      violations.push({ field: 'window_seconds', message: 'may not be null for quota_type 3 (rolling)' })
  } else if (patch.thresholds === null) violations.push({ field: 'thresholds', message: THRESHOLDS_NULL })
  if (patch.cap !== undefined && (patch.cap === null) !== (quota.cap === null))
    violations.push({ field: 'cap', message: quota.cap === null ? CAP_OF_PAYER : PAYER_OF_CAP })
  return violations
}

/**
 * The mistakes of an update, with those that a stored quota adds.
 * @param patch without the settings that have a mistake
 * @param mistakes of the update alone; of a setting that the quota's type does not have, only that is said
 */
export function patchViolations(
  quota: QuotaState,
  patch: SettingsPatch,
  now: Instant,
  mistakes: readonly Violation[],
): Violation[] {
  const { violations = [] } = applyPatch({ ...quota }, patch, now)
  const own = mistakes.map(({ field, message }) => ({ field, message: foreignTo(quota.quotaType, field) ?? message }))
  return [...own, ...foreignViolations(quota, patch), ...violations]
}

/** The result of a patch: the difference (undefined: none), or the violated rules. */
export type Applied = { violations: Violation[] } | { violations?: never; change: SettingsChange | undefined }

/**
 * Applies a patch to a rolled quota (contract, §3 Update and §7 Of updates). A field that equals the shown value
 * changes nothing, so callers may send back a whole record; a past reset of the same anchor also counts as unchanged. A
 * changed reset is the new anchor and ends the current cycle at that time; if only the unit or zone changes, the next
 * reset stays and becomes the anchor. `used` never changes. The quota changes only if no rule is violated.
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
  if ((status === 'expired' || status === 'left') && statusAt(quota, now) !== status)
    violations.push({ field: 'status', message: STATUS_MESSAGES[status] })
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
  // A revived quota first rolls from its end by its previous rule, so that the patch applies to the present cycle.
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
  const counted = windowSeconds === undefined ? undefined : changeWindow(quota, windowSeconds, now)
  const change = difference(before, settingsView(quota))
  if (change === undefined || counted === undefined) return { change }
  return {
    change: { before: { ...change.before, ...counted }, after: { ...change.after, used: 0, reserved: 0 } },
  }
}

/**
 * A changed window begins a new count, as a manual reset does.
 * @returns the counters of the count that ends; undefined if nothing changes
 */
function changeWindow(quota: QuotaState, windowSeconds: number | null, now: Instant): CountersView | undefined {
  if (windowSeconds === quota.windowSeconds) return undefined
  const { used, reserved } = quota
  quota.windowSeconds = windowSeconds
  // Two changes within a millisecond are two counts.
  if (quota.countBeganAt !== null) quota.countBeganAt = Math.max(now, quota.countBeganAt + 1)
  beginCount(quota)
  return { used, reserved }
}

/**
 * Applies a patch that reverts an earlier change of a cycle's rule: as `applyPatch`, but with the quota's earlier
 * anchor. The next reset is the first future one of that rule.
 */
export function putBack(quota: QuotaState, patch: SettingsPatch, anchorAt: Instant, now: Instant): Applied {
  const before = { ...quota }
  const applied = applyPatch(quota, patch, now)
  if (applied.violations !== undefined || quota.quotaType !== CYCLE_QUOTA) return applied
  // An expired quota is rolled only up to its end, and further once it is revived.
  roll(before, now)
  quota.cycleAnchorAt = anchorAt
  quota.cycleEndsAt = firstReset(quota, now)
  return { change: difference(settingsView(before), settingsView(quota)) }
}

/** Does not compile if a setting is not applied. */
function nothing(_others: Record<string, never>): void {}

/** The settings of a rolled quota, in the format of the history of changes. */
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

/** Do two settings have the same shown value? Thresholds are lists. */
function isSame(a: unknown, b: unknown): boolean {
  return a === b || (Array.isArray(a) && Array.isArray(b) && a.join() === b.join())
}

/** The settings that differ; undefined if none does. */
export function difference(before: SettingsView, after: SettingsView): SettingsChange | undefined {
  const names = (Object.keys(before) as (keyof SettingsView)[]).filter((name) => !isSame(before[name], after[name]))
  if (names.length === 0) return undefined
  const pick = (from: SettingsView): Partial<SettingsView> =>
    Object.fromEntries(names.map((name) => [name, from[name]]))
  return { before: pick(before), after: pick(after) }
}
