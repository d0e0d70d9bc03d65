import { randomUUID } from 'node:crypto'
import { type Attempt, isProblem, OutcomeUnknown, Problem, QuotaClient } from '@quota-service/client'

/** The timeout of one attempt, in milliseconds, so that a lost answer leaves time for another. */
const ATTEMPT_MS = 2_000
/** The remaining time below which nothing is sent. */
const TOO_LATE_MS = 100
/** The maximum number of concurrent requests to the service. */
const MAX_AT_ONCE = 64

/** A message to charge. */
export interface Charge {
  readonly account: number
  /** Units. */
  readonly amount: number
  /** Identifies the message; each message is charged once. */
  readonly key: string
  /** For the log of the service. */
  readonly queueId: string
}

/** The outcome of a request to the service. */
export type Outcome =
  | { readonly kind: 'fits'; readonly remaining: number }
  | { readonly kind: 'exceeded'; readonly remaining: number; readonly refillsAt: string | null }
  | { readonly kind: 'no_quota' }
  /** The message was charged already, with other recipients or to another account. */
  | { readonly kind: 'contradiction' }
  /** The service takes no more new owners within the hour. */
  | { readonly kind: 'too_many'; readonly error: string }
  /** No decisive answer; `doubt`: the charge may have been made nevertheless. */
  | { readonly kind: 'unknown'; readonly doubt: boolean; readonly error: string }

/** The service's address and token. */
export interface Service {
  readonly url: string
  readonly token: () => Promise<string>
}

/** Sends requests to the service, each with a guaranteed time limit. */
export class Spending {
  readonly client: QuotaClient
  /** Calls in progress, by request id: may an attempt have taken effect although its answer was lost? */
  private readonly doubtful = new Map<string, boolean>()
  /** Charges in progress, so that a repeated question shares the answer. */
  private readonly inHand = new Map<string, Promise<Outcome>>()
  private atOnce = 0
  private readonly waiting = new Set<() => void>()

  constructor({ url, token }: Service) {
    this.client = new QuotaClient({
      baseUrl: url,
      token,
      timeoutMs: ATTEMPT_MS,
      onAttempt: (attempt) => this.watch(attempt),
    })
  }

  /**
   * Charges a message, once for each key.
   * @param until the deadline of the outcome, by `performance.now()`
   */
  charge({ account, amount, key, queueId }: Charge, until: number): Promise<Outcome> {
    const name = JSON.stringify([key, account, amount])
    const known = this.inHand.get(name)
    if (known !== undefined) return known
    const outcome = this.ask(queueId, until, async (options) => {
      const answer = await this.client.mail.consume({ accountId: account, amount }, { ...options, key })
      const { ownerRemaining } = ofService(answer, 'ownerRemaining')
      return { kind: 'fits', remaining: ownerRemaining }
    }).finally(() => this.inHand.delete(name))
    this.inHand.set(name, outcome)
    return outcome
  }

  /** Would that many units fit? Charges nothing. */
  check(account: number, amount: number, until: number): Promise<Outcome> {
    return this.ask('check', until, async (options) => {
      const answer = await this.client.mail.check({ accountId: account, amount }, options)
      const { allowed, remaining, refillsAt } = ofService(answer, 'allowed')
      return allowed ? { kind: 'fits', remaining } : { kind: 'exceeded', remaining, refillsAt }
    })
  }

  private async ask(
    name: string,
    until: number,
    call: (options: { requestId: string; deadlineMs: number }) => Promise<Outcome>,
  ): Promise<Outcome> {
    if (!(await this.turn(until)))
      return { kind: 'unknown', doubt: false, error: 'no time was left to ask the service' }
    const requestId = `${name.replace(/[^\w.-]/g, '').slice(0, 64)}-${randomUUID()}`
    this.doubtful.set(requestId, false)
    try {
      return await call({ requestId, deadlineMs: until - performance.now() })
    } catch (error) {
      // A refusal is final, even after a lost answer: if that charge had succeeded, its key would replay the success.
      if (isProblem(error, 'quota_exceeded'))
        return { kind: 'exceeded', remaining: error.remaining, refillsAt: error.refillsAt }
      if (isProblem(error, 'no_active_quota')) return { kind: 'no_quota' }
      if (isProblem(error, 'idempotency_key_reused')) return { kind: 'contradiction' }
      const words = `${wordsOf(error)} (request ${requestId})`
      if (isProblem(error, 'too_many_new_owners')) return { kind: 'too_many', error: words }
      return { kind: 'unknown', doubt: this.doubtful.get(requestId) === true, error: words }
    } finally {
      this.doubtful.delete(requestId)
      const [next] = this.waiting
      if (next === undefined) this.atOnce -= 1
      else next()
    }
  }

  /** Waits until there is room for a request. @returns false if there is none in time */
  private async turn(until: number): Promise<boolean> {
    const leftMs = until - performance.now() - TOO_LATE_MS
    if (leftMs <= 0) return false
    if (this.atOnce < MAX_AT_ONCE) {
      this.atOnce += 1
      return true
    }
    return new Promise<boolean>((resolve) => {
      const end = (mine: boolean): void => {
        clearTimeout(timer)
        this.waiting.delete(take)
        resolve(mine)
      }
      const take = (): void => end(true)
      const timer = setTimeout(() => end(false), leftMs)
      this.waiting.add(take)
    })
  }

  private watch({ requestId, status, error }: Attempt): void {
    // An answer of success that breaks off has an error.
    const harmless = status === undefined ? neverSent(error) : status < 500 && (status >= 300 || error === undefined)
    if (!harmless && this.doubtful.has(requestId)) this.doubtful.set(requestId, true)
  }
}

/** @throws Error if an answer lacks a member: at a wrong address, something else may answer 200 to everything */
export function ofService<Answer extends object>(answer: Answer, member: keyof Answer): Answer {
  if (answer[member] === undefined) throw new Error('the answer is not that of the quota service')
  return answer
}

/** Error codes of failures before anything is sent. */
const NEVER_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']
/** The maximum depth of causes. */
const MAX_CAUSES = 5

/** Was there no connection at all, so that the call cannot have taken effect? */
function neverSent(error: unknown): boolean {
  return chainOf(error).some((one) => NEVER_SENT.includes(codeOf(one)))
}

/** Describes an error with its causes: `fetch failed` alone says nothing. */
export function wordsOf(error: unknown): string {
  if (error instanceof OutcomeUnknown) return wordsOf(error.cause)
  if (!(error instanceof Error)) return String(error)
  if (error instanceof Problem) return error.message
  return chainOf(error)
    .map((one) => (one.message === '' ? codeOf(one) : one.message))
    .join(': ')
}

function chainOf(error: unknown): Error[] {
  const chain: Error[] = []
  for (let one = error; one instanceof Error && chain.length < MAX_CAUSES; one = one.cause) chain.push(one)
  return chain
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : ''
}
