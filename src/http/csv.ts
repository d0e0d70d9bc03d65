import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Request, Response } from 'express'
import type { StreamedBody } from './body-stream.js'
import { replyStream } from './reply.js'

/** The media type of imported and exported files. */
export const CSV = 'text/csv'

/** An imported file: at most 50 MB (contract, §11). */
export const CSV_BODY: StreamedBody = { mediaType: CSV, limit: 50_000_000 }

/** An exported file, in the API document. */
export const CSV_SCHEMA = { description: 'The file, streamed.', schema: { type: 'string' } } as const

/**
 * Streams a file to the caller, with backpressure. An error before the first chunk is answered as a problem; a later
 * one breaks the connection, so that the caller does not take a part for the whole file.
 */
export async function stream(request: Request, response: Response, pieces: AsyncIterable<string>): Promise<void> {
  const iterator = pieces[Symbol.asyncIterator]()
  const first = await iterator.next()
  // The caller has disconnected meanwhile: Node 24 pipes nothing into a closed response, and throws.
  if (response.closed) {
    await iterator.return?.()
    return
  }
  replyStream(response, `${CSV}; charset=utf-8`)
  if (request.method === 'HEAD') {
    await iterator.return?.()
    response.end()
    return
  }
  const all = async function* (): AsyncGenerator<string> {
    for (let piece = first; piece.done !== true; piece = await iterator.next()) yield piece.value
  }
  try {
    await pipeline(Readable.from(all()), response)
  } catch (error) {
    // The caller disconnected.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
  }
}
