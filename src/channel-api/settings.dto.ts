import { ApiHideProperty } from '@nestjs/swagger'
import type { FieldError } from '../error/service-error.js'
import {
  ChoiceField,
  IgnoredField,
  InstantField,
  IntegerField,
  LabelField,
  ThresholdsField,
  TimeZoneField,
  TotalField,
} from '../http/field.decorator.js'
import { CYCLE_UNITS, type CycleUnit } from '../quota/cycle.js'
import {
  CAP_MODES,
  type CapMode,
  CYCLE_QUOTA,
  QUOTA_TYPES,
  type QuotaType,
  ROLLING_QUOTA,
  type Status,
  STATUSES,
} from '../quota/quota.js'
import { MAX_WINDOW_SECONDS, MIN_WINDOW_SECONDS } from '../quota/rolling-window.js'
import {
  timeViolations,
  typeViolations,
  type NewSettings,
  type SettingName,
  type SettingsPatch,
} from '../quota/settings.js'
import { type Instant, parseInstant } from '../time/instant.js'

const absent = { optional: true, nullable: true } as const
const window = { min: MIN_WINDOW_SECONDS, max: MAX_WINDOW_SECONDS, example: 86_400 } as const

/** The settings that a create names; what the types need of them differs (contract, §3 Create). */
export abstract class NewSettingsFields {
  /** 1: total units until `expire_at`. 2: total units per cycle. 3: total units in any `window_seconds`, for caps alone. */
  @ChoiceField(QUOTA_TYPES, { example: CYCLE_QUOTA })
  quota_type!: QuotaType

  /** The allowance, in the caller's unit; 0 … 10^12. */
  @TotalField()
  total!: number

  /** From this instant on the quota is over; in the future. Required for type 1; for types 2 and 3 absent or null means never. */
  @InstantField({ ...absent, example: null })
  expire_at?: string | null

  /** How long a cycle lasts; type 2 alone, required there. An hour is elapsed time, the others follow the calendar in the quota's zone. */
  @ChoiceField(CYCLE_UNITS, { ...absent, example: 'month' })
  cycle_unit?: CycleUnit | null

  /** The first reset, in the future, and the anchor that all later ones are counted from; type 2 alone, required there. */
  @InstantField(absent)
  cycle_reset_at?: string | null

  /** The IANA zone whose calendar the cycle follows; type 2 alone, `UTC` where absent. */
  @TimeZoneField({ ...absent, example: 'UTC' })
  cycle_time_zone?: string | null

  /** What people call it, of every type; kept as given. Absent or null: nothing. */
  @LabelField(absent)
  label?: string | null

  /** A cap never pays: it bounds what the owner takes, or with `observe` tells what it would have refused. Absent or null: the quota pays. */
  @ChoiceField(CAP_MODES, { ...absent, example: null })
  cap?: CapMode | null

  /** How long the window of a rolling cap is, in seconds; type 3 alone, required there. */
  @IntegerField({ ...absent, ...window })
  window_seconds?: number | null

  /** Per cent of `total` that are told of as events when `used` reaches them; types 1 and 2, none where absent. Null for type 3 alone, which has none. */
  @ThresholdsField(absent)
  thresholds?: number[] | null

  /** What is wrong between the fields. Asked by the pipe. */
  violations(): FieldError[] {
    return typeViolations(partialSettings(this))
  }

  /** What is wrong at this time. Asked by the pipe only where something else is wrong too: a replayed create is not measured by time again. */
  violationsAt(now: Instant): FieldError[] {
    return timeViolations(partialSettings(this), now)
  }
}

/**
 * Accepts the rest of a record in an update and ignores it, so that a front end may send back what it read.
 * @param subjects fields of the subjects that the channel's quotas name
 */
export function IgnoredRecord(...subjects: string[]): ClassDecorator {
  return ({ prototype }) => {
    for (const field of ['id', ...subjects, ...SHOWN]) IgnoredField()(prototype as object, field)
  }
}

/** What both channels show of a quota and no update may name. */
const SHOWN = [
  'quota_type',
  'used',
  'reserved',
  'remaining',
  'cycle_anchor_at',
  'created_at',
  'updated_at',
  'deleted_at',
]

/** The settings that an update may name; an absent one stays. The record's other fields are accepted and ignored by the concrete classes (`IgnoredRecord`). */
export abstract class SettingsPatchFields {
  /** The allowance; may go below what is used, `remaining` is then 0. */
  @TotalField({ optional: true })
  total?: number

  /** `active` or `disabled`; `expired` only as the echo of a record that is. */
  @ChoiceField(STATUSES, { optional: true, example: 'active' })
  status?: Status

  /** May lie in the past: the quota is over at once. Null: never ends (types 2 and 3). */
  @InstantField({ ...absent, example: null })
  expire_at?: string | null

  /** Type 2. A change keeps the next reset and steps by the new unit from there. */
  @ChoiceField(CYCLE_UNITS, { ...absent, example: 'month' })
  cycle_unit?: CycleUnit | null

  /** Type 2. Where it changes it lies in the future, is the new anchor, and ends the running cycle then. */
  @InstantField(absent)
  cycle_reset_at?: string | null

  /** Type 2. A change keeps the next reset and follows the new zone from there. */
  @TimeZoneField({ ...absent, example: 'UTC' })
  cycle_time_zone?: string | null

  /** What people call it; null takes the name away. */
  @LabelField(absent)
  label?: string | null

  /** Of a cap: `enforce` or `observe`. Null only as the echo of a quota that pays. */
  @ChoiceField(CAP_MODES, { ...absent, example: null })
  cap?: CapMode | null

  /** Type 3. A change begins a new count. */
  @IntegerField({ ...absent, ...window })
  window_seconds?: number | null

  /** Types 1 and 2: all of them, `[]` for none. Null only as the echo of type 3. */
  @ThresholdsField(absent)
  thresholds?: number[] | null

  /** The version the caller read; where it is no longer the current one, nothing changes and the answer is `version_mismatch`. */
  @IntegerField({ optional: true, min: 1, max: Number.MAX_SAFE_INTEGER, example: 3 })
  version?: number

  /** What is wrong with the body by itself; the record may have more to say (contract, §7 Of updates). */
  @ApiHideProperty()
  errors: readonly FieldError[] | undefined = undefined

  /** An update must name something to update. */
  violations(): FieldError[] {
    const named = SETTINGS.some((name) => this[name] !== undefined)
    return named ? [] : [{ field: 'body', message: `must name at least one of ${SETTINGS.join(', ')}` }]
  }
}

/** How each setting of a valid update is read; undefined where it is not named. */
const PATCHED: { readonly [S in keyof SettingsPatch]-?: (dto: SettingsPatchFields) => SettingsPatch[S] } = {
  total: (dto) => dto.total,
  status: (dto) => dto.status,
  expireAt: (dto) => timeOf(dto.expire_at),
  cycleUnit: (dto) => dto.cycle_unit,
  cycleResetAt: (dto) => timeOf(dto.cycle_reset_at),
  cycleTimeZone: (dto) => dto.cycle_time_zone,
  label: (dto) => dto.label,
  cap: (dto) => dto.cap,
  windowSeconds: (dto) => dto.window_seconds,
  thresholds: (dto) => dto.thresholds,
}

const SETTINGS = Object.keys({
  total: true,
  status: true,
  expire_at: true,
  cycle_unit: true,
  cycle_reset_at: true,
  cycle_time_zone: true,
  label: true,
  cap: true,
  window_seconds: true,
  thresholds: true,
} satisfies Record<SettingName, true>) as SettingName[]

function timeOf(text: string | null | undefined): Instant | null | undefined {
  return text === undefined ? undefined : instantOf(text)
}

function instantOf(text: unknown): Instant | null {
  return typeof text === 'string' ? (parseInstant(text) ?? null) : null
}

function partialSettings(dto: NewSettingsFields): NewSettings {
  return {
    quotaType: dto.quota_type,
    total: dto.total,
    // A broken time counts as given, so that it is not called missing too.
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

/** The settings of a valid create, its defaults filled in. */
export function settingsOf(dto: NewSettingsFields): NewSettings {
  const settings = partialSettings(dto)
  return settings.quotaType === CYCLE_QUOTA ? { ...settings, cycleTimeZone: settings.cycleTimeZone ?? 'UTC' } : settings
}

/** The patch of a valid update: only what it names. */
export function patchOf(dto: SettingsPatchFields): SettingsPatch {
  const named = Object.entries(PATCHED)
    .map(([name, read]) => [name, read(dto)] as const)
    .filter(([, value]) => value !== undefined)
  return Object.fromEntries(named)
}
