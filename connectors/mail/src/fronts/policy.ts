import type { Socket } from 'node:net'
import type { Desk } from '../core/desk.js'
import type { Connection } from '../core/listen.js'
import type { Question } from '../core/question.js'
import { QuestionReader } from './policy-question.js'

/** The maximum number of concurrent questions of one connection; Postfix itself never has two. */
const MAX_AT_ONCE = 100
/** The maximum time for a question to arrive, from its first byte. */
const ARRIVE_WITHIN_MS = 10_000
/** The idle time after which a connection is closed; Postfix closes after `smtpd_policy_service_max_idle`, 300 s. */
const IDLE_MS = 400_000

/** The answers as actions of access(5). */
const ACTIONS = { pass: 'DUNNO', defer: 'DEFER_IF_PERMIT', reject: 'REJECT' } as const

/**
 * Postfix's policy delegation protocol. Answers come in the order of the questions. If there is no right answer, the
 * connection is closed without one, as the protocol requires: Postfix asks again, and then tells the client to try
 * again later.
 */
export class PolicyConnection implements Connection {
  private readonly reader = new QuestionReader()
  private arriving: NodeJS.Timeout | undefined
  private open = 0
  /** Resolves when all questions so far are answered. */
  private last: Promise<void> = Promise.resolve()
  private finishing = false

  constructor(
    private readonly socket: Socket,
    private readonly desk: Desk,
  ) {
    socket.setTimeout(IDLE_MS, () => socket.destroy())
    socket.on('data', (chunk) => this.read(chunk))
    socket.on('end', () => this.finish())
    socket.on('drain', () => this.flow())
    socket.on('close', () => clearTimeout(this.arriving))
  }

  /** `end` alone is not enough: Postfix checks a connection only when it has a question. */
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
    this.open += 1
    const turn = this.last
    this.last = this.desk
      .answer(question, async ({ answer, text }) => {
        await turn
        // A client that has disconnected gets the same answer if it asks again.
        if (this.socket.writable) this.socket.write(`action=${ACTIONS[answer]}${text === '' ? '' : ` ${text}`}\n\n`)
        return this.socket.writable
      })
      .catch(async (error: unknown) => {
        await turn
        this.give('failed', error as Error, question)
      })
      .then(() => {
        this.open -= 1
        if (this.finishing && this.open === 0) this.socket.destroySoon()
        this.flow()
      })
  }

  /** Closes without an answer. */
  private give(reason: 'malformed' | 'slow' | 'failed', error: Error, question?: Question): void {
    if (this.socket.destroyed) return
    this.desk.gaveUp(reason, error, question?.queueId)
    this.socket.destroy()
  }

  /** Stops reading while too many answers are pending, or the client does not read them. */
  private flow(): void {
    if (this.open >= MAX_AT_ONCE || this.socket.writableNeedDrain) this.socket.pause()
    else this.socket.resume()
  }
}
