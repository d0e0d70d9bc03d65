import type { FieldError } from '../error/service-error.js'
import {
  ChoiceField,
  IdField,
  InstantField,
  ResponseChoice,
  ResponseInstant,
  ResponseInteger,
  ResponseObject,
} from '../http/field.decorator.js'
import { oldestKept } from '../ledger/rows/refusal.entity.js'
import { SERIES_STEPS, type SeriesStep } from '../ledger/rows/usage-total.entity.js'
import { beginningOf, STEP_MS } from '../ledger/rows/utc-step.js'
import { type Instant, MIN_INSTANT } from '../time/instant.js'
import { periodOf, periodViolations } from './period.js'

/** Steps of a series that does not say where it begins, the running one among them. */
const DEFAULT_STEPS: Readonly<Record<SeriesStep, number>> = { day: 30, hour: 24 }
/** The longest series of days; hours are kept for 31 days. */
const MAX_DAYS = 366

/** The stretch of time that a series covers: steps that begin in `[from, to)`. */
export interface Stretch {
  readonly step: SeriesStep
  readonly from: Instant
  readonly to: Instant
}

/** What a series of usage is asked by, beside the owner: exactly one of owner and quota. */
export abstract class SeriesFields {
  /** Only usage of this quota; a deleted one's too. */
  @IdField({ optional: true, example: 12 })
  quota_id?: number

  /** How long each step is; hours and days begin where UTC says. */
  @ChoiceField(SERIES_STEPS, { optional: true, default: 'day', example: 'day' })
  step?: SeriesStep

  /** Only steps that begin at this instant or later: of hours, at most 31 days ago; absent: 30 days or 24 hours in all. */
  @InstantField({ optional: true, example: '2026-11-01T00:00:00.000Z' })
  from?: string

  /** Only steps that begin before this instant; absent: up to the present. A series of days has at most 366. */
  @InstantField({ optional: true })
  to?: string

  /** The stretch that a valid query asks for. */
  stretchAt(now: Instant): Stretch {
    const step = this.step ?? 'day'
    const { from, to } = periodOf(this)
    const end = Math.min(to ?? now + 1, now + 1)
    const first = beginningOf(step, end - 1) - (DEFAULT_STEPS[step] - 1) * STEP_MS[step]
    return { step, from: from ?? Math.max(first, MIN_INSTANT), to: end }
  }

  /** What is wrong at this time: hours are kept for as long as refusals are, and days are not without end. */
  violationsAt(now: Instant): FieldError[] {
    const { step, from, to } = this.stretchAt(now)
    if (step === 'hour' && from < oldestKept(now)) {
      return [{ field: 'from', message: 'may lie at most 31 days back in steps of an hour' }]
    }
    if (to - from > MAX_DAYS * STEP_MS.day) {
      return [{ field: 'from', message: `may lie at most ${MAX_DAYS} days before to` }]
    }
    return []
  }
}

/**
 * What is wrong between the fields of such a query.
 * @param ownerField the field that names the owner
 */
export function seriesViolations(query: SeriesFields, ownerField: string): FieldError[] {
  const violations = periodViolations(query)
  const owner = (query as unknown as Record<string, unknown>)[ownerField]
  if ((owner === undefined) === (query.quota_id === undefined)) {
    violations.push({ field: ownerField, message: `exactly one of ${ownerField} and quota_id must be given` })
  }
  return violations
}

/** What was used within one hour or day. */
export class UsageStepDto {
  /** Its beginning. */
  @ResponseInstant()
  began_at!: string

  /** Units that consumes and commits of that time charged, gross. */
  @ResponseInteger({ example: 120 })
  charged!: number

  /** Units that refunds of that time gave back, whenever they had been charged. */
  @ResponseInteger({ example: 5 })
  refunded!: number

  /** Units that refused attempts asked for; null for a quota, since attempts are an owner's. */
  @ResponseInteger({ nullable: true, example: 40 })
  refused!: number | null

  /** Refused attempts; null for a quota. */
  @ResponseInteger({ nullable: true, example: 8 })
  refusals!: number | null
}

/** What was used, step by step. */
export class SeriesDto {
  /** How long each step is. */
  @ResponseChoice(SERIES_STEPS)
  step!: SeriesStep

  /** Every step up to the present, oldest first, also those in which nothing was used. */
  @ResponseObject(() => UsageStepDto, { isArray: true })
  items!: UsageStepDto[]
}
