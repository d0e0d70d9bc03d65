import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../scripts/mariadb.mjs'
import { guard } from './guard.js'
import { opened } from './opened.js'
import { times } from './wire.js'

const ENTRY = join(process.cwd(), 'connectors/mail/bin/quota-postfix.mjs')
const READY_WITHIN_MS = 20_000

/** A line of the connector's log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly level: string; readonly message: string }

/** The built connector in a separate process. */
export class Connector {
  exited: Promise<number | null> = Promise.resolve(null)
  stderr = ''
  private stdout = ''

  private constructor(
    private readonly child: ChildProcess,
    /** The port for Postfix. */
    readonly port: number,
    /** The port for mail servers that ask filters. */
    readonly milter: number,
    /** The port for questions over HTTP, if there is an `HTTP_TOKEN`. */
    readonly http: number,
    /** The URL of metrics and health. */
    readonly url: string,
  ) {}

  /**
   * @param env settings; those of the two sockets are chosen here, unless given
   * @param before an ended connector, whose ports this one takes
   * @param entry the program; the one in this repository by default
   */
  static async start(env: Record<string, string>, before?: Connector, entry = ENTRY): Promise<Connector> {
    const port = before?.port ?? (await freePort())
    const milter = before?.milter ?? (await freePort())
    const http = before?.http ?? (await freePort())
    const metrics = before === undefined ? await freePort() : Number(new URL(before.url).port)
    const child = spawn(process.execPath, [entry], {
      env: {
        PATH: process.env['PATH'] ?? '',
        LISTEN: `127.0.0.1:${port}`,
        MILTER_LISTEN: `127.0.0.1:${milter}`,
        HTTP_LISTEN: env['HTTP_TOKEN'] === undefined ? 'off' : `127.0.0.1:${http}`,
        METRICS_LISTEN: `127.0.0.1:${metrics}`,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const connector = new Connector(child, port, milter, http, `http://127.0.0.1:${metrics}`)
    const release = child.pid === undefined ? undefined : guard(child.pid)
    opened(() => child.kill('SIGKILL'))
    child.stdout.on('data', (chunk: Buffer) => (connector.stdout += chunk.toString('utf8')))
    child.stderr.on('data', (chunk: Buffer) => (connector.stderr += chunk.toString('utf8')))
    connector.exited = once(child, 'close').then(([code]) => {
      release?.()
      return code as number | null
    })
    const deadline = performance.now() + READY_WITHIN_MS
    while (!connector.stdout.includes('"listening"') && child.exitCode === null) {
      if (performance.now() > deadline) throw new Error(`the connector does not listen:\n${connector.stdout}`)
      await sleep(20)
    }
    return connector
  }

  /** Runs a command of the connector. */
  static async run(
    args: readonly string[],
    env: Record<string, string>,
  ): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const child = spawn(process.execPath, [ENTRY, ...args], { env: { PATH: process.env['PATH'] ?? '', ...env } })
    const said = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name].on('data', (chunk: Buffer) => (said[name] += chunk.toString('utf8')))
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, ...said }
  }

  get log(): LogLine[] {
    return this.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as LogLine)
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name)
  }

  async get(path: string): Promise<{ status: number; text: string }> {
    const response = await fetch(this.url + path)
    return { status: response.status, text: await response.text() }
  }

  /** A metric's value; the sum if there are several series. */
  async metric(name: string, labels = ''): Promise<number> {
    const { text } = await this.get('/metrics')
    return text
      .split('\n')
      .filter((line) => line.startsWith(name) && line.includes(labels))
      .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }
}

/** Plays a Postfix process: a connection with questions. */
export class PolicyClient {
  private text = ''
  private wake: () => void = () => undefined
  ended = false

  constructor(readonly socket: Socket) {
    socket.on('data', (chunk) => {
      this.text += chunk.toString('utf8')
      this.wake()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.ended = true
      this.wake()
    })
    opened(() => socket.destroy())
  }

  static to(target: number | string): PolicyClient {
    return new PolicyClient(typeof target === 'number' ? connect(target, '127.0.0.1') : connect(target))
  }

  /** @returns the action; undefined if the connection ends without an answer */
  async ask(attributes: Record<string, string | number>): Promise<string | undefined> {
    this.socket.write(questionText(attributes))
    return this.answer()
  }

  async answer(): Promise<string | undefined> {
    for (;;) {
      const end = this.text.indexOf('\n\n')
      if (end !== -1) {
        const line = this.text.slice(0, end)
        this.text = this.text.slice(end + 2)
        return line.replace(/^action=/, '')
      }
      if (this.ended) return undefined
      await new Promise<void>((resolve) => (this.wake = resolve))
    }
  }
}

/** A question of Postfix 3.7 at the end of a message, with the given attributes replaced. */
export function questionText(attributes: Record<string, string | number>): string {
  const all = {
    request: 'smtpd_access_policy',
    protocol_state: 'END-OF-MESSAGE',
    protocol_name: 'ESMTP',
    client_address: '192.0.2.7',
    client_name: 'client.test',
    helo_name: 'client.test',
    queue_id: '4F9D195432C',
    instance: '1a2b.6a0b1c2d.e3f4.0',
    sender: 'ann@example.org',
    recipient: '',
    recipient_count: 1,
    sasl_method: 'plain',
    sasl_username: '',
    size: 1234,
    ...attributes,
  }
  return `${Object.entries(all)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')}\n`
}

/** The steps that Postfix 3.7 offers. */
const OFFERED_STEPS = 0x1fffff

/** Plays a mail server with a filter (milter): one SMTP session. */
export class MilterClient {
  private bytes: Buffer = Buffer.alloc(0)
  private wake: () => void = () => undefined
  ended = false

  private constructor(readonly socket: Socket) {
    socket.on('data', (chunk) => {
      this.bytes = Buffer.concat([this.bytes, chunk])
      this.wake()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.ended = true
      this.wake()
    })
    opened(() => socket.destroy())
  }

  /** A connection on which nothing has been sent. */
  static silent(target: number | string): MilterClient {
    return new MilterClient(typeof target === 'number' ? connect(target, '127.0.0.1') : connect(target))
  }

  /** A session of a client; of steps that are not offered, each is answered. */
  static async to(target: number | string, steps = OFFERED_STEPS, client = '192.0.2.7'): Promise<MilterClient> {
    const milter = MilterClient.silent(target)
    const offer = Buffer.alloc(12)
    offer.writeUInt32BE(6, 0)
    offer.writeUInt32BE(steps, 8)
    milter.send('O', offer)
    await milter.answer()
    milter.send('C', `client.test\x004\x00\x19${client}\0`)
    if (steps === 0) await milter.answer()
    return milter
  }

  /** Sends a packet. */
  send(command: string, data: string | Buffer = ''): void {
    this.socket.write(milterPacket(command, data))
  }

  /** Sends an envelope, as far as no answer is awaited. */
  envelope(
    login: string,
    to: number | readonly string[],
    parameters: readonly string[] = [],
    sender = 'ann@example.org',
  ): void {
    if (login !== '') this.send('D', `M{auth_authen}\0${login}\0`)
    this.send('M', [`<${sender}>`, ...parameters].map((text) => `${text}\0`).join(''))
    const addresses = typeof to === 'number' ? times(to).map((n) => `someone-${n}@elsewhere.test`) : to
    for (const address of addresses) this.send('R', `<${address}>\0`)
  }

  /** Sends a whole message. @returns the answer to its end, or to `DATA` */
  async message(login: string, to: number | readonly string[], sender?: string): Promise<string | undefined> {
    this.envelope(login, to, [], sender)
    this.send('T')
    const said = await this.answer()
    if (said !== 'c') return said
    this.send('E')
    return this.answer()
  }

  /** @returns the next packet as text; undefined if the connection ends without one */
  async answer(): Promise<string | undefined> {
    for (;;) {
      const end = this.bytes.length < 4 ? Infinity : 4 + this.bytes.readUInt32BE(0)
      if (end <= this.bytes.length) {
        const packet = this.bytes.toString('latin1', 4, end)
        this.bytes = this.bytes.subarray(end)
        return packet
      }
      if (this.ended) return undefined
      await new Promise<void>((resolve) => (this.wake = resolve))
    }
  }
}

export function milterPacket(command: string, data: string | Buffer = ''): Buffer {
  const body = Buffer.concat([Buffer.from(command), Buffer.from(data)])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length)
  return Buffer.concat([length, body])
}
