import { createParamDecorator, type ExecutionContext } from '@nestjs/common'
import type { Request } from 'express'
import { ServiceError } from '../common/service-error.js'
import type { LinkHolder, Principal } from './principal.js'

/** The authenticated caller and the id of its request. */
export interface Caller extends Principal {
  readonly requestId: string
  /** Whether operations of other principals are hidden from this one. */
  readonly ownOnly: boolean
}

/** Injects the `Caller`. Only for routes that require a token. */
export const Caller = createParamDecorator((_data: unknown, context: ExecutionContext): Caller => {
  const { principal, requestId } = context.switchToHttp().getRequest<Request>()
  if (principal === undefined)
    throw new ServiceError('internal_error', 'a route without authentication injects its caller')
  return { ...principal, requestId, ownOnly: principal.scopes?.includes('own') ?? false }
})

/** Injects the `LinkHolder`. Only for routes that links open. */
export const Holder = createParamDecorator((_data: unknown, context: ExecutionContext): LinkHolder => {
  const { link } = context.switchToHttp().getRequest<Request>()
  if (link === undefined) throw new ServiceError('internal_error', 'a route that no link opens injects its holder')
  return link
})
