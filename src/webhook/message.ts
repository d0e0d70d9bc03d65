import { createHmac } from 'node:crypto'
import { v7 } from 'uuid'
import type { WebhookEndpoint } from '../config/webhook-endpoints.js'
import { type Instant, formatInstant, parseInstant } from '../common/instant.js'
import { type ChannelEvent, digestText, type Text, testText, textOf, type TextStyle } from './texts.js'

/** A message to an endpoint. Its text is the same at each attempt. */
export interface WebhookMessage {
  /** The event's id. Of a digest, that of its first event, with the number of events: another one may begin with it. */
  readonly id: string
  /** When it happened. Of a digest, the end of its period. */
  readonly at: Instant
  /** The title, which only mail has apart. */
  readonly subject: string
  /** The text that is posted or mailed. */
  readonly body: string
}

/** The message of an event: after the Standard Webhooks specification, or a text for people. */
export function messageOf(endpoint: WebhookEndpoint, told: ChannelEvent): WebhookMessage {
  const { event } = told
  return message(endpoint, event.id, parseInstant(event.at) ?? 0, () => textOf(told, styleOf(endpoint)), {
    type: event.type,
    data: event,
  })
}

/**
 * The message of a digest.
 * @param id of its first event
 * @param worst what is told one by one, in order
 * @param count the number of all its events
 * @param end the end of its period
 */
export function digestMessageOf(
  endpoint: WebhookEndpoint,
  { id, worst, count, end }: { id: string; worst: readonly ChannelEvent[]; count: number; end: Instant },
): WebhookMessage {
  return message(endpoint, `${id}.${count}`, end, () => digestText(worst, count, end, styleOf(endpoint)))
}

/** The message of a test. */
export function testMessage(endpoint: WebhookEndpoint, now: Instant): WebhookMessage {
  const { name } = endpoint
  const text = (): Text => testText(name, styleOf(endpoint))
  return message(endpoint, v7({ msecs: now }), now, text, { type: 'webhook.test', data: { webhook: name } })
}

function message(
  { kind }: WebhookEndpoint,
  id: string,
  at: Instant,
  text: () => Text,
  { type, data }: { type?: string; data?: object } = {},
): WebhookMessage {
  if (kind === 'webhook')
    return { id, at, subject: '', body: JSON.stringify({ type, timestamp: formatInstant(at), data }) }
  const { subject, body } = text()
  return { id, at, subject, body: kind === 'mail' ? `${body}\n` : JSON.stringify({ text: body }) }
}

function styleOf({ kind, timeZone, baseUrl }: WebhookEndpoint): TextStyle {
  return { markup: kind === 'mail' ? 'plain' : 'chat', timeZone, baseUrl }
}

/**
 * The headers that identify the sender and the time of a message.
 * @param secrets each of them signs, so that a receiver may know either one
 * @param seconds since 1970
 */
export function signatureHeaders(
  secrets: readonly Buffer[],
  { id, body }: Pick<WebhookMessage, 'id' | 'body'>,
  seconds: number,
): Record<string, string> {
  const signed = `${id}.${seconds}.${body}`
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': secrets
      .map((secret) => `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`)
      .join(' '),
  }
}
