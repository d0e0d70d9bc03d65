import { Injectable, Logger, type Type } from '@nestjs/common'
import { ExecutionContextHost } from '@nestjs/core/internal'
import type { Request, Response } from 'express'
import { Config } from '../config/config.js'
import { ServiceError } from '../error/service-error.js'
import { type AccessRule, admits, keptOutBy, leaves, neededFor, type Scoped } from './access-rule.js'
import type { OpeningFlag } from './access.decorator.js'
import { AdminGuard } from './admin.guard.js'
import { Authenticator } from './authenticator.js'
import { ServiceAuthGuard } from './service-auth.guard.js'

/** What access is about: a route, its rule (undefined: closed to everybody) and what it says of scopes. */
export interface Guarded extends Scoped {
  readonly controller: Type
  /** The handler's name. */
  readonly handler: string
  /** Configuration that opens the route to everybody. */
  readonly openedBy: OpeningFlag | undefined
  /** The rule that a query must meet which names another `caller`; undefined where the route takes none. */
  readonly othersKeys: AccessRule | undefined
}

/**
 * Who may call: the first thing that is asked about every request, once its route is known. A route that declares no
 * rule is closed to everybody.
 */
@Injectable()
export class Access {
  private readonly logger = new Logger('Access')

  constructor(
    private readonly authenticator: Authenticator,
    private readonly serviceAuth: ServiceAuthGuard,
    private readonly adminAuth: AdminGuard,
    private readonly config: Config,
  ) {}

  /** Can the route be called by somebody who is not known, be it by configuration? */
  isOpen({ access, openedBy }: Pick<Guarded, 'access' | 'openedBy'>): boolean {
    return access === 'public' || (openedBy !== undefined && this.config[openedBy])
  }

  /**
   * Finds out who calls, once for each request.
   * @throws Unauthenticated without a good token
   */
  async identify(request: Request): Promise<void> {
    request.principal ??= await this.authenticator.authenticate(request.headers, request.rawHeaders)
  }

  /**
   * Decides whether the principal may send the request: by its role, its scopes, and the caller that the query names.
   * Neither the rest of the query nor the body has been read by then (contract, §2).
   * @throws ServiceError forbidden
   */
  admit(request: Request, response: Response, route: Guarded): void {
    this.admitRole(request, response, route)
    for (const scope of request.principal?.scopes ?? []) {
      if (!leaves(scope, route)) throw new ServiceError('forbidden', keptOutBy(scope))
    }
    if (route.othersKeys !== undefined) this.admitCaller(request, route.othersKeys)
  }

  private admitCaller({ query, principal }: Request, rule: AccessRule): void {
    const named = [query['caller'] ?? []].flat()
    // An empty name belongs to nobody; validation refuses it.
    const others = named.some((name) => name !== '' && name !== principal?.name)
    if (!others || (principal !== undefined && admits(rule, principal.role))) return
    throw new ServiceError('forbidden', `only a token of the role ${rule} or above may look up keys of another caller`)
  }

  private admitRole(request: Request, response: Response, route: Guarded): void {
    switch (route.access) {
      case undefined:
        this.logger.error(
          `${route.controller.name}.${route.handler} declares no access rule and is closed to everybody`,
        )
        throw new ServiceError('forbidden', 'this route is closed')
      case 'public':
        return
      case 'any':
      case 'docs':
      case 'usage':
        if (request.principal !== undefined && admits(route.access, request.principal.role)) return
        throw new ServiceError('forbidden', neededFor(route.access))
      case 'service':
        this.serviceAuth.canActivate(new ExecutionContextHost([request, response], route.controller))
        return
      case 'admin':
        this.adminAuth.canActivate(new ExecutionContextHost([request, response], route.controller))
    }
  }
}
