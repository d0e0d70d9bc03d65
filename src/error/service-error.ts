/**
 * Every error code a caller can meet, stable on the wire (contract, §2). Closed: a new code without a status does not
 * compile.
 */
export type ErrorCode =
  | 'validation_failed'
  | 'malformed_json'
  | 'idempotency_key_missing'
  | 'idempotency_key_invalid'
  | 'unauthenticated'
  | 'forbidden'
  | 'quota_not_found'
  | 'operation_not_found'
  | 'change_set_not_found'
  | 'route_not_found'
  | 'method_not_allowed'
  | 'quota_exceeded'
  | 'no_active_quota'
  | 'too_many_quotas'
  | 'version_mismatch'
  | 'operation_already_settled'
  | 'commit_exceeds_hold'
  | 'refund_exceeds_charge'
  | 'webhook_not_found'
  | 'webhook_disabled'
  | 'cursor_expired'
  | 'change_set_state'
  | 'change_set_differs'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'idempotency_key_reused'
  | 'internal_error'
  | 'unavailable'

/**
 * Why a request was answered `unavailable`, for whoever is on call: a label of metrics and a field of the request's log
 * line. Closed: a new one without a sentence for its caller does not compile, and one that docs/operations.md does not
 * explain fails a test.
 */
export type UnavailableReason =
  /** The process is shutting down. */
  | 'draining'
  /** Too much of the principal is in hand (PRINCIPAL_REQUESTS, PRINCIPAL_BODY_BYTES). */
  | 'principal_requests'
  /** Too many writes of the principal wait (PRINCIPAL_QUEUE_LIMIT). */
  | 'principal_queue'
  /** Too many writes of a channel wait (QUEUE_LIMIT). */
  | 'queue_full'
  /** The caller broke the request off while it was looked up who that is; nobody is told. */
  | 'caller_gone'
  /** Somebody else's transaction keeps the owner locked. */
  | 'owner_locked'
  /** An upgrade is not finished (`npm run migrate -- --finish`), and what was asked for has to wait until it is. */
  | 'upgrading'
  /** The totals that a series is read from are behind. */
  | 'totals_behind'
  /** Work waited too long for its turn at the database, behind others of the same principal. */
  | 'database_turn'
  /** The identity provider is away, and a token names a key that is not known. */
  | 'provider_away'
  /** The endpoint of a webhook is in the files of other instances alone. */
  | 'webhook_elsewhere'
  /** Too many replays of a webhook wait. */
  | 'webhook_replays'
  /** The database is not reached, or does not answer. */
  | 'database_away'
  /** The database is read-only. */
  | 'database_read_only'
  /** The database's disk is full. */
  | 'database_full'
  /** The database has no connection or memory for us, or does not let us in. */
  | 'database_busy'
  /** Every try for six seconds met somebody else's locks. */
  | 'database_conflict'

const AGAIN = 'A retry with the same Idempotency-Key is safe.'

/** What callers are told. */
const UNAVAILABLE: Readonly<Record<UnavailableReason, string>> = {
  draining: 'The service is shutting down; another instance, or this one later, will answer.',
  principal_requests: `Too many requests of this caller are in hand. ${AGAIN}`,
  principal_queue: `Too many requests of this caller are waiting. ${AGAIN}`,
  queue_full: `Too many requests are waiting. ${AGAIN}`,
  caller_gone: 'The caller closed the connection.',
  owner_locked: `Another transaction keeps this owner locked. ${AGAIN}`,
  upgrading:
    'Caps can be created after the upgrade of the service is finished: its operator runs `migrate -- --finish`.',
  totals_behind: 'The totals of usage are being built from the ledger. Try again later.',
  database_turn: `The request waited too long for the database, behind others of this caller. ${AGAIN}`,
  provider_away: 'The identity provider cannot be reached, and the token names an unknown key.',
  webhook_elsewhere: 'This instance does not know the webhook; other instances do.',
  webhook_replays: 'Too many replays of this webhook are already waiting.',
  database_away: `The database cannot be reached at the moment. ${AGAIN}`,
  database_read_only: `The database is read-only at the moment: nothing can be written. ${AGAIN}`,
  database_full: `The disk of the database is full: nothing can be written. ${AGAIN}`,
  database_busy: `The database is too busy at the moment. ${AGAIN}`,
  database_conflict: `The database is too busy at the moment: other transactions keep the rows locked. ${AGAIN}`,
}

/** Every reason. */
export const UNAVAILABLE_REASONS = Object.keys(UNAVAILABLE) as readonly UnavailableReason[]

/** One broken field of a request. */
export interface FieldError {
  /** The field's wire name, `items[3].amount` inside a batch, `body` for the body as a whole. */
  field: string
  /** What is wrong with it and what would be right. */
  message: string
}

/** What an error may carry besides its code and its sentence. */
export interface ErrorOptions {
  /** Members added to the problem document, for example `remaining`. */
  extra?: Record<string, unknown>
  /** Every broken field, for `validation_failed`. */
  fields?: readonly FieldError[]
  /** When a retry makes sense, in seconds; `unavailable` always has one. */
  retryAfterSeconds?: number
  /** Methods that the path does take, for `method_not_allowed`. */
  allow?: readonly string[]
  cause?: unknown
}

/**
 * A refusal or fault that a caller is told about. Knows no HTTP: src/http maps the code to a status. A refusal is an
 * answer like any other and has no stack: taking one costs more than finding out that there is something to refuse. A
 * fault (`internal_error`) has one.
 */
export class ServiceError extends Error {
  readonly extra: Record<string, unknown> | undefined
  readonly fields: readonly FieldError[] | undefined
  readonly retryAfterSeconds: number | undefined
  readonly allow: readonly string[] | undefined
  /** Why it is `unavailable`; undefined for every other code. */
  readonly reason: UnavailableReason | undefined

  /**
   * @param code what went wrong, for machines
   * @param detail what went wrong in this case, for the person who reads it at night; never SQL, stack or driver text
   */
  constructor(code: Exclude<ErrorCode, 'unavailable'>, detail: string, options?: ErrorOptions)
  /** For `Unavailable` alone. */
  constructor(code: 'unavailable', detail: string, options: ErrorOptions & { reason: UnavailableReason })
  constructor(
    readonly code: ErrorCode,
    readonly detail: string,
    options: ErrorOptions & { reason?: UnavailableReason } = {},
  ) {
    const { stackTraceLimit } = Error
    if (code !== 'internal_error') Error.stackTraceLimit = 0
    super(`${code}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause })
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'ServiceError'
    this.extra = options.extra
    this.fields = options.fields
    this.retryAfterSeconds = options.retryAfterSeconds ?? (code === 'unavailable' ? 1 : undefined)
    this.allow = options.allow
    this.reason = options.reason
  }
}

/** An `unavailable`, which is not made without saying why. */
export class Unavailable extends ServiceError {
  /** @param detail where there is more to say than the reason's own sentence */
  constructor(
    reason: UnavailableReason,
    {
      cause,
      detail = UNAVAILABLE[reason],
      retryAfterSeconds,
    }: Pick<ErrorOptions, 'retryAfterSeconds'> & {
      cause?: unknown
      detail?: string
    } = {},
  ) {
    super('unavailable', detail, { reason, cause, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) })
    this.name = 'Unavailable'
  }
}

/** A `validation_failed` that names every broken field at once. */
export function validationFailed(fields: readonly FieldError[]): ServiceError {
  const shown = fields.slice(0, 5).map(({ field, message }) => `${field}: ${message}`)
  const more = fields.length > shown.length ? `; and ${fields.length - shown.length} more` : ''
  return new ServiceError('validation_failed', shown.join('; ') + more, { fields })
}
