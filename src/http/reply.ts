import type { IncomingMessage, ServerResponse } from 'node:http'
import helmet from 'helmet'

declare module 'node:http' {
  interface ServerResponse {
    /** Names and values, alternating, of headers that are sent in addition to those of every response. */
    ownHeaders?: string[]
    /** The time at which its head was written, by `performance.now()`. */
    repliedAt?: number
  }
}

/** Media type of every successful JSON response. */
const JSON_MEDIA_TYPE = 'application/json; charset=utf-8'

/**
 * The headers of every response, names and values alternating: no caching, and helmet's security headers, which are the
 * same for every response. The Content-Security-Policy admits only the pages of Swagger UI.
 */
const EVERY_ANSWER: readonly string[] = [
  'Cache-Control',
  'no-store',
  ...headersSetBy(
    helmet({
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
      // The server that terminates TLS, in front of this service, decides on HSTS.
      strictTransportSecurity: false,
    }),
  ),
]

/** Adds a header to a response. */
export function addHeader(response: ServerResponse, name: string, value: string): void {
  if (response.ownHeaders === undefined) response.ownHeaders = [name, value]
  else response.ownHeaders.push(name, value)
}

/**
 * Sends a response. All headers are passed in one list, which Node writes unchanged; each `setHeader` would cost as
 * much as the list. Headers that a handler set on the response take precedence.
 * @param body undefined: no body
 * @param mediaType of the body
 */
export function reply(
  response: ServerResponse,
  status: number,
  body: string | Buffer | undefined,
  mediaType: string = JSON_MEDIA_TYPE,
): void {
  const headers = headOf(response)
  if (body !== undefined) {
    if (!response.hasHeader('Content-Type') || mediaType !== JSON_MEDIA_TYPE) headers.push('Content-Type', mediaType)
    headers.push('Content-Length', String(Buffer.byteLength(body)))
  } else if (status !== 204) headers.push('Content-Length', '0')
  response.writeHead(status, headers)
  response.end(body)
}

/** Begins a response whose body is streamed. */
export function replyStream(response: ServerResponse, mediaType: string): void {
  response.writeHead(200, [...headOf(response), 'Content-Type', mediaType])
}

/**
 * Adds the headers of every response to one that is not sent by `reply`, for example by Express's `response.json()`.
 */
export function completeHead(response: ServerResponse): void {
  if (response.repliedAt !== undefined) return
  const headers = headOf(response)
  for (let at = 0; at < headers.length; at += 2) response.appendHeader(headers[at] ?? '', headers[at + 1] ?? '')
}

/**
 * Returns the headers of a response, names and values alternating: those of every response that a handler has not set,
 * and its own.
 */
function headOf(response: ServerResponse): string[] {
  response.repliedAt = performance.now()
  const set = response.getHeaderNames()
  const isUnset = (_: string, at: number): boolean => !set.includes((EVERY_ANSWER[at - (at % 2)] ?? '').toLowerCase())
  const headers = set.length === 0 ? [...EVERY_ANSWER] : EVERY_ANSWER.filter(isUnset)
  if (response.ownHeaders !== undefined) headers.push(...response.ownHeaders)
  return headers
}

/** Returns the headers that a middleware sets, names and values alternating. */
export function headersSetBy(
  middleware: (request: IncomingMessage, response: ServerResponse, next: () => void) => void,
  request: object = {},
): string[] {
  const headers: string[] = []
  const response = {
    getHeader: () => undefined,
    setHeader: (name: string, value: string) => headers.push(name, value),
    removeHeader: () => undefined,
  }
  middleware(request as IncomingMessage, response as unknown as ServerResponse, () => undefined)
  return headers
}
