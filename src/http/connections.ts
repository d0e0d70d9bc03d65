import type { IncomingMessage, RequestListener, Server, ServerOptions } from 'node:http'
import type { Socket } from 'node:net'
import { Injectable } from '@nestjs/common'
import type { Request, Response } from 'express'
import { whoCalls } from '../auth/principal.js'
import type { Config } from '../config/config.js'
import { ServiceError } from '../common/service-error.js'
import { groupBy } from '../common/group-by.js'
import { FairQueue } from '../fairness/fair-queue.js'
import { BodyStream, type LateBodies } from './body-stream.js'
import { closeGracefully } from './unread-body.js'
import { answerProblem, rawProblem } from './problem-answer.js'
import { requestIdOf } from './request-id.js'

/**
 * The time after which a connection without traffic is closed, idle or with a response that is not read, in
 * milliseconds: longer than any request takes, and than balancers keep idle connections (60 s), which they would use.
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
export type Rejection = 'not_http' | 'too_large' | 'late' | 'connect' | 'ahead'

/** What happens if there are too many connections: a new one is refused, or a waiting one is closed for it. */
export type Overload = 'refused' | 'evicted'

/** Observes events that no request log contains. */
export interface ConnectionObserver {
  rejected(why: Rejection, address: string | undefined): void
  overloaded(how: Overload, address: string | undefined): void
}

/** The reasons that are answered; with `ahead`, an answer would not be in order. */
type Answered = Exclude<Rejection, 'ahead'>

const DETAILS: Readonly<Record<Answered, string>> = {
  not_http: 'this is not an HTTP request',
  too_large: 'the request line and headers are too large',
  late: 'the request did not arrive in time',
  connect: 'this server is not a proxy',
}

/** Node's error code for a request that did not arrive within `requestTimeout`, or its head within `headersTimeout`. */
const LATE = 'ERR_HTTP_REQUEST_TIMEOUT'
/** The same for a head longer than `maxHeaderSize`. */
const TOO_LARGE = 'HPE_HEADER_OVERFLOW'

/**
 * The maximum number of pipelined requests that are kept, on all connections together. Node parses a whole packet at
 * once, which may contain more than half of them and takes tens of milliseconds.
 */
const MAX_PIPELINED = 4_000
/** A connection with at most this many pipelined requests is not closed: others have reached the limit. */
const FEW_PIPELINED = 16

/**
 * The maximum number of requests started per turn of the event loop: few, so that requests in progress continue between
 * them. Node accepts one new connection per turn; while connections arrive, one request per turn keeps turns short.
 */
const STARTED_IN_A_TURN = 4
const STARTED_WHILE_CONNECTING = 1

/** If this many connections exceed the pipelining limit within one turn of the event loop, more are expected to. */
const CLOSED_IN_A_TURN = 3

/** The flows of connections without a response yet, and of anonymous callers; ids of principals contain no blank. */
const FIRST = ' first'
const UNKNOWN = ' unknown'

/** A connection and its requests. */
interface Connection {
  readonly socket: Socket
  readonly address: string | undefined
  /** The responses of requests that have arrived and are not answered, in order. Only the first one is processed. */
  readonly responses: Response[]
  /** Whether the first request has been started. */
  started: boolean
  /** The flow that it belongs to: the id of the principal of its last request, or FIRST or UNKNOWN. */
  flow: string
  /** The flow under which it waits in `held`; undefined if it does not. */
  heldAs: string | undefined
  /** The error to send after all responses, before the connection ends. */
  closingError: Answered | undefined
  /** Called when the first request has ended. */
  readonly finish: () => void
}

/** The current flow of a connection: that of the request in progress if its principal is known. */
function flowOf({ responses, flow }: Connection): string {
  return idOf(responses[0]) ?? flow
}

/** The id of the caller of a request; undefined if it is not known. */
function idOf(response: Response | undefined): string | undefined {
  return response && whoCalls(response.req)?.id
}

/** Whether the service reads nothing more from a connection for now. */
function mustPause({ responses, heldAs }: Connection): boolean {
  return responses.length > 1 || heldAs !== undefined
}

/** Whether a connection waits for its caller: for a request, for the rest of one, or until its response is read. */
function awaitsCaller({ responses: [response], started }: Connection): boolean {
  if (response === undefined) return true
  return started && (!response.req.complete || response.writableEnded || response.writableNeedDrain)
}

/**
 * Limits the connections of callers and the requests of each, in addition to Node's own limits:
 *
 * - The requests of one connection are processed one after the other. While a second one waits, the service reads
 *   nothing more from the connection.
 * - If more requests wait than can be started, principals take turns, and so do the connections of each principal.
 *   Connections of anonymous callers count as one principal, so that a flood without tokens leaves the others their
 *   share.
 * - At the maximum number of connections, a new connection replaces one that waits for its caller, of the flow that
 *   has most of these. So a caller can neither lock others out by holding connections, nor close theirs by opening
 *   more. A new connection is refused only if all others are being processed.
 */
@Injectable()
export class Connections implements LateBodies {
  /** An observer of refused connections and invalid requests. */
  observer: ConnectionObserver | undefined
  /** In order of the end of their last request, the oldest first. */
  private readonly open = new Map<Socket, Connection>()
  /** Connections with a request to be started. */
  private readonly ready = new FairQueue<Connection>()
  /** Connections that are not read until their turn; one per turn of the event loop. */
  private readonly held = new FairQueue<Connection>()
  /** The number of requests behind the first one of their connection. */
  private ahead = 0
  private startedInTurn = 0
  private closedInTurn = 0
  private startLimit = STARTED_IN_A_TURN
  private turn: NodeJS.Immediate | undefined
  private limit = Infinity
  private work: readonly RequestListener[] = []

  /** The number of connections with an unanswered request. */
  get busy(): number {
    let busy = 0
    for (const { responses } of this.open.values()) if (responses.length > 0) busy += 1
    return busy
  }

  /** The number of other connections. */
  get idle(): number {
    return this.open.size - this.busy
  }

  /** The responses of requests that have been started and have not ended. */
  *owed(): Generator<Response> {
    for (const { started, responses } of this.open.values())
      if (started && responses[0] !== undefined) yield responses[0]
  }

  /** Takes over the requests of a server made with SERVER_OPTIONS. Call this once, before the server listens. */
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
      server.on(event, (_request: IncomingMessage, response: Response) => this.take(response))
    server.on('connection', (socket: Socket) => this.enter(socket))
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => this.refuse(error, socket))
    server.on('connect', (_request: IncomingMessage, socket: Socket) => {
      const connection = this.open.get(socket)
      // Node no longer handles errors of this socket.
      socket.on('error', () => undefined)
      this.observer?.rejected('connect', socket.remoteAddress)
      if (connection === undefined || connection.responses.length > 0) socket.destroy()
      else endWithProblem(connection, 'connect')
    })
  }

  private enter(socket: Socket): void {
    // Node caches the address on the first read, so that it is still known after the connection broke.
    const address = socket.remoteAddress
    if (this.open.size >= this.limit && !this.evictWaiting()) {
      socket.destroy()
      this.observer?.overloaded('refused', address)
      return
    }
    const connection: Connection = {
      socket,
      address,
      responses: [],
      started: false,
      flow: FIRST,
      heldAs: undefined,
      closingError: undefined,
      finish: () => this.finish(connection),
    }
    this.open.set(socket, connection)
    socket.once('close', () => this.leave(connection))
    // Node resumes the socket after each request, and so do readers of bodies.
    socket.on('resume', () => {
      if (mustPause(connection)) socket.pause()
    })
    this.startLimit = STARTED_WHILE_CONNECTING
    this.nextTurn()
  }

  private leave(connection: Connection): void {
    this.open.delete(connection.socket)
    this.forget(connection)
    if (connection.heldAs !== undefined) this.held.delete(connection.heldAs, connection)
    this.ready.delete(connection.flow, connection)
  }

  private forget({ responses }: Connection): void {
    this.ahead -= Math.max(0, responses.length - 1)
    responses.length = 0
  }

  /**
   * Closes connections that wait for their callers, of the flow with most of these, starting with those whose last
   * request ended longest ago. It closes one in a hundred, so that a flood of new connections does not scan all
   * connections each time. Connections of anonymous callers count twice: they are closed earlier than a principal's,
   * but keep a share, since a new connection is anonymous until its first request.
   * @returns whether it closed any
   */
  private evictWaiting(): boolean {
    let largest: readonly Connection[] = []
    let most = 0
    for (const [flow, waiting] of groupBy([...this.open.values()].filter(awaitsCaller), flowOf)) {
      const weight = waiting.length * (flow === FIRST || flow === UNKNOWN ? 2 : 1)
      if (weight > most) [largest, most] = [waiting, weight]
    }
    for (const connection of largest.slice(0, Math.ceil(largest.length / 100))) this.evict(connection)
    return largest.length > 0
  }

  private evict(connection: Connection): void {
    const stalled = connection.responses.length > 0
    this.leave(connection)
    // Otherwise the operating system keeps the unread part of the response for minutes.
    if (stalled) connection.socket.resetAndDestroy()
    else connection.socket.destroy()
    this.observer?.overloaded('evicted', connection.address)
  }

  private take(response: Response): void {
    const { socket } = response.req
    const connection = this.open.get(socket)
    // A request after the last response is not processed: its caller could not be told the result.
    if (connection === undefined || !socket.writable) return
    const waiting = connection.responses.push(response)
    if (waiting > 1) {
      this.ahead += 1
      socket.pause()
      if (this.ahead > MAX_PIPELINED && waiting > FEW_PIPELINED) this.closePipelining(connection)
      return
    }
    this.nextTurn()
    if (this.startedInTurn < this.startLimit && this.ready.size === 0) this.start(connection)
    else this.ready.push(connection.flow, connection)
  }

  /**
   * Closes a connection that exceeds the pipelining limit. If many connections of its flow do so within one turn, each
   * with a packet full of requests, the others of that flow are read one at a time.
   */
  private closePipelining(connection: Connection): void {
    const flow = flowOf(connection)
    this.leave(connection)
    connection.socket.destroy()
    this.observer?.rejected('ahead', connection.address)
    this.closedInTurn += 1
    this.nextTurn()
    if (this.closedInTurn < CLOSED_IN_A_TURN) return
    for (const other of this.open.values()) if (other.responses.length <= 1 && flowOf(other) === flow) this.hold(other)
  }

  /** Stops reading from a connection until its turn. */
  private hold(connection: Connection): void {
    if (connection.heldAs !== undefined) return
    connection.heldAs = flowOf(connection)
    connection.socket.pause()
    this.held.push(connection.heldAs, connection)
    this.nextTurn()
  }

  /** Schedules the next turn, unless one is scheduled. */
  private nextTurn(): void {
    this.turn ??= setImmediate(() => {
      const { startLimit } = this
      this.turn = undefined
      this.startLimit = STARTED_IN_A_TURN
      this.startedInTurn = 0
      this.closedInTurn = 0
      for (let next; this.startedInTurn < startLimit && (next = this.ready.takeOne()) !== undefined;) this.start(next)
      const read = this.held.takeOne()
      if (read !== undefined) {
        read.heldAs = undefined
        read.socket.resume()
      }
      if (this.ready.size > 0 || this.held.size > 0) this.nextTurn()
    })
  }

  private start(connection: Connection): void {
    const [response] = connection.responses
    if (response === undefined) return
    this.startedInTurn += 1
    connection.started = true
    // Emitted after the last byte was handed over, or when the connection broke.
    response.once('close', connection.finish)
    for (const listener of this.work) listener(response.req, response)
  }

  private finish(connection: Connection): void {
    const { socket, responses } = connection
    connection.started = false
    // The `close` listener removes a broken connection.
    if (socket.destroyed || !this.open.has(socket)) return
    connection.flow = idOf(responses.shift()) ?? UNKNOWN
    if (responses.length > 0) this.ahead -= 1
    const readAhead = socket.isPaused()
    if (socket.writable && responses.length > 0) {
      // Not started at once: the others have their turn first.
      this.ready.push(connection.flow, connection)
      this.nextTurn()
    } else this.becomeIdle(connection)
    if (readAhead && responses.length <= 1) this.hold(connection)
  }

  /** Ends the processing of a connection: no response is due. */
  private becomeIdle(connection: Connection): void {
    // Requests after the last response are discarded.
    this.forget(connection)
    if (connection.closingError !== undefined && connection.socket.writable)
      endWithProblem(connection, connection.closingError)
    // Moves it to the end of the Map.
    this.open.delete(connection.socket)
    this.open.set(connection.socket, connection)
  }

  /** Handles input that is not a request, or did not arrive in time. */
  private refuse({ code }: NodeJS.ErrnoException, socket: Socket): void {
    const connection = this.open.get(socket)
    const late = code === LATE
    // The service does not read from this connection; its caller is not at fault. Node reports this once; from then on,
    // `QUIET_MS` and eviction limit the connection.
    if (late && connection !== undefined && mustPause(connection)) return
    // A connection that was opened and not used needs no answer.
    if (connection === undefined || code === 'ECONNRESET' || (late && socket.bytesRead === 0)) {
      socket.destroy()
      return
    }
    // A streamed body has its own deadlines.
    if (late && connection.responses.at(-1)?.req.body instanceof BodyStream) return
    this.breakOff(connection, late ? 'late' : code === TOO_LARGE ? 'too_large' : 'not_http')
  }

  /** Ends a request whose streamed body is late. */
  endLate({ socket }: Request): void {
    const connection = this.open.get(socket)
    if (connection !== undefined) this.breakOff(connection, 'late')
  }

  private breakOff(connection: Connection, why: Answered): void {
    // A connection that is being closed discards its input.
    if (!connection.socket.writable || connection.closingError !== undefined) return
    this.observer?.rejected(why, connection.address)
    connection.closingError = why
    const [first] = connection.responses
    const youngest = connection.responses.at(-1)
    if (youngest === undefined) endWithProblem(connection, why)
    // The requests before are answered first.
    else if (youngest.req.complete) return
    // A request with a valid head and an invalid body is refused.
    else if (youngest !== first) {
      connection.responses.pop()
      this.ahead -= 1
    } else if (connection.started) answerProblem(refusal(why), youngest.req, youngest)
    else {
      this.ready.delete(connection.flow, connection)
      this.becomeIdle(connection)
    }
  }
}

/** Ends a connection with a problem, if there is no request to answer. */
function endWithProblem({ socket }: Connection, why: Answered): void {
  socket.write(rawProblem(refusal(why), requestIdOf(undefined)))
  closeGracefully(socket)
}

function refusal(why: Answered): ServiceError {
  return new ServiceError('validation_failed', DETAILS[why], { fields: [] })
}
