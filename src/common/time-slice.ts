/** How long one task may occupy the event loop before others run, in milliseconds. */
const SLICE_MS = 10

/**
 * Yields the event loop during long tasks: `if (slice.spent) await slice.next()` after each step. So no request,
 * whatever its size, delays others by more than a slice and a step.
 */
export class TimeSlice {
  private began = performance.now()

  /** Is the slice over? */
  get spent(): boolean {
    return performance.now() - this.began >= SLICE_MS
  }

  /** Continues in a later turn of the event loop. */
  async next(): Promise<void> {
    await new Promise(setImmediate)
    this.began = performance.now()
  }
}
