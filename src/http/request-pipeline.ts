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
    /** Does its path hold a percent sign that encodes nothing? */
    undecodable?: boolean
  }
}

/**
 * Runs before routing.
 * @returns true where it has answered the request
 * @throws ServiceError a refusal
 */
export type Gate = (request: Request, response: Response) => unknown

/**
 * What every request passes on its way to its route: the gates, then the one look-up in the route table. Everything
 * from there on is Nest's: guards (the last of which reads the body), interceptors, pipes, handler, filters. What the
 * guards see as `request.route` is what is served.
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
   * By now Nest has made its handlers.
   * @throws Error where one has no route, so that nobody could reach it, or a route has none
   */
  onModuleInit(): void {
    const { handlers } = this.host.httpAdapter
    for (const route of this.routes.routes) {
      const name = `${route.method} ${route.path}`
      this.handlers.set(route, handlers.get(name) ?? missing(route.method, route.path))
    }
    if (handlers.size !== this.handlers.size) throw new Error('there are handlers without a route')
  }

  /**
   * Takes the requests of a socket.
   * @param gates in order, before anything else is looked at
   * @param routes that are served there; any other is as if it were none
   */
  listener(gates: readonly Gate[], routes: RouteTable): Listener {
    return (request, response) => {
      void this.serve(gates, routes, request, response)
    }
  }

  private async serve(gates: readonly Gate[], routes: RouteTable, request: Request, response: Response): Promise<void> {
    // Where Express's own methods look for it: `response.json()`, `request.fresh`.
    request.res = response
    try {
      for (const gate of gates) if (gate(request, response) === true) return
      const path = pathOf(request)
      const found = routes.find(request.method, path)
      if (found === undefined) {
        // Nobody learns which routes there are before they are known.
        request.principal = await this.authenticator.authenticate(request.headers, request.rawHeaders)
        throw routes.refusal(path)
      }
      const { route, values } = found
      request.route = route
      request.bodies = this.bodies
      request.params = parametersOf(route, values) ?? undecodable(request)
      const handler = this.handlers.get(route) ?? missing(route.method, route.path)
      // Nest asks the filters about what is thrown within; what comes out of it is the failure of a filter.
      await handler(request, response, nothingElse)
    } catch (error) {
      this.problems.tell(error, request, response)
    }
  }
}

function missing(method: string, path: string): never {
  throw new Error(`${method} ${path} has no handler`)
}

function nothingElse(): void {
  // A handler answers, or throws.
}

/** The path as it was sent. A whole URL, as proxies are sent one, is left to Express. */
export function pathOf(request: Request): string {
  const { url } = request
  if (!url.startsWith('/') || url.includes('#')) return request.path
  const query = url.indexOf('?')
  return query === -1 ? url : url.slice(0, query)
}

/** The parameters of a path, decoded; undefined where a percent sign encodes nothing. */
function parametersOf(route: Route, values: readonly string[]): Record<string, string> | undefined {
  const parameters: Record<string, string> = {}
  try {
    for (const [place, name] of route.parameters.entries()) parameters[name] = decodeURIComponent(values[place] ?? '')
  } catch {
    return undefined
  }
  return parameters
}

/** Leaves the refusal to the guard that reads the body: all others come first. */
function undecodable(request: Request): Record<string, string> {
  request.undecodable = true
  return {}
}
