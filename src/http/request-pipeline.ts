import { Injectable, type OnModuleInit } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import type { Request, Response } from 'express'
import { Authenticator } from '../auth/authenticator.js'
import { BodyReader } from './body.guard.js'
import type { Listener, NativeExpressAdapter, RouteHandler } from './express.adapter.js'
import { ProblemFilter } from './problem.filter.js'
import { type Route, RouteTable } from './route-table.js'

declare module 'express-serve-static-core' {
  interface Request {
    /** Whether its path contains a percent sign that encodes nothing. */
    undecodable?: boolean
  }
}

/**
 * Runs before routing.
 * @returns true if it has answered the request
 * @throws ServiceError a refusal
 */
export type Gate = (request: Request, response: Response) => unknown

/**
 * Runs the gates and middleware, and looks the route up, once per request. The rest is Nest's: guards (the last of
 * which reads the body), interceptors, pipes, handler, filters. The guards see the served route as `request.route`.
 */
@Injectable()
export class RequestPipeline implements OnModuleInit {
  private readonly handlers = new Map<Route, RouteHandler>()

  constructor(
    private readonly routes: RouteTable,
    private readonly authenticator: Authenticator,
    private readonly problems: ProblemFilter,
    private readonly bodies: BodyReader,
    private readonly host: HttpAdapterHost<NativeExpressAdapter>,
  ) {}

  /**
   * Assigns Nest's handlers to the routes; Nest has created them before.
   * @throws Error if a handler has no route, so that it would be unreachable, or a route has no handler
   */
  onModuleInit(): void {
    const { handlers } = this.host.httpAdapter
    for (const route of this.routes.routes) {
      const name = `${route.method} ${route.path}`
      this.handlers.set(route, handlers.get(name) ?? missing(route.method, route.path))
    }
    if (handlers.size !== this.handlers.size) throw new Error('some handlers have no route')
  }

  /**
   * Returns the listener of a server's requests.
   * @param gates run in this order, before routing
   * @param routes the served routes; others are not found
   */
  listener(gates: readonly Gate[], routes: RouteTable): Listener {
    return (request, response) => {
      void this.serve(gates, routes, request, response)
    }
  }

  private async serve(gates: readonly Gate[], routes: RouteTable, request: Request, response: Response): Promise<void> {
    // Express's methods read it, such as `request.fresh`.
    request.res = response
    try {
      for (const gate of gates) if (gate(request, response) === true) return
      const middleware = this.host.httpAdapter.middleware(request, response)
      if (middleware !== undefined) await middleware
      const path = pathOf(request)
      const found = routes.find(request.method, path)
      if (found === undefined) {
        // Anonymous callers must not learn which routes exist.
        request.principal = await this.authenticator.authenticate(request.headers, request.rawHeaders)
        throw routes.refusal(request.method, path)
      }
      const { route, values } = found
      request.route = route
      request.bodies = this.bodies
      const parameters = parametersOf(route, values)
      // The guard that reads the body refuses an undecodable path, since all other guards run first.
      request.undecodable = parameters === undefined
      request.params = parameters ?? {}
      const handler = this.handlers.get(route) ?? missing(route.method, route.path)
      // Nest passes errors within the handler to the filters; an error here is the failure of a filter.
      await handler(request, response, noNext)
    } catch (error) {
      this.problems.tell(error, request, response)
    }
  }
}

function missing(method: string, path: string): never {
  throw new Error(`${method} ${path} has no handler`)
}

/** No handler calls `next`. */
const noNext = (): undefined => undefined

/**
 * Returns the path as sent; never throws. Express parses an absolute URL, as proxies receive it; the path of one that
 * is no URL, or has no path, is empty.
 */
export function pathOf(request: Request): string {
  const { url } = request
  if (!url.startsWith('/') || url.includes('#')) {
    try {
      const path: unknown = request.path
      return typeof path === 'string' ? path : ''
    } catch {
      return ''
    }
  }
  const query = url.indexOf('?')
  return query === -1 ? url : url.slice(0, query)
}

/** Returns the decoded parameters of a path; undefined if a percent sign encodes nothing. */
function parametersOf(route: Route, values: readonly string[]): Record<string, string> | undefined {
  const parameters: Record<string, string> = {}
  try {
    for (const [place, name] of route.parameters.entries()) parameters[name] = decodeURIComponent(values[place] ?? '')
  } catch {
    return undefined
  }
  return parameters
}
