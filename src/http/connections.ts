import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Injectable } from '@nestjs/common'
import type { Request, Response } from 'express'
import type { Config } from '../config/config.js'
import { ServiceError } from '../error/service-error.js'
import { endLingering } from './linger.js'
import { answerProblem, rawProblem } from './problem-answer.js'
import { requestIdOf } from './request-id.js'

/**
 * How long an idle connection is kept, in milliseconds: longer than balancers in front keep theirs (60 s), so that they
 * never meet a closing one.
 */
const KEEP_ALIVE_MS = 65_000

/** Between two looks for requests that do not arrive, in milliseconds. */
const LOOK_EVERY_MS = 1_000

/** Why what came over a connection was not taken for a request, and the connection ended. */
export type Unfit = 'not_http' | 'too_large' | 'late' | 'connect' | 'ahead'

/**
 * What became of a connection when there were too many: it was not taken, or closed for another while it was idle.
 */
export type Shed = 'refused' | 'evicted'

/** Is told of what no request log can know. */
export interface ConnectionObserver {
  unfit(why: Unfit, address: string | undefined): void
  shed(how: Shed, address: string | undefined): void
}

const DETAILS: Readonly<Record<Unfit, string>> = {
  not_http: 'this is not HTTP',
  too_large: 'the request line and headers are too large',
  late: 'the request did not arrive in time',
  connect: 'this is no proxy',
  ahead: 'too many requests were sent ahead of their answers',
}

/** What Node calls a request that has not arrived by `requestTimeout`, or its head by `headersTimeout`. */
const LATE = 'ERR_HTTP_REQUEST_TIMEOUT'

/** What Node calls it where our own callback puts an end to parsing. */
const STOPPED = 'HPE_CB_HEADERS_COMPLETE'

const UNFIT: Readonly<Record<string, Unfit>> = { HPE_HEADER_OVERFLOW: 'too_large', [STOPPED]: 'ahead' }

/** What that callback answers to do so; anything below zero. */
const STOP = -1

/**
 * How many requests are kept that were sent ahead of the answers to those before them, on all connections together.
 * Parsing them takes tens of milliseconds, and one connection may send more than half of them with a single packet.
 */
const MAX_AHEAD = 4_000

/**
 * How many requests are begun in one turn of the event loop, where more want to be: few, so that what has been begun
 * goes on between them. Node takes one new connection in a turn; as long as there comes one in each, turns are as short
 * as can be, for whoever waits behind it.
 */
const BEGUN_IN_A_TURN = 4
const BEGUN_WHILE_CONNECTING = 1

/**
 * Takes turns with the principals: connections whose first request this is, and those that nobody known has used. No
 * token has such a name.
 */
const FIRST = ' first'
const UNKNOWN = ' unknown'

type Exchange = readonly [IncomingMessage, ServerResponse]

/** A connection and what it asks for. */
interface Line {
  readonly socket: Socket
  readonly address: string | undefined
  /**
   * Requests that have arrived and are not answered, in order. The first one is worked; while there are others, nothing
   * more is read.
   */
  readonly asked: Exchange[]
  /** Is the first one of them begun? */
  begun: boolean
  /** With whom it takes turns: the name of the principal who used it last, or what is known of it instead. */
  party: string
  /** What the connection ends with, behind all of these. */
  farewell: Unfit | undefined
  /** To be called when the first one is over. */
  readonly finish: () => void
}

/** Lines by their parties. While a line is in here its party must stay what it is. */
class Parties {
  private readonly parties = new Map<string, Set<Line>>()

  get size(): number {
    let size = 0
    for (const party of this.parties.values()) size += party.size
    return size
  }

  /** Behind the others of its party. */
  add(line: Line): void {
    const party = this.parties.get(line.party)
    if (party === undefined) this.parties.set(line.party, new Set([line]))
    else party.add(line)
  }

  delete(line: Line): void {
    const party = this.parties.get(line.party)
    if (party?.delete(line) !== true) return
    if (party.size === 0) this.parties.delete(line.party)
  }

  /** Takes the first line of the first party, whose others then stand behind all parties. */
  next(): Line | undefined {
    for (const [name, party] of this.parties) {
      this.parties.delete(name)
      for (const line of party) {
        party.delete(line)
        if (party.size > 0) this.parties.set(name, party)
        return line
      }
    }
    return undefined
  }

  /** The lines of the party that has most of them. */
  largest(): Iterable<Line> {
    let largest = new Set<Line>()
    for (const party of this.parties.values()) if (party.size > largest.size) largest = party
    return largest
  }
}

/**
 * The connections of callers: how many there are, and what each may ask for at a time.
 *
 * The requests of one connection are worked one after the other; what was sent ahead (pipelining) waits, unread where
 * it is much. Where more want to be begun than can be at once, principals take turns, and the connections of each among
 * themselves; those that nobody known has used count as one principal, so that a flood without a token leaves the
 * others their part. Where there are as many connections as may be, an idle one makes room: the one that has been so
 * for longest among those of whoever has most of them, so that nobody can lock others out by holding connections, nor
 * have theirs closed by opening ever more. Only where all are busy is a new one refused.
 */
@Injectable()
export class Connections {
  /** Told of refusals and broken requests. */
  observer: ConnectionObserver | undefined
  private readonly lines = new Map<Socket, Line>()
  /** Have something to answer. */
  private readonly busyLines = new Set<Line>()
  /** Longest idle first. A connection that has sent nothing yet is one, and so is one that is being closed. */
  private readonly idleLines = new Parties()
  /** Want to have a request begun; the next party first, and in it the next line. */
  private readonly ready = new Parties()
  /** Have had everything answered that was read ahead; the next to be read from first. */
  private readonly paused = new Set<Line>()
  /** Requests behind the first one of their connection. */
  private ahead = 0
  private begunInTurn = 0
  private connecting = false
  private turn: NodeJS.Immediate | undefined
  private limit = Infinity
  private work: readonly RequestListener[] = []

  /** Connections with a request that is not answered. */
  get busy(): number {
    return this.busyLines.size
  }

  /** All others. */
  get idle(): number {
    return this.idleLines.size
  }

  /** The answers that are owed to requests that have been begun. */
  *owed(): Generator<ServerResponse> {
    for (const { begun, asked } of this.busyLines) if (begun && asked[0] !== undefined) yield asked[0][1]
  }

  /** Stands between the server and whoever listens to its requests by now. To be called once, before it listens. */
  guard(
    server: Server & { requireHostHeader?: boolean; connectionsCheckingInterval?: number },
    { maxConnections, requestTimeoutSeconds }: Pick<Config, 'maxConnections' | 'requestTimeoutSeconds'>,
  ): void {
    this.limit = maxConnections
    server.maxConnections = maxConnections
    server.keepAliveTimeout = KEEP_ALIVE_MS
    server.requestTimeout = requestTimeoutSeconds * 1000
    server.headersTimeout = requestTimeoutSeconds * 500
    server.connectionsCheckingInterval = LOOK_EVERY_MS
    // Node would drop what comes behind the thousandth, a body's length for example; the size of a head has a limit
    // anyway.
    server.maxHeadersCount = 0
    // Node would answer a request without Host by itself, in a form of its own.
    server.requireHostHeader = false
    this.work = server.listeners('request') as RequestListener[]
    server.removeAllListeners('request')
    const take: RequestListener = (request, response) => this.take([request, response])
    server.on('request', take)
    // The body is asked for where it is read, if it is.
    server.on('checkContinue', take)
    // An expectation that is not known may be ignored (RFC 9110, section 10.1.1); Node would answer 417 in a form of
    // its own.
    server.on('checkExpectation', take)
    server.on('connection', (socket: Socket) => this.enter(socket))
    server.on('drop', (dropped?: { remoteAddress?: string }) => this.observer?.shed('refused', dropped?.remoteAddress))
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => this.refuse(error, socket))
    server.on('connect', (_request: IncomingMessage, socket: Socket) => {
      const line = this.lines.get(socket)
      // Node has let go of the connection.
      socket.on('error', () => undefined)
      this.observer?.unfit('connect', socket.remoteAddress)
      if (line === undefined || line.asked.length > 0) socket.destroy()
      else this.part(line, 'connect')
    })
  }

  private get most(): number {
    return this.connecting ? BEGUN_WHILE_CONNECTING : BEGUN_IN_A_TURN
  }

  private enter(socket: Socket): void {
    const line: Line = {
      socket,
      // Node tells it of a broken connection, too, once it was asked for it.
      address: socket.remoteAddress,
      asked: [],
      begun: false,
      party: FIRST,
      farewell: undefined,
      finish: () => {
        this.finish(line)
      },
    }
    this.lines.set(socket, line)
    this.stopAhead(line)
    socket.once('close', () => this.leave(line))
    // Node starts the socket again after each request, and so does whoever reads a body.
    socket.on('resume', () => {
      if (line.asked.length > 1 || this.paused.has(line)) socket.pause()
    })
    this.makeRoom()
    this.idleLines.add(line)
    this.connecting = true
    this.nextTurn()
  }

  /**
   * Ends parsing where too much was sent ahead. Node parses a whole packet at once, and there is no public way to stop
   * it; the callback by which it hands over each request is as old as its parser.
   */
  private stopAhead(line: Line): void {
    const { parser } = line.socket as { parser?: { onIncoming?: (...head: unknown[]) => number } | null }
    const handOver = parser?.onIncoming
    if (parser == null || handOver === undefined) return
    parser.onIncoming = (...head) =>
      this.ahead >= MAX_AHEAD && line.asked.length > 0 ? STOP : handOver.apply(parser, head)
  }

  private leave(line: Line): void {
    this.lines.delete(line.socket)
    this.forget(line)
    for (const lines of [this.busyLines, this.idleLines, this.paused, this.ready]) lines.delete(line)
  }

  private forget({ asked }: Line): void {
    this.ahead -= Math.max(0, asked.length - 1)
    asked.length = 0
  }

  /** Keeps a place free for the next to come, as long as any connection is idle. */
  private makeRoom(): void {
    if (this.lines.size < this.limit) return
    const [longest] = this.idleLines.largest()
    if (longest === undefined) return
    this.leave(longest)
    longest.socket.destroy()
    this.observer?.shed('evicted', longest.address)
  }

  private take(exchange: Exchange): void {
    const { socket } = exchange[0]
    const line = this.lines.get(socket)
    // What follows a last answer is not worked: nobody could be told what became of it.
    if (line === undefined || !socket.writable) return
    line.asked.push(exchange)
    if (line.asked.length > 1) {
      this.ahead += 1
      socket.pause()
      return
    }
    this.idleLines.delete(line)
    this.busyLines.add(line)
    this.nextTurn()
    if (this.begunInTurn < this.most && this.ready.size === 0) this.begin(line, exchange)
    else this.ready.add(line)
  }

  /** Sees to it that there is one. */
  private nextTurn(): void {
    this.turn ??= setImmediate(() => {
      const { most } = this
      this.turn = undefined
      this.connecting = false
      this.begunInTurn = 0
      while (this.begunInTurn < most && this.ready.size > 0) this.beginNext()
      // What comes may be a thousand requests, whose heads take their time.
      const [hungry] = this.paused
      if (hungry !== undefined) {
        this.paused.delete(hungry)
        hungry.socket.resume()
      }
      if (this.ready.size > 0 || this.paused.size > 0) this.nextTurn()
    })
  }

  private beginNext(): void {
    const line = this.ready.next()
    const [exchange] = line?.asked ?? []
    if (line !== undefined && exchange !== undefined) this.begin(line, exchange)
  }

  private begin(line: Line, [request, response]: Exchange): void {
    this.begunInTurn += 1
    line.begun = true
    // Comes after the last byte was handed over, or when the connection broke.
    response.once('close', line.finish)
    for (const listener of this.work) listener(request, response)
  }

  private finish(line: Line): void {
    const { socket, asked } = line
    line.begun = false
    // A broken connection leaves by itself.
    if (socket.destroyed || !this.lines.has(socket)) return
    const [request] = asked.shift() ?? []
    line.party = (request as Request | undefined)?.principal?.name ?? UNKNOWN
    if (asked.length > 0) this.ahead -= 1
    const readAhead = socket.isPaused()
    if (socket.writable && asked.length > 0) {
      // Not at once: all others have their turn first.
      this.ready.add(line)
    } else this.rest(line)
    if (readAhead && asked.length <= 1) this.paused.add(line)
    if (this.ready.size > 0 || this.paused.size > 0) this.nextTurn()
  }

  /** Has nothing more to answer. */
  private rest(line: Line): void {
    // What was sent behind a last answer is thrown away with whatever follows.
    this.forget(line)
    this.ready.delete(line)
    this.busyLines.delete(line)
    if (line.farewell !== undefined && line.socket.writable) this.part(line, line.farewell)
    this.idleLines.add(line)
    this.makeRoom()
  }

  /** What came is no request, or did not come in time. */
  private refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    const line = this.lines.get(socket)
    const late = error.code === LATE
    // Nobody asked anything on a connection that was opened and not used.
    if (line === undefined || error.code === 'ECONNRESET' || (late && socket.bytesRead === 0)) {
      socket.destroy()
      return
    }
    // A connection that is being closed throws away what comes.
    if (!socket.writable || line.farewell !== undefined) return
    const why = late ? 'late' : (UNFIT[error.code ?? ''] ?? 'not_http')
    this.observer?.unfit(why, line.address)
    line.farewell = why
    const youngest = line.asked.at(-1)
    if (youngest === undefined) this.part(line, why)
    // Else those before have their answers first.
    else if (!youngest[0].complete) this.breakOff(line, youngest, why)
  }

  /** Refuses a request whose head was good and whose body is not. */
  private breakOff(line: Line, exchange: Exchange, why: Unfit): void {
    const [request, response] = exchange
    if (exchange !== line.asked[0]) {
      line.asked.pop()
      this.ahead -= 1
    } else if (line.begun) answerProblem(refusal(why), request as Request, response as Response)
    else this.rest(line)
  }

  /** Ends a connection by saying why, where there is no request to answer. */
  private part({ socket }: Line, why: Unfit): void {
    socket.write(rawProblem(refusal(why), requestIdOf(undefined)))
    endLingering(socket)
  }
}

function refusal(why: Unfit): ServiceError {
  return why === 'ahead'
    ? new ServiceError('unavailable', DETAILS[why])
    : new ServiceError('validation_failed', DETAILS[why], { fields: [] })
}
