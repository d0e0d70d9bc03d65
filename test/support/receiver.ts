import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { opened } from './opened.js'

/** A message as received. */
export interface Received {
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string
}

/** Answers one message. */
export type Answer = (response: ServerResponse, message: Received, request: IncomingMessage) => void

/** Answers with only a status. */
export const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(code, headers).end()

/** A receiver of webhooks: on loopback, with an answer for each path. */
export class Receiver {
  readonly messages: Received[] = []
  /** By path; default: 204. */
  readonly answers = new Map<string, Answer>()

  private constructor(
    private readonly server: Server,
    private readonly closed: () => void,
  ) {}

  static async start(): Promise<Receiver> {
    const server = createServer((request, response) => void receiver.take(request, response))
    const closed = opened(async () => {
      server.closeAllConnections()
      server.close()
    })
    const receiver = new Receiver(server, closed)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return receiver
  }

  url(path: string): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}${path}`
  }

  /** The messages to a path, in order. */
  of(path: string): Received[] {
    return this.messages.filter((message) => message.path === path)
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await once(this.server, 'close')
    this.closed()
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const message = {
      path: request.url ?? '',
      headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
      body: Buffer.concat(chunks).toString('utf8'),
    }
    this.messages.push(message)
    const answer = this.answers.get(message.path) ?? status(204)
    answer(response, message, request)
  }
}
