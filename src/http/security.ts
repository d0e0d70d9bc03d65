import cors from 'cors'
import type { Request, Response } from 'express'
import type { Gate } from './request-pipeline.js'
import { closeAfterAnswer } from './unread-body.js'
import { headersSetBy, reply } from './reply.js'
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
  const headersFor = (origin: string, options: cors.CorsOptions, method: string) =>
    headersSetBy(cors({ ...options, origin: [origin] }), { method, headers: { origin } })
  const shared = new Map(origins.map((origin) => [origin, headersFor(origin, SHARED, 'GET')]))
  const preflight = new Map(origins.map((origin) => [origin, headersFor(origin, PREFLIGHT, 'OPTIONS')]))
  return (request: Request, response: Response): boolean => {
    const { origin = '' } = request.headers
    const isPreflight = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
    const headers = (isPreflight ? preflight : shared).get(origin)
    response.ownHeaders = [...(response.ownHeaders ?? []), ...(headers ?? ['Vary', 'Origin'])]
    if (!isPreflight || headers === undefined) return false
    if (bringsBody(request)) closeAfterAnswer(request, response)
    reply(response, 204, undefined)
    return true
  }
}
