/** How long one piece of work may hold the event loop before others get their turn, in milliseconds. */
const SLICE_MS = 10

/**
 * Lets others have the event loop during long work: `if (slice.spent) await slice.next()` after each step. No request's
 * work, however much its caller sent, then holds up anybody else's for longer than a slice and a step.
 */
export class TimeSlice {
  private began = performance.now()

  /** Has the work gone on for long enough? */
  get spent(): boolean {
    return performance.now() - this.began >= SLICE_MS
  }

  /** Goes on in a later turn of the event loop. */
  async next(): Promise<void> {
    await new Promise(setImmediate)
    this.began = performance.now()
  }
}
