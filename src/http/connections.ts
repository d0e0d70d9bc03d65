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
 * The time after which a connection without traffic is closed, in milliseconds: an idle connection, or one whose
 * response is not read. Longer than the idle timeout of load balancers (60 s), so that they never use a connection that
 * is being closed; longer than any request takes.
 */
const QUIET_MS = 65_000

/** The options of servers whose connections `Connections` guards. */
export const SERVER_OPTIONS: ServerOptions = {
  keepAliveTimeout: QUIET_MS,
  // The interval between checks for late requests, in milliseconds.
  connectionsCheckingInterval: 1_000,
  // Otherwise Node answers a request without Host itself, not as problem+json.
  requireHostHeader: false,
}

/** Why input was not accepted as a request, so that the connection ended. */
export type Unfit = 'not_http' | 'too_large' | 'late' | 'connect' | 'ahead'

/**
 * What happens to a connection if there are too many: a new one is refused, or a waiting one is closed for a new one.
 */
export type Shed = 'refused' | 'evicted'

/** Observes events that no request log contains. */
export interface ConnectionObserver {
  unfit(why: Unfit, address: string | undefined): void
  shed(how: Shed, address: string | undefined): void
}

/** The reasons that are answered; with `ahead`, an answer would not be in order. */
type Answered = Exclude<Unfit, 'ahead'>

const DETAILS: Readonly<Record<Answered, string>> = {
  not_http: 'this is not an HTTP request',
  too_large: 'the request line and headers are too large',
  late: 'the request did not arrive in time',
  connect: 'this server is not a proxy',
}

/** Node's error code for a request that did not arrive within `requestTimeout`, or its head within `headersTimeout`. */
const LATE = 'ERR_HTTP_REQUEST_TIMEOUT'

/** Node's error code for a head longer than `maxHeaderSize`. */
const TOO_LARGE = 'HPE_HEADER_OVERFLOW'

/**
 * The maximum number of pipelined requests that are kept, on all connections together. Node parses a whole packet at
 * once, which may contain more than half of them and takes tens of milliseconds.
 */
const MAX_AHEAD = 4_000
/** A connection with at most this many pipelined requests is not closed: others have reached the limit. */
const FEW_AHEAD = 16

/**
 * The maximum number of requests started per turn of the event loop: few, so that requests in progress continue between
 * them. Node accepts one new connection per turn; while connections arrive, one request per turn keeps turns short.
 */
const BEGUN_IN_A_TURN = 4
const BEGUN_WHILE_CONNECTING = 1

/** If this many connections exceed the pipelining limit within one turn of the event loop, more are expected to. */
const BROKEN_IN_A_TURN = 3

/**
 * Parties besides the principals, whose ids contain no blank: connections without a response yet, and anonymous
 * callers.
 */
const FIRST = ' first'
const UNKNOWN = ' unknown'

type Exchange = readonly [IncomingMessage, ServerResponse]

/** A connection and its requests. */
interface Line {
  readonly socket: Socket
  readonly address: string | undefined
  /** The requests that have arrived and are not answered, in order. Only the first one is processed. */
  readonly asked: Exchange[]
  /** Whether the first request has been started. */
  begun: boolean
  /** The party that it belongs to: the id of the principal of its last request, or FIRST or UNKNOWN. */
  party: string
  /** The party under which it waits in `held`; undefined if it does not. */
  heldAs: string | undefined
  /** The error to send after all responses, before the connection ends. */
  farewell: Answered | undefined
  /** Called when the first request has ended. */
  readonly finish: () => void
}

/** The current party of a connection: that of the request in progress if its principal is known. */
function partyOf({ asked, party }: Line): string {
  return (asked[0]?.[0] as Request | undefined)?.principal?.id ?? party
}

/** Whether a connection waits for its caller: for a request, for the rest of one, or until its response is read. */
function awaitsCaller({ asked, begun }: Line): boolean {
  const [exchange] = asked
  if (exchange === undefined) return true
  const [request, response] = exchange
  return begun && (!request.complete || response.writableEnded)
}

/**
 * Limits the connections of callers and the requests of each, in addition to Node's own limits:
 *
 * - The requests of one connection are processed one after the other. While a second one waits, the service reads
 *   nothing more from the connection.
 * - If more requests wait than can be started, principals take turns, and so do the connections of each principal.
 *   Connections of anonymous callers count as one principal, so that a flood without tokens leaves the others their
 *   share.
 * - At the maximum number of connections, a new connection replaces one that waits for its caller, of the party that
 *   has most of these. So a caller can neither lock others out by holding connections, nor close theirs by opening
 *   more. A new connection is refused only if all others are being processed.
 */
@Injectable()
export class Connections {
  /** An observer of refused connections and invalid requests. */
  observer: ConnectionObserver | undefined
  /** In order of the end of their last request, the oldest first. */
  private readonly lines = new Map<Socket, Line>()
  /** Connections with a request to be started. */
  private readonly ready = new FairQueue<Line>()
  /** Connections that are not read until their turn; one per turn of the event loop. */
  private readonly held = new FairQueue<Line>()
  /** The number of requests behind the first one of their connection. */
  private ahead = 0
  private begunInTurn = 0
  private brokenInTurn = 0
  private connecting = false
  private turn: NodeJS.Immediate | undefined
  private limit = Infinity
  private work: readonly RequestListener[] = []

  /** The number of connections with an unanswered request. */
  get busy(): number {
    let busy = 0
    for (const { asked } of this.lines.values()) if (asked.length > 0) busy += 1
    return busy
  }

  /** The number of other connections. */
  get idle(): number {
    return this.lines.size - this.busy
  }

  /** The responses of requests that have been started and have not ended. */
  *owed(): Generator<ServerResponse> {
    for (const { begun, asked } of this.lines.values()) if (begun && asked[0] !== undefined) yield asked[0][1]
  }

  /**
   * Guards a server: takes over from the listeners of its requests. Call this once, before the server listens.
   * @param server created with SERVER_OPTIONS
   */
  guard(
    server: Server,
    { maxConnections, requestTimeoutSeconds }: Pick<Config, 'maxConnections' | 'requestTimeoutSeconds'>,
  ): void {
    this.limit = maxConnections
    // Otherwise a connection whose response is not read would stay open: `keepAliveTimeout` applies only to idle ones.
    server.timeout = QUIET_MS
    server.requestTimeout = requestTimeoutSeconds * 1000
    server.headersTimeout = requestTimeoutSeconds * 500
    // Otherwise Node drops headers after the thousandth, for example Content-Length. The size of the head is limited
    // anyway.
    server.maxHeadersCount = 0
    this.work = server.listeners('request') as RequestListener[]
    server.removeAllListeners('request')
    // The body reader sends `100 Continue`. An unknown expectation may be ignored (RFC 9110, section 10.1.1); otherwise
    // Node answers it with 417, not as problem+json.
    for (const event of ['request', 'checkContinue', 'checkExpectation'])
      server.on(event, (request: IncomingMessage, response: ServerResponse) => this.take([request, response]))
    server.on('connection', (socket: Socket) => this.enter(socket))
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => this.refuse(error, socket))
    server.on('connect', (_request: IncomingMessage, socket: Socket) => {
      const line = this.lines.get(socket)
      // Node no longer handles errors of this socket.
      socket.on('error', () => undefined)
      this.observer?.unfit('connect', socket.remoteAddress)
      if (line === undefined || line.asked.length > 0) socket.destroy()
      else part(line, 'connect')
    })
  }

  private enter(socket: Socket): void {
    // Node caches the address on the first read, so that it is still known after the connection broke.
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
    // Node resumes the socket after each request, and so do readers of bodies.
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
   * Closes connections that wait for their callers, of the party with most of these, starting with those whose last
   * request ended longest ago. It closes one in a hundred, so that a flood of new connections does not scan all
   * connections each time. Connections of anonymous callers count twice: they are closed earlier than a principal's,
   * but keep a share, since a new connection is anonymous until its first request.
   * @returns whether it closed any
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
    // Otherwise the operating system keeps the unread part of the response for minutes.
    if (stalled) line.socket.resetAndDestroy()
    else line.socket.destroy()
    this.observer?.shed('evicted', line.address)
  }

  private take(exchange: Exchange): void {
    const { socket } = exchange[0]
    const line = this.lines.get(socket)
    // A request after the last response is not processed: its caller could not be told the result.
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
   * Closes a connection that exceeds the pipelining limit. If many connections of its party do so within one turn, each
   * with a packet full of requests, the others of that party are read one at a time.
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

  /** Stops reading from a connection until its turn. */
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

  /** Schedules the next turn, unless one is scheduled. */
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
    // Emitted after the last byte was handed over, or when the connection broke.
    response.once('close', line.finish)
    for (const listener of this.work) listener(request, response)
  }

  private finish(line: Line): void {
    const { socket, asked } = line
    line.begun = false
    // The `close` listener removes a broken connection.
    if (socket.destroyed || !this.lines.has(socket)) return
    const [request] = asked.shift() ?? []
    line.party = (request as Request | undefined)?.principal?.id ?? UNKNOWN
    if (asked.length > 0) this.ahead -= 1
    const readAhead = socket.isPaused()
    if (socket.writable && asked.length > 0) {
      // Not started at once: the others have their turn first.
      this.ready.push(line.party, line)
      this.nextTurn()
    } else this.rest(line)
    if (readAhead && asked.length <= 1) this.hold(line)
  }

  /** Ends the processing of a connection: no response is due. */
  private rest(line: Line): void {
    // Requests after the last response are discarded.
    this.forget(line)
    if (line.farewell !== undefined && line.socket.writable) part(line, line.farewell)
    // Moves it to the end of the Map.
    this.lines.delete(line.socket)
    this.lines.set(line.socket, line)
  }

  /** Handles input that is not a request, or did not arrive in time. */
  private refuse({ code }: NodeJS.ErrnoException, socket: Socket): void {
    const line = this.lines.get(socket)
    const late = code === LATE
    // The service has paused this connection; its caller is not at fault. Node reports this once; from then on,
    // `QUIET_MS` and eviction limit the connection.
    if (late && line?.heldAs !== undefined) return
    // A connection that was opened and not used needs no answer.
    if (line === undefined || code === 'ECONNRESET' || (late && socket.bytesRead === 0)) {
      socket.destroy()
      return
    }
    // A streamed body has its own deadline. Node reports this once; from then on, `QUIET_MS` limits the connection.
    if (late && performance.now() < ((line.asked[0]?.[0] as Request | undefined)?.bodyUntil ?? 0)) return
    // A connection that is being closed discards its input.
    if (!socket.writable || line.farewell !== undefined) return
    const why = late ? 'late' : code === TOO_LARGE ? 'too_large' : 'not_http'
    this.observer?.unfit(why, line.address)
    line.farewell = why
    const youngest = line.asked.at(-1)
    if (youngest === undefined) part(line, why)
    // Otherwise the requests before it are answered first.
    else if (!youngest[0].complete) this.breakOff(line, youngest, why)
  }

  /** Refuses a request with a valid head and an invalid body. */
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

/** Ends a connection with a problem, if there is no request to answer. */
function part({ socket }: Line, why: Answered): void {
  socket.write(rawProblem(refusal(why), requestIdOf(undefined)))
  closeGracefully(socket)
}

function refusal(why: Answered): ServiceError {
  return new ServiceError('validation_failed', DETAILS[why], { fields: [] })
}
