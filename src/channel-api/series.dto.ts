import type { FieldError } from '../common/service-error.js'
import {
  ChoiceField,
  IdField,
  InstantField,
  OnlyTrueField,
  ResponseChoice,
  ResponseInstant,
  ResponseInteger,
  ResponseObject,
} from '../http/field.decorator.js'
import { oldestKept } from '../ledger/rows/refusal.entity.js'
import { SERIES_STEPS, type SeriesStep } from '../ledger/rows/usage-total.entity.js'
import { beginningOf, STEP_MS } from '../ledger/rows/utc-step.js'
import { type Instant, MIN_INSTANT } from '../common/instant.js'
import { periodOf, periodViolations } from './period.js'

/** The default length of a series in steps, including the current one. */
const DEFAULT_STEPS: Readonly<Record<SeriesStep, number>> = { day: 30, hour: 24 }
/** The maximum length of a series of days. Hours are kept for 31 days. */
const MAX_DAYS = 366

/** The range of a series: the steps that begin in `[from, to)`. */
export interface SeriesRange {
  readonly step: SeriesStep
  readonly from: Instant
  readonly to: Instant
}

/** Selects a series of usage by exactly one of owner, quota and `all`; each channel adds the owner. */
export abstract class SeriesFields {
  /** Returns only usage of this quota, which may be deleted. */
  @IdField({ optional: true, example: 12 })
  quota_id?: number

  /** Returns the sums over all owners, without refusals. */
  @OnlyTrueField()
  all?: 'true'

  /** The length of a step. Hours and days begin in UTC. */
  @ChoiceField(SERIES_STEPS, { optional: true, default: 'day', example: 'day' })
  step?: SeriesStep

  /** Returns only steps that begin at or after this time; hours at most 31 days ago. Default: 30 days or 24 hours in total. */
  @InstantField({ optional: true, example: '2026-11-01T00:00:00.000Z' })
  from?: string

  /** Returns only steps that begin before this time. Default: the present. A series of days has at most 366. */
  @InstantField({ optional: true })
  to?: string

  /** Returns the range of a valid query. */
  rangeAt(now: Instant): SeriesRange {
    const step = this.step ?? 'day'
    const { from, to } = periodOf(this)
    const end = Math.min(to ?? now + 1, now + 1)
    const first = beginningOf(step, end - 1) - (DEFAULT_STEPS[step] - 1) * STEP_MS[step]
    return { step, from: from ?? Math.max(first, MIN_INSTANT), to: end }
  }

  /** Checks the range against the retention of hours and the maximum length. */
  violationsAt(now: Instant): FieldError[] {
    const { step, from, to } = this.rangeAt(now)
    if (step === 'hour' && from < oldestKept(now)) {
      return [{ field: 'from', message: 'may be at most 31 days ago in steps of an hour' }]
    }
    const firstStep = Math.ceil(from / STEP_MS[step]) * STEP_MS[step]
    if (to - firstStep > MAX_DAYS * STEP_MS.day) {
      return [{ field: 'from', message: `more than ${MAX_DAYS} days begin from here to the end` }]
    }
    return []
  }
}

/**
 * Checks the rules between the fields of a query.
 * @param ownerField the field that names the owner
 */
export function seriesViolations(query: SeriesFields, ownerField: string): FieldError[] {
  const violations = periodViolations(query)
  const owner = (query as unknown as Record<string, unknown>)[ownerField]
  if ([owner, query.quota_id, query.all].filter((value) => value !== undefined).length !== 1) {
    violations.push({ field: ownerField, message: `exactly one of ${ownerField}, quota_id and all must be given` })
  }
  return violations
}

/** The usage within one hour or day. */
export class UsageStepDto {
  /** The beginning of the step. */
  @ResponseInstant()
  began_at!: string

  /** Units charged by consumes and commits in this step, gross. */
  @ResponseInteger({ example: 120 })
  charged!: number

  /** Units returned by refunds in this step, whenever they were charged. */
  @ResponseInteger({ example: 5 })
  refunded!: number

  /** Units requested by refused attempts; null for a quota, since an attempt belongs to an owner, and with `all`. */
  @ResponseInteger({ nullable: true, example: 40 })
  refused!: number | null

  /** Number of refused attempts; null for a quota and with `all`. */
  @ResponseInteger({ nullable: true, example: 8 })
  refusals!: number | null
}

/** A series of usage. */
export class SeriesDto {
  /** The length of a step. */
  @ResponseChoice(SERIES_STEPS)
  step!: SeriesStep

  /** All steps up to the present, oldest first, including those without usage. */
  @ResponseObject(() => UsageStepDto, { isArray: true })
  items!: UsageStepDto[]
}
