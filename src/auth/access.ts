import { Injectable, Logger, type Type } from '@nestjs/common'
import { ExecutionContextHost } from '@nestjs/core/internal'
import type { Request, Response } from 'express'
import { Config } from '../config/config.js'
import { ServiceError } from '../error/service-error.js'
import { admits, keptOutBy, leaves, neededFor, type Scoped } from './access-rule.js'
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
   * May the principal that was found call the route? Its role is asked first, then what narrows it.
   * @throws ServiceError forbidden
   */
  admit(request: Request, response: Response, route: Guarded): void {
    this.admitRole(request, response, route)
    const scopes = request.principal?.scopes
    if (scopes === undefined) return
    for (const scope of scopes) {
      if (!leaves(scope, route)) throw new ServiceError('forbidden', keptOutBy(scope))
    }
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
