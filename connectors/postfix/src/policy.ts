import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Accounts, type Payer, payerOf } from './accounts.js'
import type { Doubts } from './doubts.js'
import type { Question } from './question.js'
import type { Charge, Outcome, Spending } from './spending.js'
import { DUNNO, type Leniency, NO_QUOTA, refusal, unknownSender, unreachable } from './words.js'

/** The maximum time for an answer, in milliseconds. Postfix and its client wait meanwhile. */
export const ANSWER_WITHIN_MS = 4_000
/** The same before the end of the message, which will be asked about, too. */
const EARLY_ANSWER_WITHIN_MS = 2_000
/** The part of it for the lookup of the account. */
const ACCOUNT_WITHIN_MS = 1_500
const MAX_KEY_LENGTH = 200
const MAX_QUEUE_ID_LENGTH = 64

/** The operator's decisions. */
export interface Rules {
  /** The payer of messages without a login. */
  readonly payerWithoutSasl: 'none' | 'sender' | 'network'
  readonly unknownSender: Leniency
  readonly unreachable: 'pass' | 'defer'
  /** Whether to check at `RCPT` as well that units are left. */
  readonly checkAtRcpt: boolean
  /** The time zone of times in answers. */
  readonly timeZone: string
}

/** An answer, with its details for the log and the metrics. */
export interface Verdict {
  /** An action of access(5). */
  readonly action: string
  readonly reason:
    | 'not_asked'
    | 'fits'
    | 'exceeded'
    | 'no_quota'
    | 'unknown_sender'
    | 'unreachable'
    /** Unreachable before the end of the message, which decides. */
    | 'postponed'
    | 'in_doubt'
    | 'contradiction'
  readonly payer?: string
  readonly account?: number
  /** The number of recipients that the account may still have. */
  readonly remaining?: number
  readonly key?: string
  readonly error?: string
}

/** Decides the answer to Postfix. */
export class Policy {
  constructor(
    private readonly rules: Rules,
    private readonly accounts: Accounts,
    private readonly spending: Pick<Spending, 'charge' | 'check'>,
    private readonly doubts: Pick<Doubts, 'add' | 'has'>,
    /** Milliseconds since 1970. */
    private readonly now: () => number,
  ) {}

  /**
   * Answers within `ANSWER_WITHIN_MS`: charges at the end of a message, and checks at `DATA`, before its body is sent.
   * @throws Error if the question lacks data for a charge; there is no answer then
   */
  async decide(question: Question): Promise<Verdict> {
    const { state } = question
    const final = state === 'END-OF-MESSAGE'
    if (!final && state !== 'DATA' && !(this.rules.checkAtRcpt && state === 'RCPT'))
      return { action: DUNNO, reason: 'not_asked' }
    if (final && (question.instance === '' || question.recipientCount < 1))
      throw new Error('a message without instance or recipient_count: is this Postfix 2.3 or later?')
    const verdict = await this.judge(question, final)
    // A message that the end would accept is not lost to an outage at `DATA`.
    return final || verdict.reason !== 'unreachable' ? verdict : { ...verdict, action: DUNNO, reason: 'postponed' }
  }

  private async judge(question: Question, final: boolean): Promise<Verdict> {
    const until = performance.now() + (final ? ANSWER_WITHIN_MS : EARLY_ANSWER_WITHIN_MS)
    const payer = payerOf(question, this.rules.payerWithoutSasl)
    let account: number | undefined
    try {
      account = await within(ACCOUNT_WITHIN_MS, this.accounts.find(payer))
    } catch (error) {
      return this.cannotAsk(payer, `the account is not known: ${(error as Error).message}`)
    }
    if (account === undefined)
      return { action: unknownSender(this.rules.unknownSender), reason: 'unknown_sender', payer: payer.name }
    const known = { payer: payer.name, account }
    const { recipientCount, queueId } = question
    // At `RCPT`, Postfix has not counted yet.
    const amount = Math.max(recipientCount, 1)
    if (!final) return { ...known, ...this.answer(await this.spending.check(account, amount, until), amount) }
    const charge = { account, amount, key: keyOf(question), queueId: queueId.slice(0, MAX_QUEUE_ID_LENGTH) }
    return { ...known, key: charge.key, ...(await this.charge(charge, until)) }
  }

  private async charge(charge: Charge, until: number): Promise<Verdict> {
    if (this.doubts.has(charge.key)) return { action: unreachable('defer'), reason: 'in_doubt' }
    const outcome = await this.spending.charge(charge, until)
    // A deferred message comes again as another message, and must not have been charged.
    if (outcome.kind === 'unknown' && outcome.doubt && this.rules.unreachable === 'defer') await this.doubts.add(charge)
    return this.answer(outcome, charge.amount)
  }

  private answer(outcome: Outcome, requested: number): Verdict {
    switch (outcome.kind) {
      case 'fits':
        return { action: DUNNO, reason: 'fits', remaining: outcome.remaining }
      case 'exceeded': {
        const { remaining, refillsAt } = outcome
        const action = refusal({ requested, remaining, refillsAt }, this.now(), this.rules.timeZone)
        return { action, reason: 'exceeded', remaining }
      }
      case 'no_quota':
        return { action: NO_QUOTA, reason: 'no_quota' }
      case 'contradiction':
        // Always deferred, whatever the setting `unreachable` says: a message must not pass as the charge of another.
        return { action: unreachable('defer'), reason: 'contradiction' }
      case 'unknown':
        return { action: unreachable(this.rules.unreachable), reason: 'unreachable', error: outcome.error }
    }
  }

  private cannotAsk(payer: Payer, error: string): Verdict {
    return { action: unreachable(this.rules.unreachable), reason: 'unreachable', payer: payer.name, error }
  }
}

/**
 * Identifies a message: Postfix's `instance` (process, microsecond, count) and the sender, readable if they fit into
 * a key. A repeated question has the same key, also over another connection.
 */
export function keyOf({ instance, sender }: Question): string {
  const readable = `postfix:${instance}:${sender}`
  if (readable.length <= MAX_KEY_LENGTH && /^[!-~]+$/.test(readable)) return readable
  return `postfix#${createHash('sha256')
    .update(JSON.stringify([instance, sender]))
    .digest('hex')}`
}

async function within<Value>(ms: number, work: Promise<Value>): Promise<Value> {
  const late = sleep(ms, undefined, { ref: false }).then(() => {
    throw new Error(`no answer within ${ms} ms`)
  })
  return Promise.race([work, late])
}
