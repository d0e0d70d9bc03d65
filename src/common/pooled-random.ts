import { randomFillSync } from 'node:crypto'

const UUID_BYTES = 16
/**
 * The number of ids whose random bytes are requested from the system at once: a request costs more than everything else
 * about an id.
 */
const POOL_BYTES = UUID_BYTES * 256

const pool = new Uint8Array(POOL_BYTES)
let used = POOL_BYTES

/** Random bytes for one UUID, as `uuid` expects them (`rng`); valid until the next call. */
export function pooledRandom(): Uint8Array {
  if (used === POOL_BYTES) {
    randomFillSync(pool)
    used = 0
  }
  used += UUID_BYTES
  return pool.subarray(used - UUID_BYTES, used)
}
