import type { FieldError } from '../error/service-error.js'
import type { DtoClass } from '../http/dto.js'
import { EXAMPLE_UUID } from '../http/example.js'
import {
  ChoiceField,
  CursorField,
  ExactTextField,
  IdField,
  InstantField,
  IntegerField,
  PageSizeField,
  ResponseChoice,
  ResponseForms,
  ResponseId,
  ResponseInstant,
  ResponseInteger,
  ResponseObject,
  ResponseText,
} from '../http/field.decorator.js'
import { parseCursor } from '../ledger/read/expiring-reader.js'
import { CHANGE_ACTIONS, type ChangeAction } from '../ledger/rows/change.entity.js'
import { oldestKept, REFUSAL_CODES, type RefusalCode } from '../ledger/rows/refusal.entity.js'
import { MAX_AMOUNT } from '../quota/quota.js'
import type { Instant } from '../time/instant.js'
import type { ChannelWords } from './channel-words.js'
import { dtoClass } from './dto-class.js'
import { ChangeEventFields, EventsFields, EventsPageFields, ThresholdEventFields } from './event.dto.js'
import { periodViolations, periodOf } from './period.js'
import { ChangeFields, PageFields, type QuotaFields, SummaryFields } from './quota.dto.js'

/** How far ahead one looks for what ends, in days. */
const DEFAULT_DAYS = 7
const MAX_DAYS = 90

/** Which owners to show. */
export class OwnersQuery {
  /** Only owners with a larger id: the `next_after` of the page before. */
  @IdField({ optional: true })
  after?: number

  /** Owners on a page. */
  @PageSizeField()
  page_size?: number
}

/** Where a page of owners ends. */
export abstract class OwnersPageFields {
  /** Hand it in as `after` for the next page; null at the end. */
  @ResponseId({ nullable: true })
  next_after!: number | null
}

/** Which changes of all quotas to show; each channel adds the owner. All conditions hold together. */
export abstract class ChangesFields {
  /** Only what this principal did, by its name. */
  @ExactTextField({ optional: true, example: 'back-office' })
  actor?: string

  /** Only what was done so. */
  @ChoiceField(CHANGE_ACTIONS, { optional: true, example: 'update' })
  action?: ChangeAction

  /** Only of this quota. */
  @IdField({ optional: true, example: 12 })
  quota_id?: number

  /** Only what the request with this X-Request-Id did. */
  @ExactTextField({ optional: true, example: EXAMPLE_UUID })
  request_id?: string

  /** Only from this instant on. */
  @InstantField({ optional: true, example: '2026-11-01T00:00:00.000Z' })
  from?: string

  /** Only before this instant. */
  @InstantField({ optional: true })
  to?: string

  /** Only changes with a smaller id: the `next_before` of the page before. */
  @IdField({ optional: true, example: 31 })
  before?: number

  /** Changes on a page. */
  @PageSizeField()
  page_size?: number

  /** Asked by the pipe. */
  violations(): FieldError[] {
    return periodViolations(this)
  }
}

/** Where a page of changes ends. */
export abstract class ChangesPageFields {
  /** Hand it in as `before` for the next page; null at the end. */
  @ResponseId({ nullable: true, example: 31 })
  next_before!: number | null
}

/** Which quotas that end soon to show. */
export class ExpiringQuery {
  /** Only those that end within so many days of 24 hours. */
  @IntegerField({ optional: true, min: 1, max: MAX_DAYS, default: DEFAULT_DAYS, example: DEFAULT_DAYS })
  days?: number

  /** The `next_cursor` of the page before; `days` is to be sent again. */
  @CursorField((text) => parseCursor(text) !== undefined, { optional: true, example: '1798761600000.12' })
  cursor?: string

  /** Quotas on a page. */
  @PageSizeField()
  page_size?: number
}

/** Where a page of quotas that end soon ends. */
export abstract class ExpiringPageFields {
  /** Hand it in as `cursor` for the next page; null at the end. */
  @ResponseText({ nullable: true, example: '1798761600000.12' })
  next_cursor!: string | null
}

/** How far back one looks for who was refused most, in hours. */
const DEFAULT_HOURS = 24
const MAX_HOURS = 168

/** Who was refused most to show. */
export class TopRefusalsQuery {
  /** The hour that is running, and so many less one before it. */
  @IntegerField({ optional: true, min: 1, max: MAX_HOURS, default: DEFAULT_HOURS, example: DEFAULT_HOURS })
  hours?: number

  /** Items shown. */
  @PageSizeField()
  page_size?: number
}

/** The one value of `amounts`. */
const AMOUNTS = 'true'

/** Which refusals to show; each channel adds the owner. Both ends are compared with the beginning of the hour. */
export abstract class RefusalsFields {
  /** Only hours that began at this instant or later, at most 31 days ago; absent: 31 days ago. */
  @InstantField({ optional: true, example: '2026-11-01T00:00:00.000Z' })
  from?: string

  /** Only hours that began before this instant. */
  @InstantField({ optional: true })
  to?: string

  /** Says of each count which amounts were refused. */
  @ChoiceField([AMOUNTS], { optional: true, example: AMOUNTS })
  amounts?: typeof AMOUNTS

  /** Asked by the pipe. */
  violations(): FieldError[] {
    return periodViolations(this)
  }

  /** What is wrong at this time: nothing is kept for longer. */
  violationsAt(now: Instant): FieldError[] {
    const { from } = periodOf(this)
    return from !== undefined && from < oldestKept(now)
      ? [{ field: 'from', message: 'may lie at most 31 days back' }]
      : []
  }
}

/** What both channels show of who was refused most; each adds the owner. */
export abstract class TopRefusalFields {
  /** Why. `quota_observed`: what was taken although an observe cap would have refused it. */
  @ResponseChoice(REFUSAL_CODES)
  code!: RefusalCode

  /** Attempts, repeated ones too. */
  @ResponseInteger({ min: 1, example: 41 })
  count!: number

  /** The sum of what they asked for. */
  @ResponseInteger({ min: 1, example: 120 })
  requested!: number

  /** The last one. */
  @ResponseInstant()
  last_at!: string
}

/** How often an owner was refused so within an hour. */
export class RefusalDto {
  /** The beginning of the UTC hour. */
  @ResponseInstant()
  hour!: string

  /** Why. */
  @ResponseChoice(REFUSAL_CODES)
  code!: RefusalCode

  /** Attempts, repeated ones too. */
  @ResponseInteger({ min: 1, example: 41 })
  count!: number

  /** The sum of what they asked for. */
  @ResponseInteger({ min: 1, example: 120 })
  requested!: number

  /** The last one. */
  @ResponseInstant()
  last_at!: string

  /** The smallest amount asked for; there with `amounts=true` alone, as the two below, and null where amounts were not kept yet. */
  @ResponseInteger({ min: 1, max: MAX_AMOUNT, nullable: true, optional: true, example: 1 })
  smallest?: number | null

  /** The largest amount asked for. */
  @ResponseInteger({ min: 1, max: MAX_AMOUNT, nullable: true, optional: true, example: 20 })
  largest?: number | null

  /** The amount asked for at `last_at`. */
  @ResponseInteger({ min: 1, max: MAX_AMOUNT, nullable: true, optional: true, example: 5 })
  last?: number | null
}

/** An owner's refusals by hour, newest first. */
export class RefusalsDto {
  /** The counts. */
  @ResponseObject(() => RefusalDto, { isArray: true })
  items!: RefusalDto[]
}

/** @returns the hours that a valid query asks for */
export function hoursOf({ hours }: TopRefusalsQuery): number {
  return hours ?? DEFAULT_HOURS
}

/** @returns the days that a valid query asks for */
export function daysOf({ days }: ExpiringQuery): number {
  return days ?? DEFAULT_DAYS
}

/**
 * What all quotas of a channel are looked at by.
 * @param Quota what the channel shows of a quota
 */
export function officeDtos({ schema, channel, owner }: ChannelWords, Quota: DtoClass<QuotaFields>) {
  const [{ field }] = channel.subjects
  const whose = { [field]: ResponseId({ description: 'Whose quota it is.' }) }
  const onlyOwners = { [field]: IdField({ optional: true, description: `Only of this ${owner.noun}'s quotas.` }) }
  const listOf = (item: DtoClass, description: string) => ({
    items: ResponseObject(() => item, { isArray: true, description }),
  })

  const Owner = dtoClass(`${schema}Owner`, SummaryFields, {
    [field]: ResponseId({ description: `The ${owner.noun}.` }),
  })
  const Change = dtoClass(`${schema}Change`, ChangeFields, whose)
  const TopRefusal = dtoClass(`${schema}TopRefusal`, TopRefusalFields, {
    [field]: ResponseId({ description: 'Who was refused.' }),
  })
  const ThresholdEvent = dtoClass(`${schema}ThresholdEvent`, ThresholdEventFields, whose)
  const ChangeEvent = dtoClass(`${schema}ChangeEvent`, ChangeEventFields, {
    ...whose,
    data: ResponseObject(() => Change, { description: 'The change.' }),
  })

  return {
    OwnersPage: dtoClass(
      `${schema}OwnersPage`,
      OwnersPageFields,
      listOf(Owner, 'Each with what its active quotas add up to.'),
    ),
    ChangesQuery: dtoClass(`${schema}ChangesQuery`, ChangesFields, onlyOwners),
    /** One quota's changes. */
    ChangePage: dtoClass(`${schema}ChangePage`, PageFields, listOf(Change, 'The changes.')),
    /** The changes of all quotas. */
    ChangesPage: dtoClass(`${schema}ChangesPage`, ChangesPageFields, listOf(Change, 'The changes.')),
    ExpiringPage: dtoClass(`${schema}ExpiringPage`, ExpiringPageFields, listOf(Quota, 'The quotas.')),
    TopRefusals: dtoClass(`${schema}TopRefusals`, Object, listOf(TopRefusal, `One for each ${owner.noun} and reason.`)),
    RefusalsQuery: dtoClass(`${schema}RefusalsQuery`, RefusalsFields, {
      [field]: IdField({ description: `The ${owner.noun}.` }),
    }),
    EventsQuery: dtoClass(`${schema}EventsQuery`, EventsFields, onlyOwners),
    EventsPage: dtoClass(`${schema}EventsPage`, EventsPageFields, {
      items: ResponseForms([ThresholdEvent, ChangeEvent], { description: 'The events.' }),
    }),
  }
}
