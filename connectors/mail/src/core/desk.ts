import { MAX_SENDER_LENGTH } from './accounts.js'
import type { Doubts } from './doubts.js'
import type { Exemptions } from './exemptions.js'
import type { Judge, Verdict } from './judge.js'
import type { Log } from './log.js'
import type { Metrics } from './metrics.js'
import type { Question } from './question.js'

/** What a front needs: answers, which are counted and logged. */
export class Desk {
  constructor(
    private readonly judge: Pick<Judge, 'decide'>,
    private readonly doubts: Pick<Doubts, 'add' | 'answered'>,
    private readonly exemptions: Pick<Exemptions, 'isLocal'>,
    readonly metrics: Metrics,
    readonly log: Log,
    /** Resolves when the doubts of an earlier process are taken over; before, nothing is answered. */
    private readonly restored: Promise<void>,
  ) {}

  /**
   * Answers a question.
   * @param deliver says the answer; returns whether the mail server was still there to hear it
   * @throws Error if there is no right answer
   */
  async answer(question: Question, deliver: (verdict: Verdict) => boolean | Promise<boolean>): Promise<void> {
    const begun = performance.now()
    await this.restored
    const verdict = await this.judge.decide(question)
    if (verdict.charge !== undefined) this.doubts.answered(verdict.charge)
    const heard = await deliver(verdict)
    this.record(question, verdict, performance.now() - begun, heard)
    // It has not accepted the message, and will not ask about it again.
    if (!heard && !question.repeats && verdict.answer === 'pass' && verdict.charge !== undefined)
      await this.doubts.add(verdict.charge)
  }

  /** Is this an address of `LOCAL_DOMAINS`? */
  isLocal(address: string): boolean {
    return this.exemptions.isLocal(address)
  }

  /** Counts a connection, or a request, that ends without an answer. */
  gaveUp(reason: 'malformed' | 'slow' | 'failed', error: Error, queueId?: string): void {
    this.metrics.closed.inc({ reason })
    this.log.warn({ queue_id: queueId, reason, error: error.message }, 'a connection was closed')
  }

  private record(question: Question, verdict: Verdict, ms: number, heard: boolean): void {
    const { answer, reason, payer, payerHash, account, amount, remaining, charge, error } = verdict
    this.metrics.questions.inc({ answer, reason })
    this.metrics.seconds.observe(ms / 1_000)
    const { state, queueId, instance, recipientCount } = question
    // One line for each message: what is refused earlier does not reach its end.
    const last = state === 'END-OF-MESSAGE' || answer !== 'pass'
    if (last) this.metrics.recipients.inc({ answer, reason }, state === 'RCPT' ? 1 : recipientCount)
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
        key: charge?.key,
        ms: Math.round(ms),
        error,
        unheard: heard ? undefined : true,
      },
      `${answer}: ${reason}`,
    )
  }
}
