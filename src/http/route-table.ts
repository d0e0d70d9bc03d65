import { RequestMethod, type Type } from '@nestjs/common'
// Nest has no public way to read the paths and parameters of a controller: DiscoveryService and Reflector need the keys
// of the metadata, too. @nestjs/swagger reads the same keys. package.json pins Nest's exact version, and
// route-table.spec.ts fails if a key changes.
import { METHOD_METADATA, PATH_METADATA, ROUTE_ARGS_METADATA, RouteParamtypes } from '@nestjs/common/internal'
import { MetadataScanner } from '@nestjs/core'
import type { AccessRule, Guarded, OpeningFlag } from '../auth/access-rule.js'
import { ACCESS_RULE, CLOSED_TO, OPENED_BY, ROUTE_CHANNEL } from '../auth/access.decorator.js'
import { type ErrorCode, ServiceError } from '../common/service-error.js'
import type { ChannelScope, Scope } from '../common/scope.js'
import { BODY_LIMIT, DEFAULT_BODY_LIMIT, EMPTY_BODY_LIMIT } from './body-limit.decorator.js'
import { STREAMED_BODY } from './body-stream.decorator.js'
import type { StreamedBody } from './body-stream.js'
import { hasRules } from './dto.js'
import { editDistance } from './edit-distance.js'
import { PROBLEM_CODES } from './problem.decorator.js'

export interface Route extends Guarded {
  /** `GET`, `POST` …; a GET route also serves HEAD. */
  readonly method: string
  /** In Express's notation: `/api/v1/quotas/:id`. */
  readonly path: string
  /** The declared problems. */
  readonly problems: readonly ErrorCode[]
  readonly takesBody: boolean
  readonly takesQuery: boolean
  /** Maximum size of the body in bytes, after decompression. */
  readonly bodyLimit: number
  /** The body that its handler reads as a stream; undefined if it takes a DTO, or no body. */
  readonly streams: StreamedBody | undefined
  /** The names of the path's parameters, in order. */
  readonly parameters: readonly string[]
}

/** A node in the tree of paths, with the segments that may follow. */
interface Place {
  readonly words: Map<string, Place>
  parameter: Place | undefined
  readonly routes: Map<string, Route>
}

const newPlace = (): Place => ({ words: new Map(), parameter: undefined, routes: new Map() })

/** Returns the segments of a path, without one trailing slash, as Express matches. */
function segmentsOf(path: string): string[] {
  const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
  return trimmed.slice(1).split('/')
}

const isParameter = (segment: string): boolean => segment.startsWith(':')

function joined(...parts: readonly string[]): string {
  const words = parts.flatMap((part) => part.split('/')).filter((word) => word !== '')
  return `/${words.join('/')}`
}

const listed = (value: unknown): string[] =>
  Array.isArray(value) ? (value as string[]) : [typeof value === 'string' ? value : '']

/**
 * All routes of the service, read from the controllers: which methods a path takes, where a fixed word takes precedence
 * over a parameter (contract, §7), and what a handler takes from a request.
 */
export class RouteTable {
  readonly routes: readonly Route[]
  private readonly root = newPlace()

  /**
   * @param controllers classes, in any order
   * @throws Error if serving would be unsafe: two handlers of one route, a body or query without validation, or a path
   *   that contains more than words and parameters
   */
  constructor(controllers: readonly Type[], routes: readonly Route[] = controllers.flatMap(routesOf)) {
    this.routes = routes
    for (const route of this.routes) this.enter(route)
  }

  /** Returns a table of the wanted routes only; it does not find the others. */
  only(wanted: (route: Route) => boolean): RouteTable {
    return new RouteTable([], this.routes.filter(wanted))
  }

  /** Finds the route of a method and a path, and the values of its parameters, undecoded. */
  find(method: string, path: string): { readonly route: Route; readonly values: readonly string[] } | undefined {
    const values: string[] = []
    const route = this.placeOf(path, values)?.routes.get(method === 'HEAD' ? 'GET' : method)
    return route === undefined ? undefined : { route, values }
  }

  /** Returns the methods of a path in alphabetical order; none if there is no such route. */
  allowed(path: string): readonly string[] {
    const methods = [...(this.placeOf(path)?.routes.keys() ?? [])]
    return (methods.includes('GET') ? [...methods, 'HEAD'] : methods).sort()
  }

  /**
   * Returns the error for a request without a route: `method_not_allowed`, or `route_not_found` if the path takes no
   * method.
   */
  refusal(method: string, path: string): ServiceError {
    const allow = this.allowed(path)
    const near = this.nearest(method, path)
    const hint = near === undefined ? '' : `; did you mean ${near}?`
    if (allow.length === 0) return routeNotFound(method, path, hint)
    return new ServiceError('method_not_allowed', `this path takes ${allow.join(', ')}${hint}`, { allow })
  }

  /**
   * Returns the route of the method whose path a mistyped one resembles most, or ends with it; undefined if none does.
   */
  private nearest(method: string, path: string): string | undefined {
    // The search takes time that grows with the length of the path.
    if (path.length > MAX_SHOWN_PATH_LENGTH) return undefined
    const segments = segmentsOf(path)
    let nearest: Route | undefined
    let least = path.length / 4
    for (const route of this.routes) {
      if (route.method !== (method === 'HEAD' ? 'GET' : method)) continue
      const filled = segmentsOf(route.path).map((one, place) => (isParameter(one) ? (segments[place] ?? one) : one))
      const [sent, meant] = [segments.join('/'), filled.join('/')]
      // A fixed word takes precedence over the parameter; without a value, the parameter is what is missing.
      if (sent === meant && !segments.includes('')) continue
      const isEnd = path.length > 1 && route.path.endsWith(path)
      const distance = isEnd ? 0 : editDistance(sent.toLowerCase(), meant.toLowerCase())
      if (distance > least || (nearest !== undefined && distance === least)) continue
      nearest = route
      least = distance
    }
    return nearest === undefined ? undefined : `${nearest.method} ${nearest.path}`
  }

  // A matching word is never reinterpreted as a parameter: `usage` is not an identifier, even if the rest of the path
  // does not match.
  private placeOf(path: string, values: string[] = []): Place | undefined {
    let place = this.root
    for (const segment of segmentsOf(path)) {
      const word = place.words.get(segment)
      if (word !== undefined) {
        place = word
        continue
      }
      if (segment === '' || place.parameter === undefined) return undefined
      values.push(segment)
      place = place.parameter
    }
    return place
  }

  private enter(route: Route): void {
    let place = this.root
    for (const segment of segmentsOf(route.path)) {
      if (!isParameter(segment) && segment !== segment.toLowerCase())
        throw new Error(`${route.path}: words must be in lower case`)
      if (!/^(?::\w+|[\w.-]*)$/.test(segment))
        throw new Error(`${route.path}: a path may contain only words and :parameters`)
      let next = segment.startsWith(':') ? place.parameter : place.words.get(segment)
      if (next === undefined) {
        next = newPlace()
        if (segment.startsWith(':')) place.parameter = next
        else place.words.set(segment, next)
      }
      place = next
    }
    const other = place.routes.get(route.method)
    if (other !== undefined) {
      throw new Error(
        `${route.method} ${route.path}: both ${other.controller.name}.${other.handler} and ${route.controller.name}.${route.handler}`,
      )
    }
    place.routes.set(route.method, route)
  }

  /** Returns whether another route has a fixed word where this one has a parameter. */
  isContested(route: Route): boolean {
    let places = [this.root]
    for (const segment of segmentsOf(route.path)) {
      const parameter = segment.startsWith(':')
      if (parameter && places.some((place) => place.words.size > 0)) return true
      places = places.flatMap((place) => (parameter ? place.parameter : place.words.get(segment)) ?? [])
    }
    return false
  }
}

/** The maximum length of a path in an answer, in characters. */
const MAX_SHOWN_PATH_LENGTH = 128

/** Returns the error for a path without a route. */
export function routeNotFound(method: string, path: string, hint = ''): ServiceError {
  const shown = path.length > MAX_SHOWN_PATH_LENGTH ? `${path.slice(0, MAX_SHOWN_PATH_LENGTH)}…` : path
  return new ServiceError('route_not_found', `there is no route ${method} ${shown}${hint}`)
}

function routesOf(controller: Type): Route[] {
  const prototype = controller.prototype as Record<string, object>
  const prefixes = listed(Reflect.getMetadata(PATH_METADATA, controller))
  return new MetadataScanner().getAllMethodNames(prototype).flatMap((handler) => {
    const target = prototype[handler] as object
    const paths: unknown = Reflect.getMetadata(PATH_METADATA, target)
    if (paths === undefined) return []
    const own = <T>(key: string): T | undefined =>
      (Reflect.getMetadata(key, target) ?? Reflect.getMetadata(key, controller)) as T | undefined
    if (Reflect.hasMetadata(ACCESS_RULE, target) && Reflect.hasMetadata(ACCESS_RULE, controller))
      // Both guards would run, but only one rule would be documented.
      throw new Error(`${controller.name}.${handler}: put the access rule on the class or on its methods, not on both`)
    const { takesBody, takesQuery } = argumentsOf(controller, handler)
    const joinedPaths = prefixes.flatMap((prefix) => listed(paths).map((path) => joined(prefix, path)))
    return joinedPaths.map((path) => ({
      method: RequestMethod[Reflect.getMetadata(METHOD_METADATA, target) as RequestMethod],
      path,
      controller,
      handler,
      access: own<AccessRule>(ACCESS_RULE),
      openedBy: own<OpeningFlag>(OPENED_BY),
      channel: own<ChannelScope>(ROUTE_CHANNEL),
      closedTo: own<Scope[]>(CLOSED_TO) ?? [],
      problems: own<ErrorCode[]>(PROBLEM_CODES) ?? [],
      takesBody,
      takesQuery,
      bodyLimit: takesBody ? (own<number>(BODY_LIMIT) ?? DEFAULT_BODY_LIMIT) : EMPTY_BODY_LIMIT,
      streams: own<StreamedBody>(STREAMED_BODY),
      parameters: segmentsOf(path)
        .filter(isParameter)
        .map((segment) => segment.slice(1)),
    }))
  })
}

/**
 * Determines what a handler takes from the decorators of its parameters, so that no further declaration can be missing.
 */
function argumentsOf(controller: Type, handler: string): { takesBody: boolean; takesQuery: boolean } {
  const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler) ?? {}) as Record<
    string,
    { index: number; data?: unknown }
  >
  const types = (Reflect.getMetadata('design:paramtypes', controller.prototype as object, handler) ?? []) as unknown[]
  const taken = { takesBody: false, takesQuery: false }
  for (const [key, { index, data }] of Object.entries(parameters)) {
    const [kind] = key.split(':')
    const isBody = kind === String(RouteParamtypes.BODY)
    const isQuery = kind === String(RouteParamtypes.QUERY)
    if (!isBody && !isQuery) continue
    // An interface or a type variable has no class at run time, so Nest would validate nothing.
    if (data !== undefined || !hasRules(types[index])) {
      throw new Error(
        `${controller.name}.${handler}: @${isBody ? 'Body' : 'Query'}() must be one whole DTO class with field decorators`,
      )
    }
    if (isBody) taken.takesBody = true
    else taken.takesQuery = true
  }
  return taken
}
