import { type CanActivate, type ExecutionContext, Injectable, UseGuards } from '@nestjs/common'
import type { Request, Response } from 'express'
import { whoCalls } from '../auth/principal.js'
import { ServiceError, validationFailed } from '../common/service-error.js'
import { Admission } from './admission.js'
import { DEFAULT_BODY_LIMIT } from './body-limit.decorator.js'
import { BodyStream, STREAM_IN_HAND_BYTES } from './body-stream.js'
import { Connections } from './connections.js'
import { MAX_SHOWN_NAME_LENGTH, MAX_UNKNOWN } from './dto.js'
import { bringsBody, codingOf, JSON_BODY, readBody } from './request-body.js'
import type { Route } from './route-table.js'

declare module 'express-serve-static-core' {
  interface Request {
    /** The body reader of the application that serves the request. */
    bodies: BodyReader
  }
}

/**
 * The last guard of every handler: waits for admission, then for the body. It is not an interceptor, since with any
 * interceptor Nest builds a chain of observables for each request.
 */
const BODY_GUARD: CanActivate = {
  canActivate(context: ExecutionContext): true | Promise<true> {
    const http = context.switchToHttp()
    const request = http.getRequest<Request>()
    const read = request.bodies.read(request, http.getResponse<Response>())
    return read === undefined ? true : read.then(() => true)
  },
}

/** The handlers that have the guard: a handler may have several paths, and a process several applications. */
const guarded = new WeakSet<object>()

/** Appends the guard that reads the body to the guards of a handler. Call this before Nest creates the routes. */
export function readBodyLast({ controller, handler }: Pick<Route, 'controller' | 'handler'>): void {
  const target = controller.prototype as Record<string, object>
  const value = target[handler] as object
  if (guarded.has(value)) return
  guarded.add(value)
  UseGuards(BODY_GUARD)(target, handler, { value })
}

/**
 * Reads the body of a request. Refuses a body or query parameters if the handler declares none; its parameters'
 * decorators determine what it declares.
 */
@Injectable()
export class BodyReader {
  constructor(
    private readonly admission: Admission,
    private readonly connections: Connections,
  ) {}

  /**
   * Waits for admission, then for the body.
   * @returns undefined if there is nothing to wait for
   * @throws ServiceError the refusal, synchronously or by the promise
   */
  read(request: Request, response: Response): Promise<void> | undefined {
    const caller = whoCalls(request)
    const route = request.route as Route
    if (request.undecodable === true)
      throw validationFailed([{ field: 'path', message: 'contains a percent sign that encodes nothing' }])
    const turn = caller === undefined ? undefined : this.admission.enter(caller.id, bytesOf(request, route), response)
    if (turn !== undefined) return turn.then(() => this.afterAdmission(request, response, route))
    return this.afterAdmission(request, response, route)
  }

  private afterAdmission(request: Request, response: Response, route: Route): Promise<void> | undefined {
    if (route.streams !== undefined || !bringsBody(request)) {
      if (!route.takesQuery) refuseParameters(request)
      request.body =
        route.streams === undefined ? {} : new BodyStream(request, response, route.streams, this.connections)
      return undefined
    }
    if (!route.takesBody && isOpen(route)) {
      codingOf(request, JSON_BODY)
      throw noBody('this route takes no body')
    }
    return this.readBody(request, response, route)
  }

  private async readBody(request: Request, response: Response, route: Route): Promise<void> {
    try {
      await readBody(request, response, route.bodyLimit)
    } catch (error) {
      const tooLarge = error instanceof ServiceError && error.code === 'payload_too_large'
      // It exceeds the limit of this route; beyond that of all routes it is too large before it is out of place.
      const beyondAll = Number(request.headers['content-length'] ?? 0) > DEFAULT_BODY_LIMIT
      throw tooLarge && !route.takesBody && !beyondAll ? noBody() : error
    }
    if (!route.takesQuery) refuseParameters(request)
    if (!route.takesBody) refuseBody(request.body)
  }
}

/** The maximum size of the body after decompression, in bytes. */
function bytesOf({ headers }: Request, { bodyLimit: limit, streams }: Route): number {
  if (streams !== undefined) return STREAM_IN_HAND_BYTES
  if (headers['transfer-encoding'] !== undefined || headers['content-encoding'] !== undefined) return limit
  return Math.min(Number(headers['content-length'] ?? 0), limit)
}

/**
 * Whether anonymous callers can call the route, possibly by configuration. If such a route takes no body, the service
 * reads no byte of one.
 */
function isOpen({ access, openedBy }: Route): boolean {
  return access === 'public' || openedBy !== undefined
}

function noBody(message = 'this route takes no body, or an empty object'): ServiceError {
  return validationFailed([{ field: 'body', message }])
}

function refuseParameters(request: Request): void {
  if (request.url.includes('?')) refuseNames(Object.keys(request.query), 'is not a parameter of this route')
}

function refuseBody(body: unknown): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw noBody()
  refuseNames(Object.keys(body), 'is not a field of this request')
}

function refuseNames(names: readonly string[], message: string): void {
  if (names.length === 0) return
  const shown = names.slice(0, MAX_UNKNOWN).map((name) => name.slice(0, MAX_SHOWN_NAME_LENGTH))
  throw validationFailed(shown.map((field) => ({ field, message })))
}
