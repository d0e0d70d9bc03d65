import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Injectable } from '@nestjs/common'
import type { Request, Response } from 'express'
import type { Config } from '../config/config.js'
import { ServiceError } from '../error/service-error.js'
import { FairQueue } from '../fairness/fair-queue.js'
import { closeGracefully } from './unread-body.js'
import { answerProblem, rawProblem } from './problem-answer.js'
import { requestIdOf } from './request-id.js'

/**
 * How long a connection is kept on which no byte moves, in milliseconds: an idle one, and one whose answer is not read.
 * Longer than balancers in front keep theirs idle (60 s), so that they never meet a closing one; longer than any
 * request takes.
 */
const QUIET_MS = 65_000

/** What a server is made with whose connections are to be guarded. */
export const SERVER_OPTIONS: ServerOptions = {
  keepAliveTimeout: QUIET_MS,
  // Between two looks for requests that do not arrive, in milliseconds.
  connectionsCheckingInterval: 1_000,
  // Node would answer a request without Host by itself, in a form of its own.
  requireHostHeader: false,
}

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

/** What of these is answered; with `ahead` there is no place for an answer. */
type Answered = Exclude<Unfit, 'ahead'>

const DETAILS: Readonly<Record<Answered, string>> = {
  not_http: 'this is not HTTP',
  too_large: 'the request line and headers are too large',
  late: 'the request did not arrive in time',
  connect: 'this is no proxy',
}

/** What Node calls a request that has not arrived by `requestTimeout`, or its head by `headersTimeout`. */
const LATE = 'ERR_HTTP_REQUEST_TIMEOUT'

/** What Node calls a head that is longer than `maxHeaderSize`. */
const TOO_LARGE = 'HPE_HEADER_OVERFLOW'

/**
 * How many requests are kept that were sent ahead of the answers to those before them, on all connections together.
 * Node parses a whole packet at once, which may hold more than half of them and takes tens of milliseconds.
 */
const MAX_AHEAD = 4_000
/** This few requests ahead never close a connection: others have reached the limit. */
const FEW_AHEAD = 16

/**
 * How many requests are begun in one turn of the event loop, where more want to be: few, so that what has been begun
 * goes on between them. Node takes one new connection in a turn; as long as there comes one in each, turns are as short
 * as can be, for whoever waits behind it.
 */
const BEGUN_IN_A_TURN = 4
const BEGUN_WHILE_CONNECTING = 1

/** So many connections send too much ahead within a turn of the event loop that more of the kind are expected. */
const BROKEN_IN_A_TURN = 3

/** Parties beside the principals, whose ids have no blank: connections without an answer yet, and nobody known. */
const FIRST = ' first'
const UNKNOWN = ' unknown'

type Exchange = readonly [IncomingMessage, ServerResponse]

/** A connection and what it asks for. */
interface Line {
  readonly socket: Socket
  readonly address: string | undefined
  /** Requests that have arrived and are not answered, in order. The first one is worked. */
  readonly asked: Exchange[]
  /** Is the first one of them begun? */
  begun: boolean
  /** With whom it takes turns: the id of the principal who used it last, or FIRST or UNKNOWN. */
  party: string
  /** As whose it waits to be read from; undefined where it does not. */
  heldAs: string | undefined
  /** What the connection ends with, behind all of these. */
  farewell: Answered | undefined
  /** To be called when the first one is over. */
  readonly finish: () => void
}

/** The party of a connection at this moment: a request under way may have told whose it is. */
function partyOf({ asked, party }: Line): string {
  return (asked[0]?.[0] as Request | undefined)?.principal?.id ?? party
}

/** Does a connection wait for its caller: for a request, for the rest of one, or for its answer to be read? */
function awaitsCaller({ asked, begun }: Line): boolean {
  const [exchange] = asked
  if (exchange === undefined) return true
  const [request, response] = exchange
  return begun && (!request.complete || response.writableEnded)
}

/**
 * The connections of callers: how many there are, and what each may ask for at a time. Beside Node's own limits:
 *
 * - The requests of one connection are worked one after the other. While there is a second one, nothing more is read.
 * - Where more want to be begun than can be at once, principals take turns, and the connections of each among
 *   themselves. Those that nobody known has used count as one principal, so that a flood without a token leaves the
 *   others their part.
 * - Where there are as many connections as may be, one makes room that waits for its caller, of the party that has most
 *   of these. So nobody can lock others out by holding connections, nor have theirs closed by opening ever more. Only
 *   where all are worked on is a new one refused.
 */
@Injectable()
export class Connections {
  /** Told of refusals and broken requests. */
  observer: ConnectionObserver | undefined
  /** Longest without an end of a request first. */
  private readonly lines = new Map<Socket, Line>()
  /** Want to have a request begun. */
  private readonly ready = new FairQueue<Line>()
  /** Are not read from until it is their turn; one in each turn of the event loop. */
  private readonly held = new FairQueue<Line>()
  /** Requests behind the first one of their connection. */
  private ahead = 0
  private begunInTurn = 0
  private brokenInTurn = 0
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

  /**
   * Stands between the server and whoever listens to its requests by now. To be called once, before it listens.
   * @param server made with SERVER_OPTIONS
   */
  guard(
    server: Server,
    { maxConnections, requestTimeoutSeconds }: Pick<Config, 'maxConnections' | 'requestTimeoutSeconds'>,
  ): void {
    this.limit = maxConnections
    // Otherwise a connection whose answer nobody reads would stay for ever: it is busy, and busy ones have no timeout.
    server.timeout = QUIET_MS
    server.requestTimeout = requestTimeoutSeconds * 1000
    server.headersTimeout = requestTimeoutSeconds * 500
    // Node would drop what comes behind the thousandth, a body's length for example; the size of a head has a limit
    // anyway.
    server.maxHeadersCount = 0
    this.work = server.listeners('request') as RequestListener[]
    server.removeAllListeners('request')
    // A body is asked for where it is read, if it is; and an expectation that is not known may be ignored (RFC 9110,
    // section 10.1.1), where Node would answer 417 in a form of its own.
    for (const event of ['request', 'checkContinue', 'checkExpectation'])
      server.on(event, (request: IncomingMessage, response: ServerResponse) => this.take([request, response]))
    server.on('connection', (socket: Socket) => this.enter(socket))
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => this.refuse(error, socket))
    server.on('connect', (_request: IncomingMessage, socket: Socket) => {
      const line = this.lines.get(socket)
      // Node has let go of the connection.
      socket.on('error', () => undefined)
      this.observer?.unfit('connect', socket.remoteAddress)
      if (line === undefined || line.asked.length > 0) socket.destroy()
      else part(line, 'connect')
    })
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
      heldAs: undefined,
      farewell: undefined,
      finish: () => {
        this.finish(line)
      },
    }
    this.lines.set(socket, line)
    socket.once('close', () => this.leave(line))
    // Node starts the socket again after each request, and so does whoever reads a body.
    socket.on('resume', () => {
      if (line.asked.length > 1 || line.heldAs !== undefined) socket.pause()
    })
    this.connecting = true
    this.nextTurn()
  }

  private leave(line: Line): void {
    this.lines.delete(line.socket)
    this.forget(line)
    if (line.heldAs !== undefined) this.held.delete(line.heldAs, line)
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
    const waiting = new FairQueue<Line>()
    for (const line of this.lines.values()) if (awaitsCaller(line)) waiting.push(partyOf(line), line)
    const largest = waiting.largest((party) => (party === FIRST || party === UNKNOWN ? 2 : 1))
    for (const line of largest.slice(0, Math.ceil(largest.length / 100))) this.evict(line)
    return largest.length > 0
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
      if (this.ahead > MAX_AHEAD && line.asked.length > FEW_AHEAD) this.breakAhead(line)
      return
    }
    this.nextTurn()
    if (this.begunInTurn < this.most && this.ready.size === 0) this.begin(line, exchange)
    else this.ready.push(line.party, line)
  }

  /**
   * Closes a connection that sends ahead more than is kept. Where it is one of many that are readable at once, each
   * with a packet full of requests, the others of its party are read from one at a time.
   */
  private breakAhead(line: Line): void {
    const party = partyOf(line)
    this.leave(line)
    line.socket.destroy()
    this.observer?.unfit('ahead', line.address)
    this.brokenInTurn += 1
    this.nextTurn()
    if (this.brokenInTurn < BROKEN_IN_A_TURN) return
    for (const other of this.lines.values()) {
      if (other.asked.length <= 1 && partyOf(other) === party) this.hold(other)
    }
  }

  /** Reads no more from a connection until it is its turn. */
  private hold(line: Line): void {
    if (line.heldAs !== undefined) return
    line.heldAs = partyOf(line)
    line.socket.pause()
    this.held.push(line.heldAs, line)
    this.nextTurn()
  }

  private get most(): number {
    return this.connecting ? BEGUN_WHILE_CONNECTING : BEGUN_IN_A_TURN
  }

  /** Sees to it that there is one. */
  private nextTurn(): void {
    this.turn ??= setImmediate(() => {
      const { most } = this
      this.turn = undefined
      this.connecting = false
      this.begunInTurn = 0
      this.brokenInTurn = 0
      while (this.begunInTurn < most && this.ready.size > 0) {
        const line = this.ready.takeOne()
        if (line?.asked[0] !== undefined) this.begin(line, line.asked[0])
      }
      const next = this.held.takeOne()
      if (next !== undefined) {
        next.heldAs = undefined
        next.socket.resume()
      }
      if (this.ready.size > 0 || this.held.size > 0) this.nextTurn()
    })
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
      this.nextTurn()
    } else this.rest(line)
    if (readAhead && asked.length <= 1) this.hold(line)
  }

  /** Has nothing more to answer. */
  private rest(line: Line): void {
    // What was sent behind a last answer is thrown away with whatever follows.
    this.forget(line)
    if (line.farewell !== undefined && line.socket.writable) part(line, line.farewell)
    // Behind all others, by the order of a Map.
    this.lines.delete(line.socket)
    this.lines.set(line.socket, line)
  }

  /** What came is no request, or did not come in time. */
  private refuse({ code }: NodeJS.ErrnoException, socket: Socket): void {
    const line = this.lines.get(socket)
    const late = code === LATE
    // It is not read from, which is not its caller's fault. Node says so once: `QUIET_MS` and eviction bound it then.
    if (late && line?.heldAs !== undefined) return
    // Nobody asked anything on a connection that was opened and not used.
    if (line === undefined || code === 'ECONNRESET' || (late && socket.bytesRead === 0)) {
      socket.destroy()
      return
    }
    // Node says so once; what is read piece by piece has its own time, and must not stand still (`QUIET_MS`).
    if (late && performance.now() < ((line.asked[0]?.[0] as Request | undefined)?.bodyUntil ?? 0)) return
    // A connection that is being closed throws away what comes.
    if (!socket.writable || line.farewell !== undefined) return
    const why = late ? 'late' : code === TOO_LARGE ? 'too_large' : 'not_http'
    this.observer?.unfit(why, line.address)
    line.farewell = why
    const youngest = line.asked.at(-1)
    if (youngest === undefined) part(line, why)
    // Else those before have their answers first.
    else if (!youngest[0].complete) this.breakOff(line, youngest, why)
  }

  /** Refuses a request whose head was good and whose body is not. */
  private breakOff(line: Line, exchange: Exchange, why: Answered): void {
    const [request, response] = exchange
    if (exchange !== line.asked[0]) {
      line.asked.pop()
      this.ahead -= 1
    } else if (line.begun) answerProblem(refusal(why), request as Request, response as Response)
    else {
      this.ready.delete(line.party, line)
      this.rest(line)
    }
  }
}

/** Ends a connection by saying why, where there is no request to answer. */
function part({ socket }: Line, why: Answered): void {
  socket.write(rawProblem(refusal(why), requestIdOf(undefined)))
  closeGracefully(socket)
}

function refusal(why: Answered): ServiceError {
  return new ServiceError('validation_failed', DETAILS[why], { fields: [] })
}
