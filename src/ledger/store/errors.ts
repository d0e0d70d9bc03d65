import { ServiceError } from '../../common/service-error.js'

/** The key belongs to another request. */
export function keyReused(): ServiceError {
  return new ServiceError(
    'idempotency_key_reused',
    'This Idempotency-Key was used for another request; the first one stands. A new request needs a new key.',
  )
}

/** No quota of that id, or a deleted one. */
export function quotaNotFound(quotaId: number): ServiceError {
  return new ServiceError('quota_not_found', `There is no quota ${quotaId}.`)
}

/** No group of that id, or a deleted one. */
export function groupNotFound(groupId: number): ServiceError {
  return new ServiceError('group_not_found', `There is no group ${groupId}.`)
}

/** The caller read another version. @param what the record: `quota` */
export function versionMismatch(what: string, current: number, sent: number): ServiceError {
  return new ServiceError(
    'version_mismatch',
    `The ${what} is at version ${current}, not ${sent}: somebody else changed it. Read it again, then decide.`,
    { extra: { version: current } },
  )
}

/** No operation of that id. */
export function operationNotFound(operationId: string): ServiceError {
  return new ServiceError('operation_not_found', `There is no operation ${operationId}.`)
}
