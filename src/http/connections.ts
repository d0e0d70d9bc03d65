import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Injectable } from '@nestjs/common'
import type { Request, Response } from 'express'
import type { Config } from '../config/config.js'
import { ServiceError, Unavailable } from '../error/service-error.js'
import { endLingering } from './linger.js'
import { answerProblem, rawProblem } from './problem-answer.js'
import { requestIdOf } from './request-id.js'
import { FairQueue } from '../fairness/fair-queue.js'

/**
 * How long a connection is kept on which no byte moves, in milliseconds: an idle one, and one whose answer is not
 * read. Longer than balancers in front keep theirs idle (60 s), so that they never meet a closing one; longer than any
 * request takes.
 */
const QUIET_MS = 65_000

/** Between two looks for requests that do not arrive, in milliseconds. */
const LOOK_EVERY_MS = 1_000

/** Why what came over a connection was not taken for a request, and the connection ended. */
export type Unfit = 'not_http' | 'too_large' | 'late' | 'connect' | 'ahead'

/**
 * What became of a connection when there were too many: it was not taken, or closed for another while it waited for its
 * caller.
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

/** The party of a connection at this moment: a request under way may have told whose it is. */
function partyOf({ asked, party }: Line): string {
  return (asked[0]?.[0] as Request | undefined)?.principal?.id ?? party
}

/** Until when the body may arrive that a connection is sending, where its handler reads it piece by piece. */
function bodyUntilOf({ asked }: Line): number | undefined {
  return (asked[0]?.[0] as Request | undefined)?.bodyUntil
}

/** Does a connection wait for its caller: for a request, for the rest of one, or for its answer to be read? */
function awaitsCaller({ asked, begun }: Line): boolean {
  const [exchange] = asked
  if (exchange === undefined) return true
  const [request, response] = exchange
  return begun && (!request.complete || response.writableEnded)
}

/**
 * The connections of callers: how many there are, and what each may ask for at a time.
 *
 * The requests of one connection are worked one after the other; what was sent ahead (pipelining) waits, unread where
 * it is much. Where more want to be begun than can be at once, principals take turns, and the connections of each among
 * themselves; those that nobody known has used count as one principal, so that a flood without a token leaves the
 * others their part. Where there are as many connections as may be, one makes room that waits for its caller: for a
 * request, for the rest of one, or for its answer to be read. So nobody can lock others out by holding connections, nor
 * have theirs closed by opening ever more. Only where all are worked on is a new one refused.
 */
@Injectable()
export class Connections {
  /** Told of refusals and broken requests. */
  observer: ConnectionObserver | undefined
  /** Longest without an end of a request first. */
  private readonly lines = new Map<Socket, Line>()
  /** Want to have a request begun; the next party first, and in it the next line. */
  private readonly ready = new FairQueue<Line>()
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
    let busy = 0
    for (const { asked } of this.lines.values()) if (asked.length > 0) busy += 1
    return busy
  }

  /** All others. */
  get idle(): number {
    return this.lines.size - this.busy
  }

  /** The answers that are owed to requests that have been begun. */
  *owed(): Generator<ServerResponse> {
    for (const { begun, asked } of this.lines.values()) if (begun && asked[0] !== undefined) yield asked[0][1]
  }

  /** Stands between the server and whoever listens to its requests by now. To be called once, before it listens. */
  guard(
    server: Server & { requireHostHeader?: boolean; connectionsCheckingInterval?: number },
    { maxConnections, requestTimeoutSeconds }: Pick<Config, 'maxConnections' | 'requestTimeoutSeconds'>,
  ): void {
    this.limit = maxConnections
    server.keepAliveTimeout = QUIET_MS
    // Otherwise a connection whose answer nobody reads would stay for ever: it is busy, and busy ones have no timeout.
    server.timeout = QUIET_MS
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
    // Node tells it of a broken connection, too, once it was asked for it.
    const address = socket.remoteAddress
    if (this.lines.size >= this.limit && !this.makeRoom()) {
      socket.destroy()
      this.observer?.shed('refused', address)
      return
    }
    const line: Line = {
      socket,
      address,
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
    this.paused.delete(line)
    this.ready.delete(line.party, line)
  }

  private forget({ asked }: Line): void {
    this.ahead -= Math.max(0, asked.length - 1)
    asked.length = 0
  }

  /**
   * Closes connections that wait for their callers, of the party that has most of these: those first whose last request
   * ended longest ago. One in a hundred of them, so that a flood of new connections does not look through all of the
   * others each time. Connections of nobody known count twice: they make room earlier than a principal's, and still
   * have their part, which a new connection needs until its first request is known.
   * @returns was there one?
   */
  private makeRoom(): boolean {
    const waiting = new Map<string, Line[]>()
    for (const line of this.lines.values()) {
      if (!awaitsCaller(line)) continue
      const party = partyOf(line)
      const lines = waiting.get(party)
      if (lines === undefined) waiting.set(party, [line])
      else lines.push(line)
    }
    let largest: Line[] = []
    let weight = 0
    for (const [party, lines] of waiting) {
      const own = party === FIRST || party === UNKNOWN ? 2 * lines.length : lines.length
      if (own > weight) [largest, weight] = [lines, own]
    }
    for (const line of largest.slice(0, Math.ceil(largest.length / 100))) this.evict(line)
    return weight > 0
  }

  private evict(line: Line): void {
    const stalled = line.asked.length > 0
    this.leave(line)
    // The system would keep what it has taken of an answer and nobody reads, for minutes.
    if (stalled) line.socket.resetAndDestroy()
    else line.socket.destroy()
    this.observer?.shed('evicted', line.address)
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
    this.nextTurn()
    if (this.begunInTurn < this.most && this.ready.size === 0) this.begin(line, exchange)
    else this.ready.push(line.party, line)
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
    const line = this.ready.takeOne()
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
    line.party = (request as Request | undefined)?.principal?.id ?? UNKNOWN
    if (asked.length > 0) this.ahead -= 1
    const readAhead = socket.isPaused()
    if (socket.writable && asked.length > 0) {
      // Not at once: all others have their turn first.
      this.ready.push(line.party, line)
    } else this.rest(line)
    if (readAhead && asked.length <= 1) this.paused.add(line)
    if (this.ready.size > 0 || this.paused.size > 0) this.nextTurn()
  }

  /** Has nothing more to answer. */
  private rest(line: Line): void {
    // What was sent behind a last answer is thrown away with whatever follows.
    this.forget(line)
    this.ready.delete(line.party, line)
    if (line.farewell !== undefined && line.socket.writable) this.part(line, line.farewell)
    // Behind all others, by the order of a Map.
    this.lines.delete(line.socket)
    this.lines.set(line.socket, line)
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
    // Node says so once; what is read piece by piece has its own time, and must not stand still (`QUIET_MS`).
    if (late && performance.now() < (bodyUntilOf(line) ?? 0)) return
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
    ? new Unavailable('requests_ahead', { detail: DETAILS[why] })
    : new ServiceError('validation_failed', DETAILS[why], { fields: [] })
}
