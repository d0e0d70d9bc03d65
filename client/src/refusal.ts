const MINUTE_MS = 60_000

/** A quota in a refusal. */
interface ShortQuota {
  readonly remaining: number
}

/** A cap in a refusal. */
interface ShortCap {
  /** Null for a cap of the owner's group that each member has for itself, before the owner's first consume. */
  readonly id: number | null
  readonly total: number
  readonly remaining: number
}

/** The common members of a `quota_exceeded` and the answer of `check`. */
export interface Shortage {
  /** The requested amount; `check` does not repeat it. */
  readonly requested?: number | undefined
  /** The largest amount that one consume can take now. */
  readonly remaining: number
  /** The amount that the payers can pay; absent if the service has no caps. */
  readonly payable?: number | undefined
  /** The payers; `check` does not list them. */
  readonly quotas?: readonly ShortQuota[] | undefined
  /** The caps that refuse the amount. */
  readonly caps?: readonly ShortCap[] | undefined
  /** The time from which it fits if nobody else takes anything; null if waiting does not help. */
  readonly refillsAt: string | null
}

/** The options of the wording. */
export interface Wording {
  /** The requested amount, if the refusal does not contain it. */
  readonly requested?: number
  /** The noun for a unit, singular and plural. Default `unit`, `units`. */
  readonly units?: readonly [one: string, several: string]
  /** The IANA time zone of times; default UTC. */
  readonly timeZone?: string
}

/**
 * Describes a refusal in one English sentence: the requested amount, every limit that refuses it, and when it fits
 * again.
 * @throws RangeError if `timeZone` is invalid
 */
export function refusalText(shortage: Shortage, wording: Wording = {}): string {
  const { remaining, caps = [], refillsAt } = shortage
  const [one, several] = wording.units ?? ['unit', 'units']
  const counted = (count: number): string => `${count} ${count === 1 ? one : several}`
  const requested = shortage.requested ?? wording.requested
  // Services without caps send only what can be paid.
  const payable = shortage.payable ?? remaining
  const short = requested === undefined ? caps.length === 0 : payable < requested
  const limits = [
    ...(short ? [`the quotas can pay ${payable}`] : []),
    ...caps.map(
      ({ id, total, remaining: left }) => `${id === null ? 'a cap' : `cap ${id}`} of ${total} has ${left} left`,
    ),
  ]
  const asked =
    requested === undefined
      ? `no more than ${counted(remaining)} fit`
      : `${counted(requested)} ${requested === 1 ? 'does' : 'do'} not fit`
  const why = limits.length === 0 ? '' : `: ${listed(limits)}`
  const when =
    refillsAt === null
      ? 'waiting does not help'
      : `it fits again on ${moment(Date.parse(refillsAt), wording.timeZone ?? 'UTC')}`
  return `${asked.charAt(0).toUpperCase()}${asked.slice(1)}${why}; ${when}.`
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}

/**
 * Formats a time, rounded up to the minute, so that nobody retries too early.
 * @param at milliseconds since 1970
 * @param timeZone an IANA zone
 * @throws RangeError if `timeZone` is invalid
 */
function moment(at: number, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', {
    timeZone,
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  }).format(Math.ceil(at / MINUTE_MS) * MINUTE_MS)
}
