import { v7 } from 'uuid'
import type { Clock } from '../clock/clock.js'
import type { Instant } from '../quota/instant.js'
import { pooledRandom } from '../random/pooled-random.js'

/** The largest counter that a UUIDv7 made by `uuid` carries beside its milliseconds. */
const MAX_PER_MILLISECOND = 0x7fff_ffff

/**
 * Makes UUIDv7 ids from the injected clock, rising strictly within one process, so that sorting by id is sorting by
 * arrival.
 */
export class IdSource {
  private last = -Infinity
  private sequence = 0

  constructor(private readonly clock: Clock) {}

  /** Every id from here on is later than this instant, whatever the clock says. */
  keepAfter(instant: Instant): void {
    if (instant <= this.last) return
    this.last = instant
    this.sequence = 0
  }

  next(): string {
    const now = Math.max(this.clock.now(), 0)
    if (now > this.last) {
      this.last = now
      this.sequence = 0
    } else {
      // Also where the clock went back: the id then keeps the later time.
      this.sequence += 1
      if (this.sequence > MAX_PER_MILLISECOND) {
        this.last += 1
        this.sequence = 0
      }
    }
    return v7({ msecs: this.last, seq: this.sequence, rng: pooledRandom })
  }
}
