import { ENDPOINT_KINDS, type EndpointKind } from '../config/webhook-endpoints.js'
import type { FieldError } from '../common/service-error.js'
import {
  InstantField,
  ResponseChoice,
  ResponseInstant,
  ResponseInteger,
  ResponseObject,
  ResponseSchema,
  ResponseText,
} from '../http/field.decorator.js'
import { EVENT_TYPES, type EventType } from '../domain/event-type.js'
import { CHANNEL_SCOPES, type ChannelScope } from '../common/scope.js'
import { parseInstant } from '../common/instant.js'
import { WEBHOOK_STATES, type WebhookState } from './webhook.entity.js'

const STATUS = { min: 100, max: 599, nullable: true, example: 204 } as const

/** The last attempt to deliver an event to an endpoint. */
export class WebhookAttemptDto {
  /** Time at which the attempt ended. */
  @ResponseInstant()
  at!: string

  /** HTTP status of the response, of mail the reply code; null without a response. */
  @ResponseInteger(STATUS)
  status!: number | null

  /** The reason of the failure; null after a success. */
  @ResponseText({ nullable: true, example: 'answered 500' })
  error!: string | null
}

/** An endpoint that receives events. */
export class WebhookDto {
  /** Its name in the operator's file. */
  @ResponseText({ example: 'ops' })
  name!: string

  /** Program, chat or mailboxes; null if this instance does not know it. */
  @ResponseChoice(ENDPOINT_KINDS, { nullable: true })
  kind!: EndpointKind | null

  /**
   * Its URL without query and user, of a chat also without its path, of mail that of the mail server; null if this
   * instance does not know it.
   */
  @ResponseText({ nullable: true, example: 'https://ops.example.com/hooks/quota' })
  url!: string | null

  /** The types of events that it receives. */
  @ResponseSchema({ type: 'array', items: { type: 'string', enum: [...EVENT_TYPES] } }, { example: [EVENT_TYPES[0]] })
  types!: EventType[]

  /** The channels whose events it receives. */
  @ResponseSchema({ type: 'array', items: { type: 'string', enum: [...CHANNEL_SCOPES] } }, { example: ['mail'] })
  channels!: ChannelScope[]

  /** `disabled`: it answered 410. `removed`: the file of no live instance contains it. */
  @ResponseChoice(WEBHOOK_STATES)
  state!: WebhookState

  /** Number of events delivered. */
  @ResponseInteger({ example: 1812 })
  delivered!: number

  /** Number of events whose delivery was given up. */
  @ResponseInteger({ example: 0 })
  failed!: number

  /** Number of events waiting for delivery. */
  @ResponseInteger({ example: 3 })
  waiting!: number

  /** Time of the oldest waiting event; null if none waits. */
  @ResponseInstant({ nullable: true })
  oldest_waiting_at!: string | null

  /** The last attempt; null before the first one. */
  @ResponseObject(() => WebhookAttemptDto, { nullable: true })
  last_attempt!: WebhookAttemptDto | null
}

/** All endpoints, by name. */
export class WebhooksDto {
  /** The endpoints. */
  @ResponseObject(() => WebhookDto, { isArray: true })
  items!: WebhookDto[]
}

/** The result of a test message. */
export class TestedDto {
  /** HTTP status of the response, of mail the reply code; null without a response. */
  @ResponseInteger(STATUS)
  status!: number | null

  /** The reason of the failure; null after a success. */
  @ResponseText({ nullable: true, example: 'answered 500' })
  error!: string | null

  /** Duration in milliseconds. */
  @ResponseInteger({ example: 12 })
  ms!: number
}

/** Selects events to send again: those in `[from, to)`. */
export class ReplayDto {
  /** Sends events at or after this time. */
  @InstantField({ example: '2026-11-01T00:00:00.000Z' })
  from!: string

  /** Sends events before this time. Default: all later ones. */
  @InstantField({ optional: true })
  to?: string

  /** Checks the order of `from` and `to`. */
  violations(): FieldError[] {
    const [from, to] = [parseInstant(this.from), this.to === undefined ? undefined : parseInstant(this.to)]
    return from !== undefined && to !== undefined && from > to
      ? [{ field: 'from', message: 'must not be later than to' }]
      : []
  }
}

/** The result of a replay. */
export class ReplayedDto {
  /** Number of events to send again. */
  @ResponseInteger({ example: 41 })
  events!: number
}
