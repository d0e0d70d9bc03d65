import type { IncomingMessage, ServerResponse } from 'node:http'
import helmet from 'helmet'

declare module 'node:http' {
  interface ServerResponse {
    /** Names and values, in turn, that are to go out beside those of every answer. */
    ownHeaders?: string[]
    /** When its head was written, by `performance.now()`. */
    repliedAt?: number
  }
}

/** Media type of every answer that is no error. */
export const JSON_MEDIA_TYPE = 'application/json; charset=utf-8'

/**
 * Headers that every answer has, names and values in turn: nothing is kept in a cache, and a browser does with it
 * nothing that it is not for. Helmet says which these are, once: they are the same for every answer. The policy leaves
 * room for the pages of Swagger UI alone.
 */
const EVERY_ANSWER: readonly string[] = ['Cache-Control', 'no-store', ...securityHeaders()]

/** The same without caching and policy, of which files have their own. */
const EVERY_FILE = withoutHeaders(EVERY_ANSWER, ['cache-control', 'content-security-policy'])

/** Adds a header to the answer of a request, to go out with it. */
export function addHeader(response: ServerResponse, name: string, value: string): void {
  if (response.ownHeaders === undefined) response.ownHeaders = [name, value]
  else response.ownHeaders.push(name, value)
}

/**
 * Answers a request. All headers go out in one list, which Node writes as it is; each `setHeader` would cost as much as
 * the list. What a handler has set by Express's means stays as it set it.
 * @param body undefined where there is none
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

/** Begins an answer whose body follows piece by piece. */
export function replyStream(response: ServerResponse, mediaType: string): void {
  response.writeHead(200, [...headOf(response, EVERY_ANSWER), 'Content-Type', mediaType])
}

/**
 * Answers a request with a file, whose caching and policy are its own; both, its media type and whatever else it needs
 * are to be added first.
 * @param body undefined where the caller has it already
 */
export function replyFile(response: ServerResponse, status: 200 | 304, body: Buffer | undefined): void {
  const headers = headOf(response, EVERY_FILE)
  if (body !== undefined) headers.push('Content-Length', String(body.length))
  response.writeHead(status, headers)
  response.end(body)
}

/** Gives an answer that somebody else writes, as Express's `response.json()`, the headers that every answer has. */
export function completeHead(response: ServerResponse): void {
  if (response.repliedAt !== undefined) return
  const headers = headOf(response, EVERY_ANSWER)
  for (let at = 0; at < headers.length; at += 2) response.appendHeader(headers[at] ?? '', headers[at + 1] ?? '')
}

/** The headers that an answer has beside those that a handler has set, names and values in turn. */
function headOf(response: ServerResponse, every: readonly string[]): string[] {
  response.repliedAt = performance.now()
  const set = response.getHeaderNames()
  const headers = set.length === 0 ? [...every] : withoutHeaders(every, set)
  if (response.ownHeaders !== undefined) headers.push(...response.ownHeaders)
  return headers
}

/** A list of headers without those of these names, which are in lower case. */
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
    // Whether there is TLS is known to whoever ends it, in front of this service.
    strictTransportSecurity: false,
  })
  const response = {
    setHeader: (name: string, value: string) => headers.push(name, value),
    removeHeader: () => undefined,
  }
  protect({} as IncomingMessage, response as unknown as ServerResponse, () => undefined)
  return headers
}
