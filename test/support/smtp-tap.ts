import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { opened } from './opened.js'

/** A message that the mail server has accepted. */
export interface Accepted {
  /** What `SmtpWatch.opening` returned for its connection. */
  readonly reign: number
  /** As sent, from the header on. */
  readonly text: string
}

/** Watches the connections of one sender. */
export interface SmtpWatch {
  /** Called for each connection, which waits for it before it reaches the server. */
  opening(): Promise<number>
  /**
   * Called when a message is `given`, except for its end, which waits for this; and when it is `accepted`, and the
   * sender does not know it yet.
   * @returns has the sender died? Then nothing more passes
   */
  dies(moment: 'given' | 'accepted'): Promise<boolean>
}

const END = '\r\n.\r\n'

/** A proxy between a sender and a mail server, without encryption, with one message on each connection. */
export class SmtpTap {
  readonly accepted: Accepted[] = []
  private readonly sockets = new Set<Socket>()
  private readonly listener: Server

  private constructor(
    private readonly target: number,
    private readonly watch: SmtpWatch,
  ) {
    this.listener = createServer((client) => {
      this.keep(client)
      void watch.opening().then((reign) => this.join(client, reign))
    })
  }

  /** @param target the mail server's port */
  static async start(target: number, watch: SmtpWatch): Promise<SmtpTap> {
    const tap = new SmtpTap(target, watch)
    tap.listener.listen(0, '127.0.0.1')
    await once(tap.listener, 'listening')
    opened(() => {
      tap.listener.close()
      for (const socket of tap.sockets) socket.destroy()
    })
    return tap
  }

  get url(): string {
    return `smtp://127.0.0.1:${(this.listener.address() as AddressInfo).port}`
  }

  private keep(socket: Socket): void {
    this.sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => this.sockets.delete(socket))
  }

  private join(client: Socket, reign: number): void {
    const server = connect(this.target, '127.0.0.1')
    this.keep(server)
    let said = ''
    let state: 'talking' | 'given' | 'answered' = 'talking'
    server.on('close', () => client.destroy())
    // The server may accept what was given by one who has died since.
    const left = (): void => {
      if (state !== 'given') server.destroy()
    }
    client.on('close', left)
    if (client.destroyed) left()
    client.on('data', (chunk) => {
      said += chunk.toString('latin1')
      if (state !== 'talking' || !said.endsWith(END)) server.write(chunk)
      else
        void this.watch.dies('given').then((dies) => {
          if (dies) server.destroy()
          else {
            state = 'given'
            server.write(chunk)
          }
        })
    })
    server.on('data', (chunk) => {
      const isLast = state === 'given'
      if (isLast) state = 'answered'
      if (!isLast || !chunk.toString('latin1').startsWith('250 ')) {
        client.write(chunk)
        return
      }
      this.accepted.push({ reign, text: said.slice(said.indexOf('\r\nDATA\r\n') + '\r\nDATA\r\n'.length) })
      void this.watch.dies('accepted').then((dies) => {
        if (dies || client.destroyed) server.destroy()
        else client.write(chunk)
      })
    })
  }
}
