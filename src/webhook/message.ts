import { createHmac } from 'node:crypto'

/** The message that is posted to an endpoint. Its body is the same text at each attempt. */
export interface WebhookMessage {
  /** The event's id. */
  readonly id: string
  readonly body: string
}

/** Builds the message of an event, after the Standard Webhooks specification. */
export function messageOf(event: { id: string; type: string; at: string }): WebhookMessage {
  return { id: event.id, body: JSON.stringify({ type: event.type, timestamp: event.at, data: event }) }
}

/**
 * The headers that identify the sender and the time of a message.
 * @param secrets each of them signs, so that a receiver may know either one
 * @param seconds since 1970
 */
export function signatureHeaders(
  secrets: readonly Buffer[],
  { id, body }: WebhookMessage,
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
