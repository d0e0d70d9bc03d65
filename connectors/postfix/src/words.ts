import { moment } from '@quota-service/client/refusal'

/** An answer to Postfix: an action of access(5), with text for the sender of the message. */
export const DUNNO = 'DUNNO'

/** The action if nothing else decides. */
export type Leniency = 'pass' | 'defer' | 'reject'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Units, largest first, each with the duration in milliseconds from which it is used; seconds below all of them. */
const UNITS = [
  { name: 'day', ms: DAY_MS, from: 36 * HOUR_MS },
  { name: 'hour', ms: HOUR_MS, from: 90 * MINUTE_MS },
  { name: 'minute', ms: MINUTE_MS, from: 90 * SECOND_MS },
]

/** A refusal: the requested and the remaining recipients. */
export interface Shortage {
  /** The number of recipients of the message. */
  readonly requested: number
  /** The number of recipients that the account may still have. */
  readonly remaining: number
  /** RFC 3339: the time from which it may fit; null if waiting does not help. */
  readonly refillsAt: string | null
}

/**
 * The answer to a message that exceeds the quota.
 * @param now milliseconds since 1970
 * @param timeZone an IANA name
 */
export function refusal({ requested, remaining, refillsAt }: Shortage, now: number, timeZone: string): string {
  const asked = `${counted(requested, 'recipient')} asked for, ${remaining} left`
  if (refillsAt === null)
    return `REJECT Sending quota exceeded: ${asked}. Waiting does not help; please ask your administrator`
  const at = Date.parse(refillsAt)
  return `DEFER_IF_PERMIT Sending quota exceeded: ${asked}. This fits again ${pause(at - now)}, on ${moment(at, timeZone)}`
}

/** The answer to a message of an account without a quota. */
export const NO_QUOTA = 'REJECT This account has no sending quota; please ask your administrator'

/** The answer to a message without a known payer. */
export function unknownSender(setting: Leniency): string {
  if (setting === 'pass') return DUNNO
  const why = 'No sending quota is known for this sender; please ask your administrator'
  return setting === 'reject' ? `REJECT ${why}` : `DEFER_IF_PERMIT ${why}`
}

/** The answer if the service, or the source of accounts, is unreachable. */
export function unreachable(setting: 'pass' | 'defer'): string {
  return setting === 'pass'
    ? DUNNO
    : 'DEFER_IF_PERMIT Sending quotas cannot be checked at the moment; please try again later'
}

/** A duration from now, rounded up, so that the sender does not retry too early. */
export function pause(ms: number): string {
  const left = Math.max(SECOND_MS, ms)
  const { name, ms: size } = UNITS.find(({ from }) => left >= from) ?? { name: 'second', ms: SECOND_MS }
  return `in ${counted(Math.ceil(left / size), name)}`
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
