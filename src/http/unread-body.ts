import type { Socket } from 'node:net'
import type { Request, Response } from 'express'
import { addHeader } from './reply.js'

/** How long the rest of a refused request is discarded before the connection is destroyed, in milliseconds. */
const DISCARD_MS = 2_000

/**
 * Ends a connection whose caller may still be sending. Closing it at once would reset the connection, and the caller
 * might lose the response before reading it (RFC 9112, section 9.6).
 */
export function closeGracefully(socket: Socket): void {
  socket.end()
  const cut = setTimeout(() => socket.destroy(), DISCARD_MS)
  cut.unref()
  socket.once('close', () => clearTimeout(cut))
}

/** Closes the connection after the response, which is not sent yet, instead of waiting for the rest of the body. */
export function closeAfterAnswer({ socket }: Request, response: Response): void {
  addHeader(response, 'Connection', 'close')
  // Node calls this after the last response of a connection.
  socket.destroySoon = () => closeGracefully(socket)
}
