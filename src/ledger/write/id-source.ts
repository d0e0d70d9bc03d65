import { v7 } from 'uuid'
import type { Clock } from '../../common/clock.js'
import { pooledRandom } from '../../common/pooled-random.js'
import type { Instant } from '../../common/instant.js'

/** The largest counter in a UUIDv7 of `uuid`, in addition to its milliseconds. */
const MAX_PER_MILLISECOND = 0x7fff_ffff
/** If the clock goes back by at most this, ids keep increasing; beyond it, they follow the clock. In milliseconds. */
const MAX_AHEAD_MS = 60_000

/**
 * Creates UUIDv7 ids from the injected clock, increasing within one process, so that the order of ids is the order of
 * arrival. If the clock goes back by more than a minute, the ids follow it, so that a wrong time does not persist.
 */
export class IdSource {
  private last = -Infinity
  private sequence = 0
  private floor: Instant = 0

  constructor(private readonly clock: Clock) {}

  /** All later ids are greater than this instant, whatever the clock says; until the next call. */
  keepAfter(instant: Instant): void {
    this.floor = instant + 1
  }

  next(): string {
    const now = Math.max(this.clock.now(), this.floor)
    if (now > this.last || this.last - now > MAX_AHEAD_MS) {
      this.last = now
      this.sequence = 0
    } else {
      // Also if the clock went back a little: the id then keeps the later time.
      this.sequence += 1
      if (this.sequence > MAX_PER_MILLISECOND) {
        this.last += 1
        this.sequence = 0
      }
    }
    return v7({ msecs: this.last, seq: this.sequence, rng: pooledRandom })
  }
}
