import cors from 'cors'
import type { Request, Response } from 'express'
import type { Gate } from './request-pipeline.js'
import { closeAfterAnswer } from './unread-body.js'
import { addHeader, reply } from './reply.js'
import { bringsBody } from './request-body.js'

/** What every answer to a page says. */
const SHARED: cors.CorsOptions = {
  exposedHeaders: 'X-Request-Id, Location, Idempotency-Replayed, Retry-After, WWW-Authenticate',
}
/** What a page is told that asks what it may send. */
const PREFLIGHT: cors.CorsOptions = {
  methods: 'GET, HEAD, POST, PUT, DELETE',
  allowedHeaders: 'Authorization, Content-Type, Idempotency-Key, X-Request-Id',
  maxAge: 600,
  // The answer is ours: it has the headers of every answer, and knows what to do with a body.
  preflightContinue: true,
}

/**
 * Lets the pages of some origins call; every other origin's requests are answered without a word of CORS, so that
 * browsers keep the answers from their pages. What is said to an origin does not change: `cors` is asked once.
 * @param origins as browsers write them; compared exactly
 */
export function crossOrigin(origins: readonly string[]): Gate {
  const words = (options: cors.CorsOptions, method: string) =>
    new Map(origins.map((origin) => [origin, corsHeaders({ ...options, origin: [origin] }, origin, method)]))
  const shared = words(SHARED, 'GET')
  const preflight = words(PREFLIGHT, 'OPTIONS')
  return (request: Request, response: Response): boolean => {
    const { origin = '' } = request.headers
    const asks = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
    const headers = (asks ? preflight : shared).get(origin)
    if (headers === undefined) {
      addHeader(response, 'Vary', 'Origin')
      return false
    }
    for (const [name, value] of headers) addHeader(response, name, value)
    if (!asks) return false
    if (bringsBody(request)) closeAfterAnswer(request, response)
    reply(response, 204, undefined)
    return true
  }
}

/** The headers that `cors` sets on an answer to this origin. */
function corsHeaders(options: cors.CorsOptions, origin: string, method: string): [name: string, value: string][] {
  const headers: [string, string][] = []
  const response = {
    getHeader: () => undefined,
    setHeader: (name: string, value: string) => headers.push([name, value]),
  }
  cors(options)({ method, headers: { origin } }, response as never, () => undefined)
  return headers
}
