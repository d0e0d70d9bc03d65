import { type CanActivate, type ExecutionContext, mixin, UseGuards } from '@nestjs/common'
import type { Request } from 'express'
import { type AccessRule, admits } from '../auth/access-rule.js'
import { ServiceError } from '../error/service-error.js'

/**
 * Lets a query name a `caller` other than who asks only where the role would do for the channel's quotas too. A matter
 * of access, so it is decided before anything of the request is looked at for being right (contract, §2 and §8).
 * @param rule of the channel's quotas
 */
export function OthersKeys(rule: AccessRule): MethodDecorator {
  class OthersKeysGuard implements CanActivate {
    canActivate(context: ExecutionContext): boolean {
      const { query, principal } = context.switchToHttp().getRequest<Request>()
      const named = [query['caller'] ?? []].flat()
      // An empty name is nobody's: what is wrong with it is told later.
      const others = named.some((name) => name !== '' && name !== principal?.name)
      if (!others || (principal !== undefined && admits(rule, principal.role))) return true
      throw new ServiceError(
        'forbidden',
        `only a token of the role ${rule} or above may look up keys of another caller`,
      )
    }
  }
  return UseGuards(mixin(OthersKeysGuard))
}
