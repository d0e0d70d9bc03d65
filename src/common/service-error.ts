/** All error codes of the API, stable on the wire (contract, §2). A new code without a status does not compile. */
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
  | 'group_not_found'
  | 'member_not_found'
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
  | 'group_name_taken'
  | 'group_not_empty'
  | 'default_group_taken'
  | 'nothing_to_reset'
  | 'too_many_new_owners'
  | 'too_many_rows'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'idempotency_key_reused'
  | 'internal_error'
  | 'unavailable'

/**
 * The reason of an `unavailable`, for operators: a label of metrics and a field of the request's log line. A new reason
 * without a detail for the caller does not compile, and one that docs/run/runbook.md does not explain fails a test.
 */
export type UnavailableReason =
  /** The process is shutting down. */
  | 'draining'
  /** The principal has too many requests in progress (PRINCIPAL_REQUESTS, PRINCIPAL_BODY_BYTES). */
  | 'principal_requests'
  /** Too many writes of the principal wait (PRINCIPAL_QUEUE_LIMIT). */
  | 'principal_queue'
  /** Too many writes of a channel wait (QUEUE_LIMIT). */
  | 'queue_full'
  /** The caller closed the connection while its token was checked; nobody receives the answer. */
  | 'caller_gone'
  /** Another transaction keeps the owner locked. */
  | 'owner_locked'
  /** A row of a change set comes after the instance's lease on it, as of a process that was suspended. */
  | 'lease_over'
  /** The totals from which a series is read are behind. */
  | 'totals_behind'
  /** The request waited too long for its turn at the database, behind others of the same principal. */
  | 'database_turn'
  /** The identity provider is unavailable, and a token names an unknown key. */
  | 'provider_away'
  /** Only the files of other instances contain the webhook endpoint. */
  | 'webhook_elsewhere'
  /** Too many replays of a webhook wait. */
  | 'webhook_replays'
  /** The database cannot be reached, or does not answer. */
  | 'database_away'
  /** The database is read-only. */
  | 'database_read_only'
  /** The database's disk is full. */
  | 'database_full'
  /** The database has no connection or memory for this service, or rejects its login. */
  | 'database_busy'
  /** All attempts within six seconds met locks of other transactions. */
  | 'database_conflict'

const AGAIN = 'A retry with the same Idempotency-Key is safe.'

/** The details that callers receive. */
const UNAVAILABLE: Readonly<Record<UnavailableReason, string>> = {
  draining: 'The service is shutting down; another instance, or this one later, will answer.',
  principal_requests: `Too many requests of this caller are in hand. ${AGAIN}`,
  principal_queue: `Too many requests of this caller are waiting. ${AGAIN}`,
  queue_full: `Too many requests are waiting. ${AGAIN}`,
  caller_gone: 'The caller closed the connection.',
  owner_locked: `Another transaction keeps this owner locked. ${AGAIN}`,
  lease_over: 'Another instance works on the change set.',
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

/** A mistake in one field of a request. */
export interface FieldError {
  /** The field's name in the API, for example `items[3].amount` in a batch; `body` for the whole body. */
  field: string
  /** Describes the mistake and the valid values. */
  message: string
}

/** Optional properties of an error. */
export interface ErrorOptions {
  /** Members added to the problem document, for example `remaining`. */
  extra?: Record<string, unknown>
  /** Every field with a mistake, for `validation_failed`. */
  fields?: readonly FieldError[]
  /** The time after which a retry makes sense, in seconds; `unavailable` always has one. */
  retryAfterSeconds?: number
  /** The methods of the path, for `method_not_allowed`. */
  allow?: readonly string[]
  cause?: unknown
}

/**
 * A refusal or fault that the caller receives. It names no status and no header: src/http maps the code to a status,
 * `retryAfterSeconds` to Retry-After and `allow` to Allow. A refusal is an ordinary answer and has no stack. A fault
 * (`internal_error`) has one.
 */
export class ServiceError extends Error {
  readonly extra: Record<string, unknown> | undefined
  readonly fields: readonly FieldError[] | undefined
  readonly retryAfterSeconds: number | undefined
  readonly allow: readonly string[] | undefined
  /** The reason of an `unavailable`; undefined for every other code. */
  readonly reason: UnavailableReason | undefined

  /**
   * @param code identifies the error, for programs
   * @param detail describes this occurrence, for people; never SQL, stack or driver text
   */
  constructor(code: Exclude<ErrorCode, 'unavailable'>, detail: string, options?: ErrorOptions)
  /** Only for `Unavailable`. */
  constructor(code: 'unavailable', detail: string, options: ErrorOptions & { reason: UnavailableReason })
  constructor(
    readonly code: ErrorCode,
    readonly detail: string,
    options: ErrorOptions & { reason?: UnavailableReason } = {},
  ) {
    // To capture a stack takes 4 to 5 µs, several times as long as the rest of the error, and under load most answers
    // may be refusals. V8 has no other switch than this global one; nothing else runs before it is restored.
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

/** An `unavailable` with its reason. */
export class Unavailable extends ServiceError {
  /** @param detail replaces the detail of the reason */
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

/** A `validation_failed` that names every field with a mistake. */
export function validationFailed(fields: readonly FieldError[]): ServiceError {
  const shown = fields.slice(0, 5).map(({ field, message }) => `${field}: ${message}`)
  const more = fields.length > shown.length ? `; and ${fields.length - shown.length} more` : ''
  return new ServiceError('validation_failed', shown.join('; ') + more, { fields })
}
