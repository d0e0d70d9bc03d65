/** The maximum age of a shared answer, in milliseconds. */
const OLDEST_MS = 1_000

/**
 * Shares an expensive read. Requests during a read get its result; requests after more than a few reads within a second
 * get the last result, which is at most a second old. Failures are shared, too.
 */
export class SharedReading<T> {
  private running: Promise<T> | undefined
  private last: Promise<T> | undefined
  /** The start times of the last second's reads, newest last. */
  private began: readonly number[] = []

  /**
   * @param read the expensive read
   * @param perSecond maximum number of reads within a second
   * @param now milliseconds of a monotonic clock
   */
  constructor(
    private readonly read: () => Promise<T>,
    private readonly perSecond: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  get(): Promise<T> {
    if (this.running !== undefined) return this.running
    const now = this.now()
    this.began = this.began.filter((began) => now - began < OLDEST_MS)
    if (this.last !== undefined && this.began.length >= this.perSecond) return this.last
    this.began = [...this.began, now]
    this.last = this.running = this.read().finally(() => (this.running = undefined))
    return this.last
  }
}
