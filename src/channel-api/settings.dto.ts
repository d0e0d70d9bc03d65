import { ApiHideProperty } from '@nestjs/swagger'
import type { FieldError } from '../common/service-error.js'
import {
  ChoiceField,
  IdField,
  IgnoredField,
  InstantField,
  IntegerField,
  LabelField,
  NamesField,
  ResponseChoice,
  ResponseId,
  ResponseInstant,
  ResponseInteger,
  ResponseSchema,
  ResponseText,
  ResponseThresholds,
  ThresholdsField,
  TimeZoneField,
  TotalField,
} from '../http/field.decorator.js'
import { CYCLE_UNITS, type CycleUnit } from '../domain/cycle.js'
import {
  CAP_MODES,
  type CapMode,
  CYCLE_QUOTA,
  MAX_AMOUNT,
  type Per,
  PERS,
  QUOTA_TYPES,
  type QuotaType,
  ROLLING_QUOTA,
  type Status,
  STATUSES,
  TYPE_WORDS,
} from '../domain/quota.js'
import { MAX_WINDOW_SECONDS, MIN_WINDOW_SECONDS } from '../domain/rolling-window.js'
import {
  type GroupPlace,
  timeViolations,
  typeViolations,
  type NewSettings,
  SETTING_NAMES,
  SETTING_PROPERTIES,
  type SettingName,
  type SettingsPatch,
} from '../domain/settings.js'
import { type Instant, parseInstant } from '../common/instant.js'

const nullable = { nullable: true } as const
const amount = { max: MAX_AMOUNT } as const
/** The options of a field that may be absent or null. */
export const absent = { optional: true, nullable: true } as const
/** The range of a window, in seconds. */
export const window = { min: MIN_WINDOW_SECONDS, max: MAX_WINDOW_SECONDS, example: 86_400 } as const

/** The fields of a quota in both channels; each adds its subjects. */
export class QuotaFields implements Record<SettingName, unknown> {
  /** Id of the quota. */
  @ResponseId({ example: 12 })
  id!: number

  /** 1 (total): `total` units until `expire_at`. 2 (cycle): `total` units per cycle. 3 (rolling): `total` units in any `window_seconds`; only caps. */
  @ResponseChoice(QUOTA_TYPES, { example: CYCLE_QUOTA })
  quota_type!: QuotaType

  /** The allowance, in the caller's unit. */
  @ResponseInteger({ ...amount, example: 1000 })
  total!: number

  /** Units spent: type 2 (cycle) in the current cycle, type 3 (rolling) in the window. Can exceed `total` in an observe cap. */
  @ResponseInteger({ example: 20 })
  used!: number

  /** Units reserved by open holds. */
  @ResponseInteger({ example: 5 })
  reserved!: number

  /** max(0, total - used - reserved) */
  @ResponseInteger({ ...amount, example: 975 })
  remaining!: number

  /** The status at the time of reading: `left` if it is a member's count whose group is no longer in the owner's chain, otherwise `disabled` if an administrator disabled the quota, otherwise `expired` from `expire_at` on, otherwise `active`. */
  @ResponseChoice(STATUSES)
  status!: Status

  /** The time from which the quota is expired; null: never. */
  @ResponseInstant({ ...nullable, example: null })
  expire_at!: string | null

  /** The length of a cycle; null for types 1 (total) and 3 (rolling). */
  @ResponseChoice(CYCLE_UNITS, { ...nullable, example: 'month' })
  cycle_unit!: CycleUnit | null

  /** The next reset, even if it is after `expire_at`; null for types 1 (total) and 3 (rolling). */
  @ResponseInstant(nullable)
  cycle_reset_at!: string | null

  /** Reset number 0, from which all others are counted; null for types 1 (total) and 3 (rolling). */
  @ResponseInstant(nullable)
  cycle_anchor_at!: string | null

  /** The IANA time zone whose calendar the cycle follows, as sent; null for types 1 (total) and 3 (rolling). */
  @ResponseText({ ...nullable, example: 'UTC' })
  cycle_time_zone!: string | null

  /** A name for people, as sent; null: none. */
  @ResponseText({ ...nullable, example: 'Spring campaign' })
  label!: string | null

  /** Null: the quota pays. Otherwise it is a cap: `enforce` limits what the owner consumes, `observe` only reports what it would have refused. */
  @ResponseChoice(CAP_MODES, { ...nullable, example: null })
  cap!: CapMode | null

  /** The window of a rolling cap, in seconds; null for types 1 (total) and 2 (cycle). */
  @ResponseInteger({ ...window, ...nullable, example: null })
  window_seconds!: number | null

  /** Percentages of `total` at which `used` causes an event, ascending; null for type 3 (rolling). */
  @ResponseThresholds(nullable)
  thresholds!: number[] | null

  /** The group of a group's quota, and of a member's count; null for an owner's own quota. */
  @ResponseId({ ...nullable, example: null })
  group_id!: number | null

  /** `group`: all members of the group share it. `member`: each has a count of its own. Null for an owner's own quota. */
  @ResponseChoice(PERS, { ...nullable, example: null })
  per!: Per | null

  /** The quota whose settings this count of a member follows; null for every other quota. */
  @ResponseId({ ...nullable, example: null })
  follows!: number | null

  /** The settings of a member's count that do not follow, ascending; null for every other quota. */
  @ResponseSchema({ type: ['array', 'null'], items: { type: 'string', enum: SETTING_NAMES } }, { example: null })
  overrides!: SettingName[] | null

  /** Starts at 1 and is incremented by each edit of the settings, not by usage. */
  @ResponseInteger({ min: 1, example: 3 })
  version!: number

  /** Time of the creation. */
  @ResponseInstant()
  created_at!: string

  /** Time of the last edit, deletion, restore or reset; usage does not change it. */
  @ResponseInstant()
  updated_at!: string
}

/** The settings of a create. Each type requires different ones (contract, §3 Create). */
export abstract class NewSettingsFields {
  /** 1 (total): `total` units until `expire_at`. 2 (cycle): `total` units per cycle. 3 (rolling): `total` units in any `window_seconds`; only for caps. */
  @ChoiceField(QUOTA_TYPES, { words: TYPE_WORDS, example: CYCLE_QUOTA })
  quota_type!: QuotaType

  /** The allowance, in the caller's unit; 0 … 10^12. */
  @TotalField()
  total!: number

  /** The opening balance: units used elsewhere in the count that begins, 0 … `total`; of an observe cap 0 … 10^12. It belongs to no operation. Absent or null: 0. Not allowed with `per` `member`, whose counts begin at 0. */
  @TotalField({ ...absent, example: 0 })
  used?: number | null

  /** The time from which the quota is expired, in the future. Required for type 1 (total). Types 2 (cycle) and 3 (rolling): absent or null means never. */
  @InstantField({ ...absent, example: null })
  expire_at?: string | null

  /** The length of a cycle; required for type 2 (cycle), not allowed for others. An hour is elapsed time, the others follow the calendar in the quota's zone. */
  @ChoiceField(CYCLE_UNITS, { ...absent, example: 'month' })
  cycle_unit?: CycleUnit | null

  /** The first reset, in the future, and the anchor of all later ones; required for type 2 (cycle), not allowed for others. */
  @InstantField(absent)
  cycle_reset_at?: string | null

  /** The IANA time zone whose calendar the cycle follows; only for type 2 (cycle). Default: `UTC`. */
  @TimeZoneField({ ...absent, example: 'UTC' })
  cycle_time_zone?: string | null

  /** A name for people, stored as sent. Absent or null: none. */
  @LabelField(absent)
  label?: string | null

  /** Makes the quota a cap, which never pays: `enforce` limits what the owner consumes, `observe` only reports what it would have refused. Absent or null: the quota pays. */
  @ChoiceField(CAP_MODES, { ...absent, example: null })
  cap?: CapMode | null

  /** The window of a rolling cap, in seconds; required for type 3 (rolling), not allowed for others. */
  @IntegerField({ ...absent, ...window })
  window_seconds?: number | null

  /** Percentages of `total` at which `used` causes an event. Default for types 1 (total) and 2 (cycle): none. Type 3 (rolling) has no thresholds: absent or null. */
  @ThresholdsField(absent)
  thresholds?: number[] | null

  /** Makes it a quota of this group instead of an owner's. */
  @IdField({ ...absent, example: 5 })
  group_id?: number | null

  /** With `group_id` only. `group`: all members share one count. `member`: each member has a count of its own. Default: `group`. */
  @ChoiceField(PERS, { ...absent, example: 'group' })
  per?: Per | null

  /** Checks the settings that the type requires and excludes. */
  violations(): FieldError[] {
    return typeViolations(partialSettings(this))
  }

  /** Names the settings that the type does not have, whatever their value. */
  foreign(): FieldError[] {
    return this.violations().filter(({ field }) => this[field as keyof this] != null)
  }

  /** Checks the times against the present. The pipe calls it only if there are other mistakes: a replayed create is not checked again. */
  violationsAt(now: Instant): FieldError[] {
    return timeViolations(partialSettings(this), now)
  }
}

/**
 * Checks whose quota a create makes: an owner's or a group's.
 * @param field the field that names the owner
 * @param others fields of other subjects, which only an owner's quota names
 */
export function placeViolations(dto: NewSettingsFields, field: string, others: readonly string[]): FieldError[] {
  const sent = dto as unknown as Readonly<Record<string, unknown>>
  const violations: FieldError[] = []
  const [owner, group] = [sent[field], dto.group_id]
  const none = owner === undefined && group == null
  // A null owner is a mistake of its own field alone.
  if (none || (owner != null && group != null)) {
    const message = `exactly one of ${field} and group_id must be given`
    violations.push({ field, message }, { field: 'group_id', message })
  } else if (group == null) {
    if (dto.per != null)
      violations.push({ field: 'per', message: 'belongs to a quota of a group; leave it out or null' })
  } else {
    // 0 is what the record of such a quota shows, and says nothing.
    if (dto.per === 'member' && dto.used != null && dto.used !== 0)
      violations.push({ field: 'used', message: 'belongs to a quota with a count; leave it out or null' })
    for (const other of others)
      if (sent[other] != null)
        violations.push({ field: other, message: "belongs to an owner's quota; leave it out or null with group_id" })
  }
  return violations
}

/** Returns the group of a valid create; undefined for an owner's quota. */
export function placeOf({ group_id: groupId, per }: NewSettingsFields): GroupPlace | undefined {
  return groupId == null ? undefined : { groupId, per: per ?? 'group' }
}

/**
 * Makes an update accept and ignore the record's other fields, so that a front end may send back what it read.
 * @param subjects fields of the subjects that the channel's quotas name
 */
export function IgnoredRecord(...subjects: string[]): ClassDecorator {
  return ({ prototype }) => {
    for (const field of ['id', ...subjects, ...SHOWN]) IgnoredField()(prototype as object, field)
  }
}

/** The fields of a quota, in both channels, that an update cannot change. */
const SHOWN = [
  'quota_type',
  'used',
  'reserved',
  'remaining',
  'cycle_anchor_at',
  'group_id',
  'per',
  'follows',
  'created_at',
  'updated_at',
  'deleted_at',
]

/**
 * The settings of an update; absent ones stay. Concrete classes accept and ignore the record's other fields
 * (`IgnoredRecord`).
 */
export class SettingsPatchFields {
  /** The allowance. It may be less than `used`; `remaining` is then 0. */
  @TotalField({ optional: true })
  total?: number

  /** `active` or `disabled`; `expired` and `left` only if the record shows them. */
  @ChoiceField(STATUSES, { optional: true, example: 'active' })
  status?: Status

  /** The expiry. A time in the past expires the quota at once. Types 2 (cycle) and 3 (rolling): null means never. */
  @InstantField({ ...absent, example: null })
  expire_at?: string | null

  /** Type 2 (cycle) only. A change keeps the next reset; later ones are counted from it in the new unit. */
  @ChoiceField(CYCLE_UNITS, { ...absent, example: 'month' })
  cycle_unit?: CycleUnit | null

  /** Type 2 (cycle) only. A new value must be in the future; it becomes the anchor and ends the current cycle. */
  @InstantField(absent)
  cycle_reset_at?: string | null

  /** Type 2 (cycle) only. A change keeps the next reset; later ones are counted from it in the new zone. */
  @TimeZoneField({ ...absent, example: 'UTC' })
  cycle_time_zone?: string | null

  /** A name for people; null removes it. */
  @LabelField(absent)
  label?: string | null

  /** Caps only: `enforce` or `observe`. Null only if the record shows it. */
  @ChoiceField(CAP_MODES, { ...absent, example: null })
  cap?: CapMode | null

  /** Type 3 (rolling) only. A change begins a new count. */
  @IntegerField({ ...absent, ...window })
  window_seconds?: number | null

  /** Types 1 (total) and 2 (cycle): replaces all thresholds; `[]` removes them. Null only if the record shows it (type 3, rolling). */
  @ThresholdsField(absent)
  thresholds?: number[] | null

  /** Members' counts only: the settings that stay the count's own. Those of its overrides that are missing are given back: they follow again. Absent or null: all stay. */
  @NamesField(SETTING_NAMES, absent)
  overrides?: SettingName[] | null

  /** The version that the caller read. If it is not the current one, nothing changes, and the answer is `version_mismatch`. */
  @IntegerField({ optional: true, min: 1, max: Number.MAX_SAFE_INTEGER, example: 3 })
  version?: number

  /** The mistakes of the body alone; the stored record may add others (contract, §7 Of updates). */
  @ApiHideProperty()
  errors: readonly FieldError[] | undefined = undefined

  /** Requires at least one setting. */
  violations(): FieldError[] {
    const named = this.overrides != null || SETTING_NAMES.some((name) => this[name] !== undefined)
    return named ? [] : [{ field: 'body', message: `must name at least one of ${SETTING_NAMES.join(', ')}` }]
  }
}

function instantOf(text: unknown): Instant | null {
  return typeof text === 'string' ? (parseInstant(text) ?? null) : null
}

/** Returns the present settings of a create, which may lack required ones. */
export function partialSettings(dto: Omit<NewSettingsFields, 'violations' | 'foreign' | 'violationsAt'>): NewSettings {
  return {
    quotaType: dto.quota_type,
    // The fields' own rules report anything else.
    total: typeof dto.total === 'number' ? dto.total : Infinity,
    used: typeof dto.used === 'number' ? dto.used : 0,
    // An invalid time counts as present, so that it is not also reported as missing.
    expireAt: instantOf(dto.expire_at) ?? (dto.expire_at == null ? null : Infinity),
    cycleUnit: dto.cycle_unit ?? null,
    cycleResetAt: instantOf(dto.cycle_reset_at) ?? (dto.cycle_reset_at == null ? null : Infinity),
    cycleTimeZone: dto.cycle_time_zone ?? null,
    label: dto.label ?? null,
    cap: dto.cap ?? null,
    windowSeconds: dto.window_seconds ?? null,
    thresholds: dto.thresholds === undefined && dto.quota_type !== ROLLING_QUOTA ? [] : (dto.thresholds ?? null),
  }
}

/** Returns the settings of a valid create, with defaults. */
export function settingsOf(dto: NewSettingsFields): NewSettings {
  const settings = partialSettings(dto)
  return settings.quotaType === CYCLE_QUOTA ? { ...settings, cycleTimeZone: settings.cycleTimeZone ?? 'UTC' } : settings
}

/** Returns the present settings of a valid update. */
export function patchOf(dto: SettingsPatchFields): SettingsPatch {
  const present = SETTING_PROPERTIES.filter(([name]) => dto[name] !== undefined)
  // The names of times, and only these, end so.
  return Object.fromEntries(
    present.map(([name, property]) => [property, name.endsWith('_at') ? instantOf(dto[name]) : dto[name]]),
  )
}
