import { isIP } from 'node:net'
import type { Request, Response } from 'express'
import type { ErrorCode, UnavailableReason } from '../error/service-error.js'
import type { Gate } from '../http/request-pipeline.js'
import type { RouteTable } from '../http/route-table.js'
import type { Metrics } from '../metrics/metrics.js'
import type { RequestTracer } from '../tracing/tracing.js'
import { storedName } from '../role/principal-name.js'
import type { RefusalMetrics } from './refusal.metrics.js'

/** What is told of a request. Never its token, query, body or idempotency key, nor the path's identifiers. */
export interface RequestLine {
  readonly method: string
  /**
   * The route's pattern, `/api/v1/quotas/:id`, also where the request was refused before it; `unmatched` where there is
   * none.
   */
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
  /** Under which the request's trace is found; undefined where it is not traced. */
  readonly traceId: string | undefined
  /** The code of the problem that it was answered with; undefined where it was none. */
  readonly code: ErrorCode | undefined
  /** Why it was answered 503; undefined for every other answer. */
  readonly reason: UnavailableReason | undefined
  /** The caller's address: with 401, and with every line where TRUST_PROXY says who is believed about it. */
  readonly client: string | undefined
}

/** Takes what is told of each request. */
export interface RequestLog {
  request(line: RequestLine): void
}

/** Who hears of requests beside the metrics. */
interface RequestLogOptions {
  readonly log?: RequestLog | undefined
  readonly tracer?: Pick<RequestTracer, 'current'> | undefined
  readonly clients?: boolean
  readonly refusals?: Pick<RefusalMetrics, 'refused'> | undefined
}

/** What proxies write for a caller who hung up. */
const CLIENT_CLOSED_REQUEST = 499

const UNAUTHENTICATED = 401
const UNAVAILABLE = 503

/**
 * Tells of each request once it is over, and measures it. Wants to be the first gate after the one that sets
 * `requestId`.
 * @param options.log without it, requests are measured alone
 * @param options.tracer is told of the end of each request that it follows
 * @param options.refusals counts those that were refused
 * @param options.clients tell each caller's address, and not only those of callers who are not known
 */
export function requestLog(
  metrics: Metrics,
  routes: Pick<RouteTable, 'find'>,
  { log, tracer, clients = false, refusals }: RequestLogOptions = {},
): Gate {
  return (request: Request, response: Response): void => {
    const began = performance.now()
    const followed = tracer?.current()
    // `close` comes after `finish`, and without it where the connection broke.
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
      const principal = request.principal === undefined ? undefined : storedName(request.principal.name)
      const { refusal } = request
      if (refusal !== undefined) refusals?.refused(principal, refusal)
      followed?.end({ method, route, status, principal, requestId, aborted })
      if (log === undefined) return
      const ms = Math.round(duration * 10) / 10
      const client = clients || status === UNAUTHENTICATED ? addressOf(request) : undefined
      log.request({
        method,
        route,
        status,
        code: refusal?.code,
        reason: refusal?.reason,
        ms,
        principal,
        requestId,
        aborted,
        traceId: followed?.traceId,
        client,
      })
    })
  }
}

function routeOf(request: Request, routes: Pick<RouteTable, 'find'>): string {
  const { path } = (request.route ?? routes.find(request.method, request.path)?.route ?? {}) as { path?: unknown }
  return typeof path === 'string' ? path : 'unmatched'
}

/**
 * What a proxy that is believed says, if it is an address, which cannot be anything that must not be in a log; else who
 * is connected.
 */
function addressOf(request: Request): string | undefined {
  const { ip } = request
  return ip !== undefined && isIP(ip) !== 0 ? ip : request.socket.remoteAddress
}
