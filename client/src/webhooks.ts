import type { QuotaEvent } from './events.js'
import type { AnyChannel } from './types.js'
import { camelName, renamed } from './wire.js'

/** The message of a webhook: an event, as in the feed, or a test message. */
export interface Delivery<Channel extends AnyChannel = AnyChannel> {
  /** The id of the event, the same for every attempt of a delivery: process each id once. */
  readonly id: string
  readonly type: QuotaEvent<Channel>['type'] | 'webhook.test'
  readonly timestamp: string
  readonly data: QuotaEvent<Channel>
}

/** The message does not come from the service: answer 400, and trust nothing in it. */
export class WebhookRefused extends Error {
  override readonly name = 'WebhookRefused'
}

/** Headers in any form: Node's, those of a `Request`, or a record. */
export type IncomingHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

/** The options of the verification. */
export interface Strictness {
  /** The maximum age of a message, or the maximum time that it may be in the future, in seconds; default 300. */
  readonly toleranceSeconds?: number
  /** Milliseconds since 1970; for tests. */
  readonly now?: () => number
}

const TOLERANCE_SECONDS = 300
const PREFIX = 'whsec_'
const SIGNATURE_BYTES = 32
/** More signatures than a rotation has; each is computed over the whole body. */
const MAX_SIGNATURES = 10

/**
 * Verifies a message to an endpoint (Standard Webhooks), with WebCrypto, in Node, browsers and edge runtimes.
 * @param body as received, byte for byte: a parsed and serialized body differs
 * @param secrets one, or several during a rotation: `whsec_…`
 * @throws WebhookRefused if none of them signed it, it is too old, or it is incomplete
 * @throws TypeError if a secret is invalid
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
  const given = signatures
    .split(' ')
    .flatMap((one) => (one.startsWith('v1,') ? (bytesOf(one.slice(3)) ?? []) : []))
    .filter(({ length }) => length === SIGNATURE_BYTES)
    .slice(0, MAX_SIGNATURES)
  for (const secret of [secrets].flat()) {
    const key = await keyOf(secret)
    for (const signature of given) {
      // In constant time.
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

/** @returns undefined if it is not base64 */
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
