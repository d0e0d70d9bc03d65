import type { FieldError } from '../common/service-error.js'
import {
  ChoiceField,
  InstantField,
  IntegerField,
  ResponseFlag,
  ResponseInstant,
  ResponseInteger,
  ResponseObject,
  TimeZoneField,
  TotalField,
} from '../http/field.decorator.js'
import { CYCLE_UNITS, type CycleUnit } from '../domain/cycle.js'
import type { TrialSettings } from '../domain/cap-trial.js'
import { QUOTA_TYPES, type QuotaType, ROLLING_QUOTA, TYPE_WORDS } from '../domain/quota.js'
import { typeViolations } from '../domain/settings.js'
import { absent, partialSettings, window } from './settings.dto.js'

/** The default and the maximum of `days`. */
const DEFAULT_DAYS = 30
const MAX_DAYS = 31

/** A cap on trial; each channel adds the owner. */
export abstract class CapTrialFields {
  /** 1 (total): `total` units in the whole period. 2 (cycle): `total` units per cycle. 3 (rolling): `total` units in any `window_seconds`. */
  @ChoiceField(QUOTA_TYPES, { words: TYPE_WORDS, example: ROLLING_QUOTA })
  quota_type!: QuotaType

  /** The limit, in the caller's unit; 0 … 10^12. */
  @TotalField()
  total!: number

  /** The window, in seconds; required for type 3 (rolling), not allowed for others. */
  @IntegerField({ ...absent, ...window })
  window_seconds?: number | null

  /** The length of a cycle; required for type 2 (cycle), not allowed for others. */
  @ChoiceField(CYCLE_UNITS, { ...absent, example: null })
  cycle_unit?: CycleUnit | null

  /** A reset, from which later ones are counted; required for type 2 (cycle), not allowed for others. It may be in the past: with one before the period, all cycles are whole; otherwise the first one lasts from the beginning of the period until this reset. */
  @InstantField({ ...absent, example: null })
  cycle_reset_at?: string | null

  /** The IANA time zone whose calendar the cycle follows; only for type 2 (cycle). Default: `UTC`. */
  @TimeZoneField({ ...absent, example: null })
  cycle_time_zone?: string | null

  /** The period: so many days of 24 hours, until now. */
  @IntegerField({ optional: true, min: 1, max: MAX_DAYS, default: DEFAULT_DAYS, example: DEFAULT_DAYS })
  days?: number

  /** Checks the settings that the type requires and excludes. */
  violations(): FieldError[] {
    // As an `observe` cap; one of type 1 needs no end, since it is only tried until now.
    return typeViolations({ ...partialSettings(this), cap: 'observe', expireAt: Infinity })
  }
}

/** A shared cap of a group on trial. */
export class GroupCapTrialDto extends CapTrialFields {}

/** The operations that a cap would have refused. */
class RefusedDto {
  /** Number of operations. */
  @ResponseInteger({ example: 17 })
  count!: number

  /** The sum of their amounts, at most 2^53-1. */
  @ResponseInteger({ example: 204 })
  requested!: number
}

/** The operations that a cap would have refused on one day. */
class RefusedOnDayDto extends RefusedDto {
  /** The beginning of the UTC day. */
  @ResponseInstant()
  day!: string
}

/** What an `observe` cap with these settings would have counted and refused, had it been created at the beginning of the period. */
export class CapTrialDto {
  /** The period, in days of 24 hours until now. */
  @ResponseInteger({ min: 1, max: MAX_DAYS, example: DEFAULT_DAYS })
  days!: number

  /** Number of consumes and reserves in the period. */
  @ResponseInteger({ example: 812 })
  operations!: number

  /** Those of them that the cap would have refused. It counts them nevertheless, as an `observe` cap does. */
  @ResponseObject(() => RefusedDto)
  would_refuse!: RefusedDto

  /** The same by UTC day, oldest first; days without any are omitted. */
  @ResponseObject(() => RefusedOnDayDto, { isArray: true })
  by_day!: RefusedOnDayDto[]

  /** False if only the newest 1,000,000 operations of at most 100,000 members are included, or operations of the period have been removed after their retention. */
  @ResponseFlag()
  complete!: boolean
}

/** Returns the settings of a valid trial. */
export function trialOf(dto: CapTrialFields): { settings: TrialSettings; days: number } {
  return { settings: partialSettings(dto), days: dto.days ?? DEFAULT_DAYS }
}
