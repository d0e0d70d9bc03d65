import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Desk } from '../core/desk.js'
import type { Verdict } from '../core/judge.js'
import type { Connection } from '../core/listen.js'
import {
  addressOf,
  agreementOf,
  MalformedPacket,
  offerOf,
  type Packet,
  packetOf,
  PacketReader,
  replyOf,
  STEPS,
  textsOf,
} from './milter-packet.js'

/** The newest version of the protocol. */
const VERSION = 6
/** The number of waiting packets at which nothing is read; a mail server waits for an answer itself. */
const MAX_WAITING = 1_000
/** The maximum time for a packet to arrive, from its first byte. */
const ARRIVE_WITHIN_MS = 10_000
/** As libmilter: a mail server is silent while its client sends a message. */
const IDLE_MS = 7_210_000

const CODES = { defer: '451 4.7.1', reject: '550 5.7.1' } as const
const GO_ON = packetOf('c')

/** What questions need. */
export interface Needs {
  /** The size of the message: only then are headers and bodies sent. */
  readonly size: boolean
  /** An answer to each recipient. */
  readonly checkAtRcpt: boolean
}

/** A message of which the envelope, at least, has begun. */
interface Message {
  readonly instance: string
  readonly sender: string
  readonly saslUsername: string
  /** Bytes, as the client has announced them, or 0. */
  readonly announced: number
  recipients: number
  /** Bytes of headers and body so far. */
  size: number
}

/**
 * The protocol of mail filters (milters). A message is checked at `DATA`, and charged at its end. If there is no right
 * answer, the connection is closed, and the mail server does what it is told to for filters that fail.
 *
 * An abort after the end says nothing: Postfix sends one after every message. A mail server that has gone before the
 * answer has not accepted the message, and does not ask again.
 */
export class MilterConnection implements Connection {
  private readonly reader = new PacketReader()
  private arriving: NodeJS.Timeout | undefined
  private readonly waiting: Packet[] = []
  private working = false
  private gone = false
  private finishing = false
  /** As agreed; undefined before. */
  private steps: number | undefined
  private clientAddress = ''
  /** Macros of the next `MAIL`. */
  private login = ''
  private queueId = ''
  private message: Message | undefined

  constructor(
    private readonly socket: Socket,
    private readonly desk: Desk,
    private readonly needs: Needs,
  ) {
    socket.setTimeout(IDLE_MS, () => socket.destroy())
    socket.on('data', (chunk) => this.read(chunk))
    socket.on('end', () => this.leave())
    socket.on('close', () => this.leave())
  }

  finish(): void {
    this.finishing = true
    if (!this.working) this.socket.destroySoon()
  }

  private leave(): void {
    this.gone = true
    clearTimeout(this.arriving)
    this.finish()
  }

  private read(chunk: Buffer): void {
    try {
      this.waiting.push(...this.reader.read(chunk))
    } catch (error) {
      this.give('malformed', error)
      return
    }
    // Each packet has its own time; a further byte does not prolong it.
    if (this.waiting.length > 0 || !this.reader.unfinished) {
      clearTimeout(this.arriving)
      this.arriving = undefined
    }
    if (this.reader.unfinished)
      this.arriving ??= setTimeout(() => this.give('slow', new Error('a packet does not end')), ARRIVE_WITHIN_MS)
    if (this.waiting.length > MAX_WAITING) this.socket.pause()
    if (!this.working) void this.work()
  }

  private async work(): Promise<void> {
    this.working = true
    try {
      for (let packet = this.waiting.shift(); packet !== undefined; packet = this.waiting.shift()) {
        await this.take(packet)
        // A reader that does not read gets no more answers.
        if (this.finishing || this.socket.destroyed || this.socket.writableNeedDrain) break
      }
    } catch (error) {
      this.give(error instanceof MalformedPacket ? 'malformed' : 'failed', error)
    }
    this.working = false
    if (this.finishing) this.socket.destroySoon()
    else if (this.socket.writableNeedDrain) this.socket.pause().once('drain', () => void this.work())
    else this.socket.resume()
  }

  private async take({ command, data, bytes }: Packet): Promise<void> {
    if (command !== 'O' && this.steps === undefined) throw new MalformedPacket('no negotiation')
    switch (command) {
      case 'O':
        this.negotiate(data)
        break
      case 'D':
        this.keep(data)
        break
      case 'C':
        this.clientAddress = addressOf(data)
        this.goOn(STEPS.connectUnanswered)
        break
      case 'H':
      case 'N':
      case 'U':
        this.goOn()
        break
      case 'M':
        this.begin(textsOf(data))
        break
      case 'R':
        return this.recipient()
      case 'T':
        return this.ask('DATA')
      case 'L':
      case 'B':
        this.begun.size += bytes
        this.goOn(command === 'L' ? STEPS.headersUnanswered : STEPS.bodyUnanswered)
        break
      case 'E':
        this.begun.size += data.length
        await this.ask('END-OF-MESSAGE')
        this.forget()
        break
      case 'A':
        this.forget()
        break
      case 'K':
        this.clientAddress = ''
        this.forget()
        break
      case 'Q':
        this.finish()
        break
      default:
        throw new MalformedPacket('an unknown command')
    }
  }

  /** What the mail server offers is agreed on, as far as it is of use. */
  private negotiate(data: Buffer): void {
    const { version, steps } = offerOf(data)
    const { noHelo, noEndOfHeaders, noUnknown, connectUnanswered, mailUnanswered } = STEPS
    let wanted = noHelo | noEndOfHeaders | noUnknown | connectUnanswered | mailUnanswered
    wanted |= this.needs.size
      ? STEPS.headersUnanswered | STEPS.bodyUnanswered | STEPS.headersWithSpace
      : STEPS.noHeaders | STEPS.noBody
    if (!this.needs.checkAtRcpt) wanted |= STEPS.recipientUnanswered
    this.steps = steps & wanted
    this.say(agreementOf(Math.min(version, VERSION), this.steps))
  }

  /** Macros of the next command, whose letter is the first byte. */
  private keep(data: Buffer): void {
    const texts = textsOf(data.subarray(1))
    const macro = (name: string): string | undefined => {
      const at = texts.findIndex((text, n) => n % 2 === 0 && text === name)
      return at === -1 ? undefined : texts[at + 1]
    }
    this.queueId = macro('i') ?? this.queueId
    if (data.toString('latin1', 0, 1) === 'M') this.login = macro('{auth_authen}') ?? ''
  }

  private begin([sender = '', ...parameters]: string[]): void {
    const [, announced = '0'] = /^SIZE=(\d{1,12})$/im.exec(parameters.join('\n')) ?? []
    this.message = {
      instance: randomUUID(),
      sender: sender.replace(/^<|>$/g, ''),
      saslUsername: this.login,
      announced: Number(announced),
      recipients: 0,
      // The empty line between headers and body.
      size: 2,
    }
    this.login = ''
    this.goOn(STEPS.mailUnanswered)
  }

  /** The mail server has accepted this one; it sends those that it refuses only on request. */
  private async recipient(): Promise<void> {
    if (this.needs.checkAtRcpt) return this.ask('RCPT')
    this.begun.recipients += 1
    this.goOn(STEPS.recipientUnanswered)
  }

  private async ask(state: 'RCPT' | 'DATA' | 'END-OF-MESSAGE'): Promise<void> {
    const { begun, clientAddress, queueId } = this
    const { instance, sender, saslUsername, announced, recipients: recipientCount } = begun
    const size = state === 'END-OF-MESSAGE' && this.needs.size ? begun.size : announced
    await this.desk.answer(
      { state, instance, repeats: false, queueId, sender, saslUsername, clientAddress, recipientCount, size },
      (verdict) => {
        if (state === 'RCPT' && verdict.answer === 'pass') begun.recipients += 1
        this.say(packetFor(verdict))
        return !this.gone
      },
    )
  }

  private get begun(): Message {
    if (this.message === undefined) throw new MalformedPacket('no message has begun')
    return this.message
  }

  private forget(): void {
    this.message = undefined
    this.login = ''
    this.queueId = ''
  }

  /** @param unanswered the step that makes the mail server wait for no answer, if it is agreed on */
  private goOn(unanswered = 0): void {
    if (((this.steps ?? 0) & unanswered) === 0) this.say(GO_ON)
  }

  private say(packet: Buffer): void {
    if (this.socket.writable) this.socket.write(packet)
  }

  /** Closes without an answer. */
  private give(reason: 'malformed' | 'slow' | 'failed', error: unknown): void {
    if (this.socket.destroyed) return
    this.desk.gaveUp(reason, error as Error, this.queueId)
    this.waiting.length = 0
    this.socket.destroy()
  }
}

function packetFor({ answer, text }: Verdict): Buffer {
  return answer === 'pass' ? GO_ON : replyOf(`${CODES[answer]} ${text}`)
}
