import type { AnyChannel, ProblemBody } from './types.js'

/**
 * What may be wrong, for machines: the codes of the contract. And `foreign_answer`: an error that is not the service's
 * own but of something before it, a proxy or a wrong address; its `status` tells more.
 */
export type ProblemCode = ProblemBody['code'] | 'foreign_answer'

interface ForeignBody {
  type: 'about:blank'
  title: string
  status: number
  detail: string
  code: 'foreign_answer'
  requestId: string
}

type BodyOf<Code extends ProblemCode> = Extract<ProblemBody | ForeignBody, { code: Code }>

/** The service's answer is no. `Problem` is this, narrowed by `code`. */
class Refused extends Error {
  override readonly name = 'Problem'
  /** How long the service asks to wait before the next try, in seconds; undefined where it does not say. */
  readonly retryAfterSeconds: number | undefined

  /** @param body the problem as the service told it, with names of programs */
  constructor(body: ProblemBody | ForeignBody, retryAfterSeconds?: number) {
    super(`${body.code}: ${body.detail}`)
    Object.assign(this, body)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/**
 * The service has answered, and the answer is no: 4xx, or 500 three times. Narrowed by `code` to what the service tells
 * beside: `quota_exceeded` has `remaining`, `refillsAt` and `quotas`, `version_mismatch` the current `version`,
 * `validation_failed` the broken fields in `errors`, and so on.
 *
 * `requestId` finds the request in the service's log. `status` is that of HTTP.
 */
export type Problem<Code extends ProblemCode = ProblemCode> = Code extends ProblemCode
  ? Refused & Readonly<BodyOf<Code>>
  : never

interface ProblemClass {
  readonly prototype: Problem
  new (body: ProblemBody | ForeignBody, retryAfterSeconds?: number): Problem
}

export const Problem = Refused as unknown as ProblemClass

/** Is this a problem, of that code? */
export function isProblem<Code extends ProblemCode>(error: unknown, ...codes: readonly Code[]): error is Problem<Code> {
  return error instanceof Problem && (codes.length === 0 || codes.includes(error.code as Code))
}

/**
 * The deadline has passed, or nothing more may be tried, and nobody knows whether the call took effect. Keep what you
 * were about to do, and call again later with the same key: that finds out. A read has no effect; there it says no more
 * than that no answer came.
 *
 * `cause` is what happened last: a `Problem` (`unavailable`), or what the network said.
 */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown'

  /**
   * @param key the key that the call was made with; undefined where it has none
   * @param requestId what all its attempts were sent as, to be found in the service's log
   */
  constructor(
    readonly key: string | undefined,
    readonly requestId: string,
    cause: unknown,
  ) {
    super(`nobody knows the outcome of ${key === undefined ? 'the call' : `"${key}"`}; the last try: ${words(cause)}`, {
      cause,
    })
  }
}

/**
 * `withHold` was called with a key whose hold is open, made by another run: one that is at work, or that ended without
 * settling it. The work was not begun. Until `operation.expiresAt` the other run may settle it; who knows that it is
 * dead, and what came of its work, may `commit` or `release` `operation.id` in its place.
 */
export class HoldOpen<Operation = AnyChannel['operation']> extends Error {
  override readonly name = 'HoldOpen'

  constructor(
    readonly key: string,
    readonly operation: Operation & { readonly expiresAt: string | null },
  ) {
    super(`another run's hold of "${key}" is open until ${operation.expiresAt}`)
  }
}

/**
 * `withHold` was called with the key of a hold that is settled or has expired: what was to be done under it was done,
 * given up, or taken too long before, by an earlier run. `operation.state` says which. The work was not begun.
 */
export class HoldSettled<Operation = AnyChannel['operation']> extends Error {
  override readonly name = 'HoldSettled'

  constructor(
    readonly key: string,
    readonly operation: Operation & { readonly state: string },
  ) {
    super(`the hold of "${key}" is ${operation.state}`)
  }
}

/** What went wrong, with what caused it: the outermost error of a network rarely says what it was. */
function words(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, cause } = error
  if (error instanceof AggregateError) return error.errors.map(words).join('; ')
  return cause === undefined ? message : `${message}: ${words(cause)}`
}
