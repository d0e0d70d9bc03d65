/** The minimum time between two lines of one kind, in milliseconds. */
const QUIET_MS = 10_000

interface Kind {
  quietUntil: number
  untold: number
}

/**
 * Logs events that callers can cause at any rate: the first one at once, then one every ten seconds, with the number of
 * omitted ones.
 */
export class RateLimitedLog {
  private readonly kinds = new Map<string, Kind>()

  /**
   * @param tell writes a line
   * @param now milliseconds of a monotonic clock
   */
  constructor(
    private readonly tell: (line: string) => void,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /**
   * Logs, or counts.
   * @param kind one of few; each has its own rate limit
   */
  happened(kind: string, line: string): void {
    const now = this.now()
    const { quietUntil, untold } = this.kinds.get(kind) ?? { quietUntil: now, untold: 0 }
    if (now < quietUntil) {
      this.kinds.set(kind, { quietUntil, untold: untold + 1 })
      return
    }
    this.kinds.set(kind, { quietUntil: now + QUIET_MS, untold: 0 })
    this.tell(untold === 0 ? line : `${line} (and ${untold} more since the last such line)`)
  }
}
