import { type Instant, timeOrNull } from '../common/instant.js'
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

/** The settings that a create may leave out, as if it had. */
export const DEFAULTS: Omit<NewSettings, 'quotaType' | 'total'> = {
  used: 0,
  expireAt: null,
  cycleUnit: null,
  cycleResetAt: null,
  cycleTimeZone: null,
  label: null,
  cap: null,
  windowSeconds: null,
  thresholds: [],
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

/** What is to be known of one setting; all that lists the settings derives from it. */
interface Setting<P extends keyof SettingsPatch, Shown> {
  /** The types that have it; undefined: all. */
  readonly types?: readonly QuotaType[]
  /** Is it a free text, which may tell of people? An erasure removes it wherever it is stored (contract, §15). */
  readonly isText?: true
  /** The columns of its value, which a member's count takes from the quota that it follows. */
  readonly columns: readonly Exclude<keyof QuotaState, 'followedEndsAt'>[]
  /** Its value of a rolled quota, as answers and the history of changes show it. */
  readonly shown: (quota: QuotaState) => Shown
  /** Sets its value; undefined: `applyPatch` does so, by rules of its own. */
  readonly set?: (quota: QuotaState, value: Exclude<SettingsPatch[P], undefined>) => void
}

/** Checks that the functions agree with the setting's type. */
const setting = <P extends keyof SettingsPatch, Shown>(_property: P, described: Setting<P, Shown>) => described

/** A setting that is one column, for every type, without rules of its own. */
const plain = <P extends 'total' | 'label' | 'cap'>(property: P): Setting<P, QuotaState[P]> => ({
  columns: [property],
  shown: (quota) => quota[property],
  set: (quota, value) => Object.assign(quota, { [property]: value }),
})

const OF_CYCLE = { types: [CYCLE_QUOTA] } as const
/** The columns of a cycle; all come with its unit. */
const CYCLE_COLUMNS = ['cycleUnit', 'cycleTimeZone', 'cycleAnchorAt', 'cycleEndsAt'] as const

/** The settings of a quota, in the order of the history of changes. */
const SETTINGS = {
  total: plain('total'),
  status: setting('status', { columns: [], shown: ({ state }) => (state === 'disabled' ? 'disabled' : 'active') }),
  expireAt: setting('expireAt', {
    columns: ['expireAt'],
    shown: ({ expireAt }) => timeOrNull(expireAt),
    set: (quota, expireAt) => (quota.expireAt = expireAt),
  }),
  cycleUnit: setting('cycleUnit', { ...OF_CYCLE, columns: CYCLE_COLUMNS, shown: ({ cycleUnit }) => cycleUnit }),
  cycleResetAt: setting('cycleResetAt', {
    ...OF_CYCLE,
    columns: [],
    shown: ({ cycleEndsAt }) => timeOrNull(cycleEndsAt),
  }),
  cycleTimeZone: setting('cycleTimeZone', { ...OF_CYCLE, columns: [], shown: ({ cycleTimeZone }) => cycleTimeZone }),
  label: { ...plain('label'), isText: true },
  cap: plain('cap'),
  windowSeconds: setting('windowSeconds', {
    types: [ROLLING_QUOTA],
    columns: ['windowSeconds'],
    shown: ({ windowSeconds }) => windowSeconds,
  }),
  thresholds: setting('thresholds', {
    types: [TOTAL_QUOTA, CYCLE_QUOTA],
    columns: ['thresholds'],
    shown: ({ quotaType, thresholds }) => (quotaType === ROLLING_QUOTA ? null : thresholdsOf(thresholds)),
    // Null only for the type that has none.
    set: (quota, thresholds) => (quota.thresholds = thresholdsText(thresholds ?? [])),
  }),
} satisfies { readonly [P in keyof SettingsPatch]-?: Setting<P, unknown> }

/** The settings in the history of changes, by their names in the API. */
export type SettingsView = {
  [P in keyof typeof SETTINGS as Snake<P>]: ReturnType<(typeof SETTINGS)[P]['shown']>
}

/** Each setting by its name in the API, its property in `SettingsPatch`, and what is to be known of it. */
const DESCRIBED = (Object.keys(SETTINGS) as (keyof SettingsPatch)[]).map(
  (property): readonly [SettingName, keyof SettingsPatch, Setting<keyof SettingsPatch, unknown>] => [
    property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) as SettingName,
    property,
    SETTINGS[property] as Setting<keyof SettingsPatch, unknown>,
  ],
)

/** The names of all settings in the API. */
export const SETTING_NAMES: readonly SettingName[] = DESCRIBED.map(([name]) => name)

/** The names of the settings that are free texts. */
export const TEXT_SETTINGS: ReadonlySet<string> = new Set(
  DESCRIBED.filter(([, , { isText }]) => isText === true).map(([name]) => name),
)

/** Each setting's name in the API, and its property in `SettingsPatch`. */
export const SETTING_PROPERTIES = DESCRIBED.map(([name, property]) => [name, property] as const)

/** The columns of all settings. */
export const SETTING_COLUMNS = DESCRIBED.flatMap(([, , { columns }]) => columns)

/**
 * The part of a patch that made a change. The rest equalled what was shown: later, when something else is shown, it
 * would be a change of its own.
 */
export function changedPart(patch: SettingsPatch, { after }: Pick<SettingsChange, 'after'>): SettingsPatch {
  const ofCycle = CYCLE_NAMES.some((name) => name in after)
  const changed = SETTING_PROPERTIES.filter(([name]) => name in after || (ofCycle && CYCLE_NAMES.includes(name)))
  return Object.fromEntries(
    changed.flatMap(([, property]) => (patch[property] === undefined ? [] : [[property, patch[property]]])),
  )
}

function copyColumn<C extends keyof QuotaState>(to: QuotaState, from: QuotaState, column: C): void {
  to[column] = from[column]
}

/** The names of the settings of a cycle, which are overridden and given back together. */
export const CYCLE_NAMES: readonly SettingName[] = ['cycle_unit', 'cycle_reset_at', 'cycle_time_zone']

/** Sets those settings of a member's count that are not its own to the values of the quota that it follows. */
export function takeSettings(count: QuotaState, followed: QuotaState, own: ReadonlySet<SettingName>): void {
  for (const [name, , { columns }] of DESCRIBED)
    if (!own.has(name)) for (const column of columns) copyColumn(count, followed, column)
}

/** The counters in a change that begins a new count. */
type CountersView = Record<'used' | 'reserved', number>

/** A change also shows which settings of a member's count are its own. */
type ChangeView = Partial<SettingsView & CountersView & { overrides: SettingName[] }>

/** A difference in settings: only the members that changed, and the counters if a new count begins. */
export interface SettingsChange {
  before: ChangeView
  after: ChangeView
}

const typeName = (type: QuotaType): string => `quota_type ${type} (${TYPE_WORDS[type]})`

/** Returns the mistake of a value other than null of a setting that the type does not have; undefined if it has it. */
function foreignTo(type: QuotaType, name: string): string | undefined {
  const types = DESCRIBED.find(([shownName]) => shownName === name)?.[2].types
  if (types === undefined || types.includes(type)) return undefined
  return `belongs to ${types.map(typeName).join(' and ')}; leave it out or null for ${typeName(type)}`
}

/** The mistakes of all settings that the type does not have. */
function foreignSettings(type: QuotaType, settings: SettingsPatch): Violation[] {
  return DESCRIBED.flatMap(([field, property]) => {
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
    for (const [field, property] of DESCRIBED)
      if (CYCLE_NAMES.includes(field) && patch[property] === null)
        violations.push({ field, message: 'may not be null for quota_type 2 (cycle)' })
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
  const { status, cycleUnit, cycleResetAt: resetAt, cycleTimeZone, windowSeconds } = patch
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
  for (const [, property, { set }] of DESCRIBED) {
    const value = patch[property]
    if (value !== undefined) set?.(quota, value)
  }
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

/** The settings of a rolled quota, in the format of the history of changes. */
export function settingsView(quota: QuotaState): SettingsView {
  return Object.fromEntries(DESCRIBED.map(([name, , { shown }]) => [name, shown(quota)])) as unknown as SettingsView
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
