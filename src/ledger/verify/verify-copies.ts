import type { Transaction } from '../../database/transaction-runner.js'
import { follow } from '../../domain/follow.js'
import { roll } from '../../domain/quota.js'
import { settingsView } from '../../domain/settings.js'
import type { Instant } from '../../common/instant.js'
import { groupOwner } from '../rows/group.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { GroupStore } from '../store/group-store.js'
import type { LedgerStore } from '../store/ledger-store.js'
import type { Mistake, StoredQuota } from './verify-settings.js'

/**
 * Compares the columns of members' counts with the quotas that they follow (contract, §13). They are a copy, for lists;
 * a copy that is known to be outdated is not compared.
 */
export class CopyCheck<Q extends QuotaRow> {
  private readonly groups: GroupStore<Q>

  constructor(private readonly store: LedgerStore<Q>) {
    this.groups = new GroupStore(store)
  }

  async wrong(
    transaction: Transaction,
    quotas: readonly StoredQuota[],
    now: Instant,
  ): Promise<ReadonlyMap<StoredQuota, readonly Mistake[]>> {
    const counts = quotas.filter(({ follows }) => follows !== null)
    const mistakes = new Map<StoredQuota, Mistake[]>()
    if (counts.length === 0) return mistakes
    const ids = [...new Set(counts.flatMap(({ follows }) => follows ?? []))]
    const followed = new Map((await this.store.quotasById(transaction, ids)).map((quota) => [quota.id, quota]))
    for (const quota of followed.values()) roll(quota, now)
    const chains = await this.groups.chainsOf(transaction, [...new Set(counts.map(({ ownerId }) => ownerId))])
    for (const count of counts) {
      const quota = followed.get(count.follows ?? 0)
      if (quota === undefined || quota.per !== 'member' || quota.ownerId !== groupOwner(count.groupId ?? 0))
        mistakes.set(count, [{ rule: 'settings', expected: 'a quota of its group that it follows', found: 'none' }])
      else if (count.copiesVersion === quota.copiesVersion)
        mistakes.set(
          count,
          differences(count, quota, chains.get(count.ownerId)?.includes(count.groupId ?? 0) === true, now),
        )
    }
    return mistakes
  }
}

/** The settings of an up-to-date count that are not what they follow. */
function differences(count: StoredQuota, followed: QuotaRow, isInChain: boolean, now: Instant): Mistake[] {
  const stored = { ...count, window: count.window ?? null }
  const should = { ...stored }
  follow(should, followed, isInChain, now)
  // A reset that has passed since is written with the next use, and so is an end.
  const { cycle_reset_at: _, ...is } = settingsView(stored)
  const expected = new Map<string, unknown>(Object.entries(settingsView(should)))
  const wrong = Object.entries(is).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(expected.get(name)),
  )
  if ((should.state === 'left') !== (stored.state === 'left')) wrong.push(['state', stored.state])
  return wrong.map(([name, value]) => ({
    rule: 'settings',
    expected: `${name} ${JSON.stringify(name === 'state' ? should.state : expected.get(name))}, as quota ${followed.id} says`,
    found: JSON.stringify(value),
  }))
}
