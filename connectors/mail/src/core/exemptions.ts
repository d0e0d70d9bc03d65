import { domainToASCII } from 'node:url'
import type { Question } from './question.js'

/** The maximum number of messages whose recipients are remembered; the oldest is forgotten for a further one. */
const MAX_MESSAGES = 10_000
/** A longer name of a message is not remembered; Postfix's has some 30 characters. */
const MAX_INSTANCE_LENGTH = 200

/** What is free. */
export interface ExemptionRules {
  /** In ASCII and lower case; a leading dot stands for all domains below. */
  readonly localDomains: ReadonlySet<string>
  /** Mail without a sender and a login: bounces, receipts. A login always pays. */
  readonly nullSender: 'pay' | 'pass'
}

/**
 * Which recipients count.
 *
 * Postfix names recipients to a policy service only one by one at `RCPT`, so these are remembered. What has not been
 * seen there counts; and as Postfix may refuse a recipient after the question, all others are taken to be accepted.
 */
export class Exemptions {
  private readonly seen = new Map<string, { local: number; other: number }>()

  constructor(private readonly rules: ExemptionRules) {}

  /** Is this an address of `LOCAL_DOMAINS`? Not if it names another server in its local part. */
  isLocal(address: string): boolean {
    const { localDomains } = this.rules
    if (localDomains.size === 0) return false
    const [, local = '', domain = ''] = /^(.*)@([^@]*)$/s.exec(address) ?? []
    if (/[@%!]/.test(local)) return false
    const name = domainToASCII(domain)
    if (localDomains.has(name)) return name !== ''
    return [...name.matchAll(/\./g)].some(({ index }) => localDomains.has(name.slice(index)))
  }

  /** Remembers a recipient that a front asks about alone. */
  note({ instance, recipient }: Question): void {
    if (this.rules.localDomains.size === 0 || instance === '' || instance.length > MAX_INSTANCE_LENGTH) return
    const seen = this.seen.get(instance) ?? { local: 0, other: 0 }
    seen[this.isLocal(recipient) ? 'local' : 'other'] += 1
    this.seen.set(instance, seen)
    const [oldest] = this.seen.keys()
    if (this.seen.size > MAX_MESSAGES && oldest !== undefined) this.seen.delete(oldest)
  }

  /** Does the count of a message depend on what this process remembers? After its end, another would find another. */
  remembers({ instance, localCount }: Question): boolean {
    return localCount === undefined && (this.seen.get(instance)?.local ?? 0) > 0
  }

  /** @returns how many recipients count; at `RCPT`, whether this one does. 0: nobody pays */
  countOf({ state, instance, sender, saslUsername, recipient, recipientCount, localCount }: Question): number {
    if (this.rules.nullSender === 'pass' && sender === '' && saslUsername === '') return 0
    if (recipient !== '' && (state === 'RCPT' || recipientCount === 1)) return this.isLocal(recipient) ? 0 : 1
    if (recipientCount < 1) return 1
    if (localCount !== undefined) return recipientCount - localCount
    const { local, other } = this.seen.get(instance) ?? { local: 0, other: 0 }
    return recipientCount - Math.min(local, Math.max(recipientCount - other, 0))
  }
}
