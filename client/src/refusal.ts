const MINUTE_MS = 60_000

/** A quota as a refusal tells of it. */
interface ShortQuota {
  readonly remaining: number
}

/** A cap as a refusal tells of it. */
interface ShortCap {
  readonly id: number
  readonly total: number
  readonly remaining: number
}

/** What a `quota_exceeded` and the answer of `check` have in common. */
export interface Shortage {
  /** What was asked for; `check` does not repeat it. */
  readonly requested?: number | undefined
  /** What one consume could take now. */
  readonly remaining: number
  /** What the quotas that pay could pay; absent where the service knows no caps. */
  readonly payable?: number | undefined
  /** Those that pay; `check` does not list them. */
  readonly quotas?: readonly ShortQuota[] | undefined
  /** The caps in the way. */
  readonly caps?: readonly ShortCap[] | undefined
  /** From when on it would pass if nobody else took anything; null where waiting does not help. */
  readonly refillsAt: string | null
}

/** How a refusal is put into words. */
export interface Wording {
  /** What was asked for, where the refusal does not say it. */
  readonly requested?: number
  /** What a unit is called: one, and several. Default `unit`, `units`. */
  readonly units?: readonly [one: string, several: string]
  /** An IANA zone, of the time; default UTC. */
  readonly timeZone?: string
}

/**
 * A refusal in one English sentence: what was asked for, every limit that is in the way, and when it fits again.
 * @throws RangeError `timeZone` is none
 */
export function refusalText(shortage: Shortage, wording: Wording = {}): string {
  const { remaining, caps = [], refillsAt } = shortage
  const [one, several] = wording.units ?? ['unit', 'units']
  const counted = (count: number): string => `${count} ${count === 1 ? one : several}`
  const requested = shortage.requested ?? wording.requested
  // Before there were caps, what is left was what can be paid.
  const payable = shortage.payable ?? remaining
  const short = requested === undefined ? caps.length === 0 : payable < requested
  const limits = [
    ...(short ? [`the quotas can pay ${payable}`] : []),
    ...caps.map(({ id, total, remaining: left }) => `cap ${id} of ${total} has ${left} left`),
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
 * A time in words, rounded up to the minute: whoever comes then does not come too early.
 * @param at milliseconds since 1970
 * @param timeZone an IANA zone
 * @throws RangeError `timeZone` is none
 */
export function moment(at: number, timeZone: string): string {
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
