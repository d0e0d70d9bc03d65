import type { Instant } from './instant.js'

/** How long the time must be confirmed before permanent conclusions are drawn from it. */
export const STEADY_MS = 60_000
/** The same before anything is removed. */
export const STEADY_FOR_REMOVAL_MS = 3_600_000

/** The source of the present time. It is injected everywhere, so that tests determine the time. */
export abstract class Clock {
  /** The present, in milliseconds since 1970-01-01T00:00:00Z. */
  abstract now(): Instant

  /**
   * How long the time has been confirmed: its source was read repeatedly, and has not stepped. In milliseconds; 0 while
   * it is in doubt.
   */
  get steadyForMs(): number {
    return Infinity
  }

  /**
   * May permanent conclusions be drawn from this time: an expiry recorded, a hold closed, a watermark moved? Temporary
   * ones do not need this check.
   */
  get steady(): boolean {
    return this.steadyForMs >= STEADY_MS
  }

  /** May something be removed because it is old by this time? */
  get steadyForRemoval(): boolean {
    return this.steadyForMs >= STEADY_FOR_REMOVAL_MS
  }

  /**
   * The present, for a permanent conclusion: not later than the source's own time.
   * @param _ask reads the source, in the transaction of the conclusion
   */
  async confirmed(_ask: () => Promise<Instant>): Promise<Instant> {
    return this.now()
  }
}

/** The machine's clock. */
export class SystemClock extends Clock {
  override now(): Instant {
    return Date.now()
  }
}
