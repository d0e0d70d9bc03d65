import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { opened } from './opened.js'

/** A message as received. */
export interface Mail {
  readonly to: readonly string[]
  readonly text: string
  /** Was the connection encrypted, and who had signed in? */
  readonly secure: boolean
  readonly user: string | undefined
}

/** A mail server on loopback, which can be slow, refuse recipients, and close connections. */
export class MailServer {
  readonly mails: Mail[] = []
  /** The reply to a recipient that is refused, by address: a code and words. */
  readonly refused = new Map<string, [number, string]>()
  /** `never`: greets nobody. `cuts`: closes connections in the middle of messages. */
  behaviour: 'ordinary' | 'never' | 'cuts' = 'ordinary'
  /** The number of connections so far. */
  connected = 0
  /** The number of times that somebody signed in or began a message. */
  begun = 0
  private readonly server: SMTPServer
  private readonly closed: () => void

  private constructor(options: SMTPServerOptions) {
    this.server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['AUTH'],
      logger: false,
      onConnect: (_session, callback) => {
        this.connected += 1
        if (this.behaviour !== 'never') callback()
      },
      onAuth: ({ username }, _session, callback) => {
        this.begun += 1
        callback(null, { user: username })
      },
      onMailFrom: (_address, _session, callback) => {
        this.begun += 1
        callback()
      },
      onRcptTo: ({ address }, _session, callback) => {
        const [responseCode, words] = this.refused.get(address) ?? []
        callback(responseCode === undefined ? null : Object.assign(new Error(words), { responseCode }))
      },
      onData: (stream, { envelope, secure, user }, callback) => {
        const chunks: Buffer[] = []
        stream.on('data', (chunk: Buffer) => chunks.push(chunk))
        stream.on('end', () => {
          if (this.behaviour === 'cuts') {
            for (const connection of this.server.connections) connection._socket.destroy()
            return
          }
          const to = envelope.rcptTo.map(({ address }) => address)
          this.mails.push({ to, text: Buffer.concat(chunks).toString('utf8'), secure, user })
          callback()
        })
      },
      ...options,
    })
    this.server.on('error', () => undefined)
    this.closed = opened(async () => this.stop())
  }

  /** @param options others than those of a server without signing in */
  static async start(options: SMTPServerOptions = {}): Promise<MailServer> {
    const server = new MailServer(options)
    const listening = server.server.listen(0, '127.0.0.1')
    if (!listening.listening) await once(listening, 'listening')
    return server
  }

  get port(): number {
    return (this.server.server.address() as AddressInfo).port
  }

  get url(): string {
    return `smtp://127.0.0.1:${this.port}`
  }

  /** The mails to an address, in order. */
  to(address: string): Mail[] {
    return this.mails.filter(({ to }) => to.includes(address))
  }

  async stop(): Promise<void> {
    for (const connection of this.server.connections) connection._socket.destroy()
    await new Promise<void>((resolve) => this.server.close(() => resolve()))
    this.closed()
  }
}

/** The headers of a mail, by name, and its text. */
export function parsed(text: string): { headers: Map<string, string>; body: string } {
  const [head = '', ...rest] = text.split('\r\n\r\n')
  const lines = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n')
  const headers = new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]))
  const quoted = rest.join('\r\n\r\n').replace(/=\r\n/g, '')
  const bytes = quoted.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return { headers, body: Buffer.from(bytes, 'latin1').toString('utf8').replaceAll('\r\n', '\n') }
}

/** The text of a header's encoded words (RFC 2047). */
export function decoded(header: string): string {
  const bytes = header
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?UTF-8\?([QB])\?(.*?)\?=/gi, (_, encoding: string, text: string) =>
      encoding.toUpperCase() === 'B'
        ? Buffer.from(text, 'base64').toString('latin1')
        : text
            .replaceAll('_', ' ')
            .replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    )
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
