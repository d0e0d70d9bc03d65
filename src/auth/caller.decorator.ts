import { createParamDecorator, type ExecutionContext } from '@nestjs/common'
import type { Request } from 'express'
import { ServiceError } from '../error/service-error.js'
import type { Principal } from './principal.js'

/** Who calls, and the id of the request: what the ledger must know of a caller, and its role. */
export interface Caller extends Principal {
  readonly requestId: string
  /** Are operations that others made as if they did not exist? */
  readonly ownOnly: boolean
}

/** Hands a handler its `Caller`. Only for routes that need a token. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): Caller => {
  const { principal, requestId } = context.switchToHttp().getRequest<Request>()
  if (principal === undefined)
    throw new ServiceError('internal_error', 'a route without a principal asked for its caller')
  return { ...principal, requestId, ownOnly: principal.scopes?.includes('own') ?? false }
})
