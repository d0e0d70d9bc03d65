import { QuotaClient } from '../src/client.js'
import type { Attempt, ClientOptions, Timing } from '../src/transport.js'

/** A request as the network sees it. */
export interface Sent {
  readonly method: string
  readonly path: string
  readonly query: Record<string, string>
  readonly headers: Record<string, string>
  readonly body: unknown
  /** The time of the request, in milliseconds of the test's clock. */
  readonly at: number
}

/** The result of a request: an answer, a broken connection, or no answer ever. */
export type Fate = Response | 'broken' | 'silence'

/** Time that passes only while all tasks wait for it. */
export class TestTiming implements Timing {
  /** The value that `random` returns. */
  chance = 0.5
  private time = 0
  private turning = false
  private readonly sleepers = new Set<{ readonly until: number; readonly wake: () => void }>()

  now(): number {
    return this.time
  }

  random(): number {
    return this.chance
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const sleeper = {
        until: this.time + ms,
        wake: () => {
          this.sleepers.delete(sleeper)
          resolve()
        },
      }
      signal.addEventListener('abort', sleeper.wake)
      this.sleepers.add(sleeper)
      if (!this.turning) void this.turn()
    })
  }

  private async turn(): Promise<void> {
    this.turning = true
    while (this.sleepers.size > 0) {
      // Until all other tasks are idle.
      for (let idle = 0; idle < 10; idle += 1) await new Promise(setImmediate)
      const [first] = [...this.sleepers].sort((a, b) => a.until - b.until)
      if (first === undefined) break
      this.time = Math.max(this.time, first.until)
      first.wake()
    }
    this.turning = false
  }
}

/** A client on a simulated network; the test decides about each request. */
export class TestNetwork {
  readonly timing = new TestTiming()
  readonly sent: Sent[] = []
  readonly attempts: Attempt[] = []
  readonly client: QuotaClient

  /** @param fate decides about each request; `number` counts them from 1 */
  constructor(fate: (sent: Sent, number: number) => Fate, options: Partial<ClientOptions> = {}) {
    this.client = new QuotaClient({
      baseUrl: 'https://quota.example/',
      token: 'secret',
      timing: this.timing,
      onAttempt: (attempt) => this.attempts.push(attempt),
      fetch: async (url, { method, headers, body, signal }) => {
        const { origin, pathname, searchParams } = new URL(url)
        const sent: Sent = {
          method: method ?? '',
          path: (origin === 'https://quota.example' ? '' : origin) + pathname,
          query: Object.fromEntries(searchParams),
          headers: Object.fromEntries(new Headers(headers)),
          body: typeof body === 'string' && sentAsJson(headers) ? JSON.parse(body) : (body ?? undefined),
          at: this.timing.now(),
        }
        this.sent.push(sent)
        const answer = fate(sent, this.sent.length)
        if (answer === 'broken') throw new TypeError('fetch failed')
        if (answer !== 'silence') return answer
        return new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason as Error))
        })
      },
      ...options,
    })
  }
}

function sentAsJson(headers: HeadersInit | undefined): boolean {
  return new Headers(headers).get('content-type') === 'application/json'
}

/** An answer with a JSON body. */
export function json(status: number, body?: unknown, headers: Record<string, string> = {}): Response {
  return new Response(body === undefined ? null : JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  })
}

/** A problem in the service's format. */
export function problem(
  status: number,
  code: string,
  more: object = {},
  headers: Record<string, string> = {},
): Response {
  const body = {
    type: 'about:blank',
    title: code,
    status,
    detail: `told by the test`,
    code,
    request_id: 'r-1',
    ...more,
  }
  return json(status, body, { 'content-type': 'application/problem+json', ...headers })
}

/** An operation in the service's format. */
export function operation(more: object = {}): object {
  return {
    id: '01a201d9-e827-7000-8000-002f05d730a8',
    kind: 'consume',
    state: 'consumed',
    account_id: 7,
    amount: 1,
    charged: 1,
    refunded: 0,
    allocations: [{ quota_id: 1, amount: 1 }],
    owner_remaining: 9,
    expires_at: null,
    created_at: '2026-11-22T00:00:00.000Z',
    ...more,
  }
}

/** The reason of a promise's rejection. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('it did not reject')
}
