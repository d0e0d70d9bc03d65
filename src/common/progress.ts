/** The minimum time between two lines. */
const EVERY_MS = 10_000

/** The numbers of rows that were read of a channel or a table, by subject: `acts`. */
type Counts = Readonly<Record<string, number>>

/**
 * Prints the progress of a long verification or copy: what was read, what remains, and for about how long. To add up an
 * owner's ledger, its acts and operations are read again, so owners count as much as these.
 */
export class Progress {
  private readonly done: Record<string, Record<string, number>> = {}
  private readonly began: number
  private told: number

  /**
   * @param about estimated numbers of rows, by channel or table
   * @param tell prints a line
   * @param now a clock, in milliseconds
   */
  constructor(
    private readonly about: Readonly<Record<string, Counts>>,
    private readonly tell: (line: string) => void,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.began = now()
    this.told = this.began
  }

  /** Accounts for a page. */
  read(channel: string, what: string, count: number): void {
    const done = (this.done[channel] ??= {})
    done[what] = (done[what] ?? 0) + count
    if (this.now() - this.told < EVERY_MS) return
    this.told = this.now()
    this.tell(this.line())
  }

  private line(): string {
    const seconds = (this.now() - this.began) / 1_000
    let [all, read] = [0, 0]
    const parts: string[] = []
    for (const [channel, about] of Object.entries(this.about)) {
      for (const [what, total] of Object.entries(about)) {
        const done = this.done[channel]?.[what] ?? 0
        // An estimate may be too low.
        const rows = Math.max(total, done)
        const weight =
          what === 'owners' ? 1 + ((about['acts'] ?? 0) + (about['operations'] ?? 0)) / Math.max(1, total) : 1
        all += rows * weight
        read += done * weight
        if (done > 0 && done < rows) parts.push(`${done} of about ${rows} ${channel} ${what}`)
      }
    }
    const left = read === 0 ? 0 : (seconds * (all - read)) / read
    const percent = all === 0 ? 100 : Math.floor((100 * read) / all)
    return `${percent} % after ${Math.round(seconds)} s, about ${Math.ceil(left)} s left${parts.map((part) => `; ${part}`).join('')}`
  }
}
