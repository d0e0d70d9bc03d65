import type { Instant } from '../time/instant.js'

/** For how long a time must have been seen to stay before anything is concluded from it for good. */
export const SEEN_TO_STAY_MS = 60_000
/** The same before anything is removed by it. */
export const SEEN_TO_STAY_FOR_REMOVAL_MS = 3_600_000

/** Where time comes from. One is injected everywhere, so that tests decide what time it is. */
export abstract class Clock {
  /** The present, in milliseconds since 1970-01-01T00:00:00Z. */
  abstract now(): Instant

  /**
   * For how long the time has been seen to stay: where it comes from was asked again and again, and has not stepped. In
   * milliseconds; 0 while it is in doubt.
   */
  get steadyForMs(): number {
    return Infinity
  }

  /**
   * May something be concluded from this time for good: an expiry written down, a hold closed, a watermark moved? What
   * only asks what holds now need not ask this.
   */
  get steady(): boolean {
    return this.steadyForMs >= SEEN_TO_STAY_MS
  }

  /** May something be removed because it is old by this time? */
  get steadyForRemoval(): boolean {
    return this.steadyForMs >= SEEN_TO_STAY_FOR_REMOVAL_MS
  }

  /**
   * The present, for a conclusion that cannot be taken back: not later than the source itself says.
   * @param _ask asks it, in the transaction that concludes
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
