import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common'
import type { Request } from 'express'
import { ServiceError } from '../error/service-error.js'
import { admits, neededFor } from './access-rule.js'

/** Lets the role `admin` pass alone. Asked by `Access`, once it is known who calls. */
@Injectable()
export class AdminGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const role = context.switchToHttp().getRequest<Request>().principal?.role
    if (role !== undefined && admits('admin', role)) return true
    throw new ServiceError('forbidden', neededFor('admin'))
  }
}
