import type { Instant } from '../quota/instant.js'

/** Where time comes from. One is injected everywhere, so that tests decide what time it is. */
export abstract class Clock {
  /** The present, in milliseconds since 1970-01-01T00:00:00Z. */
  abstract now(): Instant
}

/** The machine's clock. */
export class SystemClock extends Clock {
  override now(): Instant {
    return Date.now()
  }
}
