import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { opened } from './opened.js'

/** One answer as received. */
export interface RawAnswer {
  readonly status: number
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const PATIENCE_MS = 20_000

/** A connection that writes bytes unchanged, so that invalid requests can be sent. */
export class RawClient {
  private text = ''
  private over = false
  private readonly taken: RawAnswer[] = []
  /** The position of the next answer. */
  private start = 0

  private constructor(
    private readonly socket: Socket,
    private readonly began = performance.now(),
  ) {
    socket.on('data', (chunk: Buffer) => (this.text += chunk.toString('latin1')))
    socket.on('error', () => undefined)
    for (const event of ['end', 'close']) socket.on(event, () => (this.over = true))
  }

  static async open(port: number): Promise<RawClient> {
    // Half open: a caller that continues sending after the server has ended the connection.
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const client = new RawClient(socket)
    // A half-open socket would stay open for ever, and keep Jest's worker from ending.
    socket.once(
      'close',
      opened(() => socket.destroy()),
    )
    await once(socket, 'connect')
    return client
  }

  /** The age of the connection in milliseconds. */
  get age(): number {
    return performance.now() - this.began
  }

  /** Has the other side closed the connection completely? */
  get closed(): boolean {
    return this.over
  }

  write(bytes: string | Buffer): this {
    this.socket.write(bytes, 'latin1' as BufferEncoding)
    return this
  }

  /** Stops reading. */
  pause(): this {
    this.socket.pause()
    return this
  }

  /** Reads on. */
  resume(): this {
    this.socket.resume()
    return this
  }

  /** All answers so far. */
  get answers(): readonly RawAnswer[] {
    while (this.takeOne());
    return this.taken
  }

  /** Scans each byte once: thousands of answers may arrive on a dozen connections. */
  private takeOne(): boolean {
    const { text, start } = this
    const end = text.indexOf('\r\n\r\n', start)
    if (end === -1) return false
    const [first = '', ...lines] = text.slice(start, end).split('\r\n')
    const status = Number(first.split(' ')[1])
    const headers = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
    )
    // Without a length, the body ends with the connection.
    const endless = headers['content-length'] === undefined && status >= 200 && status !== 204
    if (endless && !this.over) return false
    const from = end + 4
    const length = endless ? text.length - from : Number(headers['content-length'] ?? 0)
    if (text.length < from + length) return false
    this.taken.push({ status, headers, body: text.slice(from, from + length) })
    this.start = from + length
    return true
  }

  /** Waits for this number of answers. @throws if they do not arrive */
  async heard(count = 1): Promise<readonly RawAnswer[]> {
    await this.until(() => this.answers.length >= count, `${count} answers`)
    return this.answers
  }

  /** Waits for this number of answers, or for an earlier end of the connection. */
  async heardOrEnded(count: number): Promise<readonly RawAnswer[]> {
    await this.until(() => this.over || this.answers.length >= count, `${count} answers`)
    return this.answers
  }

  /** Waits until the other side has closed the connection. @throws if it does not */
  async end(): Promise<this> {
    await this.until(() => this.over, 'the end of the connection')
    return this
  }

  /** Breaks the connection. */
  destroy(): void {
    this.socket.destroy()
  }

  private async until(met: () => boolean, what: string): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS
    while (!met()) {
      const vain = performance.now() > deadline || this.over
      if (vain) throw new Error(`no ${what}${this.over ? ' before the end' : ''}; heard: ${this.text.slice(0, 2000)}`)
      await sleep(5)
    }
  }
}
