import { Injectable, type OnModuleInit } from '@nestjs/common'
import { HttpAdapterHost } from '@nestjs/core'
import type { Request, Response } from 'express'
import { Access } from '../auth/access.js'
import { validationFailed } from '../error/service-error.js'
import type { Listener, NativeExpressAdapter, RouteHandler } from './express.adapter.js'
import { ProblemFilter } from './problem.filter.js'
import { RequestForm } from './request-form.js'
import { type Route, RouteTable } from './route-table.js'

/**
 * Stands before every route, whatever it is.
 * @returns true where it has answered the request
 * @throws ServiceError a refusal
 */
export type Gate = (request: Request, response: Response) => unknown

/**
 * What every request passes on its way to its handler, in the order in which it may be refused: the gates, who calls,
 * is there such a route, may they, is the body one.
 *
 * The route is found once, in the route table, and its handler is called directly: what was asked about is what is
 * served, and nothing is served that was not asked about. Nest's part begins behind it: the handler's parameters and
 * their pipes, the answer, the filter of what is thrown.
 */
@Injectable()
export class RequestPipeline implements OnModuleInit {
  private readonly handlers = new Map<Route, RouteHandler>()

  constructor(
    private readonly routes: RouteTable,
    private readonly access: Access,
    private readonly form: RequestForm,
    private readonly problems: ProblemFilter,
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
    let handler: RouteHandler
    try {
      for (const gate of gates) if (gate(request, response) === true) return
      const path = pathOf(request)
      const found = routes.find(request.method, path)
      if (found === undefined) {
        // Nobody learns which routes there are before they are known.
        await this.access.identify(request)
        throw routes.refusal(path)
      }
      const { route } = found
      request.route = route
      if (!this.access.isOpen(route)) {
        await this.access.identify(request)
        this.access.admit(request, response, route)
      }
      request.params = parametersOf(route, found.values)
      const turn = this.form.read(request, response, route)
      if (turn !== undefined) await turn
      handler = this.handlers.get(route) ?? missing(route.method, route.path)
    } catch (error) {
      this.problems.tell(error, request, response)
      return
    }
    // Refusals and faults within are the filter's, which Nest asks.
    await handler(request, response, nothingElse)
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

/** The parameters of a path, decoded. @throws ServiceError validation_failed where a percent sign encodes nothing */
function parametersOf(route: Route, values: readonly string[]): Record<string, string> {
  const parameters: Record<string, string> = {}
  for (const [place, name] of route.parameters.entries()) {
    try {
      parameters[name] = decodeURIComponent(values[place] ?? '')
    } catch {
      throw validationFailed([{ field: 'path', message: 'holds a percent sign that encodes nothing' }])
    }
  }
  return parameters
}
