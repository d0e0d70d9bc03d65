import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Desk } from '../core/desk.js'
import type { Verdict } from '../core/judge.js'
import { PartConnection } from '../core/listen.js'
import { Malformed } from '../core/question.js'
import * as wire from './milter-packet.js'

const { STEPS } = wire

/** The newest version of the protocol. */
const VERSION = 6
/** The number of waiting packets at which nothing is read; a mail server waits for an answer itself. */
const MAX_WAITING = 1_000
/** As libmilter: a mail server is silent while its client sends a message. */
const IDLE_MS = 7_210_000

const CODES = { defer: '451 4.7.1', reject: '550 5.7.1' } as const
const GO_ON = wire.packetOf('c')
const NOBODY = { address: '', port: 0 }

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
  recipientCount: number
  /** Those of them that are local. */
  localCount: number
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
export class MilterConnection extends PartConnection<wire.Packet> {
  private readonly waiting: wire.Packet[] = []
  protected busy = false
  /** As agreed; undefined before. */
  private steps: number | undefined
  private client = NOBODY
  /** Macros of the next `MAIL`. */
  private login = ''
  private queueId = ''
  private message: Message | undefined

  constructor(
    socket: Socket,
    desk: Desk,
    private readonly needs: Needs,
  ) {
    super(socket, desk, new wire.PacketReader(), IDLE_MS)
  }

  protected take(packets: wire.Packet[]): void {
    this.waiting.push(...packets)
    if (this.waiting.length > MAX_WAITING) this.socket.pause()
    if (!this.busy) void this.work()
  }

  private async work(): Promise<void> {
    this.busy = true
    try {
      for (let packet = this.waiting.shift(); packet !== undefined; packet = this.waiting.shift()) {
        await this.follow(packet)
        // A reader that does not read gets no more answers.
        if (this.finishing || this.socket.destroyed || this.socket.writableNeedDrain) break
      }
    } catch (error) {
      this.give('failed', error, this.queueId)
    }
    this.busy = false
    if (this.finishing) this.finish()
    else if (this.socket.writableNeedDrain) this.socket.pause().once('drain', () => void this.work())
    else this.socket.resume()
  }

  private async follow({ command, data }: wire.Packet): Promise<void> {
    if (command !== 'O' && this.steps === undefined) throw new Malformed('no negotiation')
    switch (command) {
      case 'O':
        this.negotiate(data)
        break
      case 'D':
        this.keep(data)
        break
      case 'C':
        this.client = wire.clientOf(data)
        this.goOn(STEPS.connectUnanswered)
        break
      case 'H':
      case 'N':
      case 'U':
        this.goOn()
        break
      case 'M':
        this.begin(wire.textsOf(data))
        break
      case 'R':
        await this.recipient(wire.textsOf(data))
        break
      case 'T':
        await this.ask('DATA')
        break
      case 'L':
        this.begun.size += wire.sizeOfHeader(data)
        this.goOn(STEPS.headersUnanswered)
        break
      case 'B':
        this.begun.size += data.length
        this.goOn(STEPS.bodyUnanswered)
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
        this.client = NOBODY
        this.forget()
        break
      case 'Q':
        this.finish()
        break
      default:
        throw new Malformed('an unknown command')
    }
  }

  /** What the mail server offers is agreed on, as far as it is of use. */
  private negotiate(data: Buffer): void {
    const { version, steps } = wire.offerOf(data)
    const { noHelo, noEndOfHeaders, noUnknown, connectUnanswered, mailUnanswered } = STEPS
    let wanted = noHelo | noEndOfHeaders | noUnknown | connectUnanswered | mailUnanswered
    wanted |= this.needs.size
      ? STEPS.headersUnanswered | STEPS.bodyUnanswered | STEPS.headersWithSpace
      : STEPS.noHeaders | STEPS.noBody
    if (!this.needs.checkAtRcpt) wanted |= STEPS.recipientUnanswered
    this.steps = steps & wanted
    this.say(wire.agreementOf(Math.min(version, VERSION), this.steps))
  }

  /** Macros of the next command, whose letter is the first byte. */
  private keep(data: Buffer): void {
    const texts = wire.textsOf(data.subarray(1))
    const macro = (name: string): string | undefined => texts.find((_, n) => n % 2 === 1 && texts[n - 1] === name)
    this.queueId = macro('i') ?? this.queueId
    if (data.toString('latin1', 0, 1) === 'M') this.login = macro('{auth_authen}') ?? ''
  }

  private begin([sender = '', ...parameters]: string[]): void {
    const [, announced = '0'] = /^SIZE=(\d{1,12})$/im.exec(parameters.join('\n')) ?? []
    this.message = {
      instance: randomUUID(),
      sender: bare(sender),
      saslUsername: this.login,
      announced: Number(announced),
      recipientCount: 0,
      localCount: 0,
      // The empty line between headers and body.
      size: 2,
    }
    this.login = ''
    this.goOn(STEPS.mailUnanswered)
  }

  /** The mail server has accepted this one; it sends those that it refuses only on request. */
  private async recipient([text = '']: string[]): Promise<void> {
    const { begun } = this
    const address = bare(text)
    // Mail of the host has no port. Nobody hears there that a recipient is refused: Postfix would keep it for ever.
    const checks = this.needs.checkAtRcpt && this.client.port !== 0
    if (checks && (await this.ask('RCPT', address)) !== 'pass') return
    begun.recipientCount += 1
    if (this.desk.isLocal(address)) begun.localCount += 1
    if (!checks) this.goOn(STEPS.recipientUnanswered)
  }

  private async ask(state: 'RCPT' | 'DATA' | 'END-OF-MESSAGE', recipient = ''): Promise<Verdict['answer']> {
    const { begun, queueId, client } = this
    const { announced, size: counted, ...envelope } = begun
    const size = state === 'END-OF-MESSAGE' && this.needs.size ? counted : announced
    const of = { ...envelope, clientAddress: client.address, queueId, recipient, size }
    let said: Verdict['answer'] = 'defer'
    await this.desk.answer({ state, repeats: false, ...of }, (verdict) => {
      said = verdict.answer
      this.say(packetFor(verdict))
      // At its end, the mail server has gone.
      return !this.socket.readableEnded && !this.socket.destroyed
    })
    return said
  }

  private get begun(): Message {
    if (this.message === undefined) throw new Malformed('no message has begun')
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
}

/** An address without its angle brackets. */
function bare(address: string): string {
  return address.replace(/^<|>$/g, '')
}

function packetFor({ answer, text }: Verdict): Buffer {
  return answer === 'pass' ? GO_ON : wire.replyOf(`${CODES[answer]} ${text}`)
}
