import { type CanActivate, type ExecutionContext, Injectable, Logger } from '@nestjs/common'
import type { Request } from 'express'
import { Config } from '../config/config.js'
import { ServiceError } from '../error/service-error.js'
import { RouteTable } from '../http/route-table.js'
import { Authenticator } from './authenticator.js'

/**
 * The one global guard. Finds out who calls, and refuses every route that declares no access rule. Whether the path is the handler's
 * at all, since a fixed word wins over an identifier in the same place, is told after that: nobody learns of routes without a token.
 */
@Injectable()
export class BearerGuard implements CanActivate {
  private readonly logger = new Logger('Access')

  constructor(
    private readonly authenticator: Authenticator,
    private readonly routes: RouteTable,
    private readonly config: Config,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>()
    const route = this.routes.of(context.getClass(), context.getHandler())
    const open = route.access === 'public' || (route.openedBy !== undefined && this.config[route.openedBy])
    if (!open) {
      request.principal = await this.authenticator.authenticate(request.headers, request.rawHeaders)
    }
    if (route.contested && !this.routes.serves(route, request.path)) throw this.routes.refusal(request.path)
    if (route.access === undefined) {
      this.logger.error(`${route.controller.name}.${route.handler} declares no access rule and is closed to everybody`)
      throw new ServiceError('forbidden', 'this route is closed')
    }
    return true
  }
}
