import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Request, Response } from 'express'
import type { StreamedBody } from './body-stream.js'
import { replyStream } from './reply.js'

/** The media type of files that come and go. */
export const CSV = 'text/csv'

/** A file that comes: 50 MB at most (contract, §11). */
export const CSV_BODY: StreamedBody = { mediaType: CSV, limit: 50_000_000 }

/** A file that goes out, in the API document. */
export const CSV_SCHEMA = { description: 'The file, piece by piece.', schema: { type: 'string' } } as const

/**
 * Answers with a file, no faster than it is read. A failure before its first piece is a problem like any other; a later
 * one breaks the connection, so that nobody takes half a file for the whole.
 */
export async function stream(request: Request, response: Response, pieces: AsyncIterable<string>): Promise<void> {
  const iterator = pieces[Symbol.asyncIterator]()
  const first = await iterator.next()
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
    // Whoever does not want the rest has gone.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
  }
}
