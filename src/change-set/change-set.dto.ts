import type { ChannelApi } from '../channel-api/channel-api.js'
import { dtoClass } from '../channel-api/dto-class.js'
import { ChangedSettingsDto } from '../channel-api/quota.dto.js'
import { patchOf, SettingsPatchFields } from '../channel-api/settings.dto.js'
import type { FieldError } from '../error/service-error.js'
import { checkDto, type DtoClass, fieldsOf } from '../http/dto.js'
import {
  ChoiceField,
  FieldsWithout,
  IdField,
  IntegerField,
  MembersField,
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
import type { Ask, TotalChange } from './ask.js'
import { ITEM_ACTIONS, type ItemAction } from './change-set-item.entity.js'
import {
  CHANGE_SET_STATES,
  type ChangeSetRow,
  type ChangeSetState,
  OUTCOMES,
  type Outcome,
} from './change-set.entity.js'

/** What a filter leaves out of the query of a list: where one is in it, and deleted quotas, which cannot be changed. */
const PAGING = ['page', 'page_size', 'before_id'] as const

const noTime = (): number => 0

/** What is wrong with the members of a field. */
function membersErrors(dto: DtoClass, value: unknown, field: string): FieldError[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return checkDto(dto, value, { from: 'body', prefix: `${field}.`, now: noTime }).errors ?? []
}

/** Settings that many quotas get. */
export class ManySettingsDto extends FieldsWithout(SettingsPatchFields, ['total', 'version', 'errors', 'violations']) {
  /** The allowance: a number, so many units more (`add`), or so many per cent more (`percent`, rounded half up). */
  @TotalChangeField({ optional: true })
  total?: number | TotalChange

  /** Asked by the pipe. */
  violations(): FieldError[] {
    const names = fieldsOf(ManySettingsDto)
    const named = names.some((name) => (this as Record<string, unknown>)[name] !== undefined)
    return named ? [] : [{ field: 'body', message: `must name at least one of ${names.join(', ')}` }]
  }
}

/** What is done with each quota; exactly one of the three. */
export class ManyChangeDto {
  /** Changes settings. */
  @MembersField(() => ManySettingsDto, { optional: true })
  update?: ManySettingsDto

  /** Deletes softly. */
  @TrueField({ optional: true })
  delete?: true

  /** Begins a new count. */
  @TrueField({ optional: true })
  reset?: true

  /** Asked by the pipe. */
  violations(): FieldError[] {
    const named = [this.update, this.delete, this.reset].filter((one) => one !== undefined)
    if (named.length !== 1) return [{ field: 'body', message: 'must name exactly one of update, delete and reset' }]
    return membersErrors(ManySettingsDto, this.update, 'update')
  }
}

/** What both channels say of a new change set; each adds the filter, whose members are its list's. */
export abstract class NewChangeSetFields {
  /** What is done. */
  @MembersField(() => ManyChangeDto)
  change!: ManyChangeDto

  abstract filter: object

  /** The class of the filter's members. */
  abstract members(): DtoClass

  /** Asked by the pipe. */
  violations(): FieldError[] {
    const errors = [
      ...membersErrors(this.members(), this.filter, 'filter'),
      ...membersErrors(ManyChangeDto, this.change, 'change'),
    ]
    // A rule about the members together is one about the field.
    return errors.map(({ field, message }) => ({ field: field.replace(/\.body$/, ''), message }))
  }
}

/** What is wrong with a filter's members together. */
function filterErrors(filter: object & { readonly all?: true }): FieldError[] {
  const names = Object.entries(filter as Record<string, unknown>).filter(([, value]) => value !== undefined)
  if (names.length === 0) return [{ field: 'body', message: 'must name at least one condition, or all: true' }]
  if (filter.all === true && names.length > 1)
    return [{ field: 'all', message: 'means every quota: no other condition goes with it' }]
  return []
}

/** What the rows of a change set made by a filter ask for. */
export function askOf({ change }: Pick<ChangeSetRow, 'change'>): Ask {
  const { update, delete: deletes } = JSON.parse(change ?? '{}') as ManyChangeDto
  if (update === undefined) return { kind: deletes === true ? 'delete' : 'reset' }
  const { value } = checkDto(ManySettingsDto, update, { from: 'body', now: noTime })
  const { total, ...others } = value ?? ({} as ManySettingsDto)
  const number = typeof total === 'number' ? { total } : {}
  const patch = patchOf({ ...others, ...number } as unknown as SettingsPatchFields)
  return { kind: 'update', patch, total: typeof total === 'object' ? total : undefined }
}

/** Which change sets to list. */
export class ChangeSetsQuery {
  /** Only those in this state. */
  @ChoiceField(CHANGE_SET_STATES, { optional: true, example: 'ready' })
  state?: ChangeSetState

  /** Only those with a smaller id: the `next_before` of the page before. */
  @IdField({ optional: true, example: 5 })
  before?: number

  /** Change sets on a page. */
  @PageSizeField()
  page_size?: number
}

/** Which rows of a change set to hand out. */
export class RowsCsvQuery {
  /** Only those of which this became. */
  @ChoiceField(OUTCOMES, { optional: true, example: 'conflict' })
  outcome?: Outcome
}

/** Which rows of a change set to list. */
export class RowsQuery extends RowsCsvQuery {
  /** Only rows behind this one: the `next_after` of the page before. */
  @IdField({ optional: true, example: 100 })
  after?: number

  /** Rows on a page. */
  @PageSizeField()
  page_size?: number
}

const version = { min: 1, max: Number.MAX_SAFE_INTEGER, example: 2 } as const

/** What has a change set applied. */
export class ApplyDto {
  /** The version of the change set that the caller saw. */
  @IntegerField(version)
  version!: number

  /** How many `planned` rows the caller saw. */
  @IntegerField({ min: 0, max: Number.MAX_SAFE_INTEGER, example: 40 })
  rows!: number
}

/** What has a change set reverted. */
export class RevertDto {
  /** The version of the change set that the caller saw. */
  @IntegerField(version)
  version!: number
}

/** How many rows of a change set there are, in all and by what became of them. */
export class CountsDto {
  /** The sum of the others, unless it is being prepared. */
  @ResponseInteger({ example: 40 })
  rows!: number

  /** To be done. */
  @ResponseInteger({ example: 38 })
  planned!: number

  /** Nothing would differ. */
  @ResponseInteger({ example: 1 })
  unchanged!: number

  /** What is asked for is not allowed. */
  @ResponseInteger({ example: 1 })
  invalid!: number

  /** Done. */
  @ResponseInteger({ example: 0 })
  applied!: number

  /** Somebody else changed or deleted the quota. */
  @ResponseInteger({ example: 0 })
  conflict!: number

  /** Taken back. */
  @ResponseInteger({ example: 0 })
  reverted!: number

  /** Not taken back: it cannot be, or was changed since. */
  @ResponseInteger({ example: 0 })
  kept!: number
}

/** Why a change set has failed, or a row was not done. */
export class RowProblemDto {
  /** The kind, for machines: of a row one of the codes of problems; of a set `csv_malformed` or `too_many_rows`. */
  @ResponseText({ example: 'version_mismatch' })
  code!: string

  /** What went wrong this time. */
  @ResponseText({ example: 'The quota is at version 4, not 3.' })
  detail!: string

  /** Every broken field, with `validation_failed`. */
  @ResponseObject(() => FieldErrorDto, { isArray: true, optional: true })
  errors?: FieldErrorDto[]
}

const anyObject = { type: 'object', additionalProperties: true } as const

/** Many quotas changed as one. */
export class ChangeSetDto {
  /** Rises with time. */
  @ResponseId({ example: 5 })
  id!: number

  /** Where it is in its life. */
  @ResponseChoice(CHANGE_SET_STATES, { example: 'ready' })
  state!: ChangeSetState

  /** What its rows were made from. */
  @ResponseChoice(['filter', 'import'])
  source!: 'filter' | 'import'

  /** The filter as it was sent; null of an import. */
  @ResponseSchema(anyObject, { nullable: true, example: { label: 'Spring' } })
  filter!: object | null

  /** The change as it was sent; null of an import. */
  @ResponseSchema(anyObject, { nullable: true, example: { update: { total: { percent: 10 } } } })
  change!: object | null

  /** The name of the principal who made it. */
  @ResponseText({ example: 'back-office' })
  actor!: string

  /** Begins at 1 and counts the states. */
  @ResponseInteger(version)
  version!: number

  /** When it was made. */
  @ResponseInstant()
  created_at!: string

  /** When all of it was applied; null before. */
  @ResponseInstant({ nullable: true, example: null })
  applied_at!: string | null

  /** When it was reverted; null before. */
  @ResponseInstant({ nullable: true, example: null })
  reverted_at!: string | null

  /** How many rows there are; they move while it is applied and reverted. */
  @ResponseObject(() => CountsDto)
  counts!: CountsDto

  /** Why it has failed; absent else. */
  @ResponseObject(() => RowProblemDto, { optional: true })
  problem?: RowProblemDto
}

/** A page of change sets, newest first. */
export class ChangeSetsPageDto {
  /** The change sets. */
  @ResponseObject(() => ChangeSetDto, { isArray: true })
  items!: ChangeSetDto[]

  /** Hand it in as `before` for the next page; null at the end. */
  @ResponseId({ nullable: true, example: 5 })
  next_before!: number | null
}

/** What both channels show of a row; each adds the owner. */
export abstract class RowFields {
  /** From 1: by quota, or in the order of the file. */
  @ResponseInteger({ min: 1, example: 1 })
  row!: number

  /** The line of the file on which the record begins; null without a file. */
  @ResponseInteger({ min: 1, nullable: true, example: null })
  line!: number | null

  /** The quota; null of one that is yet to be made, and where the record names none. */
  @ResponseId({ nullable: true, example: 12 })
  quota_id!: number | null

  /** What is done. */
  @ResponseChoice(ITEM_ACTIONS, { example: 'update' })
  action!: ItemAction

  /** What became of it. */
  @ResponseChoice(OUTCOMES)
  outcome!: Outcome

  /** What changes, as it was; empty where nothing does. */
  @ResponseObject(() => ChangedSettingsDto)
  before!: ChangedSettingsDto

  /** The same, as it becomes. */
  @ResponseObject(() => ChangedSettingsDto)
  after!: ChangedSettingsDto

  /** Why it was not done; null where it is to be, or was. */
  @ResponseObject(() => RowProblemDto, { nullable: true })
  problem!: RowProblemDto | null
}

/** Where a page of rows ends. */
export abstract class RowsPageFields {
  /** Hand it in as `after` for the next page; null at the end. */
  @ResponseId({ nullable: true, example: 100 })
  next_after!: number | null
}

/** What a channel's change sets are made of and shown by. */
export function changeSetDtos({ schema, channel, dto }: ChannelApi) {
  const [{ field }] = channel.subjects
  const ChangeFilter = dtoClass(
    `${schema}ChangeFilter`,
    class extends FieldsWithout(dto.ListQuery, [...PAGING, 'deleted', 'violations']) {
      all?: true

      /** Asked by the pipe. */
      violations(): FieldError[] {
        return filterErrors(this)
      }
    },
    { all: TrueField({ optional: true, description: 'All of them; alone.' }) },
  )
  const Row = dtoClass(`${schema}ChangeSetRow`, RowFields, {
    [field]: ResponseId({ nullable: true, description: 'Whose quota it is; null where the record names nobody.' }),
  })

  return {
    /** Which quotas to hand out: the filters of their list. */
    ExportQuery: dtoClass(`${schema}ExportQuery`, FieldsWithout(dto.ListQuery, [...PAGING, 'violations']), {}),
    New: dtoClass(
      `New${schema}ChangeSet`,
      class extends NewChangeSetFields {
        filter!: object

        members(): DtoClass {
          return ChangeFilter
        }
      },
      {
        filter: MembersField(() => ChangeFilter, {
          description: 'Which ones; looked for once, when the change set is prepared.',
        }),
      },
    ),
    RowsPage: dtoClass(`${schema}ChangeSetRowsPage`, RowsPageFields, {
      items: ResponseObject(() => Row, { isArray: true, description: 'The rows.' }),
    }),
  }
}
