import type { Request, Response } from 'express'
import type { Gate } from './frame.js'
import { leaveBody } from './linger.js'
import { addHeader, reply } from './reply.js'
import { bringsBody } from './request-body.js'

const METHODS = 'GET, HEAD, POST, PUT, DELETE'
const REQUEST_HEADERS = 'Authorization, Content-Type, Idempotency-Key, X-Request-Id'
const ANSWER_HEADERS = 'X-Request-Id, Location, Idempotency-Replayed, Retry-After, WWW-Authenticate'
const PREFLIGHT_SECONDS = '600'

/**
 * Lets the pages of some origins call; every other origin's requests are answered without a word of CORS, so that browsers keep the
 * answers from their pages.
 * @param origins as browsers write them; compared exactly
 */
export function crossOrigin(origins: readonly string[]): Gate {
  const allowed = new Set(origins)
  return (request: Request, response: Response): boolean => {
    addHeader(response, 'Vary', 'Origin')
    const { origin } = request.headers
    if (origin === undefined || !allowed.has(origin)) {
      return false
    }
    addHeader(response, 'Access-Control-Allow-Origin', origin)
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
      addHeader(response, 'Access-Control-Expose-Headers', ANSWER_HEADERS)
      return false
    }
    addHeader(response, 'Access-Control-Allow-Methods', METHODS)
    addHeader(response, 'Access-Control-Allow-Headers', REQUEST_HEADERS)
    addHeader(response, 'Access-Control-Max-Age', PREFLIGHT_SECONDS)
    if (bringsBody(request)) leaveBody(request, response)
    reply(response, 204, undefined)
    return true
  }
}
