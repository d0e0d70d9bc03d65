import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { opened } from './opened.js'

/** The fate of one statement on its way to the server. */
export type Fate =
  /** It reaches the server, and the answer comes back. */
  | 'pass'
  /** The connection breaks before the statement reaches the server. */
  | 'cut'
  /** The server executes it; its answer is lost with the connection. */
  | 'swallow'
  /** The server executes it; its answer never comes, and the connection stays. */
  | 'silence'
  /** It does not reach the server; the proxy answers with this error number. */
  | { readonly error: number }
  /** The server executes it, and the answer is this error number nevertheless. */
  | { readonly errorAfter: number }
  /** The server executes it; then this is called, and the answer never comes. */
  | { readonly after: () => void }

/** A statement on its way. */
export interface Statement {
  readonly text: string
  /** The statements of the connection since its transaction began, START TRANSACTION first; empty outside of one. */
  readonly earlier: readonly string[]
}

/** Decides about each statement; may be asynchronous, and the statement waits. */
export type Rule = (statement: Statement) => Fate | Promise<Fate>

const QUERY = 0x03
/**
 * The offset of a query's text; MySQL 8.0.23 and later put the number of its attributes (none) and of their sets
 * (one) before it.
 */
const TEXT_AT = 5
const ATTRIBUTES = 2
/** The server returns this after a statement, as proof that it executed the statement. */
const DONE = 'carried out'
const ERROR_HEADER = 0xff
const SQL_STATES: Readonly<Record<number, string>> = { 1213: '40001', 1047: '08S01' }

class Line {
  earlier: string[] = []
  /** If set, gets the server's data instead of the client. */
  onAnswer: ((chunk: Buffer) => void) | undefined
  /** Are all data dropped, even the end of the connection? */
  muted = false
  private pending: Buffer = Buffer.alloc(0)
  private order: Promise<void> = Promise.resolve()

  constructor(
    readonly client: Socket,
    readonly server: Socket,
    private readonly ruleOf: () => Rule | undefined,
  ) {
    for (const socket of [client, server]) {
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
    }
    client.on('close', () => {
      if (!this.muted) server.destroy()
    })
    server.on('close', () => {
      if (!this.muted) client.destroy()
    })
    server.on('data', (chunk: Buffer) => {
      if (this.muted) return
      if (this.onAnswer === undefined) client.write(chunk)
      else this.onAnswer(chunk)
    })
    client.on('data', (chunk: Buffer) => {
      if (this.muted) return
      this.pending = Buffer.concat([this.pending, chunk])
      // A packet is three bytes of length, one of sequence number, and its content.
      while (this.pending.length >= 4) {
        const end = 4 + this.pending.readUIntLE(0, 3)
        if (this.pending.length < end) break
        const packet = this.pending.subarray(0, end)
        this.pending = this.pending.subarray(end)
        this.order = this.order.then(() => this.pass(packet))
      }
    })
  }

  cut(): void {
    // Both ways to lose a connection: an orderly end, and a reset.
    if (Math.random() < 0.5) this.client.destroy()
    else this.client.resetAndDestroy()
    this.server.destroy()
  }

  private async pass(packet: Buffer): Promise<void> {
    // Only a command begins with sequence number 0; the handshake passes unchanged.
    if (packet[3] !== 0 || packet[4] !== QUERY) {
      this.server.write(packet)
      return
    }
    const head = packet[TEXT_AT] === 0 && packet[TEXT_AT + 1] === 1 ? ATTRIBUTES : 0
    const statements = statementsIn(packet.subarray(TEXT_AT + head).toString('utf8'))
    for (const [place, text] of statements.entries()) {
      const fate = (await this.ruleOf()?.({ text, earlier: this.earlier })) ?? 'pass'
      if (text === 'START TRANSACTION') this.earlier = [text]
      else if (text === 'COMMIT' || text === 'ROLLBACK') this.earlier = []
      else if (this.earlier.length > 0) this.earlier.push(text)
      if (fate === 'pass') continue
      if (statements.length === 1) this.meet(fate, packet)
      else this.meetWithin(fate, statements.slice(0, place), text, packet.subarray(TEXT_AT, TEXT_AT + head))
      return
    }
    this.server.write(packet)
  }

  /** Applies a fate to a packet with one statement. */
  private meet(fate: Fate, packet: Buffer): void {
    if (fate === 'cut') this.cut()
    else if (typeof fate === 'object' && 'error' in fate) this.client.write(errorPacket(fate.error))
    else {
      if (fate === 'swallow') this.onAnswer = () => this.cut()
      else if (fate === 'silence') this.onAnswer = () => undefined
      else if (typeof fate === 'object' && 'after' in fate) this.onAnswer = fate.after
      else if (typeof fate === 'object') {
        this.onAnswer = () => {
          this.onAnswer = undefined
          this.client.write(errorPacket(fate.errorAfter))
        }
      }
      this.server.write(packet)
    }
  }

  /**
   * Applies a fate to one statement among others: those before it are executed, those after it never reach the
   * server.
   */
  private meetWithin(fate: Fate, before: readonly string[], text: string, head: Buffer): void {
    const send = (statements: readonly string[]): boolean => this.server.write(queryPacket(statements, head))
    if (fate === 'silence') {
      this.onAnswer = () => undefined
      send([...before, text])
    } else if (fate === 'cut' || fate === 'swallow' || (typeof fate === 'object' && 'after' in fate)) {
      const then = typeof fate === 'object' ? fate.after : () => this.cut()
      let heard = ''
      this.onAnswer = (chunk) => {
        heard += chunk.toString('latin1')
        if (heard.includes(DONE)) then()
      }
      send([...before, ...(fate === 'cut' ? [] : [text]), signal(1644, DONE)])
    } else if (typeof fate === 'object') {
      // The server itself raises the error, at its place among the answers.
      if ('error' in fate) send([...before, signal(fate.error)])
      else send([...before, text, signal(fate.errorAfter)])
    }
  }
}

/** A statement that fails with this error. */
function signal(number: number, message = 'injected by the test'): string {
  return `SIGNAL SQLSTATE '${SQL_STATES[number] ?? 'HY000'}' SET MYSQL_ERRNO = ${number}, MESSAGE_TEXT = '${message}'`
}

function queryPacket(statements: readonly string[], head: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from([QUERY]), head, Buffer.from(statements.join(';\n'))])
  const length = Buffer.alloc(4)
  length.writeUIntLE(content.length, 0, 3)
  return Buffer.concat([length, content])
}

/** The statements of a query, separated by semicolons outside of quotes. */
function statementsIn(text: string): string[] {
  const found: string[] = []
  let from = 0
  let quote = ''
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]!
    if (character === '\\' && quote !== '') at += 1
    else if (quote !== '') quote = character === quote ? '' : quote
    else if (character === "'" || character === '`') quote = character
    else if (character === ';') {
      found.push(text.slice(from, at).trim())
      from = at + 1
    }
  }
  return [...found, text.slice(from).trim()]
}

function errorPacket(number: number): Buffer {
  const state = SQL_STATES[number] ?? 'HY000'
  const content = Buffer.from(`___#${state}injected by the test`, 'latin1')
  content[0] = ERROR_HEADER
  content.writeUInt16LE(number, 1)
  const head = Buffer.alloc(4)
  head.writeUIntLE(content.length, 0, 3)
  head[3] = 1
  return Buffer.concat([head, content])
}

/**
 * A proxy between the service and its database that understands the necessary part of the protocol, and breaks
 * statements as a rule says.
 */
export class TcpProxy {
  /** Called for every statement; without one, all pass. */
  rule: Rule | undefined
  private readonly lines = new Set<Line>()
  private readonly listener: Server
  private closed: () => void = () => undefined

  private constructor(private readonly target: URL) {
    this.listener = createServer((client) => {
      const server = connect(Number(target.port), target.hostname)
      const line = new Line(client, server, () => this.rule)
      this.lines.add(line)
      server.on('close', () => this.lines.delete(line))
    })
  }

  /** @param databaseUrl the real URL of the database */
  static async start(databaseUrl: string): Promise<TcpProxy> {
    const target = new URL(databaseUrl)
    if (target.port === '') target.port = '3306'
    const proxy = new TcpProxy(target)
    proxy.closed = opened(async () => proxy.close())
    proxy.listener.listen(0, '127.0.0.1')
    await once(proxy.listener, 'listening')
    return proxy
  }

  /** The database's URL through the proxy. */
  get url(): string {
    const url = new URL(this.target)
    url.hostname = '127.0.0.1'
    url.port = String((this.listener.address() as AddressInfo).port)
    return url.toString()
  }

  /** Breaks every connection. */
  cut(): void {
    for (const line of this.lines) line.cut()
  }

  /**
   * From now on nothing passes on the existing connections, and neither end is notified, as with an unplugged cable.
   * New ones work.
   */
  mute(): void {
    for (const line of this.lines) line.muted = true
  }

  async close(): Promise<void> {
    const closed = once(this.listener, 'close')
    this.listener.close()
    this.cut()
    await closed
    this.closed()
  }
}
