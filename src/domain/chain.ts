import type { Instant } from '../common/instant.js'
import { isCap, type Limits, MAX_LIVE_CAPS } from './cap.js'
import { byDrawDown } from './draw-down.js'
import { isFollowed } from './follow.js'
import { isActive, type QuotaState } from './quota.js'

/** The maximum number of groups in a chain (contract, §13). */
export const MAX_LEVELS = 3
/** The maximum number of caps in force for an owner: its own, and those of each group or its counts of them. */
export const MAX_CAPS_IN_FORCE = MAX_LIVE_CAPS * (1 + MAX_LEVELS)

/**
 * What is in force for an owner over its chain (contract, §13): its payers in paying order, the owner's own in
 * draw-down order, then the shared ones of each group in that order; and all caps, ids ascending.
 * @param levels rolled quotas: those of the owner with its counts, then those of its group, of that group's parent, …
 */
export function inForce<Q extends QuotaState>(levels: readonly Iterable<Q>[], now: Instant): Limits<Q> {
  const payers: Q[] = []
  const caps: Q[] = []
  for (const quotas of levels) {
    const payersOfLevel: Q[] = []
    for (const quota of quotas)
      if (isActive(quota, now) && !isFollowed(quota)) (isCap(quota) ? caps : payersOfLevel).push(quota)
    for (const quota of payersOfLevel.sort(byDrawDown)) payers.push(quota)
  }
  return { payers, caps: caps.sort((a, b) => a.id - b.id) }
}
