import { createHash } from 'node:crypto'
import { PassThrough, type Transform } from 'node:stream'
import type { Gunzip } from 'node:zlib'
import type { Request, Response } from 'express'
import { ServiceError, validationFailed } from '../common/service-error.js'
import { TimeSlice } from '../common/time-slice.js'
import { bringsBody, type Coding, codingOf, continueIfExpected, DECODERS, refuseRest } from './request-body.js'

declare module 'express-serve-static-core' {
  interface Request {
    /** Logs that the request has a large body, before it is processed; undefined if requests are not logged. */
    logLargeBody?: (() => void) | undefined
  }
}

/** The body that a handler reads as a stream. */
export interface StreamedBody {
  readonly mediaType: string
  /** Maximum size in bytes, after decompression. */
  readonly limit: number
}

/** A body that announces or brings more than this is logged when it begins, in bytes. */
const LARGE_BYTES = 1_000_000

/** The bytes of a streamed body that are in memory at a time, at most. Admission counts these. */
export const STREAM_IN_HAND_BYTES = 200_000

/** The time within which a streamed body must arrive, in milliseconds. */
const PATIENCE_MS = 600_000
const MINUTE_MS = 60_000
/** The bytes that a streamed body must bring in each minute, as sent. */
const MIN_BYTES_A_MINUTE = 60_000

/** The decompressed body. */
type Source = Transform & Partial<Pick<Gunzip, 'bytesWritten'>>

/** Ends requests whose body is late. */
export interface LateBodies {
  endLate(request: Request): void
}

/** A body that is read in chunks. Backpressure limits the caller to the speed of the reader. */
export class BodyStream {
  private readonly hash = createHash('sha256')
  private readonly source: Source | undefined
  private bytes = 0
  private readonly coding: Coding | undefined
  /** The bytes of the body as sent. */
  private received = 0

  /** @throws ServiceError unsupported_media_type, payload_too_large */
  constructor(
    private readonly request: Request,
    response: Response,
    private readonly body: StreamedBody,
    lateBodies: LateBodies,
  ) {
    if (!bringsBody(request)) return
    const coding = codingOf(request, body.mediaType)
    const announced = Number(request.headers['content-length'] ?? 0)
    if (coding === undefined && announced > body.limit) throw this.tooLarge()
    if (announced > LARGE_BYTES) this.log()
    continueIfExpected(request, response)
    const source: Source = coding === undefined ? new PassThrough() : DECODERS[coding]()
    this.source = source
    this.coding = coding
    // Without a reader, an error would end the process.
    source.on('error', () => undefined)
    request.once('aborted', () => source.destroy(new Error('the request broke off')))
    request.on('data', (chunk: Buffer) => {
      this.received += chunk.length
    })
    request.pipe(source)
    this.endIfLate(source, response, lateBodies)
  }

  /**
   * The decompressed chunks. After a reader stops, a further call continues with the remaining chunks.
   * @throws ServiceError payload_too_large as soon as the limit is exceeded
   */
  async *pieces(): AsyncGenerator<Buffer> {
    if (this.source === undefined) return
    // What arrives in tiny chunks is there before they are read.
    const slice = new TimeSlice()
    try {
      // Unread chunks must not destroy the connection, since the response uses it.
      for await (const piece of this.source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        this.bytes += piece.length
        if (this.bytes > LARGE_BYTES) this.log()
        if (this.bytes > this.body.limit) throw this.tooLarge()
        this.hash.update(piece)
        if (slice.spent) await slice.next()
        yield piece
      }
      const { coding, request, received, source } = this
      if (coding !== undefined) refuseRest(request, coding, source.bytesWritten ?? received, received)
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

  /** Ends the request if its body does not arrive in time. */
  private endIfLate(source: Source, response: Response, lateBodies: LateBodies): void {
    const { request } = this
    const end = (): void => {
      if (!request.complete) lateBodies.endLate(request)
    }
    const deadline = setTimeout(end, PATIENCE_MS)
    let counted = 0
    const minutes = setInterval(() => {
      const read = source.bytesWritten ?? this.bytes
      // If bytes wait to be read, the service is slow, not the caller.
      const isWaiting = request.readableLength + source.writableLength > 0
      if (!isWaiting && read - counted < MIN_BYTES_A_MINUTE) end()
      counted = read
    }, MINUTE_MS)
    response.once('close', () => {
      clearTimeout(deadline)
      clearInterval(minutes)
      // After the response, Node does not tell a reader that the connection has ended.
      source.destroy(new Error('the request has ended'))
    })
  }

  /** Once. */
  private log(): void {
    this.request.logLargeBody?.()
    this.request.logLargeBody = undefined
  }

  private tooLarge(): ServiceError {
    return new ServiceError(
      'payload_too_large',
      `the body may have at most ${this.body.limit} bytes after decompression`,
    )
  }
}
