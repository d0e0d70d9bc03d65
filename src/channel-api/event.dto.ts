import { EXAMPLE_UUID } from '../http/example.js'
import {
  ChoiceField,
  CursorField,
  IdField,
  PageSizeField,
  ResponseChoice,
  ResponseId,
  ResponseInstant,
  ResponseInteger,
  ResponseObject,
  ResponseSchema,
  ResponseText,
} from '../http/field.decorator.js'
import { parseEventCursor } from '../ledger/feed/event-reader.js'
import { REFUSAL_CODES, type RefusalCode } from '../ledger/rows/refusal.entity.js'
import { EVENT_TYPES, type EventType, type EventTypeOf, eventTypesOf } from '../domain/event-type.js'
import { MAX_AMOUNT } from '../domain/quota.js'
import { MAX_THRESHOLDS } from '../domain/threshold.js'

/** Selects events; each channel adds the owner. All conditions must hold. */
export abstract class EventsFields {
  /** Returns only events after this cursor: the `next_after` of an earlier page, or `latest` for the end of the feed. Default: the first event that is kept. */
  @CursorField((text) => parseEventCursor(text) !== undefined, { optional: true, example: 'e1841' })
  after?: string

  /** Returns only events of this type. */
  @ChoiceField(EVENT_TYPES, { optional: true, example: EVENT_TYPES[0] })
  type?: EventType

  /** Returns only events of this group: of its quotas, and of owners that belonged to it then. */
  @IdField({ optional: true, example: 5 })
  group_id?: number

  /** Returns only events of this quota. */
  @IdField({ optional: true, example: 12 })
  quota_id?: number

  /** Number of events on the page. */
  @PageSizeField()
  page_size?: number
}

/** The end of a page of events. */
export abstract class EventsPageFields {
  /** Pass it as `after` to continue, at once or later; never null. An empty page is the current end of the feed. */
  @ResponseText({ example: 'e1841' })
  next_after!: string
}

/** The fields of every event. */
abstract class EventFields {
  /** Id of the event, a UUIDv7. */
  @ResponseText({ example: EXAMPLE_UUID, format: 'uuid' })
  id!: string

  /** Time of the event. */
  @ResponseInstant()
  at!: string

  /** The group of the quota, or the one that the owner belonged to then; null: none. */
  @ResponseId({ nullable: true, example: null })
  group_id!: number | null
}

/** The fields of every event of a quota. */
abstract class QuotaEventFields extends EventFields {
  /** Id of the quota. */
  @ResponseId({ example: 12 })
  quota_id!: number
}

/** The thresholds that one act reached. */
export class PassedThresholdsDto {
  /** The highest of them, in percent of `total`. */
  @ResponseInteger({ min: 1, max: 100, example: 80 })
  threshold!: number

  /** All of them, ascending. */
  @ResponseSchema(
    { type: 'array', items: { type: 'integer', minimum: 1, maximum: 100 }, minItems: 1, maxItems: MAX_THRESHOLDS },
    { example: [50, 80] },
  )
  crossed!: number[]

  /** The quota's `total` right after the act. */
  @ResponseInteger({ max: MAX_AMOUNT, example: 1000 })
  total!: number

  /** Its `used` right after the act. */
  @ResponseInteger({ example: 803 })
  used!: number

  /** Its next reset; null for type 1 (total). */
  @ResponseInstant({ nullable: true })
  cycle_reset_at!: string | null

  /** The label of the quota. */
  @ResponseText({ nullable: true, example: 'Newsletter' })
  label!: string | null

  /** Id of the consume or reservation that reached them; null if an edit did. */
  @ResponseText({ nullable: true, format: 'uuid', example: EXAMPLE_UUID })
  operation_id!: string | null
}

/** The event of a quota that reached thresholds; each channel adds the owner. */
export abstract class ThresholdEventFields extends QuotaEventFields {
  /** The type of event. */
  @ResponseChoice(eventTypesOf('threshold'))
  type!: EventTypeOf<'threshold'>

  /** The thresholds and the quota's state. */
  @ResponseObject(() => PassedThresholdsDto)
  data!: PassedThresholdsDto
}

/** The event of a change of a quota; each channel adds the owner and the change. */
export abstract class ChangeEventFields extends QuotaEventFields {
  /** The type of event. */
  @ResponseChoice(eventTypesOf('change'))
  type!: EventTypeOf<'change'>
}

/** Refusals of an owner with one code, from the first one until an hour has passed without any. */
export class RefusedSpellDto {
  /** Why its consumes and reservations are refused; `quota_observed`: they succeed, and an `observe` cap would have refused them. */
  @ResponseChoice(REFUSAL_CODES)
  code!: RefusalCode

  /** Time of the first of these refusals; with the owner and the code, it identifies them in all of their events. */
  @ResponseInstant()
  since!: string

  /** Number of them so far; the last seconds may be missing. */
  @ResponseInteger({ min: 1, example: 41 })
  count!: number

  /** Sum of the requested amounts so far, at most 2^53-1. */
  @ResponseInteger({ min: 1, example: 4100 })
  requested!: number
}

/**
 * The event of an owner whose requests are refused: `owner.refused` when that begins and on each further UTC day,
 * `owner.recovered` after an hour without refusals. Each channel adds the owner.
 */
export abstract class OwnerEventFields extends EventFields {
  /** The type of event. */
  @ResponseChoice(eventTypesOf('spell'))
  type!: EventTypeOf<'spell'>

  /** Always null: the event is about the owner. */
  @ResponseSchema({ type: 'null' }, { example: null })
  quota_id!: null

  /** The refusals. */
  @ResponseObject(() => RefusedSpellDto)
  data!: RefusedSpellDto
}
