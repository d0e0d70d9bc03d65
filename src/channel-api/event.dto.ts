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

/** Selects events; each channel adds the owner. All conditions must hold. */
export abstract class EventsFields {
  /** Returns only events after this cursor: the `next_after` of an earlier page, or `latest` for the end of the feed. Default: the first event that is kept. */
  @CursorField((text) => parseEventCursor(text) !== undefined, { optional: true, example: 'e1841' })
  after?: string

  /** Returns only events of this type. */
  @ChoiceField(EVENT_TYPES, { optional: true, example: THRESHOLD_REACHED })
  type?: EventType

  /** Returns only events of quotas of this group. */
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

  /** The group of the quota; null: none. */
  @ResponseId({ nullable: true, example: null })
  group_id!: number | null

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
export abstract class ThresholdEventFields extends EventFields {
  /** The type of event. */
  @ResponseChoice([THRESHOLD_REACHED])
  type!: typeof THRESHOLD_REACHED

  /** The thresholds and the quota's state. */
  @ResponseObject(() => PassedThresholdsDto)
  data!: PassedThresholdsDto
}

/** The event of a change of a quota; each channel adds the owner and the change. */
export abstract class ChangeEventFields extends EventFields {
  /** The type of event. */
  @ResponseChoice(OF_CHANGES)
  type!: Exclude<EventType, typeof THRESHOLD_REACHED>
}
