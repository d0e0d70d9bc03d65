import type { Instant } from '../../common/instant.js'

/** A period, half-open: `from` belongs to it, `to` does not. An absent end is open. */
export interface Period {
  readonly from?: Instant | undefined
  readonly to?: Instant | undefined
}

/** Does the period contain no instant? */
export function isEmpty({ from, to }: Period): boolean {
  return from !== undefined && to !== undefined && from >= to
}
