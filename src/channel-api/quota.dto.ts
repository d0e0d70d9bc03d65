import { EXAMPLE_UUID } from '../http/example.js'
import {
  ChoiceField,
  IdField,
  IntegerField,
  LabelField,
  ResponseChoice,
  ResponseId,
  ResponseInstant,
  ResponseInteger,
  ResponseObject,
  ResponseText,
  ResponseThresholds,
} from '../http/field.decorator.js'
import { CursorPageQuery } from '../http/page.dto.js'
import { CapDto } from '../http/problem.dto.js'
import type { QuotaFilter } from '../ledger/read/list-statements.js'
import { CHANGE_ACTIONS, type ChangeAction } from '../ledger/rows/change.entity.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { CYCLE_UNITS, type CycleUnit } from '../quota/cycle.js'
import {
  CAP_MODES,
  type CapMode,
  CYCLE_QUOTA,
  MAX_AMOUNT,
  QUOTA_TYPES,
  type QuotaType,
  type Status,
  STATUSES,
} from '../quota/quota.js'
import { MAX_WINDOW_SECONDS, MIN_WINDOW_SECONDS } from '../quota/rolling-window.js'
import type { SettingName } from '../quota/settings.js'
import type { ChannelWords, OtherSubject } from './channel-words.js'
import { dtoClass } from './dto-class.js'
import { IgnoredRecord, NewSettingsFields, SettingsPatchFields } from './settings.dto.js'

const nullable = { nullable: true } as const
const amount = { max: MAX_AMOUNT } as const
const window = { min: MIN_WINDOW_SECONDS, max: MAX_WINDOW_SECONDS } as const

/** What both channels show of a quota; each adds whom it belongs to. */
export abstract class QuotaFields implements Record<SettingName, unknown> {
  /** The quota's identifier. */
  @ResponseId({ example: 12 })
  id!: number

  /** 1: total units until `expire_at`. 2: total units per cycle. 3: total units in any `window_seconds`, a cap. */
  @ResponseChoice(QUOTA_TYPES, { example: CYCLE_QUOTA })
  quota_type!: QuotaType

  /** The allowance, in the caller's unit. */
  @ResponseInteger({ ...amount, example: 1000 })
  total!: number

  /** Units spent, of a cycle quota in the running cycle, of a rolling cap in its window. Those of an observe cap may pass `total`. */
  @ResponseInteger({ example: 20 })
  used!: number

  /** Units held by open reservations. */
  @ResponseInteger({ example: 5 })
  reserved!: number

  /** max(0, total - used - reserved) */
  @ResponseInteger({ ...amount, example: 975 })
  remaining!: number

  /** Derived at the moment of reading: `disabled` by an administrator, else `expired` once `expire_at` has come, else `active`. */
  @ResponseChoice(STATUSES)
  status!: Status

  /** From this instant on the quota is over; null: never. */
  @ResponseInstant({ ...nullable, example: null })
  expire_at!: string | null

  /** How long a cycle lasts; null for types 1 and 3. */
  @ResponseChoice(CYCLE_UNITS, { ...nullable, example: 'month' })
  cycle_unit!: CycleUnit | null

  /** The next reset by the calendar, even where `expire_at` comes first; null for types 1 and 3. */
  @ResponseInstant(nullable)
  cycle_reset_at!: string | null

  /** Reset number 0, which all others are counted from; null for types 1 and 3. */
  @ResponseInstant(nullable)
  cycle_anchor_at!: string | null

  /** The IANA zone whose calendar the cycle follows, as given; null for types 1 and 3. */
  @ResponseText({ ...nullable, example: 'UTC' })
  cycle_time_zone!: string | null

  /** What people call it, as given; null where nobody named it. */
  @ResponseText({ ...nullable, example: 'Spring campaign' })
  label!: string | null

  /** Null: the quota pays. Else it is a cap: it bounds what the owner takes (`enforce`), or tells what it would have refused (`observe`). */
  @ResponseChoice(CAP_MODES, { ...nullable, example: null })
  cap!: CapMode | null

  /** The window of a rolling cap, in seconds; null for types 1 and 2. */
  @ResponseInteger({ ...window, ...nullable, example: null })
  window_seconds!: number | null

  /** Per cent of `total` that are told of as events, ascending; null for type 3. */
  @ResponseThresholds(nullable)
  thresholds!: number[] | null

  /** Starts at 1 and counts edits of the settings, not usage. */
  @ResponseInteger({ min: 1, example: 3 })
  version!: number

  /** When the quota was made. */
  @ResponseInstant()
  created_at!: string

  /** When it was edited, deleted, restored or reset last; usage leaves it alone. */
  @ResponseInstant()
  updated_at!: string
}

/** The one value of `deleted`. */
export const DELETED = 'true'

/** Which quotas both channels list; each adds whom they belong to. */
export abstract class QuotaListFields extends CursorPageQuery {
  /** Only those that are so at this instant. */
  @ChoiceField(STATUSES, { optional: true, example: 'active' })
  status?: Status

  /** Only soft-deleted ones, which are in no list else; each then says when it was deleted. */
  @ChoiceField([DELETED], { optional: true, example: DELETED })
  deleted?: typeof DELETED

  /** Only caps of that kind, or with `none` only quotas that pay. */
  @ChoiceField([...CAP_MODES, 'none'], { optional: true, example: 'enforce' })
  cap?: CapMode | 'none'

  /** Only those whose label begins so, whatever the case; accents count, and nothing is a wildcard. */
  @LabelField({ optional: true, beginning: true })
  label?: string
}

/** What a valid list query asks for, apart from the subjects. */
export function filterOf<Q extends QuotaRow>(
  { status, deleted, label, cap }: QuotaListFields,
  subjects: QuotaFilter<Q>['subjects'],
): QuotaFilter<Q> {
  return {
    subjects,
    status,
    deleted: deleted !== undefined,
    ...(label === undefined ? {} : { label }),
    ...(cap === undefined ? {} : { cap }),
  }
}

/** What both channels show in a summary; each adds the owner. */
export abstract class SummaryFields {
  /** The sum of the active quotas' totals. */
  @ResponseInteger({ example: 1500 })
  total!: number

  /** The sum of what they have spent. */
  @ResponseInteger({ example: 20 })
  used!: number

  /** The sum of what their open reservations hold. */
  @ResponseInteger({ example: 5 })
  reserved!: number

  /** The sum of the quotas' own remaining; after a lowered total it may exceed total - used - reserved. */
  @ResponseInteger({ example: 1475 })
  remaining!: number

  /** How many quotas are active that pay. */
  @ResponseInteger({ max: 200, example: 2 })
  quota_count!: number

  /** What one consume could take now: `remaining`, bounded by what remains of each enforce cap; 0 without an active payer. */
  @ResponseInteger({ example: 1475 })
  available!: number
}

/** What both channels show in a summary of one owner; each adds the owner. */
export abstract class OwnSummaryFields extends SummaryFields {
  /** The active caps, ids ascending. */
  @ResponseObject(() => CapDto, { isArray: true, example: [] })
  caps!: CapDto[]
}

/** The envelope of a list; each list adds its items. */
export abstract class PageFields {
  /** The page shown, from 1. */
  @ResponseInteger({ min: 1, example: 1 })
  page!: number

  /** The size asked for, 1 … 100. */
  @ResponseInteger({ min: 1, max: 100, example: 20 })
  page_size!: number

  /** How long the whole list is. */
  @ResponseInteger({ example: 57 })
  total!: number

  /** `exact` up to 10,000 items; above, the total is a count at most 60 seconds old. */
  @ResponseChoice(['exact', 'recent'])
  total_relation!: 'exact' | 'recent'
}

/** Some of a quota's settings, or its counters; only those that changed are there. */
export class ChangedSettingsDto {
  /** The allowance. */
  @ResponseInteger({ ...amount, optional: true, example: 1000 })
  total?: number

  /** The administrator's switch. */
  @ResponseChoice(['active', 'disabled'], { optional: true })
  status?: string

  /** The end. */
  @ResponseInstant({ ...nullable, optional: true })
  expire_at?: string | null

  /** The length of a cycle. */
  @ResponseChoice(CYCLE_UNITS, { ...nullable, optional: true, example: 'month' })
  cycle_unit?: CycleUnit | null

  /** The next reset. */
  @ResponseInstant({ ...nullable, optional: true })
  cycle_reset_at?: string | null

  /** The zone of the calendar. */
  @ResponseText({ ...nullable, optional: true, example: 'UTC' })
  cycle_time_zone?: string | null

  /** The name. */
  @ResponseText({ ...nullable, optional: true, example: 'Spring campaign' })
  label?: string | null

  /** The kind of cap; null where it pays. */
  @ResponseChoice(CAP_MODES, { ...nullable, optional: true, example: null })
  cap?: CapMode | null

  /** The window, in seconds. */
  @ResponseInteger({ ...window, ...nullable, optional: true, example: null })
  window_seconds?: number | null

  /** The thresholds, ascending. */
  @ResponseThresholds({ ...nullable, optional: true })
  thresholds?: number[] | null

  /** When the quota was deleted; null where it is not. */
  @ResponseInstant({ ...nullable, optional: true })
  deleted_at?: string | null

  /** Units spent, at a reset and at a changed window. */
  @ResponseInteger({ optional: true, example: 20 })
  used?: number

  /** Units held, at a reset and at a changed window. */
  @ResponseInteger({ optional: true, example: 5 })
  reserved?: number
}

/** What both channels show of a change; each adds the owner. */
export abstract class ChangeFields {
  /** Rises with time. */
  @ResponseId({ example: 31 })
  id!: number

  /** The quota that was changed. */
  @ResponseId({ example: 12 })
  quota_id!: number

  /** What was done. */
  @ResponseChoice(CHANGE_ACTIONS, { example: 'update' })
  action!: ChangeAction

  /** The name of the principal who did it. */
  @ResponseText({ example: 'back-office' })
  actor!: string

  /** The X-Request-Id of the request that did it. */
  @ResponseText({ example: EXAMPLE_UUID })
  request_id!: string

  /** When it was done. */
  @ResponseInstant()
  at!: string

  /** What changed, as it was; empty for a create. */
  @ResponseObject(() => ChangedSettingsDto)
  before!: ChangedSettingsDto

  /** The same, as it became. */
  @ResponseObject(() => ChangedSettingsDto)
  after!: ChangedSettingsDto

  /** The change set that it was part of; absent where this quota was changed alone. */
  @ResponseId({ optional: true, example: 5 })
  change_set_id?: number
}

/** What a reset may say. */
export class ResetDto {
  /** The version the caller read; where it is no longer the current one, nothing is reset. */
  @IntegerField({ optional: true, min: 1, max: Number.MAX_SAFE_INTEGER, example: 3 })
  version?: number
}

/** What a DELETE may say beside the path. */
export class DeleteQuery {
  /** The version the caller read; where it is no longer the current one, nothing is deleted. */
  @IntegerField({ optional: true, min: 1, max: Number.MAX_SAFE_INTEGER, example: 3 })
  version?: number
}

/** What a channel's quotas are made, changed, listed and shown by. */
export function quotaDtos({ schema, channel, owner, others }: ChannelWords) {
  const [{ field }] = channel.subjects
  const ofOthers = (decorate: (person: OtherSubject) => PropertyDecorator): Record<string, PropertyDecorator> =>
    Object.fromEntries(Object.entries(others).map(([name, person]) => [name, decorate(person)]))

  const Update = dtoClass(`Update${schema}Quota`, SettingsPatchFields, {})
  IgnoredRecord(...channel.subjects.map((person) => person.field))(Update)

  const Quota = dtoClass(`${schema}Quota`, QuotaFields, {
    [field]: ResponseId({ description: owner.limited }),
    ...ofOthers(({ quota, example }) => ResponseId({ nullable: true, description: quota, example })),
  })
  const ListedQuota = dtoClass(`${schema}ListedQuota`, Quota, {
    deleted_at: ResponseInstant({
      optional: true,
      description: 'When it was deleted; there with `deleted=true` alone.',
    }),
  })

  return {
    Create: dtoClass(`Create${schema}Quota`, NewSettingsFields, {
      [field]: IdField({ description: owner.limited }),
      ...ofOthers(({ create, example }) => IdField({ optional: true, nullable: true, description: create, example })),
    }),
    Update,
    /** Which quotas to list. */
    ListQuery: dtoClass(`${schema}QuotaListQuery`, QuotaListFields, {
      [field]: IdField({ optional: true, description: `Only this ${owner.noun}'s.` }),
      ...ofOthers(({ list, example }) => IdField({ optional: true, description: list, example })),
    }),
    Quota,
    QuotaPage: dtoClass(`${schema}QuotaPage`, PageFields, {
      items: ResponseObject(() => ListedQuota, { isArray: true, description: 'The quotas.' }),
    }),
    Summary: dtoClass(`${schema}Summary`, OwnSummaryFields, {
      [field]: ResponseId({ description: `The ${owner.noun}.` }),
    }),
  }
}
