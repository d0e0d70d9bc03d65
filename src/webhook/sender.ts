import dns from 'node:dns'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { HttpEndpoint, WebhookEndpoint } from '../config/webhook-endpoints.js'
import { withTimeLimit } from '../common/time-limit.js'
import { sendMail } from './mail-sender.js'
import { signatureHeaders, type WebhookMessage } from './message.js'
import { readRetryAfter } from './retry.js'
import { sharedLookup } from './shared-lookup.js'

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

/** Connections wait for the next message so long, in milliseconds: less than the five seconds of usual servers. */
const IDLE_MS = 4_000
const lookup = sharedLookup((hostname, options, found) => dns.lookup(hostname, options, found))
const reused = { keepAlive: true, timeout: IDLE_MS, lookup } as const
const plainAgent = new http.Agent(reused)
const secureAgent = new https.Agent(reused)

/**
 * Sends a message once. It never throws, and ends within 16 seconds, by mail 31, regardless of the endpoint.
 * @param message an error: why there is none, with which the attempt fails
 * @param now the present, in milliseconds since 1970
 * @param stop aborts it
 * @param receivedBy who has received it before (`receiverOf`)
 */
export async function send(
  endpoint: WebhookEndpoint,
  message: WebhookMessage | Error,
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
    if (message instanceof Error) throw message
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
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'quota-service',
    ...(kind === 'webhook' ? signatureHeaders(secrets, message, Math.floor(now / 1000)) : {}),
  }
  const answer = await withTimeLimit(
    ANSWER_TIMEOUT_MS,
    async (signal) => answerOf(new URL(url), headers, message.body, signal),
    stop,
  )
  await finish(answer)
  const { statusCode: status = 0 } = answer
  return {
    // Node takes any three digits.
    status: status <= 599 ? status : null,
    error: status >= 200 && status < 300 ? null : `answered ${status}`,
    retryAfterMs: readRetryAfter(answer.headers['retry-after'], now),
    gone: status === GONE,
  }
}

/**
 * The head of the answer to a POST. Redirects are not followed, since only the operator determines where messages go.
 * `fetch` would do the same for three times the CPU time. A user and a password in the URL are sent as Basic.
 */
async function answerOf(
  url: URL,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const [{ request }, agent] = url.protocol === 'https:' ? [https, secureAgent] : [http, plainAgent]
  return new Promise((resolve, reject) => {
    request(url, { method: 'POST', headers, agent, signal })
      .on('response', resolve)
      .on('error', reject)
      // After an answer 101, Node reports nothing else.
      .on('close', () => reject(new Error('the connection was closed')))
      .end(body)
  })
}

/** Reads a short answer to its end, so that the connection can be reused; closes that of another one. */
async function finish(answer: IncomingMessage): Promise<void> {
  const timer = setTimeout(() => answer.destroy(), MAX_ANSWER_MS)
  try {
    let read = 0
    for await (const chunk of answer as AsyncIterable<Buffer>) if ((read += chunk.length) > MAX_ANSWER_BYTES) return
  } catch {
    // The status decides whether it was received.
  } finally {
    clearTimeout(timer)
  }
}

function reasonOf(error: unknown): string {
  // An aborted request names its signal's reason as the cause.
  const { message, code } = ((error as Error).cause ?? error) as NodeJS.ErrnoException
  return message || String(code)
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, MAX_ERROR_LENGTH)
}
