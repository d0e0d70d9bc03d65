import type { Socket } from 'node:net'
import type { Request, Response } from 'express'
import { addHeader } from './reply.js'

/** How long what a refused caller is still sending is thrown away before the connection is cut, in milliseconds. */
const DISCARD_MS = 2_000

/**
 * Ends a connection whose caller may still be sending. Closing it outright would answer what is on its way with a
 * reset, and the caller might lose the answer before having read it (RFC 9112, section 9.6).
 */
export function closeGracefully(socket: Socket): void {
  socket.end()
  const cut = setTimeout(() => socket.destroy(), DISCARD_MS)
  cut.unref()
  socket.once('close', () => clearTimeout(cut))
}

/** Sees to it that a body is not waited for: the connection ends with the answer, which is yet to be sent. */
export function closeAfterAnswer({ socket }: Request, response: Response): void {
  addHeader(response, 'Connection', 'close')
  // What Node calls after the last answer of a connection.
  socket.destroySoon = () => closeGracefully(socket)
}
