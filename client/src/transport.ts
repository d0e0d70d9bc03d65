import { OutcomeUnknown, Problem } from './problem.js'
import type { ProblemBody } from './types.js'
import { camelName, renamed, wireName } from './wire.js'

/** The options of the client. */
export interface ClientOptions {
  /**
   * The URL of the service, such as `https://quota.example`; a path is kept. In a browser it may be relative to the
   * page.
   */
  readonly baseUrl: string
  /** The bearer token, or a function that returns it, called before each attempt; if it rejects, the call does. */
  readonly token: string | (() => Promise<string>)
  /**
   * The time limit of one attempt, in milliseconds. Default 15,000: the service itself retries for more than six
   * seconds.
   */
  readonly timeoutMs?: number
  /** The time limit of a call with all its attempts, in milliseconds, from its first attempt. Default 60,000. */
  readonly deadlineMs?: number
  /** Replaces the global `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** Called after each attempt; errors that it throws are ignored. */
  readonly onAttempt?: (attempt: Attempt) => void
  /** Replaces the real time and random numbers, for tests. */
  readonly timing?: Timing
}

/** Time and random numbers. */
export interface Timing {
  /** Milliseconds of a monotonic clock. */
  now(): number
  /** Resolves after this time, or at once when the signal is aborted; never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** From 0 to below 1. */
  random(): number
}

/** One attempt and its result. */
export interface Attempt {
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** From 1. */
  readonly number: number
  readonly key: string | undefined
  /** The same for all attempts of a call. */
  readonly requestId: string
  /** Of the answer; undefined without one. */
  readonly status: number | undefined
  /** Was this the repeated answer of an earlier attempt, or call, with this key? */
  readonly replayed: boolean
  /** The reason of a failure; undefined after a success. */
  readonly error: unknown
  readonly durationMs: number
  /** The pause until the next attempt, in milliseconds; undefined after the last one. */
  readonly waitMs: number | undefined
}

/** The options of any call. */
export interface CallOptions {
  /** Aborts the call: it rejects with the signal's reason. Whether it took effect is then unknown. */
  readonly signal?: AbortSignal | undefined
  /** Overrides the client's. */
  readonly timeoutMs?: number | undefined
  /** Overrides the client's. */
  readonly deadlineMs?: number | undefined
  /**
   * Sent as `X-Request-Id`: 1 to 128 characters of `A-Za-z0-9._-`. Default: generated for the call. Calls that find
   * their own effect by it (`withHold`, edits, deletes, change sets) add a suffix.
   */
  readonly requestId?: string | undefined
}

/** The options of a call that requires a key. */
export interface KeyedOptions extends CallOptions {
  /**
   * Identifies the intention: 1 to 255 printable ASCII characters. The same key takes effect once, however often it is
   * sent, so it must be known before the call and survive a crash: the id of the message, of the job, of the order.
   */
  readonly key: string
}

/** The options of a call with an optional key. */
export interface MaybeKeyedOptions extends CallOptions {
  /** As above. Without a key, the client does not retry the call after an attempt that may have taken effect. */
  readonly key?: string | undefined
}

/** A request of the contract. */
export interface Call extends MaybeKeyedOptions {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Without the query. */
  readonly path: string
  readonly query?: object | undefined
  readonly body?: object | undefined
  /** A CSV file instead of a body. */
  readonly file?: RequestInit['body'] | undefined
  /** Is the answer a file? Then the body is its stream. */
  readonly streams?: boolean
  /** May it be sent again if it is unknown whether it took effect? Reads and calls with a key always may. */
  readonly repeatable?: boolean
  /**
   * Called if the call is refused after an attempt that may have taken effect: did it? If it fails, nobody knows.
   * @returns the answer instead of the refusal; undefined if it did not
   */
  readonly confirm?: (problem: Problem, requestId: string) => Promise<object | undefined>
}

/** A successful answer. */
export interface Answer {
  readonly body: unknown
  readonly replayed: boolean
}

const TIMEOUT_MS = 15_000
const DEADLINE_MS = 60_000
/** The maximum pause before the second attempt; for each further one it doubles. */
const FIRST_PAUSE_MS = 200
const MAX_PAUSE_MS = 10_000
/** The number of retries after an `internal_error`. */
const RETRIES_OF_500 = 2
const KEY = /^[!-~](?:[ -~]{0,253}[!-~])?$/
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/

const realTiming: Timing = {
  now: () => performance.now(),
  random: Math.random,
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        resolve()
      }
      // A longer timer would end at once.
      const timer = setTimeout(end, Math.min(ms, 2e9))
      if (signal.aborted) end()
      else signal.addEventListener('abort', end)
    }),
}

/** The result of one attempt. */
type Outcome =
  | {
      readonly kind: 'done'
      readonly status: number
      readonly body: unknown
      readonly replayed: boolean
      readonly error?: never
    }
  /** The answer is final. */
  | { readonly kind: 'refused'; readonly status: number; readonly error: Problem; readonly replayed?: never }
  /** A retry may succeed. */
  | {
      readonly kind: 'again'
      /** Absent without an answer. */
      readonly status?: number
      readonly replayed?: never
      readonly error: unknown
      /** Is it certain that it had no effect? */
      readonly harmless: boolean
      readonly retryAfterSeconds?: number | undefined
    }
  /** The answer does not come from the service. */
  | { readonly kind: 'strange'; readonly status: number; readonly error: Error; readonly replayed?: never }

/** Sends calls with retries; no other part handles attempts. */
export class Transport {
  readonly timing: Timing
  readonly deadlineMs: number
  private readonly base: string
  /** Host and port, for messages. */
  private readonly place: string
  private readonly fetch: (url: string, init: RequestInit) => Promise<Response>

  /** @throws TypeError if `baseUrl` is not a URL of HTTP, or names a user */
  constructor(private readonly options: ClientOptions) {
    const { location } = globalThis as { location?: { href: string } }
    const { href, host, port, protocol } = new URL(options.baseUrl, location?.href)
    // `localhost:3000` is a URL, too.
    if (!/^http[^@]*$/.test(href)) throw new TypeError('the baseUrl is no http')
    this.base = href.replace(/\/?([?#].*)?$/, '')
    this.place = port ? host : `${host}:${protocol === 'https:' ? 443 : 80}`
    this.fetch = options.fetch ?? ((url, init) => fetch(url, init))
    this.timing = options.timing ?? realTiming
    this.deadlineMs = options.deadlineMs ?? DEADLINE_MS
  }

  /**
   * Sends a call until there is an answer.
   * @throws Problem the service says no
   * @throws OutcomeUnknown no answer until the deadline, or none to a call that must not be sent twice
   * @throws TypeError the key, the request id or the token is none
   */
  async send(call: Call): Promise<Answer> {
    const { key, signal } = call
    if (key !== undefined && !KEY.test(key)) throw new TypeError('a key is 1 to 255 printable ASCII, trimmed')
    // `confirm` recognizes its effect by this id, and a caller may send one id with several calls.
    const requestId = (call.confirm ? undefined : call.requestId) ?? newRequestId(call.requestId)
    if (!REQUEST_ID.test(requestId)) throw new TypeError('a request id is 1 to 128 of A-Za-z0-9._-')
    const deadline = this.timing.now() + (call.deadlineMs ?? this.deadlineMs)
    let failures = 0
    /** May an attempt have taken effect? */
    let doubt = false
    const ended = (error: unknown, isFinal?: boolean): unknown =>
      doubt && call.method !== 'GET' && !isFinal ? new OutcomeUnknown(key, requestId, error) : error
    for (let number = 1; ; number += 1) {
      signal?.throwIfAborted()
      const begun = this.timing.now()
      const outcome = await this.attempt(
        call,
        requestId,
        Math.min(call.timeoutMs ?? this.options.timeoutMs ?? TIMEOUT_MS, deadline - begun),
      ).catch((error: unknown) => {
        throw ended(error)
      })
      let waitMs: number | undefined
      if (outcome.kind === 'again' && !signal?.aborted) {
        doubt ||= !outcome.harmless
        if (outcome.status === 500) failures += 1
        const repeatable = key !== undefined || call.method === 'GET' || call.repeatable === true || outcome.harmless
        // A stream cannot be read again.
        if (repeatable && failures <= RETRIES_OF_500 && !(call.file instanceof ReadableStream)) {
          const pause = this.pause(number, outcome.retryAfterSeconds)
          if (this.timing.now() + pause < deadline) waitMs = pause
        }
      }
      this.tell({
        method: call.method,
        path: call.path,
        number,
        key,
        requestId,
        status: outcome.status,
        replayed: outcome.replayed === true,
        error: outcome.error,
        durationMs: this.timing.now() - begun,
        waitMs,
      })
      if (outcome.kind === 'done') return { body: outcome.body, replayed: outcome.replayed }
      if (outcome.kind === 'refused') {
        const body =
          doubt &&
          (await call.confirm?.(outcome.error, requestId).catch((error: unknown) => {
            signal?.throwIfAborted()
            throw ended(error)
          }))
        if (body) return { body, replayed: true }
        // Access, and what is before the service, refuse without a look at the key: earlier attempts may have effect.
        throw ended(outcome.error, !/^(unauth|forb|foreign)/.test(outcome.error.code))
      }
      signal?.throwIfAborted()
      if (waitMs === undefined) {
        throw outcome.error instanceof Problem
          ? ended(outcome.error, failures === number)
          : new OutcomeUnknown(key, requestId, outcome.error)
      }
      await this.sleep(waitMs, signal)
    }
  }

  /** Waits; shorter if the signal is aborted. */
  async sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    await this.timing.sleep(ms, signal ?? new AbortController().signal)
  }

  /** The pause after an attempt: full jitter, in addition to what the service requests. */
  pause(attempt: number, retryAfterSeconds = 0): number {
    return retryAfterSeconds * 1000 + this.timing.random() * Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1))
  }

  private async attempt(call: Call, requestId: string, timeoutMs: number): Promise<Outcome> {
    const { signal } = call
    const ending = new AbortController()
    const over = new AbortController()
    const abort = (): void => ending.abort(signal?.reason)
    signal?.addEventListener('abort', abort)
    const timeout = this.timing.sleep(timeoutMs, over.signal).then(() => {
      if (!over.signal.aborted)
        ending.abort(
          new DOMException(`no answer from ${this.place} within ${Math.round(timeoutMs)} ms`, 'TimeoutError'),
        )
    })
    const ended = new Promise<never>((_, reject) => {
      ending.signal.addEventListener('abort', () => reject(ending.signal.reason as Error))
    })
    try {
      return await Promise.race([this.exchange(call, requestId, ending.signal), ended])
    } catch (error) {
      if (!ending.signal.aborted) throw error
      return { kind: 'again', error, harmless: false }
    } finally {
      over.abort()
      // The body of a file has not been read yet.
      if (!call.streams) signal?.removeEventListener('abort', abort)
      await timeout
    }
  }

  private async exchange(call: Call, requestId: string, signal: AbortSignal): Promise<Outcome> {
    const { token } = this.options
    const bearer = typeof token === 'string' ? token : await token()
    const headers = new Headers({ accept: 'application/json', 'x-request-id': requestId })
    // The engine's own message would repeat the token.
    if (/[^ -~]/.test(bearer)) throw new TypeError('the token is no header')
    headers.set('authorization', `Bearer ${bearer}`)
    if (call.key !== undefined) headers.set('idempotency-key', call.key)
    const body = call.body ? JSON.stringify(renamed(call.body, wireName)) : (call.file ?? null)
    if (body !== null) headers.set('content-type', call.body ? 'application/json' : 'text/csv')
    let response: Response
    let text: string
    try {
      const init: RequestInit & { duplex: 'half' } = {
        method: call.method,
        headers,
        body,
        // Without it, fetch accepts no stream.
        duplex: 'half',
        // A redirect may turn a POST into a GET, and the service sends none.
        redirect: 'manual',
        signal,
      }
      response = await this.fetch(this.base + call.path + queryOf(call.query), init)
      if (call.streams && response.ok) return { kind: 'done', status: 200, body: response.body, replayed: false }
      text = await response.text()
    } catch (cause) {
      const error = new Error(`no answer from ${this.place}`, { cause })
      return { kind: 'again', error, harmless: false }
    }
    return read(response, text, requestId)
  }

  private tell(attempt: Attempt): void {
    try {
      this.options.onAttempt?.(attempt)
    } catch {
      // An observer must not make a call fail.
    }
  }
}

/** Interprets an answer. */
function read(response: Response, text: string, requestId: string): Outcome {
  const { status, headers } = response
  const body = parsed(text)
  if (response.ok) {
    if (status !== 204 && (typeof body !== 'object' || body === null))
      return { kind: 'strange', status, error: new Error(`the answer is not JSON (${status})`) }
    return {
      kind: 'done',
      status,
      body: renamed(body, camelName),
      replayed: headers.get('idempotency-replayed') === 'true',
    }
  }
  const retryAfterSeconds = secondsOf(headers)
  const error = new Problem(problemOf(status, body, headers.get('x-request-id') ?? requestId), retryAfterSeconds)
  // 52x: a proxy had no whole answer.
  return /429|50[0234]|52./.test(`${status}`)
    ? { kind: 'again', status, error, harmless: status === 429, retryAfterSeconds }
    : { kind: 'refused', status, error }
}

function problemOf(status: number, body: unknown, requestId: string): ProblemBody {
  if (typeof body === 'object' && body !== null && 'code' in body && 'detail' in body) {
    const problem = renamed(body, camelName) as ProblemBody
    if ('errors' in problem) for (const error of problem.errors) error.field = camelName(error.field)
    return problem
  }
  return {
    type: 'about:blank',
    title: 'Foreign answer',
    status,
    detail: `a proxy answered ${status}`,
    code: 'foreign_answer',
    requestId,
  } as unknown as ProblemBody
}

/** Parses `Retry-After`: seconds, or a time. In seconds. */
function secondsOf(headers: Headers): number | undefined {
  const value = headers.get('retry-after') ?? ''
  if (/^\d+$/.test(value)) return Number(value)
  // A time of the sender's clock: compared with that clock only.
  const seconds = (Date.parse(value) - Date.parse(headers.get('date') ?? '')) / 1000
  return seconds > 0 ? seconds : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function queryOf(query: object = {}): string {
  const given = Object.entries(query).filter(([, value]) => (value ?? undefined) !== undefined)
  const text = String(
    new URLSearchParams(given.map(([name, value]): [string, string] => [wireName(name), String(value)])),
  )
  return text && `?${text}`
}

/** 128 random bits, as 32 hexadecimal digits, after a prefix. Not `crypto.randomUUID`, which pages without TLS lack. */
export function newRequestId(prefix = 'call'): string {
  return crypto
    .getRandomValues(new Uint8Array(16))
    .reduce((id, byte) => id + (byte + 256).toString(16).slice(1), `${prefix.slice(0, 95)}-`)
}
