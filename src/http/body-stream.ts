import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Request, Response } from 'express'
import { ServiceError, validationFailed } from '../error/service-error.js'
import { bringsBody, type Coding, codingOf, continueIfExpected, DECODERS } from './request-body.js'

declare module 'express-serve-static-core' {
  interface Request {
    /** The deadline of the body, by `performance.now()`. Undefined: REQUEST_TIMEOUT_SECONDS applies. */
    bodyUntil?: number
  }
}

/** The body that a handler reads as a stream. */
export interface StreamedBody {
  readonly mediaType: string
  /** Maximum size in bytes, after decompression. */
  readonly limit: number
}

/** The bytes of a streamed body that are in memory at a time, at most. Admission counts these. */
export const STREAM_IN_HAND_BYTES = 200_000

/** The time within which a streamed body must arrive, in milliseconds. */
const PATIENCE_MS = 600_000

/** A body that is read in chunks. Backpressure limits the caller to the speed of the reader. */
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
    const coding = codingOf(request, body.mediaType)
    if (coding === undefined && Number(request.headers['content-length'] ?? 0) > body.limit) throw this.tooLarge()
    request.bodyUntil = performance.now() + PATIENCE_MS
    continueIfExpected(request, response)
    this.source = coding === undefined ? request : this.decoded(coding)
  }

  /**
   * The decompressed chunks. After a reader stops, a further call continues with the remaining chunks.
   * @throws ServiceError payload_too_large as soon as the limit is exceeded
   */
  async *pieces(): AsyncGenerator<Buffer> {
    if (this.source === undefined) return
    try {
      // Unread chunks must not destroy the connection, since the response uses it.
      for await (const piece of this.source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        this.bytes += piece.length
        if (this.bytes > this.body.limit) throw this.tooLarge()
        this.hash.update(piece)
        yield piece
      }
    } catch (error) {
      if (error instanceof ServiceError) throw error
      throw validationFailed([{ field: 'body', message: 'ended early, or could not be decompressed' }])
    }
  }

  /** Reads and discards the remaining chunks. */
  async drain(): Promise<void> {
    if (this.source?.readableEnded === true) return
    const pieces = this.pieces()
    while ((await pieces.next()).done !== true);
  }

  /** The SHA-256 of all chunks that were read, in hexadecimal. Can be called once. */
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
    return new ServiceError(
      'payload_too_large',
      `the body may have at most ${this.body.limit} bytes after decompression`,
    )
  }
}
