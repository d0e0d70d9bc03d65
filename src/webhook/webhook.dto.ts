import type { FieldError } from '../error/service-error.js'
import {
  InstantField,
  ResponseChoice,
  ResponseInstant,
  ResponseInteger,
  ResponseObject,
  ResponseSchema,
  ResponseText,
} from '../http/field.decorator.js'
import { EVENT_TYPES, type EventType } from '../quota/event-type.js'
import { CHANNEL_SCOPES, type ChannelScope } from '../role/scope.js'
import { parseInstant } from '../time/instant.js'
import { WEBHOOK_STATES, type WebhookState } from './webhook.entity.js'

const STATUS = { min: 100, max: 599, nullable: true, example: 204 } as const

/** The last attempt to deliver an event to an endpoint. */
export class WebhookAttemptDto {
  /** When it ended. */
  @ResponseInstant()
  at!: string

  /** What was answered; null where nothing was. */
  @ResponseInteger(STATUS)
  status!: number | null

  /** Why it was not received; null where it was. */
  @ResponseText({ nullable: true, example: 'answered 500' })
  error!: string | null
}

/** An endpoint that events are sent to. */
export class WebhookDto {
  /** As the operator's file names it. */
  @ResponseText({ example: 'ops' })
  name!: string

  /** Without query and user; null where the instance that answers does not know it. */
  @ResponseText({ nullable: true, example: 'https://ops.example.com/hooks/quota' })
  url!: string | null

  /** What it is told of. */
  @ResponseSchema({ type: 'array', items: { type: 'string', enum: [...EVENT_TYPES] } }, { example: [EVENT_TYPES[0]] })
  types!: EventType[]

  /** The channels that it is told of. */
  @ResponseSchema({ type: 'array', items: { type: 'string', enum: [...CHANNEL_SCOPES] } }, { example: ['mail'] })
  channels!: ChannelScope[]

  /** disabled: it has answered 410. removed: in the file of no live instance. */
  @ResponseChoice(WEBHOOK_STATES)
  state!: WebhookState

  /** Events that it has received. */
  @ResponseInteger({ example: 1812 })
  delivered!: number

  /** Events that were given up. */
  @ResponseInteger({ example: 0 })
  failed!: number

  /** Events that wait for it. */
  @ResponseInteger({ example: 3 })
  waiting!: number

  /** When the oldest of them happened. */
  @ResponseInstant({ nullable: true })
  oldest_waiting_at!: string | null

  /** Null before the first one. */
  @ResponseObject(() => WebhookAttemptDto, { nullable: true })
  last_attempt!: WebhookAttemptDto | null
}

/** All endpoints, by name. */
export class WebhooksDto {
  /** The endpoints. */
  @ResponseObject(() => WebhookDto, { isArray: true })
  items!: WebhookDto[]
}

/** How a test message was taken. */
export class TestedDto {
  /** What was answered; null where nothing was. */
  @ResponseInteger(STATUS)
  status!: number | null

  /** Why it was not received; null where it was. */
  @ResponseText({ nullable: true, example: 'answered 500' })
  error!: string | null

  /** How long it took, in milliseconds. */
  @ResponseInteger({ example: 12 })
  ms!: number
}

/** Which events to send again: those of `[from, to)`. */
export class ReplayDto {
  /** From this instant on. */
  @InstantField({ example: '2026-11-01T00:00:00.000Z' })
  from!: string

  /** Before this instant; absent: all later ones. */
  @InstantField({ optional: true })
  to?: string

  /** Asked by the pipe. */
  violations(): FieldError[] {
    const [from, to] = [parseInstant(this.from), this.to === undefined ? undefined : parseInstant(this.to)]
    return from !== undefined && to !== undefined && from > to
      ? [{ field: 'from', message: 'may not lie after to' }]
      : []
  }
}

/** How many events are sent again. */
export class ReplayedDto {
  /** How many. */
  @ResponseInteger({ example: 41 })
  events!: number
}
