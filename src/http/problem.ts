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

/** The HTTP status of each code (contract, §2), and human words for it. A code without them does not compile. */
const KINDS: Readonly<Record<ErrorCode, readonly [status: number, title: string]>> = {
  validation_failed: [400, 'The request is not valid'],
  malformed_json: [400, 'The body is not JSON'],
  idempotency_key_missing: [400, 'An Idempotency-Key is needed'],
  idempotency_key_invalid: [400, 'The Idempotency-Key is not valid'],
  unauthenticated: [401, 'A bearer token is needed'],
  forbidden: [403, 'The token may not do this'],
  quota_not_found: [404, 'There is no such quota'],
  operation_not_found: [404, 'There is no such operation'],
  change_set_not_found: [404, 'There is no such change set'],
  route_not_found: [404, 'There is no such route'],
  method_not_allowed: [405, 'The route does not take this method'],
  quota_exceeded: [409, 'The quota is exceeded'],
  no_active_quota: [409, 'The owner has no active quota'],
  too_many_quotas: [409, 'The owner has too many quotas'],
  version_mismatch: [409, 'The quota has changed'],
  operation_already_settled: [409, 'The operation is settled'],
  commit_exceeds_hold: [409, 'The amount exceeds the hold'],
  refund_exceeds_charge: [409, 'The amount exceeds the remaining charge'],
  webhook_not_found: [404, 'There is no such webhook'],
  webhook_disabled: [409, 'The webhook is disabled'],
  cursor_expired: [410, 'The cursor is too old'],
  change_set_state: [409, 'The state of the change set does not allow it'],
  change_set_differs: [409, 'The change set has a different number of rows'],
  payload_too_large: [413, 'The body is too large'],
  unsupported_media_type: [415, 'The media type of the body is not supported'],
  idempotency_key_reused: [422, 'The Idempotency-Key belongs to another request'],
  internal_error: [500, 'The service has failed'],
  unavailable: [503, 'The service is not available'],
}

/** Every code, in the contract's order. */
export const ERROR_CODES = Object.keys(KINDS) as readonly ErrorCode[]

/** The HTTP status of a code. */
export function statusOf(code: ErrorCode): number {
  return KINDS[code][0]
}

/** Human words for a code; the same for every problem of that code. */
export function titleOf(code: ErrorCode): string {
  return KINDS[code][1]
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
