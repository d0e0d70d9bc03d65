import { v7 } from 'uuid'
import type { Clock } from '../../clock/clock.js'
import { pooledRandom } from '../../random/pooled-random.js'
import type { Instant } from '../../time/instant.js'

/** The largest counter that a UUIDv7 made by `uuid` carries beside its milliseconds. */
const MAX_PER_MILLISECOND = 0x7fff_ffff
/** Ids keep rising where the clock goes back by no more than this; further back they follow it. In milliseconds. */
const MAX_AHEAD_MS = 60_000

/**
 * Makes UUIDv7 ids from the injected clock, rising within one process, so that sorting by id is sorting by arrival.
 * Where the clock goes back by more than a minute the ids go with it: a time that was wrong once is not kept for ever.
 */
export class IdSource {
  private last = -Infinity
  private sequence = 0
  private floor: Instant = 0

  constructor(private readonly clock: Clock) {}

  /** Every id from here on is later than this instant, whatever the clock says; until the next such word. */
  keepAfter(instant: Instant): void {
    this.floor = instant + 1
  }

  next(): string {
    const now = Math.max(this.clock.now(), this.floor)
    if (now > this.last || this.last - now > MAX_AHEAD_MS) {
      this.last = now
      this.sequence = 0
    } else {
      // Also where the clock went back a little: the id then keeps the later time.
      this.sequence += 1
      if (this.sequence > MAX_PER_MILLISECOND) {
        this.last += 1
        this.sequence = 0
      }
    }
    return v7({ msecs: this.last, seq: this.sequence, rng: pooledRandom })
  }
}
