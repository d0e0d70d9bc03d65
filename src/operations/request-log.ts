import { isIP } from 'node:net'
import type { Request, Response } from 'express'
import { whoCalls } from '../auth/principal.js'
import type { ErrorCode, UnavailableReason } from '../common/service-error.js'
import { type Gate, pathOf } from '../http/request-pipeline.js'
import type { RouteTable } from '../http/route-table.js'
import type { Metrics } from '../common/metrics.js'
import type { RequestTracer } from '../tracing/tracing.js'
import { storedName } from '../common/principal-name.js'
import type { RefusalMetrics } from './refusal.metrics.js'

/** The logged facts of a request. Never its token, query, body or idempotency key, nor the path's identifiers. */
export interface RequestLine {
  readonly method: string
  /**
   * The route's pattern, `/api/v1/quotas/:id`, also if the request was refused before it; `unmatched` if there is none.
   */
  readonly route: string
  /** The status of the answer; 499 if the caller disconnected before it. */
  readonly status: number
  /** Milliseconds from the arrival of the request to the end of its answer, to a tenth. */
  readonly ms: number
  /** The token's name; undefined without a valid token. */
  readonly principal: string | undefined
  readonly requestId: string
  /** The connection broke before the answer was sent: the caller may not know the result. */
  readonly aborted: boolean
  /** The id of the request's trace; undefined if it is not traced. */
  readonly traceId: string | undefined
  /** The code of the problem in the answer; undefined without one. */
  readonly code: ErrorCode | undefined
  /** The reason of a 503; undefined for other answers. */
  readonly reason: UnavailableReason | undefined
  /** The caller's address: with 401, and in every line if TRUST_PROXY is set. */
  readonly client: string | undefined
}

/** Receives the log entry of each request. */
export interface RequestLog {
  request(line: RequestLine): void
  /** A request with a large body begins: if the process does not survive it, this line is what remains. */
  largeBody(line: Pick<RequestLine, 'method' | 'route' | 'principal' | 'requestId'>): void
}

/** Further observers of requests. */
interface RequestLogOptions {
  readonly log?: RequestLog | undefined
  readonly tracer?: Pick<RequestTracer, 'current'> | undefined
  readonly clients?: boolean
  readonly refusals?: Pick<RefusalMetrics, 'refused'> | undefined
}

/** The status that proxies use for a caller that disconnected. */
const CLIENT_CLOSED_REQUEST = 499

const UNAUTHENTICATED = 401
const UNAVAILABLE = 503

/**
 * Logs and measures each request when it ends. It must be the first gate after the one that sets `requestId`.
 * @param options.log if absent, requests are only measured
 * @param options.tracer is called at the end of each traced request
 * @param options.refusals counts refused requests
 * @param options.clients log each caller's address, not only those of unauthenticated callers
 */
export function requestLog(
  metrics: Metrics,
  routes: Pick<RouteTable, 'find'>,
  { log, tracer, clients = false, refusals }: RequestLogOptions = {},
): Gate {
  return (request: Request, response: Response): void => {
    const began = performance.now()
    const followed = tracer?.current()
    if (log !== undefined)
      request.logLargeBody = () => {
        const { method, requestId, principal } = request
        const route = routeOf(request, routes)
        log.largeBody({ method, route, principal: principal && storedName(principal.name), requestId })
      }
    // `close` comes after `finish`, and alone if the connection broke.
    response.once('close', () => {
      const duration = performance.now() - began
      const aborted = !response.writableFinished
      const status = aborted && !response.headersSent ? CLIENT_CLOSED_REQUEST : response.statusCode
      const { method, requestId } = request
      const route = routeOf(request, routes)
      metrics.observe(method, route, status, duration / 1000, request.draining === true && status === UNAVAILABLE)
      if (response.repliedAt !== undefined) {
        metrics.observeFirstByte(method, route, (response.repliedAt - began) / 1000)
      }
      const caller = whoCalls(request)
      const principal = caller && storedName(caller.name)
      const { refusal } = request
      if (refusal !== undefined) refusals?.refused(principal, refusal)
      const facts = { method, route, status, principal, requestId, aborted }
      followed?.end(facts)
      if (log === undefined) return
      const ms = Math.round(duration * 10) / 10
      const client = clients || status === UNAUTHENTICATED ? addressOf(request) : undefined
      log.request({ ...facts, ms, client, code: refusal?.code, reason: refusal?.reason, traceId: followed?.traceId })
    })
  }
}

function routeOf(request: Request, routes: Pick<RouteTable, 'find'>): string {
  const { path } = (request.route ?? routes.find(request.method, pathOf(request))?.route ?? {}) as { path?: unknown }
  return typeof path === 'string' ? path : 'unmatched'
}

/**
 * The address from a trusted proxy, if it is a valid address, so that nothing else can enter the log; otherwise the
 * address of the connection.
 */
function addressOf(request: Request): string | undefined {
  const { ip } = request
  return ip !== undefined && isIP(ip) !== 0 ? ip : request.socket.remoteAddress
}
