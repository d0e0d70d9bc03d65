import { createHmac } from 'node:crypto'
import { type Accounts, type Payer, payerOf } from './accounts.js'
import type { Doubts } from './doubts.js'
import type { ExemptionRules, Exemptions } from './exemptions.js'
import type { Question } from './question.js'
import type { Charge, Outcome, Spending } from './spending.js'
import { within } from './within.js'
import {
  type Answer,
  type Leniency,
  noQuota,
  PASS,
  refusal,
  type Unit,
  unknownSender,
  unreachable,
  type Wording,
} from './words.js'

/** The maximum time for an answer, in milliseconds. The mail server and its client wait meanwhile. */
export const ANSWER_WITHIN_MS = 4_000
/** The same before the end of the message, which will be asked about, too. */
const EARLY_ANSWER_WITHIN_MS = 2_000
/** The part of it for the lookup of the account. */
const ACCOUNT_WITHIN_MS = 1_500
const BYTES_PER_KB = 1_000
const PAYER_HASH_LENGTH = 12
const MAX_QUEUE_ID_LENGTH = 64

/** The operator's decisions. */
export interface Rules extends Wording, ExemptionRules {
  /** The payer of messages without a login. */
  readonly payerWithoutSasl: 'none' | 'sender' | 'network'
  readonly unknownSender: Leniency
  readonly noQuota: Leniency
  readonly unreachable: 'pass' | 'defer'
  /** Whether to check at `RCPT` as well that units are left. */
  readonly checkAtRcpt: boolean
}

/** An answer, with its details for the log and the metrics. */
export interface Verdict extends Answer {
  readonly reason:
    | 'not_asked'
    /** Nobody pays for this. */
    | 'free'
    | 'fits'
    | 'exceeded'
    | 'no_quota'
    | 'unknown_sender'
    | 'unreachable'
    /** Left to the end of the message. */
    | 'postponed'
    | 'in_doubt'
    | 'contradiction'
  /** The payer's name, for the log at the level `debug` alone. */
  readonly payer?: string
  /** Tells payers apart without naming them. */
  readonly payerHash?: string | undefined
  readonly account?: number
  /** The units that the message needs. */
  readonly amount?: number
  /** The units that the account may still use. */
  readonly remaining?: number
  /** The charge that was tried. */
  readonly charge?: Charge
  readonly error?: string
}

const POSTPONED = { ...PASS, reason: 'postponed' } as const

/** Decides the answer to a mail server. */
export class Judge {
  constructor(
    private readonly rules: Rules,
    private readonly exemptions: Exemptions,
    private readonly accounts: Accounts,
    private readonly spending: Pick<Spending, 'charge' | 'check'>,
    private readonly doubts: Pick<Doubts, 'add' | 'begin' | 'has'>,
    /** The secret of hashes. @throws Error if it cannot be read now */
    private readonly secret: () => Promise<string>,
    /** Milliseconds since 1970. */
    private readonly now: () => number,
  ) {}

  /**
   * Answers within `ANSWER_WITHIN_MS`: charges at the end of a message, and checks at `DATA`, before its body is sent.
   * @throws Error if the question lacks data for a charge; there is no answer then
   */
  async decide(question: Question): Promise<Verdict> {
    const verdict = await this.decided(question)
    // A recipient that is refused here is none of the message.
    if (question.state === 'RCPT' && question.localCount === undefined && verdict.answer === 'pass')
      this.exemptions.note(question)
    return verdict
  }

  private async decided(question: Question): Promise<Verdict> {
    const { state } = question
    const final = state === 'END-OF-MESSAGE'
    if (!final && state !== 'DATA' && !(this.rules.checkAtRcpt && state === 'RCPT'))
      return { ...PASS, reason: 'not_asked' }
    if (final && question.instance === '') throw new Error('a message without instance: is this Postfix 2.3 or later?')
    if (final && question.recipientCount < 1) throw new Error('a message without recipients')
    if (final && this.rules.unit === 'kb' && question.size === undefined) throw new Error('a message without size')
    const counted = this.exemptions.countOf(question)
    if (counted === 0) return { ...PASS, reason: 'free', amount: 0 }
    const verdict = await this.judge(question, counted, final)
    // A message that the end would accept is not lost to an outage at `DATA`.
    return final || verdict.reason !== 'unreachable' ? verdict : { ...verdict, ...POSTPONED }
  }

  private async judge(question: Question, counted: number, final: boolean): Promise<Verdict> {
    const until = performance.now() + (final ? ANSWER_WITHIN_MS : EARLY_ANSWER_WITHIN_MS)
    const payer = payerOf(question, this.rules.payerWithoutSasl)
    let secret: string
    let account: number | undefined
    try {
      secret = await this.secret()
      account = await within(ACCOUNT_WITHIN_MS, this.accounts.find(payer))
    } catch (error) {
      return {
        ...unreachable(this.rules.unreachable, this.rules),
        reason: 'unreachable',
        payer: payer.name,
        error: `the account is not known: ${(error as Error).message}`,
      }
    }
    const { unit, unknownSender: setting } = this.rules
    const named = { payer: payer.name, payerHash: payerHashOf(payer, secret) }
    if (account === undefined) return { ...named, ...unknownSender(setting, this.rules), reason: 'unknown_sender' }
    const amount = amountOf(counted, question.size ?? 0, unit)
    const known = { ...named, account, amount }
    if (!final) {
      const outcome = await this.spending.check(account, amount, until)
      return { ...known, ...(this.isUnclear(outcome) ? POSTPONED : this.answer(outcome, amount)) }
    }
    const charge = {
      account,
      amount,
      key: keyOf(question, secret),
      queueId: question.queueId.slice(0, MAX_QUEUE_ID_LENGTH),
    }
    const repeatable = question.repeats && !this.exemptions.remembers(question)
    return { ...known, charge, ...(await this.charge(charge, repeatable, until)) }
  }

  /** @param repeatable another process that is asked about the message would make the same charge */
  private async charge(charge: Charge, repeatable: boolean, until: number): Promise<Verdict> {
    if (this.doubts.has(charge.key)) return { ...unreachable('defer', this.rules), reason: 'in_doubt' }
    if (!repeatable) await this.doubts.begin(charge)
    const outcome = await this.spending.charge(charge, until)
    // A deferred message comes again as another message, and must not have been charged.
    if (outcome.kind === 'unknown' && outcome.doubt && this.rules.unreachable === 'defer') await this.doubts.add(charge)
    return this.answer(outcome, charge.amount)
  }

  private answer(outcome: Outcome, requested: number): Verdict {
    switch (outcome.kind) {
      case 'fits':
        return { ...PASS, reason: 'fits', remaining: outcome.remaining }
      case 'exceeded': {
        const { remaining, refillsAt } = outcome
        return {
          ...refusal({ requested, remaining, refillsAt }, this.now(), this.rules),
          reason: 'exceeded',
          remaining,
        }
      }
      case 'no_quota':
        return { ...noQuota(this.rules.noQuota, this.rules), reason: 'no_quota' }
      case 'contradiction':
        // Always deferred, whatever the setting `unreachable` says: a message must not pass as the charge of another.
        return { ...unreachable('defer', this.rules), reason: 'contradiction' }
      case 'too_many':
        // Likewise: what passes during an outage must not pass without a charge whenever somebody invents accounts.
        return { ...unreachable('defer', this.rules), reason: 'unreachable', error: outcome.error }
      case 'unknown':
        return { ...unreachable(this.rules.unreachable, this.rules), reason: 'unreachable', error: outcome.error }
    }
  }

  /** A check does not tell an account without a quota from one that has nothing left for ever; a charge does. */
  private isUnclear(outcome: Outcome): boolean {
    const nothing = outcome.kind === 'exceeded' && outcome.remaining === 0 && outcome.refillsAt === null
    return nothing && this.rules.noQuota !== 'reject'
  }
}

/** The units that a message needs, as far as the mail server knows: its size only at the end. */
function amountOf(counted: number, size: number, unit: Unit): number {
  const known = { recipients: counted, messages: 1, kb: Math.ceil(size / BYTES_PER_KB) }
  return Math.max(known[unit], 1)
}

/**
 * Identifies a message: its `instance` and the sender, whose address does not leave the connector. A repeated question
 * has the same key, also over another connection, or connector with that secret.
 */
export function keyOf({ instance, sender }: Question, secret: string): string {
  return `mail:${hashOf(secret, 'message', instance, sender)}`
}

function payerHashOf({ kind, name }: Payer, secret: string): string | undefined {
  return name === '' ? undefined : hashOf(secret, kind, name.toLowerCase()).slice(0, PAYER_HASH_LENGTH)
}

function hashOf(secret: string, ...parts: string[]): string {
  return createHmac('sha256', secret).update(JSON.stringify(parts)).digest('hex')
}
