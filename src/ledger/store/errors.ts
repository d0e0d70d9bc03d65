import { ServiceError } from '../../error/service-error.js'

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

/** No operation of that id. */
export function operationNotFound(operationId: string): ServiceError {
  return new ServiceError('operation_not_found', `There is no operation ${operationId}.`)
}
