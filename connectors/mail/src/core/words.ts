import { moment } from '@quota-service/client/refusal'

/** The action if nothing else decides. */
export type Leniency = 'pass' | 'defer' | 'reject'

/** An answer to a mail server. */
export interface Answer {
  /** `defer`: a temporary error; `reject`: a permanent one. */
  readonly answer: Leniency
  /** For the sender of the message: one line of ASCII; empty with `pass`. */
  readonly text: string
}

export const PASS: Answer = { answer: 'pass', text: '' }

/** What a quota counts: the recipients of a message, the message, or its size in kB (1,000 bytes), rounded up. */
export type Unit = 'recipients' | 'messages' | 'kb'

/** The operator's part of the texts. */
export interface Wording {
  readonly unit: Unit
  /** Whom a sender asks: an address, a URL, or words. */
  readonly contact: string
  /** The IANA time zone of times. */
  readonly timeZone: string
}

const NOUNS = { recipients: 'recipient', messages: 'message', kb: 'kB' } as const

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Units of time, largest first, each with the duration from which it is used; minutes below all of them. */
const TIMES = [
  { name: 'day', ms: DAY_MS, from: 36 * HOUR_MS },
  { name: 'hour', ms: HOUR_MS, from: 90 * MINUTE_MS },
]

/** A refusal, in units. */
export interface Shortage {
  /** What the message needs. */
  readonly requested: number
  /** What the account may still use. */
  readonly remaining: number
  /** RFC 3339: the time from which it may fit; null if waiting does not help. */
  readonly refillsAt: string | null
}

/**
 * The answer to a message that exceeds the quota.
 * @param now milliseconds since 1970
 */
export function refusal({ requested, remaining, refillsAt }: Shortage, now: number, wording: Wording): Answer {
  const { unit, contact, timeZone } = wording
  const noun = NOUNS[unit]
  const exceeded = `Sending quota exceeded: ${counted(requested, noun)} asked for, ${remaining} left`
  if (refillsAt === null) {
    // A smaller message fits, where this one never will.
    const less = unit === 'kb' ? `send at most ${remaining} kB at a time` : `send to at most ${remaining} at a time`
    const advice = `${remaining > 0 ? `${less}, or` : 'please'} ask ${contact}`
    return { answer: 'reject', text: `${exceeded}. Waiting does not help; ${advice}` }
  }
  const at = Date.parse(refillsAt)
  const text = `${exceeded}. This fits again ${pause(at - now)}, on ${moment(at, timeZone)}`
  return { answer: 'defer', text }
}

/** The answer to a message of an account without a quota. */
export function noQuota(setting: Leniency, contact: string): Answer {
  return lenient(setting, `This account has no sending quota; please ask ${contact}`)
}

/** The answer to a message without a known payer. */
export function unknownSender(setting: Leniency, contact: string): Answer {
  return lenient(setting, `No sending quota is known for this sender; please ask ${contact}`)
}

/** The answer if the service, or the source of accounts, is unreachable. */
export function unreachable(setting: 'pass' | 'defer'): Answer {
  return lenient(setting, 'Sending quotas cannot be checked at the moment; please try again later')
}

function lenient(answer: Leniency, text: string): Answer {
  return answer === 'pass' ? PASS : { answer, text }
}

/** A duration from now, rounded up, so that the sender does not retry too early; to the minute, as `moment`. */
export function pause(ms: number): string {
  const left = Math.max(1, ms)
  const { name, ms: size } = TIMES.find(({ from }) => left >= from) ?? { name: 'minute', ms: MINUTE_MS }
  return `in ${counted(Math.ceil(left / size), name)}`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 || noun === NOUNS.kb ? '' : 's'}`
}
