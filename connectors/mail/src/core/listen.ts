import { once } from 'node:events'
import { lstat, unlink } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Desk } from './desk.js'
import type { Log } from './log.js'
import type { Metrics } from './metrics.js'
import { Malformed } from './question.js'

/** The maximum time for a part to arrive, from its first byte. */
const ARRIVE_WITHIN_MS = 10_000
/** How long a client that ends may take no byte of its last answers. */
const FLUSH_WITHIN_MS = 1_000

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

/** Reads the parts of a protocol, such as questions or packets, from the bytes of one connection. */
export interface PartReader<Part> {
  /** Is there an incomplete part? */
  readonly unfinished: boolean
  /**
   * @returns the parts that these bytes complete, in order
   * @throws Malformed; the parts before it in the same bytes are lost with it
   */
  read(chunk: Buffer): Part[]
}

/** A connection whose client says parts, each in time. If there is no right answer, it ends without one. */
export abstract class PartConnection<Part> implements Connection {
  protected finishing = false
  private arriving: NodeJS.Timeout | undefined

  /** @param idleMs the time without a byte after which the connection ends */
  constructor(
    protected readonly socket: Socket,
    protected readonly desk: Desk,
    private readonly reader: PartReader<Part>,
    idleMs: number,
  ) {
    socket.setTimeout(idleMs, () => socket.destroy())
    socket.on('data', (chunk) => this.read(chunk))
    socket.on('end', () => this.finish())
    socket.on('close', () => clearTimeout(this.arriving))
  }

  /** Is there something to answer? Whoever answers the last of it calls `finish` again. */
  protected abstract readonly busy: boolean

  protected abstract take(parts: Part[]): void

  /** `end` alone is not enough: Postfix checks a connection only when it has a question. */
  finish(): void {
    this.finishing = true
    if (this.busy) return
    this.socket.setTimeout(FLUSH_WITHIN_MS)
    this.socket.destroySoon()
  }

  /** Closes without an answer. */
  protected give(reason: 'slow' | 'failed', error: unknown, queueId?: string): void {
    if (this.socket.destroyed) return
    this.desk.gaveUp(error instanceof Malformed ? 'malformed' : reason, error as Error, queueId)
    this.socket.destroy()
  }

  private read(chunk: Buffer): void {
    // A client that asks on would never let it end.
    if (this.finishing) return
    let parts: Part[]
    try {
      parts = this.reader.read(chunk)
    } catch (error) {
      this.give('failed', error)
      return
    }
    // Each part has its own time; a further byte does not prolong it.
    if (parts.length > 0 || !this.reader.unfinished) {
      clearTimeout(this.arriving)
      this.arriving = undefined
    }
    if (this.reader.unfinished)
      this.arriving ??= setTimeout(() => this.give('slow', new Error('the rest does not arrive')), ARRIVE_WITHIN_MS)
    this.take(parts)
  }
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

/**
 * Removes the socket of an earlier process, which would prevent listening.
 * @throws Error if somebody listens on it, or if it is no socket
 */
async function removeStale(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined) return
  if (!found.isSocket()) throw new Error(`${path} is no socket: it stays`)
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
