import type { HttpEndpoint, WebhookEndpoint } from '../config/webhook-endpoints.js'
import { withTimeLimit } from '../time/time-limit.js'
import { sendMail } from './mail-sender.js'
import { signatureHeaders, type WebhookMessage } from './message.js'
import { readRetryAfter } from './retry.js'

/** The time within which an endpoint must confirm a message, in milliseconds. */
const ANSWER_TIMEOUT_MS = 15_000
/** The part of an answer that is read so that the connection can be reused; then the read is aborted. */
const MAX_ANSWER_BYTES = 65_536
const MAX_ANSWER_MS = 1_000
const MAX_ERROR_LENGTH = 200

/** The result of an attempt. */
export interface Attempt {
  /** The status of the answer, of HTTP or SMTP; null without an answer. */
  readonly status: number | null
  /** The reason why it was not received, in ASCII; null if it was. */
  readonly error: string | null
  readonly ms: number
  /** The pause that the endpoint requests before the next attempt. */
  readonly retryAfterMs: number | undefined
  /** Does the endpoint say that it is gone for good? */
  readonly gone: boolean
  /** Who has received it, now or before (`receiverOf`); of mail alone. */
  readonly receivedBy: readonly string[]
}

const GONE = 410

/**
 * Sends a message once. It never throws, and ends within 16 seconds, by mail 31, regardless of the endpoint.
 * @param now the present, in milliseconds since 1970
 * @param stop aborts it
 * @param receivedBy who has received it before (`receiverOf`)
 */
export async function send(
  endpoint: WebhookEndpoint,
  message: WebhookMessage,
  now: number,
  stop: AbortSignal,
  receivedBy: readonly string[] = [],
): Promise<Attempt> {
  const began = performance.now()
  const nothing = { retryAfterMs: undefined, gone: false, receivedBy }
  const ended = (result: Partial<Attempt> & Pick<Attempt, 'status' | 'error'>): Attempt => ({
    ...nothing,
    ...result,
    error: result.error === null ? null : printable(result.error),
    ms: Math.round(performance.now() - began),
  })
  try {
    if (endpoint.kind === 'mail') return ended(await sendMail(endpoint, message, stop, receivedBy))
    return ended(await post(endpoint, message, now, stop))
  } catch (error) {
    return ended({ status: null, error: reasonOf(error) })
  }
}

async function post(
  { kind, url, secrets }: HttpEndpoint,
  message: WebhookMessage,
  now: number,
  stop: AbortSignal,
): Promise<Pick<Attempt, 'status' | 'error' | 'retryAfterMs' | 'gone'>> {
  const { target, authorization } = split(url)
  const request = {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'quota-service',
      ...authorization,
      ...(kind === 'webhook' ? signatureHeaders(secrets, message, Math.floor(now / 1000)) : {}),
    },
    body: message.body,
    // Only the operator determines where messages go.
    redirect: 'manual',
  } as const
  const response = await withTimeLimit(ANSWER_TIMEOUT_MS, (signal) => fetch(target, { ...request, signal }), stop)
  await finish(response)
  return {
    status: response.status,
    error: response.ok ? null : `answered ${response.status}`,
    retryAfterMs: readRetryAfter(response.headers.get('retry-after'), now),
    gone: response.status === GONE,
  }
}

/** Reads a short answer to its end, so that the connection can be reused. */
async function finish({ body }: Response): Promise<void> {
  if (body === null) return
  const reader = body.getReader()
  const timer = setTimeout(() => void reader.cancel().catch(() => undefined), MAX_ANSWER_MS)
  try {
    for (let read = 0; read <= MAX_ANSWER_BYTES;) {
      const { value } = (await reader.read()) as { value?: Uint8Array }
      if (value === undefined) return
      read += value.length
    }
  } catch {
    // The status decides whether it was received.
  } finally {
    clearTimeout(timer)
    await reader.cancel().catch(() => undefined)
  }
}

/** A URL without its user, which `fetch` accepts only in a header. */
function split(url: string): { target: string; authorization: Record<string, string> } {
  const target = new URL(url)
  const { username, password } = target
  if (username === '' && password === '') return { target: url, authorization: {} }
  target.username = ''
  target.password = ''
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)
  return { target: target.href, authorization: { authorization: `Basic ${credentials.toString('base64')}` } }
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : message
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, MAX_ERROR_LENGTH)
}
