import type { WebhookEndpoint } from '../config/webhook-endpoints.js'
import { signatureHeaders, type WebhookMessage } from './message.js'
import { readRetryAfter } from './retry.js'

/** Within this time an endpoint has said that it has received a message, in milliseconds. */
const ANSWER_TIMEOUT_MS = 15_000
/** What is read of an answer, for the connection to be used again; then it is ended. */
const MAX_ANSWER_BYTES = 65_536
const MAX_ANSWER_MS = 1_000
const MAX_ERROR_LENGTH = 200

/** How an attempt ended. */
export interface Attempt {
  /** What was answered; null where nothing was. */
  readonly status: number | null
  /** Why it was not received, in ASCII; null where it was. */
  readonly error: string | null
  readonly ms: number
  /** What the endpoint asks for before the next attempt. */
  readonly retryAfterMs: number | undefined
}

/**
 * Posts a message once. Never throws, and ends within 16 seconds, whatever the endpoint does.
 * @param now the present, in milliseconds since 1970
 * @param stop ends it early
 */
export async function send(
  { url, secrets }: WebhookEndpoint,
  message: WebhookMessage,
  now: number,
  stop: AbortSignal,
): Promise<Attempt> {
  const began = performance.now()
  const ended = (status: number | null, error: string | null, retryAfterMs?: number): Attempt => ({
    status,
    error,
    ms: Math.round(performance.now() - began),
    retryAfterMs,
  })
  try {
    const { target, authorization } = split(url)
    const response = await fetch(target, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'quota-service',
        ...authorization,
        ...signatureHeaders(secrets, message, Math.floor(now / 1000)),
      },
      body: message.body,
      // Whoever may say where a message goes is the operator, and nobody else.
      redirect: 'manual',
      signal: AbortSignal.any([AbortSignal.timeout(ANSWER_TIMEOUT_MS), stop]),
    })
    const result = ended(
      response.status,
      response.ok ? null : `answered ${response.status}`,
      readRetryAfter(response.headers.get('retry-after'), now),
    )
    await finish(response)
    return result
  } catch (error) {
    return ended(null, reasonOf(error))
  }
}

/** Reads an answer to its end, if that is near: then the connection serves again. */
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
    // It was received or refused by its head.
  } finally {
    clearTimeout(timer)
    await reader.cancel().catch(() => undefined)
  }
}

/** A URL without its user, whom `fetch` takes in a header alone. */
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
  const { name, message, cause } = error as Error
  if (name === 'TimeoutError') return `no answer within ${ANSWER_TIMEOUT_MS / 1000} s`
  const text = cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : message
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, MAX_ERROR_LENGTH)
}
