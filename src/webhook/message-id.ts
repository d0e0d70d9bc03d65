import { v7 } from 'uuid'
import { pooledRandom } from '../common/pooled-random.js'
import type { Instant } from '../common/instant.js'

/** An id for a message without an event. */
export function uuidV7(now: Instant): string {
  return v7({ msecs: now, rng: pooledRandom })
}
