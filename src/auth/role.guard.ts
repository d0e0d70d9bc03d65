import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common'
import type { Request } from 'express'
import { ServiceError } from '../common/service-error.js'
import { type AccessRule, admits, type Guarded, keptOutBy, leaves, neededFor, rolesOf } from './access-rule.js'

/** Admits callers whose role satisfies a rule and whose scopes permit the route. */
@Injectable()
export class RoleGuard implements CanActivate {
  constructor(private readonly rule: AccessRule) {}

  /** @throws ServiceError forbidden, which names the required role or the denying scope */
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>()
    const route = request.route as Guarded
    if (request.opened === true && route.access === this.rule) return true
    const { principal } = request
    if (principal === undefined || !admits(this.rule, principal.role)) {
      throw new ServiceError('forbidden', neededFor(this.rule))
    }
    for (const scope of principal.scopes ?? []) {
      if (!leaves(scope, { ...route, access: this.rule })) throw new ServiceError('forbidden', keptOutBy(scope))
    }
    return true
  }
}

/** Admits the roles `service` and `admin`. */
@Injectable()
export class ServiceAuthGuard extends RoleGuard {
  constructor() {
    super('service')
  }
}

/** Admits the role `admin`. */
@Injectable()
export class AdminGuard extends RoleGuard {
  constructor() {
    super('admin')
  }
}

/** Lets a query name another `caller` only if the role also satisfies this rule. */
@Injectable()
export class OthersKeysGuard implements CanActivate {
  constructor(private readonly rule: AccessRule) {}

  /** @throws ServiceError forbidden; the rest of the query is not validated yet (contract, §2) */
  canActivate(context: ExecutionContext): boolean {
    const { query, principal } = context.switchToHttp().getRequest<Request>()
    const named = [query['caller'] ?? []].flat()
    // Validation refuses an empty name later.
    const others = named.some((name) => name !== '' && name !== principal?.name)
    if (!others || (principal !== undefined && admits(this.rule, principal.role))) return true
    throw new ServiceError(
      'forbidden',
      `only a token with the role ${rolesOf(this.rule).join(' or ')} may look up keys of another caller`,
    )
  }
}
