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
  | 'route_not_found'
  | 'method_not_allowed'
  | 'quota_exceeded'
  | 'no_active_quota'
  | 'too_many_quotas'
  | 'version_mismatch'
  | 'operation_already_settled'
  | 'commit_exceeds_hold'
  | 'refund_exceeds_charge'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'idempotency_key_reused'
  | 'internal_error'
  | 'unavailable'

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

  /**
   * @param code what went wrong, for machines
   * @param detail what went wrong in this case, for the person who reads it at night; never SQL, stack or driver text
   */
  constructor(
    readonly code: ErrorCode,
    readonly detail: string,
    options: ErrorOptions = {},
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
  }
}

/** A `validation_failed` that names every broken field at once. */
export function validationFailed(fields: readonly FieldError[]): ServiceError {
  const shown = fields.slice(0, 5).map(({ field, message }) => `${field}: ${message}`)
  const more = fields.length > shown.length ? `; and ${fields.length - shown.length} more` : ''
  return new ServiceError('validation_failed', shown.join('; ') + more, { fields })
}
