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
 * Compares the columns of members' counts with the quotas that they follow (contract, §13), which are a copy for lists;
 * one that is known to be outdated is not compared.
 * @returns the mistakes by the id of the count
 */
export async function wrongCopies<Q extends QuotaRow>(
  transaction: Transaction,
  store: LedgerStore<Q>,
  quotas: readonly StoredQuota[],
  now: Instant,
): Promise<ReadonlyMap<number, readonly Mistake[]>> {
  const counts = quotas.filter(({ follows }) => follows !== null)
  if (counts.length === 0) return new Map()
  const ids = [...new Set(counts.map(({ follows }) => follows ?? 0))]
  const followed = new Map((await store.quotasById(transaction, ids)).map((quota) => [quota.id, quota]))
  for (const quota of followed.values()) roll(quota, now)
  const owners = [...new Set(counts.map(({ ownerId }) => ownerId))]
  const chains = await new GroupStore(store).chainsOf(transaction, owners)
  const mistakesOf = (count: StoredQuota): Mistake[] => {
    const [quota, groupId] = [followed.get(count.follows ?? 0), count.groupId ?? 0]
    if (quota === undefined || quota.per !== 'member' || quota.ownerId !== groupOwner(groupId))
      return [{ rule: 'settings', expected: 'a quota of its group that it follows', found: 'none' }]
    if (count.copiesVersion !== quota.copiesVersion) return []
    return differences(count, quota, chains.get(count.ownerId)?.includes(groupId) === true, now)
  }
  return new Map(counts.map((count) => [count.id, mistakesOf(count)]))
}

/** The settings of an up-to-date count that are not what they follow. */
function differences(count: StoredQuota, followed: QuotaRow, isInChain: boolean, now: Instant): Mistake[] {
  const stored = { ...count, window: count.window ?? null }
  const should = { ...stored }
  follow(should, followed, isInChain, now)
  // A reset that has passed since is written with the next use, and so is an end.
  const { cycle_reset_at: _, ...is } = settingsView(stored)
  const expected = new Map<string, unknown>(Object.entries(settingsView(should)))
  // Over is over, whatever status the count overrides: lists show it at most 60 s later.
  if (should.state === 'expired') expected.set('status', is.status)
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
