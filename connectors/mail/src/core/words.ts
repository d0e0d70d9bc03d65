import { counted, filled, type Texts } from './texts.js'

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
  readonly texts: Texts
  readonly unit: Unit
  /** Whom a sender asks: an address, a URL, or words. */
  readonly contact: string
  /** The IANA time zone of times. */
  readonly timeZone: string
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Units of time, largest first, each with the duration from which it is used; minutes below all of them. */
const TIMES = [
  { name: 'days', ms: DAY_MS, from: 36 * HOUR_MS },
  { name: 'hours', ms: HOUR_MS, from: 90 * MINUTE_MS },
] as const

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
  const { texts, unit, contact, timeZone } = wording
  const values = { requested: counted(texts[unit], requested), left: remaining, contact }
  if (refillsAt === null) {
    // A smaller message fits, where this one never will.
    const text = remaining === 0 ? texts.never : unit === 'kb' ? texts.smaller : texts.fewer
    return { answer: 'reject', text: filled(text, values) }
  }
  const at = Date.parse(refillsAt)
  const times = { pause: pause(at - now, texts), moment: moment(at, timeZone, texts) }
  return { answer: 'defer', text: filled(texts.later, { ...values, ...times }) }
}

/** The answer to a message of an account without a quota. */
export function noQuota(setting: Leniency, { texts, contact }: Wording): Answer {
  return lenient(setting, filled(texts.no_quota, { contact }))
}

/** The answer to a message without a known payer. */
export function unknownSender(setting: Leniency, { texts, contact }: Wording): Answer {
  return lenient(setting, filled(texts.unknown_sender, { contact }))
}

/** The answer if the service, or the source of accounts, is unreachable. */
export function unreachable(setting: 'pass' | 'defer', { texts }: Wording): Answer {
  return lenient(setting, texts.unreachable)
}

function lenient(answer: Leniency, text: string): Answer {
  return answer === 'pass' ? PASS : { answer, text }
}

/** A duration from now, rounded up, so that the sender does not retry too early; to the minute, as `moment`. */
export function pause(ms: number, texts: Texts): string {
  const left = Math.max(1, ms)
  const { name, ms: size } = TIMES.find(({ from }) => left >= from) ?? { name: 'minutes', ms: MINUTE_MS }
  return counted(texts[name], Math.ceil(left / size))
}

/**
 * A time, rounded up to the minute.
 * @param at milliseconds since 1970
 */
export function moment(at: number, timeZone: string, texts: Texts): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    day: 'numeric',
    month: 'numeric',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  })
  const parts = format.formatToParts(Math.ceil(at / MINUTE_MS) * MINUTE_MS)
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.find((one) => one.type === type)?.value ?? ''
  return filled(texts.moment, {
    day: Number(part('day')),
    month: texts.months.split(/\s+/)[Number(part('month')) - 1] ?? '',
    year: part('year'),
    time: `${part('hour')}:${part('minute')}`,
    zone: part('timeZoneName'),
  })
}
