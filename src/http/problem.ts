import type { ErrorCode, FieldError, ServiceError } from '../common/service-error.js'

/** Media type of every error response (RFC 9457). */
export const PROBLEM_MEDIA_TYPE = 'application/problem+json'

/**
 * The registered problem type of a request that exceeds a quota. The other problems have `about:blank` and are
 * identified by `code`.
 */
const QUOTA_EXCEEDED_TYPE = 'https://iana.org/assignments/http-problem-types#quota-exceeded'

/** An error response. Some codes add members. */
export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  code: ErrorCode
  /** The request's X-Request-Id; in an item of a batch, that of the batch. */
  request_id?: string
  errors?: readonly FieldError[]
  allow?: readonly string[]
  [extra: string]: unknown
}

/** The response of an `HttpException` of Nest; its status identifies the problem. */
export type HttpProblem = Readonly<Record<'type' | 'title' | 'detail' | 'request_id', string>> & { status: number }

/** The HTTP status and the title of each code (contract, §2). A code without them does not compile. */
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
  group_not_found: [404, 'There is no such group'],
  member_not_found: [404, 'The owner is not a member of the group'],
  route_not_found: [404, 'There is no such route'],
  method_not_allowed: [405, 'The route does not take this method'],
  quota_exceeded: [409, 'The quota is exceeded'],
  no_active_quota: [409, 'The owner has no active quota'],
  too_many_quotas: [409, 'The owner has too many quotas'],
  version_mismatch: [409, 'The record has changed'],
  operation_already_settled: [409, 'The operation is settled'],
  commit_exceeds_hold: [409, 'The amount exceeds the hold'],
  refund_exceeds_charge: [409, 'The amount exceeds the remaining charge'],
  webhook_not_found: [404, 'There is no such webhook'],
  webhook_disabled: [409, 'The webhook is disabled'],
  cursor_expired: [410, 'The cursor is too old'],
  change_set_state: [409, 'The state of the change set does not allow it'],
  change_set_differs: [409, 'The change set has a different number of rows'],
  group_name_taken: [409, 'Another group has this name'],
  group_not_empty: [409, 'The group is not empty'],
  default_group_taken: [409, 'Another group is the default'],
  nothing_to_reset: [409, 'The quota has no count of its own'],
  too_many_new_owners: [409, 'Too many new owners'],
  too_many_rows: [409, 'Too many rows wait in change sets'],
  payload_too_large: [413, 'The body is too large'],
  unsupported_media_type: [415, 'The media type of the body is not supported'],
  idempotency_key_reused: [422, 'The Idempotency-Key belongs to another request'],
  internal_error: [500, 'The service has failed'],
  unavailable: [503, 'The service is not available'],
}

/** Every code, in the contract's order. */
export const ERROR_CODES = Object.keys(KINDS) as readonly ErrorCode[]

/** Returns the HTTP status of a code. */
export function statusOf(code: ErrorCode): number {
  return KINDS[code][0]
}

/** Returns the title of a code; all its problems have the same. */
export function titleOf(code: ErrorCode): string {
  return KINDS[code][1]
}

/** Returns the `type` of a code's problems. */
export function typeOf(code: ErrorCode): string {
  return code === 'quota_exceeded' ? QUOTA_EXCEEDED_TYPE : 'about:blank'
}

/** Converts an error to a problem document. */
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
