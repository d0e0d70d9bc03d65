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
export const JSON_MEDIA_TYPE = 'application/json; charset=utf-8'

/**
 * The headers of every response, names and values alternating: no caching, and helmet's security headers, which are the
 * same for every response. The Content-Security-Policy admits only the pages of Swagger UI.
 */
const EVERY_ANSWER: readonly string[] = ['Cache-Control', 'no-store', ...securityHeaders()]

/** The same without Cache-Control and Content-Security-Policy, which each file sets. */
const EVERY_FILE = withoutHeaders(EVERY_ANSWER, ['cache-control', 'content-security-policy'])

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
  const headers = headOf(response, EVERY_ANSWER)
  if (body !== undefined) {
    if (!response.hasHeader('Content-Type') || mediaType !== JSON_MEDIA_TYPE) headers.push('Content-Type', mediaType)
    headers.push('Content-Length', String(Buffer.byteLength(body)))
  } else if (status !== 204) headers.push('Content-Length', '0')
  response.writeHead(status, headers)
  response.end(body)
}

/** Begins a response whose body is streamed. */
export function replyStream(response: ServerResponse, mediaType: string): void {
  response.writeHead(200, [...headOf(response, EVERY_ANSWER), 'Content-Type', mediaType])
}

/**
 * Sends a file. Add its Cache-Control, Content-Security-Policy, Content-Type and other headers with `addHeader` first.
 * @param body undefined if the caller has the current version
 */
export function replyFile(response: ServerResponse, status: 200 | 304, body: Buffer | undefined): void {
  const headers = headOf(response, EVERY_FILE)
  if (body !== undefined) headers.push('Content-Length', String(body.length))
  response.writeHead(status, headers)
  response.end(body)
}

/**
 * Adds the headers of every response to one that is not sent by `reply`, for example by Express's `response.json()`.
 */
export function completeHead(response: ServerResponse): void {
  if (response.repliedAt !== undefined) return
  const headers = headOf(response, EVERY_ANSWER)
  for (let at = 0; at < headers.length; at += 2) response.appendHeader(headers[at] ?? '', headers[at + 1] ?? '')
}

/** Returns the headers that a handler has not set on the response, names and values alternating. */
function headOf(response: ServerResponse, every: readonly string[]): string[] {
  response.repliedAt = performance.now()
  const set = response.getHeaderNames()
  const headers = set.length === 0 ? [...every] : withoutHeaders(every, set)
  if (response.ownHeaders !== undefined) headers.push(...response.ownHeaders)
  return headers
}

/** Returns the list without the headers of these names, which are in lower case. */
function withoutHeaders(headers: readonly string[], names: readonly string[]): string[] {
  return headers.filter((_, at) => !names.includes((headers[at - (at % 2)] ?? '').toLowerCase()))
}

function securityHeaders(): string[] {
  const headers: string[] = []
  const protect = helmet({
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
  })
  const response = {
    setHeader: (name: string, value: string) => headers.push(name, value),
    removeHeader: () => undefined,
  }
  protect({} as IncomingMessage, response as unknown as ServerResponse, () => undefined)
  return headers
}
