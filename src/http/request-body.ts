import bodyParser from 'body-parser'
import type { Request, Response } from 'express'
import { ServiceError } from '../error/service-error.js'

const ENCODINGS = new Set(['', 'identity', 'gzip', 'deflate', 'br'])

type Parser = (request: Request, response: Response, next: (error?: unknown) => void) => void

const parsers = new Map<number, Parser>()

function parserOf(limit: number): Parser {
  let parser = parsers.get(limit)
  if (parser === undefined) {
    // A scalar at the top is JSON all the same; the DTO then says what is wrong with it.
    parser = bodyParser.json({ limit, strict: false, type: () => true })
    parsers.set(limit, parser)
  }
  return parser
}

/** Does the request bring a body, be it an empty one sent in chunks? */
export function bringsBody({ headers }: Request): boolean {
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}

/**
 * Reads the request's body as JSON into `request.body`.
 * @param limit bytes after decompression, at most
 * @throws ServiceError unsupported_media_type, payload_too_large or malformed_json
 */
export async function readBody(request: Request, response: Response, limit: number): Promise<void> {
  const { headers } = request
  if (!isJson(headers['content-type'])) {
    throw new ServiceError('unsupported_media_type', 'send Content-Type: application/json, in UTF-8')
  }
  if (!ENCODINGS.has(headers['content-encoding']?.trim().toLowerCase() ?? '')) {
    throw new ServiceError('unsupported_media_type', 'Content-Encoding may be gzip, deflate, br or identity')
  }
  await new Promise<void>((resolve, reject) => {
    parserOf(limit)(request, response, (error) => (error === undefined ? resolve() : reject(explain(error, limit))))
  })
}

/** JSON is UTF-8 (RFC 8259, section 8.1); saying so is allowed, saying otherwise is not. */
function isJson(contentType: string | undefined): boolean {
  const [type = '', ...parameters] = (contentType ?? '').toLowerCase().split(';')
  if (type.trim() !== 'application/json') return false
  return parameters.every((parameter) => {
    // Nothing may stand after a semicolon (RFC 9110, section 5.6.6).
    if (parameter.trim() === '') return true
    const [, name, value] = /^\s*([\w-]+)\s*=\s*"?([^"]*?)"?\s*$/.exec(parameter) ?? []
    return name !== undefined && (name !== 'charset' || value === 'utf-8')
  })
}

function explain(error: unknown, limit: number): Error {
  if (!(error instanceof Error)) return new Error(String(error))
  const { type, status, message } = error as Error & { type?: string; status?: number }
  if (status === undefined || status >= 500) return error
  switch (type) {
    case 'entity.too.large':
      return new ServiceError('payload_too_large', `the body may have ${limit} bytes after decompression`)
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return new ServiceError('unsupported_media_type', message)
    case 'entity.parse.failed':
      return new ServiceError('malformed_json', `the body is not JSON: ${message}`)
    case 'request.aborted':
    case 'request.size.invalid':
      return new ServiceError('malformed_json', 'the body ended before its time')
    default:
      return new ServiceError('malformed_json', 'the body could not be decompressed')
  }
}
