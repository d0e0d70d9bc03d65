import type { QuotaEvent } from './events.js'
import type { AnyChannel } from './types.js'
import { camelName, renamed } from './wire.js'

/** What a webhook brings: an event, as the feed has it, or what `test` sends. */
export interface Delivery<Channel extends AnyChannel = AnyChannel> {
  /** The same for every attempt of a delivery, and that of the event: whoever has done it once is done. */
  readonly id: string
  readonly type: QuotaEvent<Channel>['type'] | 'webhook.test'
  readonly timestamp: string
  readonly data: QuotaEvent<Channel>
}

/** What came is none of the service's: it is to be answered with 400, and nothing of it believed. */
export class WebhookRefused extends Error {
  override readonly name = 'WebhookRefused'
}

/** Headers as a server has them: Node's, those of a `Request`, or any record. */
export type IncomingHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

/** How strict to be. */
export interface Strictness {
  /** How old, or how far ahead, a message may be, in seconds; 300 by default. */
  readonly toleranceSeconds?: number
  /** Milliseconds since 1970; for tests. */
  readonly now?: () => number
}

const TOLERANCE_SECONDS = 300
const PREFIX = 'whsec_'

/**
 * Verifies what an endpoint was sent (Standard Webhooks), with WebCrypto, in Node, browsers and edge runtimes.
 * @param body as it came, byte for byte: parsed and written again it is another one
 * @param secrets one, or several while they are being changed: `whsec_…`
 * @throws WebhookRefused it is not signed with any of them, is too old, or lacks what it needs
 * @throws TypeError a secret is none
 */
export async function verifyWebhook<Channel extends AnyChannel = AnyChannel>(
  headers: IncomingHeaders,
  body: string | Uint8Array,
  secrets: string | readonly string[],
  { toleranceSeconds = TOLERANCE_SECONDS, now = Date.now }: Strictness = {},
): Promise<Delivery<Channel>> {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headerOf(headers, name),
  ) as [string, string, string]
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookRefused('webhook-timestamp is no time')
  if (Math.abs(now() / 1000 - Number(timestamp)) > toleranceSeconds)
    throw new WebhookRefused(`webhook-timestamp is more than ${toleranceSeconds} seconds away from now`)
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes)
  const given = signatures.split(' ').flatMap((one) => (one.startsWith('v1,') ? (bytesOf(one.slice(3)) ?? []) : []))
  for (const secret of [secrets].flat()) {
    const key = await keyOf(secret)
    for (const signature of given) {
      // It compares in constant time.
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) return { id, ...read<Channel>(bytes) }
    }
  }
  throw new WebhookRefused('webhook-signature is none of these secrets')
}

function headerOf(headers: IncomingHeaders, name: string): string {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([one]) => one.toLowerCase() === name)?.[1]
  if (typeof value !== 'string' || value === '') throw new WebhookRefused(`${name} is missing, or there several times`)
  return value
}

async function keyOf(secret: string): Promise<CryptoKey> {
  const bytes = bytesOf(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret)
  if (bytes === undefined || bytes.length === 0) throw new TypeError('a secret is whsec_ and base64')
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
}

/** @returns undefined where it is no base64 */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
  } catch {
    return undefined
  }
}

function joined(head: Uint8Array, tail: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(head.length + tail.length)
  whole.set(head)
  whole.set(tail, head.length)
  return whole
}

function read<Channel extends AnyChannel>(bytes: Uint8Array): Omit<Delivery<Channel>, 'id'> {
  try {
    return renamed(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)), camelName) as Delivery<Channel>
  } catch (cause) {
    throw new WebhookRefused('the body is no JSON', { cause })
  }
}
