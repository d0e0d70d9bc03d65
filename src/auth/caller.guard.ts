import { type CanActivate, type ExecutionContext, Inject, Injectable, Logger } from '@nestjs/common'
import type { Request } from 'express'
import { CONFIG, type Config } from '../config/config.js'
import { ServiceError } from '../common/service-error.js'
import type { Guarded } from './access-rule.js'
import { Authenticator } from './authenticator.js'
import { Tokens } from './tokens.js'

/**
 * The global guard: authenticates the caller. Runs before all other guards. The guards of the access decorators then
 * decide whether the caller may call the route; a route without a rule is closed to everybody.
 */
@Injectable()
export class CallerGuard implements CanActivate {
  private readonly logger = new Logger('Access')

  constructor(
    private readonly authenticator: Authenticator,
    @Inject(CONFIG) private readonly config: Config,
    private readonly tokens: Tokens,
  ) {}

  /** @throws Unauthenticated without a valid token; ServiceError forbidden if the route has no rule */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>()
    const { access, openedBy } = request.route as Guarded
    if (access === 'public') return true
    // Who tries the service out has just read its tokens, on the same terminal.
    const isTrial = openedBy === 'docsPublic' && this.tokens.made.length > 0
    if (isTrial || (openedBy !== undefined && this.config[openedBy])) {
      request.opened = true
      return true
    }
    return this.identify(request)
  }

  private async identify(request: Request): Promise<boolean> {
    if ((request.route as Guarded).access === 'link') {
      request.link = await this.authenticator.openLink(request.headers, request.rawHeaders)
      return true
    }
    request.principal = await this.authenticator.authenticate(request.headers, request.rawHeaders)
    const { access, controller, handler } = request.route as Guarded
    if (access !== undefined) return true
    this.logger.error(`${controller.name}.${handler} has no access rule and is closed`)
    throw new ServiceError('forbidden', 'this route is closed')
  }
}
