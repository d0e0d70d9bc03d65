import { once } from 'node:events'
import { unlink } from 'node:fs/promises'
import { connect, createServer, type ListenOptions, type Server, type Socket } from 'node:net'
import { MAX_SENDER_LENGTH } from './accounts.js'
import type { Log } from './log.js'
import type { Metrics } from './metrics.js'
import type { Verdict } from './policy.js'
import { type Question, QuestionReader } from './question.js'
import { DUNNO } from './words.js'

/** The maximum number of concurrent questions of one connection; Postfix itself never has two. */
const MAX_AT_ONCE = 100
/** The maximum time for a question to arrive, from its first byte. */
const ARRIVE_WITHIN_MS = 10_000
/** The idle time after which a connection is closed; Postfix closes after `smtpd_policy_service_max_idle`, 300 s. */
const IDLE_MS = 400_000

/** The address to listen on: a port, or a Unix socket. */
export type Address = { readonly host: string; readonly port: number } | { readonly path: string }

/**
 * Postfix's policy delegation protocol. Answers come in the order of the questions. If there is no right answer, the
 * connection is closed without one, as the protocol requires: Postfix asks again, and then tells the client to try
 * again later.
 */
export class PolicyServer {
  private readonly server: Server
  private readonly connections = new Set<Connection>()

  constructor(
    private readonly decide: (question: Question) => Promise<Verdict>,
    private readonly metrics: Metrics,
    private readonly log: Log,
    /** Further connections are closed at once. */
    private readonly maxConnections: number,
  ) {
    // A client may close its half after its last question, and still reads the answer.
    this.server = createServer({ allowHalfOpen: true }, (socket) => this.take(socket))
  }

  /** @throws Error if listening on the address fails */
  async listen(address: Address): Promise<void> {
    if ('path' in address) await removeStale(address.path)
    // The permissions of its folder determine which processes can reach the socket.
    const options: ListenOptions =
      'path' in address ? { ...address, readableAll: true, writableAll: true } : { ...address }
    this.server.listen({ ...options, backlog: 1_024 })
    await once(this.server, 'listening')
  }

  /** The address that it listens on. */
  get address(): ReturnType<Server['address']> {
    return this.server.address()
  }

  /** Accepts no new connections; answers pending questions, and then ends the connections. */
  async close(): Promise<void> {
    const closed = once(this.server, 'close')
    this.server.close()
    for (const connection of this.connections) connection.finish()
    await closed
  }

  private take(socket: Socket): void {
    if (this.connections.size >= this.maxConnections) {
      this.metrics.closed.inc({ reason: 'too_many' })
      this.log.warn({ connections: this.connections.size }, 'a connection was closed: there are too many')
      socket.destroy()
      return
    }
    const connection = new Connection(socket, this.decide, this.metrics, this.log)
    this.connections.add(connection)
    this.metrics.connections.set(this.connections.size)
    socket.once('close', () => {
      this.connections.delete(connection)
      this.metrics.connections.set(this.connections.size)
    })
  }
}

class Connection {
  private readonly reader = new QuestionReader()
  private arriving: NodeJS.Timeout | undefined
  private open = 0
  /** Resolves when all questions so far are answered. */
  private last: Promise<void> = Promise.resolve()
  private finishing = false

  constructor(
    private readonly socket: Socket,
    private readonly decide: (question: Question) => Promise<Verdict>,
    private readonly metrics: Metrics,
    private readonly log: Log,
  ) {
    socket.setTimeout(IDLE_MS, () => socket.destroy())
    socket.on('data', (chunk) => this.read(chunk))
    socket.on('end', () => this.finish())
    socket.on('drain', () => this.flow())
    socket.on('error', (error) => log.debug({ error: error.message }, 'a connection broke'))
    socket.on('close', () => clearTimeout(this.arriving))
  }

  /** Ends when all is answered. `end` alone is not enough: Postfix checks a connection only when it has a question. */
  finish(): void {
    this.finishing = true
    if (this.open === 0) this.socket.destroySoon()
  }

  private read(chunk: Buffer): void {
    let questions: Question[]
    try {
      questions = this.reader.read(chunk)
    } catch (error) {
      this.give('malformed', error as Error)
      return
    }
    // Each question has its own time; a further byte does not prolong it.
    if (questions.length > 0 || !this.reader.unfinished) {
      clearTimeout(this.arriving)
      this.arriving = undefined
    }
    if (this.reader.unfinished)
      this.arriving ??= setTimeout(() => this.give('slow', new Error('a question does not end')), ARRIVE_WITHIN_MS)
    for (const question of questions) this.ask(question)
    this.flow()
  }

  private ask(question: Question): void {
    const begun = performance.now()
    this.open += 1
    const verdict = this.decide(question)
    // Awaited in its turn.
    verdict.catch(() => undefined)
    this.last = this.last.then(async () => {
      try {
        this.answer(question, await verdict, performance.now() - begun)
      } catch (error) {
        this.give('failed', error as Error, question)
      }
      this.open -= 1
      if (this.finishing && this.open === 0) this.socket.destroySoon()
      this.flow()
    })
  }

  private answer(question: Question, { action, ...verdict }: Verdict, ms: number): void {
    if (this.socket.writable) this.socket.write(`action=${action}\n\n`)
    const [answer = ''] = action.toLowerCase().split(' ', 1)
    const { reason, payer, payerHash, account, amount, remaining, key, error } = verdict
    this.metrics.questions.inc({ answer, reason })
    this.metrics.seconds.observe(ms / 1_000)
    const { state, queueId, instance, recipientCount } = question
    // One line for each message: what is refused earlier does not reach its end.
    const last = state === 'END-OF-MESSAGE' || action !== DUNNO
    const level = reason === 'unreachable' ? 'error' : last ? 'info' : 'debug'
    this.log[level](
      {
        queue_id: queueId,
        state,
        instance,
        payer: this.log.isLevelEnabled('debug') ? payer?.slice(0, MAX_SENDER_LENGTH) : undefined,
        payer_hash: payerHash,
        account,
        recipients: recipientCount,
        amount,
        remaining,
        key,
        ms: Math.round(ms),
        error,
        // The client has disconnected: it gets the same answer if it asks again.
        unheard: this.socket.writable ? undefined : true,
      },
      `${answer}: ${reason}`,
    )
  }

  /** Closes without an answer. */
  private give(reason: 'malformed' | 'slow' | 'failed', error: Error, question?: Question): void {
    if (this.socket.destroyed) return
    this.metrics.closed.inc({ reason })
    this.log.warn({ queue_id: question?.queueId, reason, error: error.message }, 'a connection was closed')
    this.socket.destroy()
  }

  /** Stops reading while too many answers are pending, or the client does not read them. */
  private flow(): void {
    if (this.open >= MAX_AT_ONCE || this.socket.writableNeedDrain) this.socket.pause()
    else this.socket.resume()
  }
}

/** Removes the socket of an earlier process, which would prevent listening. */
async function removeStale(path: string): Promise<void> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') await unlink(path)
    return
  } finally {
    socket.destroy()
  }
  throw new Error(`somebody listens on ${path} already`)
}
