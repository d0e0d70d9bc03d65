import type { AnyChannel, ProblemBody } from './types.js'

/**
 * The codes of the contract, for programs. And `foreign_answer`: an error that does not come from the service but from
 * something in front of it, a proxy or a wrong address; its `status` says more.
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

/** A refusal by the service. `Problem` is the same, narrowed by `code`. */
class Refused extends Error {
  override readonly name = 'Problem'
  /** The time to wait before the next attempt, in seconds, as the service requests; undefined if it does not. */
  readonly retryAfterSeconds: number | undefined

  /** @param body the problem document, with names in camelCase */
  constructor(body: ProblemBody | ForeignBody, retryAfterSeconds?: number) {
    super(`${body.code}: ${body.detail}`)
    Object.assign(this, body)
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/**
 * A refusal by the service: 4xx, or 500 three times. `code` narrows it to its own members: `quota_exceeded` has
 * `remaining`, `refillsAt` and `quotas`, `version_mismatch` the current `version`, `validation_failed` the wrong fields
 * in `errors`, and so on.
 *
 * `requestId` finds the request in the service's log. `status` is the HTTP status.
 */
export type Problem<Code extends ProblemCode = ProblemCode> = Code extends ProblemCode
  ? Refused & Readonly<BodyOf<Code>>
  : never

interface ProblemClass {
  readonly prototype: Problem
  new (body: ProblemBody | ForeignBody, retryAfterSeconds?: number): Problem
}

export const Problem = Refused as unknown as ProblemClass

/** Is this a problem, with that code? */
export function isProblem<Code extends ProblemCode>(error: unknown, ...codes: readonly Code[]): error is Problem<Code> {
  return error instanceof Problem && (codes.length === 0 || codes.includes(error.code as Code))
}

/**
 * The deadline has passed, or no further attempt is possible, and it is unknown whether the call took effect. Remember
 * the call and repeat it later with the same key: its answer tells. A read has no effect; for it, this only means that
 * there was no answer.
 *
 * `cause` is the last failure: a `Problem` (`unavailable`), or an error of the network.
 */
export class OutcomeUnknown extends Error {
  override readonly name = 'OutcomeUnknown'

  /**
   * @param key the key of the call; undefined if it has none
   * @param requestId the request id of all its attempts, in the service's log
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
 * `withHold` was called with a key whose hold is open and belongs to another run: one that is working, or that ended
 * without settling it. The work did not begin. Until `operation.expiresAt` the other run may settle it; if you know
 * that it has ended, and its result, `commit` or `release` `operation.id` in its place.
 */
export class HoldOpen<Operation = AnyChannel['operation']> extends Error {
  override readonly name = 'HoldOpen'

  constructor(
    readonly key: string,
    readonly operation: Operation & { readonly expiresAt: string | null },
  ) {
    super(`the hold of "${key}" is open until ${operation.expiresAt}`)
  }
}

/**
 * `withHold` was called with the key of a hold that is settled or has expired: an earlier run did the work, gave it up,
 * or took too long, as `operation.state` says. The work did not begin.
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

/** Describes an error with its causes: the outermost error of a network rarely names the reason. */
function words(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { message, cause } = error
  if (error instanceof AggregateError) return error.errors.map(words).join('; ')
  return cause === undefined ? message : `${message}: ${words(cause)}`
}
