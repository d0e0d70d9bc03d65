import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { opened } from './opened.js'

/** The fate of one HTTP request on its way to the service. */
export type HttpFate =
  /** It reaches the service, and the answer comes back. */
  | 'pass'
  /** It takes effect; its answer is lost with the connection. */
  | 'lose'
  /** The connection is reset before the whole request has reached the service. */
  | 'reset before'
  /** It takes effect; the connection is reset within its answer. */
  | 'reset within'
  /** It takes effect; the answer is replaced by `instead`, as by a gateway that is overloaded. */
  | 'replace'

/** Decides about each request, by its head (`POST /api/v1/quotas HTTP/1.1 …`). */
export type HttpRule = (head: string) => HttpFate

/** Loses one answer in ten, and resets one connection in twenty. */
export const LOSSY: HttpRule = () => {
  const chance = Math.random()
  if (chance < 0.1) return 'lose'
  if (chance < 0.125) return 'reset before'
  return chance < 0.15 ? 'reset within' : 'pass'
}

/** A proxy between the service and a client that sends one request after the other on a connection. */
export class LossyProxy {
  rule: HttpRule = () => 'pass'
  /** A whole answer, without a body. */
  instead = ''
  /** The number of requests by fate. */
  readonly count: Record<HttpFate, number> = { pass: 0, lose: 0, 'reset before': 0, 'reset within': 0, replace: 0 }
  private readonly sockets = new Set<Socket>()
  private readonly listener: Server
  private closed: () => void = () => undefined

  private constructor(private readonly target: URL) {
    this.listener = createServer((client) => this.join(client))
  }

  /** @param url the real URL of the service */
  static async start(url: string): Promise<LossyProxy> {
    const proxy = new LossyProxy(new URL(url))
    proxy.closed = opened(async () => proxy.close())
    proxy.listener.listen(0, '127.0.0.1')
    await once(proxy.listener, 'listening')
    return proxy
  }

  /** The service's URL through the proxy. */
  get url(): string {
    return `http://127.0.0.1:${(this.listener.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    const closed = once(this.listener, 'close')
    this.listener.close()
    for (const socket of this.sockets) socket.destroy()
    await closed
    this.closed()
  }

  private join(client: Socket): void {
    const server = connect(Number(this.target.port), this.target.hostname)
    let fate: HttpFate = 'pass'
    // If the request before this has been answered, the next bytes begin another.
    let answered = true
    const cut = (): void => {
      client.resetAndDestroy()
      server.destroy()
    }
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.sockets.delete(socket)
        other.destroy()
      })
    }
    client.on('data', (chunk: Buffer) => {
      if (answered) {
        answered = false
        fate = this.rule(chunk.toString('latin1'))
        this.count[fate] += 1
      }
      if (fate !== 'reset before') server.write(chunk)
      else server.write(chunk.subarray(0, chunk.length / 2), cut)
    })
    server.on('data', (chunk: Buffer) => {
      answered = true
      if (fate === 'pass') client.write(chunk)
      else if (fate === 'replace') client.write(this.instead)
      else if (fate === 'lose') cut()
      else if (fate === 'reset within') client.write(chunk.subarray(0, chunk.length / 2), cut)
    })
  }
}
