import { EXAMPLE_UUID } from '../http/example.js'
import {
  ChoiceField,
  IdField,
  IntegerField,
  LabelField,
  OnlyTrueField,
  ResponseChoice,
  ResponseFlag,
  ResponseId,
  ResponseIds,
  ResponseInstant,
  ResponseInteger,
  ResponseObject,
  ResponseSchema,
  ResponseText,
  ResponseThresholds,
} from '../http/field.decorator.js'
import { CursorPageQuery } from '../http/page.dto.js'
import { CapDto } from '../http/problem.dto.js'
import type { QuotaFilter } from '../ledger/read/list-statements.js'
import { CHANGE_ACTIONS, type ChangeAction } from '../ledger/rows/change.entity.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
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
  type Status,
  STATUSES,
} from '../domain/quota.js'
import { MAX_WINDOW_SECONDS, MIN_WINDOW_SECONDS } from '../domain/rolling-window.js'
import { SETTING_NAMES, type SettingName } from '../domain/settings.js'

const nullable = { nullable: true } as const
const amount = { max: MAX_AMOUNT } as const
const window = { min: MIN_WINDOW_SECONDS, max: MAX_WINDOW_SECONDS } as const

/** The fields of a quota in both channels; each adds its subjects. */
export abstract class QuotaFields implements Record<SettingName, unknown> {
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

/** Selects quotas in both channels; each adds its subjects. */
export abstract class QuotaListFields extends CursorPageQuery {
  /** Returns only quotas that have this status now. */
  @ChoiceField(STATUSES, { optional: true, example: 'active' })
  status?: Status

  /** Returns only deleted quotas, with `deleted_at`. Other lists do not contain them. */
  @OnlyTrueField()
  deleted?: 'true'

  /** Returns only caps of this kind; `none`: only quotas that pay. */
  @ChoiceField([...CAP_MODES, 'none'], { optional: true, example: 'enforce' })
  cap?: CapMode | 'none'

  /** Returns only the quotas of this group, not the counts of its members. */
  @IdField({ optional: true, example: 5 })
  group_id?: number

  /** Returns only the counts of members that follow this quota. */
  @IdField({ optional: true, example: 12 })
  follows?: number

  /** Returns only quotas whose label begins with this text. Case is ignored, accents are not; there are no wildcards. */
  @LabelField({ optional: true, beginning: true })
  label?: string
}

/**
 * Returns the filter of a valid query.
 * @param subjects the conditions on subjects
 */
export function filterOf<Q extends QuotaRow>(
  { status, deleted, label, cap, follows }: QuotaListFields,
  subjects: QuotaFilter<Q>['subjects'],
): QuotaFilter<Q> {
  return {
    subjects,
    status,
    deleted: deleted !== undefined,
    ...(label === undefined ? {} : { label }),
    ...(cap === undefined ? {} : { cap }),
    ...(follows === undefined ? {} : { follows }),
  }
}

/** A summary in both channels; each adds the owner. */
export abstract class SummaryFields {
  /** The group to which the owner belongs, or the default group; null: none. */
  @ResponseId({ nullable: true, example: null })
  group_id!: number | null

  /** The sum of the active quotas' totals. */
  @ResponseInteger({ example: 1500 })
  total!: number

  /** The sum of their `used`. */
  @ResponseInteger({ example: 20 })
  used!: number

  /** The sum of their `reserved`. */
  @ResponseInteger({ example: 5 })
  reserved!: number

  /** The sum of their `remaining`. After a `total` was lowered, it can exceed total - used - reserved. */
  @ResponseInteger({ example: 1475 })
  remaining!: number

  /** Number of active quotas that pay. */
  @ResponseInteger({ max: 200, example: 2 })
  quota_count!: number

  /** The largest amount that one consume can take now, with the shared quotas of its groups: what the quotas pay, limited by the remaining units of each enforce cap; 0 without an active quota that pays. */
  @ResponseInteger({ example: 1475 })
  available!: number
}

/** A summary of one owner in both channels; each adds the owner. */
export abstract class OwnSummaryFields extends SummaryFields {
  /** The active caps, with those of its groups, ids ascending. */
  @ResponseObject(() => CapDto, { isArray: true, example: [] })
  caps!: CapDto[]
}

/** A page of a list; each list adds its items. */
export abstract class PageFields {
  /** Number of the page, from 1. */
  @ResponseInteger({ min: 1, example: 1 })
  page!: number

  /** The requested size, 1 … 100. */
  @ResponseInteger({ min: 1, max: 100, example: 20 })
  page_size!: number

  /** Number of items in the whole list. */
  @ResponseInteger({ example: 57 })
  total!: number

  /** `exact` up to 10,000 items; above, the total is a count at most 60 seconds old. */
  @ResponseChoice(['exact', 'recent'])
  total_relation!: 'exact' | 'recent'
}

/** The changed settings, counters or members; others are absent. */
export class ChangedSettingsDto {
  /** The allowance. */
  @ResponseInteger({ ...amount, optional: true, example: 1000 })
  total?: number

  /** Whether an administrator disabled the quota. */
  @ResponseChoice(['active', 'disabled'], { optional: true })
  status?: string

  /** The expiry. */
  @ResponseInstant({ ...nullable, optional: true })
  expire_at?: string | null

  /** The length of a cycle. */
  @ResponseChoice(CYCLE_UNITS, { ...nullable, optional: true, example: 'month' })
  cycle_unit?: CycleUnit | null

  /** The next reset. */
  @ResponseInstant({ ...nullable, optional: true })
  cycle_reset_at?: string | null

  /** The time zone of the cycle. */
  @ResponseText({ ...nullable, optional: true, example: 'UTC' })
  cycle_time_zone?: string | null

  /** The label. */
  @ResponseText({ ...nullable, optional: true, example: 'Spring campaign' })
  label?: string | null

  /** The kind of cap; null: the quota pays. */
  @ResponseChoice(CAP_MODES, { ...nullable, optional: true, example: null })
  cap?: CapMode | null

  /** The window, in seconds. */
  @ResponseInteger({ ...window, ...nullable, optional: true, example: null })
  window_seconds?: number | null

  /** The thresholds, ascending. */
  @ResponseThresholds({ ...nullable, optional: true })
  thresholds?: number[] | null

  /** The settings of a member's count that are its own, if these changed. */
  @ResponseSchema(
    { type: 'array', items: { type: 'string', enum: SETTING_NAMES } },
    { optional: true, example: ['total'] },
  )
  overrides?: SettingName[]

  /** Time of the deletion; null: not deleted. */
  @ResponseInstant({ ...nullable, optional: true })
  deleted_at?: string | null

  /** The name of a group. */
  @ResponseText({ optional: true, example: 'example.org' })
  name?: string

  /** The group above a group. */
  @ResponseId({ ...nullable, optional: true, example: 4 })
  parent_id?: number | null

  /** Whether a group is the default group. */
  @ResponseFlag({ optional: true, example: false })
  default?: boolean

  /** Owners that became members and were in no group, ascending. */
  @ResponseIds({ optional: true, example: [7, 8] })
  added?: number[]

  /** Owners that became members, each with the group that it was in, ascending. */
  @ResponseSchema(
    { type: 'array', items: { type: 'array', items: { type: 'integer' }, minItems: 2, maxItems: 2 } },
    { optional: true, example: [[9, 4]] },
  )
  moved?: [number, number][]

  /** Owners that are no longer members, ascending. */
  @ResponseIds({ optional: true, example: [7] })
  removed?: number[]

  /** Units spent; present after a reset or a change of the window, and in a create with an opening balance. */
  @ResponseInteger({ optional: true, example: 20 })
  used?: number

  /** Units reserved; present after a reset or a change of the window. */
  @ResponseInteger({ optional: true, example: 5 })
  reserved?: number
}

/** The fields of a change in both channels; each adds the owner. */
export abstract class ChangeFields {
  /** Id of the change; increases with time. */
  @ResponseId({ example: 31 })
  id!: number

  /** Id of the quota; absent in a change of a group, and in the erasure of an owner. */
  @ResponseId({ optional: true, example: 12 })
  quota_id?: number

  /** The changed group, or the group of the quota; null: none. */
  @ResponseId({ nullable: true, example: null })
  group_id!: number | null

  /** The action. */
  @ResponseChoice(CHANGE_ACTIONS, { example: 'update' })
  action!: ChangeAction

  /** Name of the principal that made the change; `(erased)` if that was an owner that was erased. */
  @ResponseText({ example: 'back-office' })
  actor!: string

  /** The X-Request-Id of the request; `(erased)` if the owner was erased since. */
  @ResponseText({ example: EXAMPLE_UUID })
  request_id!: string

  /** Time of the change. */
  @ResponseInstant()
  at!: string

  /** The changed members before; empty for a create. */
  @ResponseObject(() => ChangedSettingsDto)
  before!: ChangedSettingsDto

  /** The changed members after. */
  @ResponseObject(() => ChangedSettingsDto)
  after!: ChangedSettingsDto

  /** Id of the change set that made the change; absent otherwise. */
  @ResponseId({ optional: true, example: 5 })
  change_set_id?: number
}

/** The body of a reset. */
export class ResetDto {
  /** The version that the caller read. If it is not the current one, nothing is reset. */
  @IntegerField({ optional: true, min: 1, max: Number.MAX_SAFE_INTEGER, example: 3 })
  version?: number
}

/** The query of a deletion. */
export class DeleteQuery {
  /** The version that the caller read. If it is not the current one, nothing is deleted. */
  @IntegerField({ optional: true, min: 1, max: Number.MAX_SAFE_INTEGER, example: 3 })
  version?: number
}
