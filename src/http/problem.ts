import type { ErrorCode, FieldError, ServiceError } from '../error/service-error.js'

/** Media type of every answer that is an error (RFC 9457). */
export const PROBLEM_MEDIA_TYPE = 'application/problem+json'

/** The registered type of a request that a quota refuses; every other problem says what it is by its `code`. */
export const QUOTA_EXCEEDED_TYPE = 'https://iana.org/assignments/http-problem-types#quota-exceeded'

/** An error as it is answered. Some codes add members of their own. */
export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  code: ErrorCode
  /** The request's X-Request-Id; for an item of a batch that of the whole. */
  request_id?: string
  errors?: readonly FieldError[]
  allow?: readonly string[]
  [extra: string]: unknown
}

/** An error of Nest's own kind, an `HttpException`, as it is answered: its status says all there is to say. */
export type HttpProblem = Readonly<Record<'type' | 'title' | 'detail' | 'request_id', string>> & { status: number }

/** The HTTP status of each code (contract, §2). A code without one does not compile. */
export function statusOf(code: ErrorCode): number {
  switch (code) {
    case 'validation_failed':
    case 'malformed_json':
    case 'idempotency_key_missing':
    case 'idempotency_key_invalid':
      return 400
    case 'unauthenticated':
      return 401
    case 'forbidden':
      return 403
    case 'quota_not_found':
    case 'operation_not_found':
    case 'change_set_not_found':
    case 'route_not_found':
    case 'webhook_not_found':
      return 404
    case 'method_not_allowed':
      return 405
    case 'quota_exceeded':
    case 'no_active_quota':
    case 'too_many_quotas':
    case 'version_mismatch':
    case 'operation_already_settled':
    case 'commit_exceeds_hold':
    case 'refund_exceeds_charge':
    case 'webhook_disabled':
    case 'change_set_state':
    case 'change_set_differs':
      return 409
    case 'cursor_expired':
      return 410
    case 'payload_too_large':
      return 413
    case 'unsupported_media_type':
      return 415
    case 'idempotency_key_reused':
      return 422
    case 'internal_error':
      return 500
    case 'unavailable':
      return 503
  }
}

const TITLES: Readonly<Record<ErrorCode, string>> = {
  validation_failed: 'The request is not valid',
  malformed_json: 'The body is not JSON',
  idempotency_key_missing: 'An Idempotency-Key is needed',
  idempotency_key_invalid: 'The Idempotency-Key is not valid',
  unauthenticated: 'A bearer token is needed',
  forbidden: 'The token may not do this',
  quota_not_found: 'There is no such quota',
  operation_not_found: 'There is no such operation',
  change_set_not_found: 'There is no such change set',
  route_not_found: 'There is no such route',
  method_not_allowed: 'The route does not take this method',
  quota_exceeded: 'The quota is exceeded',
  no_active_quota: 'The owner has no active quota',
  too_many_quotas: 'The owner has too many quotas',
  version_mismatch: 'The quota has changed',
  operation_already_settled: 'The operation is settled',
  commit_exceeds_hold: 'The amount exceeds the hold',
  refund_exceeds_charge: 'The amount exceeds the remaining charge',
  webhook_not_found: 'There is no such webhook',
  webhook_disabled: 'The webhook is disabled',
  cursor_expired: 'The cursor is too old',
  change_set_state: 'The state of the change set does not allow it',
  change_set_differs: 'The change set has a different number of rows',
  payload_too_large: 'The body is too large',
  unsupported_media_type: 'The media type of the body is not supported',
  idempotency_key_reused: 'The Idempotency-Key belongs to another request',
  internal_error: 'The service has failed',
  unavailable: 'The service is not available',
}

/** Every code, in the contract's order. */
export const ERROR_CODES = Object.keys(TITLES) as readonly ErrorCode[]

/** Human words for a code; the same for every problem of that code. */
export function titleOf(code: ErrorCode): string {
  return TITLES[code]
}

/** The `type` of a problem with this code. */
export function typeOf(code: ErrorCode): string {
  return code === 'quota_exceeded' ? QUOTA_EXCEEDED_TYPE : 'about:blank'
}

/**
 * Writes an error as a problem document.
 * @param requestId of the request
 */
export function problemOf(error: ServiceError, requestId?: string): Problem {
  const { code, detail, fields, allow, extra } = error
  return {
    type: typeOf(code),
    title: titleOf(code),
    status: statusOf(code),
    detail,
    code,
    ...(requestId === undefined ? {} : { request_id: requestId }),
    ...(fields === undefined ? {} : { errors: fields }),
    ...(allow === undefined ? {} : { allow }),
    ...extra,
  }
}
