import type { NextFunction, Request, RequestHandler, Response } from 'express'
import helmet from 'helmet'
import { leaveBody } from './linger.js'
import { bringsBody } from './request-body.js'

/** Headers that keep a browser from doing with an answer what it is not for. The policy leaves room for the pages of Swagger UI alone. */
export function securityHeaders(): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        baseUri: ["'none'"],
        formAction: ["'none'"],
        frameAncestors: ["'none'"],
        connectSrc: ["'self'"],
        fontSrc: ["'self'"],
        imgSrc: ["'self'", 'data:'],
        scriptSrc: ["'self'"],
        // Swagger UI writes style attributes.
        styleSrc: ["'self'", "'unsafe-inline'"],
      },
    },
    // Whether there is TLS is known to whoever ends it, in front of this service.
    strictTransportSecurity: false,
  })
}

const METHODS = 'GET, HEAD, POST, PUT, DELETE'
const REQUEST_HEADERS = 'Authorization, Content-Type, Idempotency-Key, X-Request-Id'
const ANSWER_HEADERS = 'X-Request-Id, Location, Idempotency-Replayed, Retry-After, WWW-Authenticate'
const PREFLIGHT_SECONDS = '600'

/**
 * Lets the pages of some origins call; every other origin's requests are answered without a word of CORS, so that browsers keep the
 * answers from their pages.
 * @param origins as browsers write them; compared exactly
 */
export function crossOrigin(origins: readonly string[]): RequestHandler {
  const allowed = new Set(origins)
  return (request: Request, response: Response, next: NextFunction): void => {
    response.vary('Origin')
    const { origin } = request.headers
    if (origin === undefined || !allowed.has(origin)) {
      next()
      return
    }
    response.setHeader('Access-Control-Allow-Origin', origin)
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
      response.setHeader('Access-Control-Expose-Headers', ANSWER_HEADERS)
      next()
      return
    }
    response.setHeader('Access-Control-Allow-Methods', METHODS)
    response.setHeader('Access-Control-Allow-Headers', REQUEST_HEADERS)
    response.setHeader('Access-Control-Max-Age', PREFLIGHT_SECONDS)
    if (bringsBody(request)) leaveBody(request, response)
    response.statusCode = 204
    response.end()
  }
}
