import { OmitType } from '@nestjs/swagger'
import { ChangedSettingsDto } from '../channel-api/quota.dto.js'
import { patchOf, SettingsPatchFields } from '../channel-api/settings.dto.js'
import type { FieldError } from '../common/service-error.js'
import { checkDto, type DtoClass, fieldsOf } from '../http/dto.js'
import {
  ChoiceField,
  IdField,
  IntegerField,
  MembersField,
  OnlyTrueField,
  PageSizeField,
  ResponseChoice,
  ResponseId,
  ResponseInstant,
  ResponseInteger,
  ResponseObject,
  ResponseSchema,
  ResponseText,
  TotalChangeField,
  TrueField,
} from '../http/field.decorator.js'
import { FieldErrorDto } from '../http/problem.dto.js'
import type { RequestedChange, TotalChange } from './requested-change.js'
import { ITEM_ACTIONS, type ItemAction } from './change-set-item.entity.js'
import {
  CHANGE_SET_STATES,
  type ChangeSetRow,
  type ChangeSetState,
  OUTCOMES,
  type Outcome,
} from './change-set.entity.js'

/** The parameters of a list that an export lacks: its position. */
export const NOT_EXPORTED = ['page', 'page_size', 'before_id', 'violations'] as const

/** Those that a filter lacks: also `deleted`, since deleted quotas cannot be changed. */
export const NOT_FILTERED = [...NOT_EXPORTED, 'deleted'] as const

/** The maximum number of quotas that a filter names one by one. */
export const MAX_FILTER_IDS = 1_000

const noTime = (): number => 0

/** Checks the members of a field. */
function membersErrors(dto: DtoClass, value: unknown, field: string): FieldError[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return checkDto(dto, value, { from: 'body', prefix: `${field}.`, now: noTime }).errors ?? []
}

/** The settings of an update of many quotas. */
export class ManySettingsDto extends OmitType(SettingsPatchFields, ['total', 'version', 'errors', 'violations']) {
  /** The new allowance, or its change by `add` units or by `percent`, rounded half up. */
  @TotalChangeField({ optional: true })
  total?: number | TotalChange

  /** Checks the rules between the fields. */
  violations(): FieldError[] {
    const names = [...fieldsOf(ManySettingsDto).keys()]
    const named = names.some((name) => (this as Record<string, unknown>)[name] !== undefined)
    return named ? [] : [{ field: 'body', message: `must name at least one of ${names.join(', ')}` }]
  }
}

/** The change of each quota; exactly one of the three. */
export class ManyChangeDto {
  /** Updates settings. */
  @MembersField(() => ManySettingsDto, { optional: true })
  update?: ManySettingsDto

  /** Deletes the quotas; restorable. */
  @TrueField({ optional: true })
  delete?: true

  /** Resets the quotas: begins a new count. */
  @TrueField({ optional: true })
  reset?: true

  /** Checks the rules between the fields. */
  violations(): FieldError[] {
    const named = [this.update, this.delete, this.reset].filter((one) => one !== undefined)
    if (named.length !== 1) return [{ field: 'body', message: 'must name exactly one of update, delete and reset' }]
    return membersErrors(ManySettingsDto, this.update, 'update')
  }
}

/** The body that creates a change set; each channel adds the filter. */
export abstract class NewChangeSetFields {
  /** The change of each quota. */
  @MembersField(() => ManyChangeDto)
  change!: ManyChangeDto

  abstract filter: object

  /** Returns the DTO class of the filter. */
  abstract members(): DtoClass

  /** Checks the rules between the fields. */
  violations(): FieldError[] {
    const errors = [
      ...membersErrors(this.members(), this.filter, 'filter'),
      ...membersErrors(ManyChangeDto, this.change, 'change'),
    ]
    // A mistake between the members is one of the field.
    return errors.map(({ field, message }) => ({ field: field.replace(/\.body$/, ''), message }))
  }
}

/** Checks the rules between the members of a filter. */
export function filterErrors(filter: object & { readonly all?: true }): FieldError[] {
  const names = Object.entries(filter as Record<string, unknown>).filter(([, value]) => value !== undefined)
  if (names.length === 0) return [{ field: 'body', message: 'must name at least one condition, or all: true' }]
  if (filter.all === true && names.length > 1)
    return [{ field: 'all', message: 'may not be combined with other conditions' }]
  return []
}

/** Returns the requested change of a change set with a filter. */
export function requestedChangeOf({ change }: Pick<ChangeSetRow, 'change'>): RequestedChange {
  const { update, delete: deletes } = JSON.parse(change ?? '{}') as ManyChangeDto
  if (update === undefined) return { kind: deletes === true ? 'delete' : 'reset' }
  const { value } = checkDto(ManySettingsDto, update, { from: 'body', now: noTime })
  const { total, ...others } = value ?? ({} as ManySettingsDto)
  const number = typeof total === 'number' ? { total } : {}
  const patch = patchOf({ ...others, ...number } as unknown as SettingsPatchFields)
  return {
    kind: 'update',
    patch,
    total: typeof total === 'object' ? total : undefined,
    overrides: others.overrides ?? undefined,
  }
}

/** Selects a page of change sets. */
export class ChangeSetsQuery {
  /** Returns only change sets in this state. */
  @ChoiceField(CHANGE_SET_STATES, { optional: true, example: 'ready' })
  state?: ChangeSetState

  /** Returns only change sets with a smaller id. Pass the `next_before` of the previous page. */
  @IdField({ optional: true, example: 5 })
  before?: number

  /** Number of change sets on the page. */
  @PageSizeField()
  page_size?: number
}

/** Selects the rows of a CSV file. */
export class RowsCsvQuery {
  /** Returns only rows with this outcome. */
  @ChoiceField(OUTCOMES, { optional: true, example: 'conflict' })
  outcome?: Outcome
}

/** Selects a page of rows. */
export class RowsQuery extends RowsCsvQuery {
  /** Adds the label of its quota to each row. */
  @OnlyTrueField()
  labels?: 'true'

  /** Returns only rows after this one. Pass the `next_after` of the previous page. */
  @IdField({ optional: true, example: 100 })
  after?: number

  /** Number of rows on the page. */
  @PageSizeField()
  page_size?: number
}

const version = { min: 1, max: Number.MAX_SAFE_INTEGER, example: 2 } as const

/** The body that applies a change set. */
export class ApplyDto {
  /** The version of the change set that the caller read. */
  @IntegerField(version)
  version!: number

  /** The number of `planned` rows that the caller read. */
  @IntegerField({ min: 0, max: Number.MAX_SAFE_INTEGER, example: 40 })
  rows!: number
}

/** The body that reverts a change set. */
export class RevertDto {
  /** The version of the change set that the caller read. */
  @IntegerField(version)
  version!: number
}

/** The numbers of rows of a change set, in total and by outcome. */
export class CountsDto {
  /** The sum of the others, except in state `preparing`. */
  @ResponseInteger({ example: 40 })
  rows!: number

  /** Rows to be applied. */
  @ResponseInteger({ example: 38 })
  planned!: number

  /** Rows that change nothing. */
  @ResponseInteger({ example: 1 })
  unchanged!: number

  /** Rows whose change is not allowed. */
  @ResponseInteger({ example: 1 })
  invalid!: number

  /** Applied rows. */
  @ResponseInteger({ example: 0 })
  applied!: number

  /** Rows whose quota was changed or deleted meanwhile. */
  @ResponseInteger({ example: 0 })
  conflict!: number

  /** Reverted rows. */
  @ResponseInteger({ example: 0 })
  reverted!: number

  /** Rows that were not reverted, since that is not possible or the quota was edited since. */
  @ResponseInteger({ example: 0 })
  kept!: number
}

/** The reason why a change set failed, or a row was not applied or reverted. */
export class RowProblemDto {
  /** Identifies the reason. For a row, a problem code; for a change set, `csv_malformed`, `too_many_rows` or `internal_error`. */
  @ResponseText({ example: 'version_mismatch' })
  code!: string

  /** Describes this occurrence. */
  @ResponseText({ example: 'The quota is at version 4, not 3.' })
  detail!: string

  /** All fields with mistakes; present with `validation_failed`. */
  @ResponseObject(() => FieldErrorDto, { isArray: true, optional: true })
  errors?: FieldErrorDto[]
}

const anyObject = { type: 'object', additionalProperties: true } as const

/** A change set: a change of many quotas. */
export class ChangeSetDto {
  /** Id of the change set; increases with time. */
  @ResponseId({ example: 5 })
  id!: number

  /** The current state. */
  @ResponseChoice(CHANGE_SET_STATES, { example: 'ready' })
  state!: ChangeSetState

  /** The origin of its rows. */
  @ResponseChoice(['filter', 'import'])
  source!: 'filter' | 'import'

  /** The filter, as sent; null for an import. */
  @ResponseSchema(anyObject, { nullable: true, example: { label: 'Spring' } })
  filter!: object | null

  /** The change, as sent; null for an import. */
  @ResponseSchema(anyObject, { nullable: true, example: { update: { total: { percent: 10 } } } })
  change!: object | null

  /** Name of the principal that created it. */
  @ResponseText({ example: 'back-office' })
  actor!: string

  /** Starts at 1 and is incremented by each change of the state. */
  @ResponseInteger(version)
  version!: number

  /** Time of the creation. */
  @ResponseInstant()
  created_at!: string

  /** Time at which it was completely applied; null before. */
  @ResponseInstant({ nullable: true, example: null })
  applied_at!: string | null

  /** Time at which it was reverted; null before. */
  @ResponseInstant({ nullable: true, example: null })
  reverted_at!: string | null

  /** The numbers of rows; they change while it is applied or reverted. */
  @ResponseObject(() => CountsDto)
  counts!: CountsDto

  /** The reason of the failure; present only in state `failed`. */
  @ResponseObject(() => RowProblemDto, { optional: true })
  problem?: RowProblemDto
}

/** A page of change sets, newest first. */
export class ChangeSetsPageDto {
  /** The change sets. */
  @ResponseObject(() => ChangeSetDto, { isArray: true })
  items!: ChangeSetDto[]

  /** Pass it as `before` to get the next page; null on the last page. */
  @ResponseId({ nullable: true, example: 5 })
  next_before!: number | null
}

/** The fields of a row in both channels; each adds the owner. */
export abstract class RowFields {
  /** Number of the row, from 1, in order of `quota_id` or of the file. */
  @ResponseInteger({ min: 1, example: 1 })
  row!: number

  /** The line of the file where the record begins; null without a file. */
  @ResponseInteger({ min: 1, nullable: true, example: null })
  line!: number | null

  /** Id of the quota; null before it is created, and if the record names none. */
  @ResponseId({ nullable: true, example: 12 })
  quota_id!: number | null

  /**
   * The label of the quota at the time of reading; null if it has none, and if `quota_id` is null. Present only with
   * `labels=true`.
   */
  @ResponseText({ nullable: true, optional: true, example: 'Spring campaign' })
  label?: string | null

  /** The action. */
  @ResponseChoice(ITEM_ACTIONS, { example: 'update' })
  action!: ItemAction

  /** The outcome. */
  @ResponseChoice(OUTCOMES)
  outcome!: Outcome

  /** The changed members before; empty if nothing changes. */
  @ResponseObject(() => ChangedSettingsDto)
  before!: ChangedSettingsDto

  /** The changed members after. */
  @ResponseObject(() => ChangedSettingsDto)
  after!: ChangedSettingsDto

  /** The reason why the row was not applied or reverted; null otherwise. */
  @ResponseObject(() => RowProblemDto, { nullable: true })
  problem!: RowProblemDto | null
}

/** The end of a page of rows. */
export abstract class RowsPageFields {
  /** Pass it as `after` to get the next page; null on the last page. */
  @ResponseId({ nullable: true, example: 100 })
  next_after!: number | null
}
