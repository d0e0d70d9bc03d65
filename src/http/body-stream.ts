import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { parse as parseContentType } from 'content-type'
import type { Request, Response } from 'express'
import { ServiceError, validationFailed } from '../error/service-error.js'
import { bringsBody, type Coding, contentCoding, DECODERS } from './request-body.js'

declare module 'express-serve-static-core' {
  interface Request {
    /** Until when its body may arrive, by `performance.now()`; undefined where REQUEST_TIMEOUT_SECONDS says it. */
    bodyUntil?: number
  }
}

/** The body that a handler reads by itself. */
export interface StreamedBody {
  readonly mediaType: string
  /** Bytes after decompression, at most. */
  readonly limit: number
}

/** What of a body that is read piece by piece is in hand at the same time, at most. */
export const STREAM_IN_HAND_BYTES = 200_000

/** How long a body may take that is read piece by piece, in milliseconds. */
const PATIENCE_MS = 600_000

/** A body that is read piece by piece. Nobody sends faster than it is read. */
export class BodyStream {
  private readonly hash = createHash('sha256')
  private readonly source: Readable | undefined
  private bytes = 0

  /** @throws ServiceError unsupported_media_type, payload_too_large */
  constructor(
    private readonly request: Request,
    response: Response,
    private readonly body: StreamedBody,
  ) {
    if (!bringsBody(request)) return
    if (!isOf(body.mediaType, request.headers['content-type'])) {
      throw new ServiceError('unsupported_media_type', `send Content-Type: ${body.mediaType}, in UTF-8`)
    }
    const coding = contentCoding(request)
    if (coding === undefined && Number(request.headers['content-length'] ?? 0) > body.limit) throw this.tooLarge()
    request.bodyUntil = performance.now() + PATIENCE_MS
    if (request.headers.expect?.toLowerCase() === '100-continue') response.writeContinue()
    this.source = coding === undefined ? request : this.decoded(coding)
  }

  /**
   * The body's pieces, decompressed. Whoever stops in the middle may ask again for the others.
   * @throws ServiceError payload_too_large once there are too many
   */
  async *pieces(): AsyncGenerator<Buffer> {
    if (this.source === undefined) return
    try {
      // What is left unread is not to end the connection, on which the answer goes out.
      for await (const piece of this.source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        this.bytes += piece.length
        if (this.bytes > this.body.limit) throw this.tooLarge()
        this.hash.update(piece)
        yield piece
      }
    } catch (error) {
      if (error instanceof ServiceError) throw error
      throw validationFailed([{ field: 'body', message: 'ended before its time, or could not be decompressed' }])
    }
  }

  /** Reads what is left, for nothing. */
  async drain(): Promise<void> {
    if (this.source?.readableEnded === true) return
    const pieces = this.pieces()
    while ((await pieces.next()).done !== true);
  }

  /** The SHA-256 of all that was read; once. */
  digest(): string {
    return this.hash.digest('hex')
  }

  private decoded(coding: Coding): Readable {
    const decoder = DECODERS[coding]()
    const { request } = this
    request.once('aborted', () => decoder.destroy(new Error('the request broke off')))
    return request.pipe(decoder)
  }

  private tooLarge(): ServiceError {
    return new ServiceError('payload_too_large', `the body may have ${this.body.limit} bytes after decompression`)
  }
}

function isOf(mediaType: string, contentType: string | undefined): boolean {
  if (contentType === undefined) return false
  const { type, parameters } = parseContentType(contentType)
  return type === mediaType && (parameters['charset'] ?? 'utf-8').toLowerCase() === 'utf-8'
}
