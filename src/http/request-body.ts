import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { parse as parseContentType } from 'content-type'
import type { Request, Response } from 'express'
import rawBody from 'raw-body'
import { ServiceError } from '../common/service-error.js'
import { parseJson } from './json.js'

/** The media type of all bodies except streamed ones. */
export const JSON_BODY = 'application/json'

export const DECODERS = { gzip: createGunzip, deflate: createInflate, br: createBrotliDecompress } as const

/**
 * Call it when a decoder has ended. Deflate and Brotli end with their first stream, whatever follows it; gzip joins
 * streams, and ignores zeros behind them.
 * @param read the bytes that the decoder has taken
 * @param received the bytes of the body so far, as sent
 * @throws Error if something follows
 */
export function refuseRest({ complete }: Request, coding: Coding, read: number, received: number): void {
  if (!complete || (coding !== 'gzip' && read !== received)) throw new Error('data follows the compressed body')
}

/** The supported compressions of a body. */
export type Coding = keyof typeof DECODERS

/** Returns whether the request has a body. An empty chunked body counts. */
export function bringsBody({ headers }: Request): boolean {
  const length = headers['content-length']
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}

/**
 * Checks the headers of a body.
 * @param mediaType that the body must have, in UTF-8
 * @returns its compression; undefined if it has none
 * @throws ServiceError unsupported_media_type
 */
export function codingOf({ headers }: Request, mediaType: string): Coding | undefined {
  if (!isOf(mediaType, headers['content-type'])) {
    throw new ServiceError('unsupported_media_type', `send Content-Type: ${mediaType}, in UTF-8`)
  }
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (coding === '' || coding === 'identity') return undefined
  if (Object.hasOwn(DECODERS, coding)) return coding as Coding
  throw new ServiceError('unsupported_media_type', 'Content-Encoding may be gzip, deflate, br or identity')
}

/** Sends `100 Continue` to a caller that waits for it (RFC 9110, section 10.1.1). Call it after all other checks. */
export function continueIfExpected({ headers }: Request, response: Response): void {
  if (headers.expect?.toLowerCase() === '100-continue') response.writeContinue()
}

/**
 * Reads the request's body as JSON into `request.body`.
 * @param limit maximum size in bytes, after decompression; a larger body is refused without reading its rest
 * @throws ServiceError unsupported_media_type, payload_too_large or malformed_json
 */
export async function readBody(request: Request, response: Response, limit: number): Promise<void> {
  const coding = codingOf(request, JSON_BODY)
  const { headers } = request
  continueIfExpected(request, response)
  let bytes: Buffer
  try {
    bytes =
      coding === undefined
        ? await rawBody(request, { length: headers['content-length'] ?? null, limit })
        : await decoded(request, coding, limit)
  } catch (error) {
    throw explain(error, limit)
  }
  request.body = parseJson(bytes)
}

async function decoded(request: Request, coding: Coding, limit: number): Promise<Buffer> {
  const decoder = DECODERS[coding]()
  // Otherwise the reader would wait forever if the request breaks off.
  const breakOff = () => decoder.destroy(Object.assign(new Error('the request broke off'), { type: 'request.aborted' }))
  let received = 0
  const count = (chunk: Buffer): void => {
    received += chunk.length
  }
  request.once('aborted', breakOff).on('data', count).pipe(decoder)
  try {
    const bytes = await rawBody(decoder, { limit })
    refuseRest(request, coding, decoder.bytesWritten, received)
    request.resume()
    return bytes
  } catch (error) {
    if ((error as { type?: string }).type !== undefined) throw error
    throw new ServiceError('malformed_json', 'the body could not be decompressed', { cause: error })
  } finally {
    request.off('aborted', breakOff).off('data', count).unpipe(decoder)
    decoder.on('error', () => undefined).destroy()
  }
}

/** JSON and CSV are UTF-8 (for JSON: RFC 8259, section 8.1); another charset is refused. */
function isOf(mediaType: string, contentType: string | undefined): boolean {
  if (contentType === undefined || contentType === mediaType) return contentType !== undefined
  const { type, parameters } = parseContentType(contentType)
  return type === mediaType && (parameters['charset'] ?? 'utf-8').toLowerCase() === 'utf-8'
}

function explain(error: unknown, limit: number): unknown {
  switch ((error as { type?: string }).type) {
    case 'entity.too.large':
      return new ServiceError('payload_too_large', `the body may have at most ${limit} bytes after decompression`)
    case 'request.aborted':
    case 'request.size.invalid':
      return new ServiceError('malformed_json', 'the body ended early')
    default:
      return error
  }
}
