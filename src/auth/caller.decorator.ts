import { createParamDecorator, type ExecutionContext } from '@nestjs/common'
import type { Request } from 'express'
import { ServiceError } from '../error/service-error.js'
import type { CallerInfo } from './principal.js'

/** Hands a handler its `CallerInfo`. Only for routes that need a token. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): CallerInfo => {
  const { principal, requestId } = context.switchToHttp().getRequest<Request>()
  if (principal === undefined)
    throw new ServiceError('internal_error', 'a route without a principal asked for its caller')
  return { principal, requestId }
})
