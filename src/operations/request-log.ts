import type { NextFunction, Request, RequestHandler, Response } from 'express'
import type { Metrics } from './metrics.js'

/** What is told of a request. Never its token, query, body or idempotency key, nor the path's identifiers. */
export interface RequestLine {
  readonly method: string
  /** The route's pattern, `/api/v1/quotas/:id`; `unmatched` where no route was reached. */
  readonly route: string
  /** The status answered; 499 where the caller went away before there was one. */
  readonly status: number
  /** Milliseconds from the request's arrival to the end of its answer, to a tenth. */
  readonly ms: number
  /** The token's name; undefined without a good token. */
  readonly principal: string | undefined
  readonly requestId: string
  /** The connection broke before the answer was out: the caller may not know what became of the request. */
  readonly aborted: boolean
}

/** Takes what is told of each request. */
export interface RequestLog {
  request(line: RequestLine): void
}

/** What proxies write for a caller who hung up. */
const CLIENT_CLOSED_REQUEST = 499

/**
 * Tells of each request once it is over, and measures it. Wants to be the first middleware after the one that sets `requestId`.
 * @param log without it, requests are measured alone
 */
export function requestLog(metrics: Metrics, log?: RequestLog): RequestHandler {
  return (request: Request, response: Response, next: NextFunction): void => {
    const began = performance.now()
    // `close` comes after `finish`, and without it where the connection broke.
    response.once('close', () => {
      const duration = performance.now() - began
      const aborted = !response.writableFinished
      const status = aborted && !response.headersSent ? CLIENT_CLOSED_REQUEST : response.statusCode
      const { method, requestId } = request
      const route = routeOf(request)
      metrics.observe(method, route, status, duration / 1000)
      const ms = Math.round(duration * 10) / 10
      log?.request({ method, route, status, ms, principal: request.principal?.name, requestId, aborted })
    })
    next()
  }
}

function routeOf(request: Request): string {
  const route = request.route as { path?: unknown } | undefined
  return typeof route?.path === 'string' ? route.path : 'unmatched'
}
