import type { FieldError } from '../common/service-error.js'
import { EXAMPLE_UUID } from '../http/example.js'
import {
  ChoiceField,
  CursorField,
  ExactTextField,
  IdField,
  InstantField,
  IntegerField,
  OnlyTrueField,
  PageSizeField,
  ResponseChoice,
  ResponseId,
  ResponseInstant,
  ResponseInteger,
  ResponseObject,
  ResponseText,
} from '../http/field.decorator.js'
import { parseCursor } from '../ledger/read/expiring-reader.js'
import { CHANGE_ACTIONS, type ChangeAction } from '../ledger/rows/change.entity.js'
import { oldestKept, REFUSAL_CODES, type RefusalCode } from '../ledger/rows/refusal.entity.js'
import { HOUR_MS } from '../ledger/rows/utc-step.js'
import { MAX_AMOUNT } from '../domain/quota.js'
import type { Instant } from '../common/instant.js'
import { OwnerRefusalDto } from './link.dto.js'
import { periodViolations, periodOf } from './period.js'

/** The default and the maximum of `days`. */
export const DEFAULT_DAYS = 7
const MAX_DAYS = 90

/** Selects a page of owners. */
export class OwnersQuery {
  /** Returns the direct members of this group, with or without a quota. */
  @IdField({ optional: true, example: 5 })
  group_id?: number

  /** Returns only owners with a larger id. Pass the `next_after` of the previous page. */
  @IdField({ optional: true })
  after?: number

  /** Number of owners on the page. */
  @PageSizeField()
  page_size?: number
}

/** The end of a page of owners. */
export abstract class OwnersPageFields {
  /** Pass it as `after` to get the next page; null on the last page. */
  @ResponseId({ nullable: true })
  next_after!: number | null
}

/** Selects changes of all quotas; each channel adds the owner. All conditions must hold. */
export abstract class ChangesFields {
  /** Returns only changes that the principal of this name made. */
  @ExactTextField({ optional: true, example: 'back-office' })
  actor?: string

  /** Returns only changes with this action. */
  @ChoiceField(CHANGE_ACTIONS, { optional: true, example: 'update' })
  action?: ChangeAction

  /** Returns only changes of this group and of its quotas. */
  @IdField({ optional: true, example: 5 })
  group_id?: number

  /** Returns only changes of this quota. */
  @IdField({ optional: true, example: 12 })
  quota_id?: number

  /** Returns only changes that the request with this X-Request-Id made. */
  @ExactTextField({ optional: true, example: EXAMPLE_UUID })
  request_id?: string

  /** Returns only changes at or after this time. */
  @InstantField({ optional: true, example: '2026-11-01T00:00:00.000Z' })
  from?: string

  /** Returns only changes before this time. */
  @InstantField({ optional: true })
  to?: string

  /** Returns only changes with a smaller id. Pass the `next_before` of the previous page. */
  @IdField({ optional: true, example: 31 })
  before?: number

  /** Number of changes on the page. */
  @PageSizeField()
  page_size?: number

  /** Checks the order of `from` and `to`. */
  violations(): FieldError[] {
    return periodViolations(this)
  }
}

/** The end of a page of changes. */
export abstract class ChangesPageFields {
  /** Pass it as `before` to get the next page; null on the last page. */
  @ResponseId({ nullable: true, example: 31 })
  next_before!: number | null
}

/** Selects quotas that expire soon. */
export class ExpiringQuery {
  /** Returns only quotas that expire within this many days of 24 hours. */
  @IntegerField({ optional: true, min: 1, max: MAX_DAYS, default: DEFAULT_DAYS, example: DEFAULT_DAYS })
  days?: number

  /** The `next_cursor` of the previous page. Send the same `days` again. */
  @CursorField((text) => parseCursor(text) !== undefined, { optional: true, example: '1798761600000.12' })
  cursor?: string

  /** Number of quotas on the page. */
  @PageSizeField()
  page_size?: number
}

/** The end of a page of quotas that expire soon. */
export abstract class ExpiringPageFields {
  /** Pass it as `cursor` to get the next page; null on the last page. */
  @ResponseText({ nullable: true, example: '1798761600000.12' })
  next_cursor!: string | null
}

/** The default and the maximum of `hours`. */
export const DEFAULT_HOURS = 24
const MAX_HOURS = 168

/** Selects the owners with most refusals. */
export class TopRefusalsQuery {
  /** Returns only present members of this group and of the groups below it. */
  @IdField({ optional: true, example: 5 })
  group_id?: number

  /** Number of hours, including the current one. */
  @IntegerField({ optional: true, min: 1, max: MAX_HOURS, default: DEFAULT_HOURS, example: DEFAULT_HOURS })
  hours?: number

  /** Number of items. */
  @PageSizeField()
  page_size?: number
}

/**
 * Selects refusals by exactly one of owner and `all`; each channel adds the owner. `from` and `to` are compared with the
 * beginning of the hour.
 */
export abstract class RefusalsFields {
  /** Returns the sums over all owners, of 7 days at most. */
  @OnlyTrueField()
  all?: 'true'

  /** Returns only hours that begin at or after this time, at most 31 days ago, with `all` 7 days. Default: the earliest such time. */
  @InstantField({ optional: true, example: '2026-11-01T00:00:00.000Z' })
  from?: string

  /** Returns only hours that begin before this time. */
  @InstantField({ optional: true })
  to?: string

  /** Adds the refused amounts to each count of an owner. */
  @OnlyTrueField()
  amounts?: 'true'

  /** Checks `from` against the retention of refusals, or what is added up. */
  violationsAt(now: Instant): FieldError[] {
    const { from } = periodOf(this)
    const [oldest, days] = this.all === undefined ? [oldestKept(now), 31] : [oldestAdded(now), MAX_HOURS / 24]
    return from !== undefined && from < oldest ? [{ field: 'from', message: `may be at most ${days} days ago` }] : []
  }
}

/** Returns the time before which the refusals of all owners are not added up. */
export function oldestAdded(now: Instant): Instant {
  return now - MAX_HOURS * HOUR_MS
}

/**
 * Checks the rules between the fields of a query of refusals.
 * @param ownerField the field that names the owner
 */
export function refusalsViolations(query: RefusalsFields, ownerField: string): FieldError[] {
  const violations = periodViolations(query)
  const owner = (query as unknown as Record<string, unknown>)[ownerField]
  if ((owner === undefined) === (query.all === undefined))
    violations.push({ field: ownerField, message: `exactly one of ${ownerField} and all must be given` })
  if (query.all !== undefined && query.amounts !== undefined)
    violations.push({ field: 'amounts', message: 'may not be combined with all' })
  return violations
}

/** The refusals of an owner; each channel adds the owner. */
export abstract class TopRefusalFields {
  /** The reason. `quota_observed`: the request succeeded, but an observe cap would have refused it. */
  @ResponseChoice(REFUSAL_CODES)
  code!: RefusalCode

  /** Number of refused attempts, including repeated ones. */
  @ResponseInteger({ min: 1, example: 41 })
  count!: number

  /** The sum of the requested amounts. */
  @ResponseInteger({ min: 1, example: 120 })
  requested!: number

  /** The time of the last attempt. */
  @ResponseInstant()
  last_at!: string
}

/** The refusals of an owner, or of all, for one reason within an hour. */
export class RefusalDto extends OwnerRefusalDto {
  /** The sum of the requested amounts. */
  @ResponseInteger({ min: 1, example: 120 })
  requested!: number

  /** The time of the last attempt. */
  @ResponseInstant()
  last_at!: string

  /** The smallest requested amount. Present only with `amounts=true`, as are `largest` and `last`. */
  @ResponseInteger({ min: 1, max: MAX_AMOUNT, optional: true, example: 1 })
  smallest?: number

  /** The largest requested amount. */
  @ResponseInteger({ min: 1, max: MAX_AMOUNT, optional: true, example: 20 })
  largest?: number

  /** The amount requested at `last_at`. */
  @ResponseInteger({ min: 1, max: MAX_AMOUNT, optional: true, example: 5 })
  last?: number
}

/** Refusals by hour, newest first. */
export class RefusalsDto {
  /** The counts. */
  @ResponseObject(() => RefusalDto, { isArray: true })
  items!: RefusalDto[]
}
