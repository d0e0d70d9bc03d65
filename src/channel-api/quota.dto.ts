import { PartialType, PickType } from '@nestjs/swagger'
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
} from '../http/field.decorator.js'
import { CursorPageQuery } from '../http/page.dto.js'
import { CapDto } from '../http/problem.dto.js'
import type { QuotaFilter } from '../ledger/read/list-statements.js'
import { CHANGE_ACTIONS, type ChangeAction } from '../ledger/rows/change.entity.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { MAX_LEVELS } from '../domain/chain.js'
import { CAP_MODES, type CapMode, MAX_LIVE_QUOTAS, type Status, STATUSES } from '../domain/quota.js'
import { SETTING_NAMES, type SettingName } from '../domain/settings.js'
import { QuotaFields } from './settings.dto.js'

const nullable = { nullable: true } as const

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
  @ResponseInteger({ max: MAX_LIVE_QUOTAS * (1 + MAX_LEVELS), example: 2 })
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
export class ChangedSettingsDto extends PartialType(PickType(QuotaFields, SETTING_NAMES)) {
  /** Whether an administrator disabled the quota. */
  @ResponseChoice(['active', 'disabled'], { optional: true })
  declare status?: 'active' | 'disabled'

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
