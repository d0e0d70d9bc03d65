/** How old an answer may be that is shared, in milliseconds. */
const OLDEST_MS = 1_000

/**
 * Reads something that costs the same however many want it. Who asks while it is read gets that reading; who asks after
 * more than a few of them within a second gets the last one, which is at most a second old. A failure is shared like a
 * success.
 */
export class SharedReading<T> {
  private running: Promise<T> | undefined
  private last: Promise<T> | undefined
  /** When the readings of the last second began, newest last. */
  private began: readonly number[] = []

  /**
   * @param read the costly thing
   * @param perSecond how often it may be done within a second
   * @param now milliseconds of a clock that never goes back
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
