import { isFollowed } from '../../domain/follow.js'
import { groupBy } from '../../common/group-by.js'
import type { QuotaRow } from '../rows/quota.entity.js'

/** Counts of members. Those of quotas that are over stay for ever, and are read only where somebody names them. */
export interface WantedCounts {
  readonly ownerIds: readonly number[]
  /** The quotas that they follow; undefined: all. */
  readonly follows: ReadonlySet<number> | undefined
}

interface Following {
  readonly ownerIds: number[]
  readonly follows: ReadonlySet<number>
}

/**
 * The counts that owners may have of the quotas of their chains.
 * @param followedOf by group, its quotas of which each member has a count
 * @param known what is asked for already; each owner is in one of them
 */
export function countsWanted(
  chains: ReadonlyMap<number, readonly number[]>,
  followedOf: ReadonlyMap<number, readonly number[]>,
  known: readonly WantedCounts[],
): WantedCounts[] {
  const knownOf = new Map(known.flatMap((counts) => counts.ownerIds.map((ownerId) => [ownerId, counts])))
  // Members of one group share a condition.
  const wanted = new Map<readonly number[], Following>()
  for (const [ownerId, chain] of chains) {
    let counts = wanted.get(chain)
    if (counts === undefined) {
      counts = { ownerIds: [], follows: new Set(chain.flatMap((groupId) => followedOf.get(groupId) ?? [])) }
      wanted.set(chain, counts)
    }
    if (!covers(knownOf.get(ownerId), counts.follows)) counts.ownerIds.push(ownerId)
  }
  return [...wanted.values()].filter(({ ownerIds, follows }) => ownerIds.length > 0 && follows.size > 0)
}

function covers(known: WantedCounts | undefined, ids: ReadonlySet<number>): boolean {
  if (known === undefined) return false
  const { follows } = known
  return follows === undefined || [...ids].every((id) => follows.has(id))
}

/** By group, those of the quotas of which each member has a count. */
export function followedByGroup(quotas: readonly QuotaRow[]): Map<number, number[]> {
  const byGroup = groupBy(quotas.filter(isFollowed), ({ groupId }) => groupId ?? 0)
  return new Map([...byGroup].map(([groupId, followed]) => [groupId, followed.map(({ id }) => id)]))
}
