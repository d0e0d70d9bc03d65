/** Between two lines of one kind, in milliseconds. */
const QUIET_MS = 10_000

interface Kind {
  quietUntil: number
  untold: number
}

/**
 * Tells of what others may make happen as often as they like: the first time at once, and then once in ten seconds,
 * with how many were not told.
 */
export class RateLimitedLog {
  private readonly kinds = new Map<string, Kind>()

  /**
   * @param tell takes a line
   * @param now milliseconds of a clock that never goes back
   */
  constructor(
    private readonly tell: (line: string) => void,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /**
   * Tells, or counts.
   * @param kind one of few; each has its own pace
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
