import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common'
import type { Request, Response } from 'express'
import type { Observable } from 'rxjs'
import { validationFailed } from '../error/service-error.js'
import { bringsBody, readBody } from './request-body.js'
import { RouteTable } from './route-table.js'

/**
 * Brings a request into form between access and validation: parses the body, and refuses a body or a query parameter to a handler that
 * takes none. Global, and told by the handlers' own parameters, so no route can go without.
 */
@Injectable()
export class RequestFormInterceptor implements NestInterceptor {
  constructor(private readonly routes: RouteTable) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> | Promise<Observable<unknown>> {
    const http = context.switchToHttp()
    const request = http.getRequest<Request>()
    const { takesBody, takesQuery, bodyLimit } = this.routes.of(context.getClass(), context.getHandler())
    if (!bringsBody(request)) {
      request.body = {}
      if (!takesQuery) refuseParameters(request)
      return next.handle()
    }
    return readBody(request, http.getResponse<Response>(), bodyLimit).then(() => {
      if (!takesQuery) refuseParameters(request)
      if (!takesBody) refuseBody(request.body)
      return next.handle()
    })
  }
}

function refuseParameters(request: Request): void {
  if (!request.url.includes('?')) return
  const names = Object.keys(request.query)
  if (names.length > 0)
    throw validationFailed(
      names.slice(0, 50).map((name) => ({ field: name.slice(0, 64), message: 'is no parameter of this route' })),
    )
}

function refuseBody(body: unknown): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw validationFailed([{ field: 'body', message: 'this route takes no body, or an empty object' }])
  }
  const names = Object.keys(body)
  if (names.length > 0)
    throw validationFailed(
      names.slice(0, 50).map((name) => ({ field: name.slice(0, 64), message: 'is no field of this request' })),
    )
}
