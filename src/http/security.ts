import cors from 'cors'
import type { Request, Response } from 'express'
import type { Gate } from './request-pipeline.js'
import { closeAfterAnswer } from './unread-body.js'
import { addHeader, reply } from './reply.js'
import { bringsBody } from './request-body.js'

/** The CORS options of responses to allowed origins. */
const SHARED: cors.CorsOptions = {
  exposedHeaders: 'X-Request-Id, Location, Idempotency-Replayed, Retry-After, WWW-Authenticate',
}
/** The CORS options of a preflight response. */
const PREFLIGHT: cors.CorsOptions = {
  methods: 'GET, HEAD, POST, PUT, DELETE',
  allowedHeaders: 'Authorization, Content-Type, Idempotency-Key, X-Request-Id',
  maxAge: 600,
  // The gate answers the preflight, with the headers of every response, and closes the connection if a body follows.
  preflightContinue: true,
}

/**
 * Creates the gate for CORS. Requests of other origins are answered without CORS headers, so that browsers withhold the
 * responses from their pages. The headers of an origin are constant, so `cors` is called once for each.
 * @param origins as browsers send them; compared exactly
 */
export function crossOrigin(origins: readonly string[]): Gate {
  const headersByOrigin = (options: cors.CorsOptions, method: string) =>
    new Map(origins.map((origin) => [origin, corsHeaders({ ...options, origin: [origin] }, origin, method)]))
  const shared = headersByOrigin(SHARED, 'GET')
  const preflight = headersByOrigin(PREFLIGHT, 'OPTIONS')
  return (request: Request, response: Response): boolean => {
    const { origin = '' } = request.headers
    const isPreflight = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
    const headers = (isPreflight ? preflight : shared).get(origin)
    if (headers === undefined) {
      addHeader(response, 'Vary', 'Origin')
      return false
    }
    for (const [name, value] of headers) addHeader(response, name, value)
    if (!isPreflight) return false
    if (bringsBody(request)) closeAfterAnswer(request, response)
    reply(response, 204, undefined)
    return true
  }
}

/** Returns the headers that `cors` sets for this origin. */
function corsHeaders(options: cors.CorsOptions, origin: string, method: string): [name: string, value: string][] {
  const headers: [string, string][] = []
  const response = {
    getHeader: () => undefined,
    setHeader: (name: string, value: string) => headers.push([name, value]),
  }
  cors(options)({ method, headers: { origin } }, response as never, () => undefined)
  return headers
}
