import type { Instant } from '../time/instant.js'
import { type Limits, limitsAt } from './cap.js'
import { byDrawDown } from './draw-down.js'
import { isFollowed } from './follow.js'
import type { QuotaState } from './quota.js'

/**
 * What is in force for an owner over its chain (contract, §13): its payers in paying order, the owner's own in
 * draw-down order, then the shared ones of each group in that order; and all caps, ids ascending.
 * @param levels rolled quotas: those of the owner with its counts, then those of its group, of that group's parent, …
 */
export function inForce<Q extends QuotaState>(levels: readonly Iterable<Q>[], now: Instant): Limits<Q> {
  const found = levels.map((quotas) => limitsAt(quotas, now))
  return {
    payers: found.flatMap(({ payers }) => payers.filter((quota) => !isFollowed(quota)).sort(byDrawDown)),
    caps: found.flatMap(({ caps }) => caps.filter((quota) => !isFollowed(quota))).sort((a, b) => a.id - b.id),
  }
}
