import { once } from 'node:events'
import { unlink } from 'node:fs/promises'
import { connect, createServer, type ListenOptions, type Server, type Socket } from 'node:net'
import type { Log } from './log.js'
import type { Metrics } from './metrics.js'
import type { Verdict } from './policy.js'
import { type Question, QuestionReader } from './question.js'

/** Questions of one connection that are answered at a time; Postfix itself never has two. */
const MAX_AT_ONCE = 100
/** How long a question may take to arrive, from its first byte on. */
const ARRIVE_WITHIN_MS = 10_000
/** Silence after which a connection is closed; Postfix itself closes after `smtpd_policy_service_max_idle`, 300 s. */
const IDLE_MS = 400_000

/** Where to listen: a port, or a Unix socket. */
export type Address = { readonly host: string; readonly port: number } | { readonly path: string }

/**
 * Postfix's policy delegation protocol. Answers come in the order of the questions. Where there is no right answer, the
 * connection is closed without one, as the protocol wants it: Postfix asks again, and then tells the client to come
 * later.
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
    this.server = createServer((socket) => this.take(socket))
  }

  /** @throws Error nobody may listen there */
  async listen(address: Address): Promise<void> {
    if ('path' in address) await removeStale(address.path)
    // Who may reach the socket is up to its folder.
    const options: ListenOptions =
      'path' in address ? { ...address, readableAll: true, writableAll: true } : { ...address }
    this.server.listen({ ...options, backlog: 1_024 })
    await once(this.server, 'listening')
  }

  /** Where it listens. */
  get address(): ReturnType<Server['address']> {
    return this.server.address()
  }

  /** Takes nothing new; what was asked is answered, and then the connections end. */
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
  /** Ends when all questions so far are answered. */
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
    socket.on('drain', () => this.flow())
    socket.on('error', (error) => log.debug({ error: error.message }, 'a connection broke'))
    socket.on('close', () => clearTimeout(this.arriving))
  }

  /** Ends when all is answered. Not by `end` alone: Postfix looks at a connection when it has a question. */
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
    // Looked at in its turn.
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
    const { reason, payer, account, remaining, key, error } = verdict
    this.metrics.questions.inc({ answer, reason })
    this.metrics.seconds.observe(ms / 1_000)
    const { state, queueId, instance, recipientCount } = question
    const level = reason === 'unreachable' ? 'error' : state === 'END-OF-MESSAGE' ? 'info' : 'debug'
    this.log[level](
      {
        queue_id: queueId,
        state,
        instance,
        payer: payer?.slice(0, 320),
        account,
        recipients: recipientCount,
        remaining,
        key,
        ms: Math.round(ms),
        error,
        // The client went away: whoever asks again is answered the same.
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

  /** Reads no further while enough is to be answered, or nobody takes the answers. */
  private flow(): void {
    if (this.open >= MAX_AT_ONCE || this.socket.writableNeedDrain) this.socket.pause()
    else this.socket.resume()
  }
}

/** A socket that a process has left behind keeps the next one from listening. */
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
