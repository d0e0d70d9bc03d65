import { once } from 'node:events'
import { unlink } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Log } from './log.js'
import type { Metrics } from './metrics.js'

/** The address to listen on: a port, or a Unix socket. */
export type Address = { readonly host: string; readonly port: number } | { readonly path: string }

/** A protocol, as it is served. */
export interface Front {
  /** The address that it listens on. */
  readonly address: ReturnType<Server['address']>
  /** Accepts no new connections; answers pending questions, and then ends the connections. */
  close(): Promise<void>
}

/** A connection of a front. */
export interface Connection {
  /** Ends when all is answered. */
  finish(): void
}

/**
 * Listens for connections of a front.
 * @param maxConnections further connections are closed at once
 * @throws Error if listening on the address fails
 */
export async function serveSockets(
  address: Address,
  maxConnections: number,
  { metrics, log }: { readonly metrics: Metrics; readonly log: Log },
  take: (socket: Socket) => Connection,
): Promise<Front> {
  const connections = new Set<Connection>()
  // A client may close its half after its last question, and still reads the answer.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    if (connections.size >= maxConnections) {
      metrics.closed.inc({ reason: 'too_many' })
      log.warn({ connections: connections.size }, 'a connection was closed: there are too many')
      socket.destroy()
      return
    }
    const connection = take(socket)
    connections.add(connection)
    metrics.connections.inc()
    socket.on('error', (error) => log.debug({ error: error.message }, 'a connection broke'))
    socket.once('close', () => {
      connections.delete(connection)
      metrics.connections.dec()
    })
  })
  await listenOn(server, address)
  return {
    address: server.address(),
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const connection of connections) connection.finish()
      await closed
    },
  }
}

/** @throws Error if listening on the address fails */
export async function listenOn(server: Server, address: Address): Promise<void> {
  if ('path' in address) await removeStale(address.path)
  // The permissions of its folder determine which processes can reach the socket.
  const options = 'path' in address ? { ...address, readableAll: true, writableAll: true } : address
  server.listen({ ...options, backlog: 1_024 })
  await once(server, 'listening')
}

/** Removes the socket of an earlier process, which would prevent listening. */
async function removeStale(path: string): Promise<void> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') await unlink(path)
    return
  } finally {
    socket.destroy()
  }
  throw new Error(`somebody listens on ${path} already`)
}
