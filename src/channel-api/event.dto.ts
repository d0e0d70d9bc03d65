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
import { EVENT_TYPES, type EventType } from '../quota/event-type.js'
import { MAX_AMOUNT } from '../quota/quota.js'
import { MAX_THRESHOLDS } from '../quota/threshold.js'

const THRESHOLD_REACHED = 'quota.threshold_reached' satisfies EventType
const OF_CHANGES = EVENT_TYPES.filter((type) => type !== THRESHOLD_REACHED)

/** Which events to show; each channel adds the owner. All conditions hold together. */
export abstract class EventsFields {
  /** The `next_after` of an earlier page: only what comes behind it; or `latest`, which is behind all there is. Absent: from the beginning of what is kept. */
  @CursorField((text) => parseEventCursor(text) !== undefined, { optional: true, example: 'e1841' })
  after?: string

  /** Only of this type. */
  @ChoiceField(EVENT_TYPES, { optional: true, example: THRESHOLD_REACHED })
  type?: EventType

  /** Only of this quota. */
  @IdField({ optional: true, example: 12 })
  quota_id?: number

  /** Events on a page. */
  @PageSizeField()
  page_size?: number
}

/** Where a page of events ends. */
export abstract class EventsPageFields {
  /** Hand it in as `after` to go on, at once or later; never null. An empty page is the end for now. */
  @ResponseText({ example: 'e1841' })
  next_after!: string
}

/** What every event says. */
abstract class EventFields {
  /** Tells it apart from every other one; a UUIDv7. */
  @ResponseText({ example: EXAMPLE_UUID, format: 'uuid' })
  id!: string

  /** When it happened. */
  @ResponseInstant()
  at!: string

  /** The quota. */
  @ResponseId({ example: 12 })
  quota_id!: number
}

/** Thresholds that one act has passed. */
export class PassedThresholdsDto {
  /** The highest of them, in per cent of `total`. */
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

  /** Its next reset; null for type 1. */
  @ResponseInstant({ nullable: true })
  cycle_reset_at!: string | null

  /** What people call it. */
  @ResponseText({ nullable: true, example: 'Newsletter' })
  label!: string | null

  /** The consume or reservation that passed them; null where an edit did. */
  @ResponseText({ nullable: true, format: 'uuid', example: EXAMPLE_UUID })
  operation_id!: string | null
}

/** A quota has reached thresholds; each channel adds the owner. */
export abstract class ThresholdEventFields extends EventFields {
  /** What happened. */
  @ResponseChoice([THRESHOLD_REACHED])
  type!: typeof THRESHOLD_REACHED

  /** Which, and how far it has come. */
  @ResponseObject(() => PassedThresholdsDto)
  data!: PassedThresholdsDto
}

/** A quota's settings were changed, or its count was reset; each channel adds the owner and the change. */
export abstract class ChangeEventFields extends EventFields {
  /** What happened. */
  @ResponseChoice(OF_CHANGES)
  type!: Exclude<EventType, typeof THRESHOLD_REACHED>
}
