import type { Socket } from 'node:net'
import type { Desk } from '../core/desk.js'
import { PartConnection } from '../core/listen.js'
import type { Question } from '../core/question.js'
import { QuestionReader } from './policy-question.js'

/** The maximum number of concurrent questions of one connection; Postfix itself never has two. */
const MAX_AT_ONCE = 100
/** The idle time after which a connection is closed; Postfix closes after `smtpd_policy_service_max_idle`, 300 s. */
const IDLE_MS = 400_000

/** The answers as actions of access(5). */
const ACTIONS = { pass: 'DUNNO', defer: 'DEFER_IF_PERMIT', reject: 'REJECT' } as const

/**
 * Postfix's policy delegation protocol. Answers come in the order of the questions. If there is no right answer, the
 * connection is closed without one, as the protocol requires: Postfix asks again, and then tells the client to try
 * again later.
 */
export class PolicyConnection extends PartConnection<Question> {
  private open = 0
  /** Resolves when all questions so far are answered. */
  private last: Promise<void> = Promise.resolve()

  constructor(socket: Socket, desk: Desk) {
    super(socket, desk, new QuestionReader(), IDLE_MS)
    socket.on('drain', () => this.flow())
  }

  protected get busy(): boolean {
    return this.open > 0
  }

  protected take(questions: Question[]): void {
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
        this.give('failed', error, question.queueId)
      })
      .then(() => {
        this.open -= 1
        if (this.finishing) this.finish()
        this.flow()
      })
  }

  /** Stops reading while too many answers are pending, or the client does not read them. */
  private flow(): void {
    if (this.open >= MAX_AT_ONCE || this.socket.writableNeedDrain) this.socket.pause()
    else this.socket.resume()
  }
}
