import { describe, expect, it } from '@jest/globals'
import { quotaState } from '../../../test/support/quota-state.js'
import type { Hold } from '../../domain/refill.js'
import { groupOwner } from '../rows/group.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { WorkingSet } from './working-set.js'

const NOW = Date.parse('2026-11-21T12:00:00Z')

const quota = (given: Partial<QuotaRow>): QuotaRow => ({
  ...quotaState({ expireAt: NOW + 1e9 }),
  ownerId: 1,
  openingUsed: 0,
  copiesVersion: null,
  version: 1,
  updatedAt: 0,
  ...given,
})

const hold = (operationId: string, quotaId: number, amount: number, cycleSeq = 0): { ownerId: number; hold: Hold } => ({
  ownerId: 1,
  hold: { operationId, expiresAt: NOW - 1, allocations: [{ quotaId, cycleSeq, amount }] },
})

/** A quota of 10 that five due holds of 2 keep wholly. */
const kept = (): { workingSet: WorkingSet<QuotaRow>; one: QuotaRow; due: ReturnType<typeof hold>[] } => {
  const workingSet = new WorkingSet<QuotaRow>(NOW)
  const one = quota({ reserved: 10, holdDueAt: NOW - 1 })
  workingSet.addQuota(one)
  const due = ['a', 'b', 'c', 'd', 'e'].map((id) => hold(id, 1, 2))
  workingSet.addDueUnits([1], [{ quotaId: 1, cycleSeq: 0, amount: 10, countedAt: null }])
  return { workingSet, one, due }
}

describe('units of due holds', () => {
  it('no longer count, and stay stored until the expiry is recorded', () => {
    const { workingSet, one, due } = kept()
    expect(one.reserved).toBe(0)
    expect(workingSet.changedCounters()).toEqual([])
    workingSet.expireHolds(due.slice(0, 2), true)
    expect(one.reserved).toBe(0)
    expect(workingSet.changedCounters()).toEqual([{ id: 1, values: { reserved: 6 } }])
    expect([...workingSet.expiredOperations]).toEqual(['a', 'b'])
    expect(workingSet.closedHolds).toEqual(['a', 'b'])
    // Twice is once.
    workingSet.expireHolds(due, true)
    expect(workingSet.changedCounters()).toEqual([{ id: 1, values: { reserved: 0 } }])
    expect(workingSet.closedHolds).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('are recorded as expired as far as they are spent, so that the stored counters never exceed the total', () => {
    const { workingSet, one, due } = kept()
    expect(workingSet.spendsDueUnits).toBe(false)
    workingSet.applyAllocations([{ quotaId: 1, cycleSeq: 0, amount: 5 }], { used: 1 })
    expect(workingSet.spendsDueUnits).toBe(true)
    workingSet.expireHolds(due, false)
    expect(workingSet.spendsDueUnits).toBe(false)
    expect([...workingSet.expiredOperations]).toEqual(['a', 'b', 'c'])
    expect(workingSet.stored(one)).toMatchObject({ used: 5, reserved: 4, total: 10 })
    expect(workingSet.changedCounters()).toEqual([{ id: 1, values: { used: 5, reserved: 4 } }])
  })

  it('are not counted as spent if only an edit lowered the total', () => {
    const { workingSet, one, due } = kept()
    one.total = 1
    workingSet.markEdited(one)
    expect(workingSet.spendsDueUnits).toBe(false)
    workingSet.expireHolds(due, false)
    expect(workingSet.stored(one).reserved).toBe(10)
  })

  it('do not count in a quota that is added later, and never in a newer cycle', () => {
    const workingSet = new WorkingSet<QuotaRow>(NOW)
    workingSet.addDueUnits(
      [1],
      [
        { quotaId: 1, cycleSeq: 0, amount: 4, countedAt: null },
        { quotaId: 2, cycleSeq: 0, amount: 4, countedAt: null },
      ],
    )
    const deleted = quota({ reserved: 7, deletedAt: NOW - 5 })
    const newer = quota({ id: 2, reserved: 7, cycleSeq: 1 })
    workingSet.addQuota(deleted)
    workingSet.addQuota(newer)
    expect([deleted.reserved, newer.reserved]).toEqual([3, 7])
    workingSet.expireHolds([hold('old', 2, 4), hold('gone', 1, 4)], true)
    expect([workingSet.stored(deleted).reserved, workingSet.stored(newer).reserved]).toEqual([3, 7])
  })
})

describe('the time at which holds must be checked', () => {
  it('stays while a due hold is stored', () => {
    const { workingSet, one, due } = kept()
    workingSet.expireHolds(due.slice(0, 4), true)
    workingSet.moveDueTimes(new Map([[1, NOW + 500]]))
    expect(one.holdDueAt).toBe(NOW - 1)
    workingSet.expireHolds(due, true)
    workingSet.moveDueTimes(new Map())
    expect(one.holdDueAt).toBeNull()
  })

  it('advances past a hold that was settled early, so that the next check is at the next hold', () => {
    const workingSet = new WorkingSet<QuotaRow>(NOW)
    const one = quota({ reserved: 5, holdDueAt: NOW - 1 })
    workingSet.addQuota(one)
    workingSet.addDueUnits([1], [])
    workingSet.moveDueTimes(new Map([[1, NOW + 500]]))
    expect(workingSet.changedCounters()).toEqual([{ id: 1, values: { holdDueAt: NOW + 500 } }])
    expect(workingSet.expiredOperations.size).toBe(0)
  })

  it('is not later than a hold that the same batch opens', () => {
    const { workingSet, one, due } = kept()
    workingSet.expireHolds(due, true)
    workingSet.applyAllocations([{ quotaId: 1, cycleSeq: 0, amount: 1 }], { reserved: 1 })
    workingSet.openHold(1, {
      operationId: 'new',
      expiresAt: NOW + 100,
      allocations: [{ quotaId: 1, cycleSeq: 0, amount: 1 }],
    })
    workingSet.moveDueTimes(new Map([[1, NOW + 500]]))
    expect(one.holdDueAt).toBe(NOW + 100)
  })
})

describe('what is in force for the members of a group', () => {
  it('is looked up again for each of them after an edit of a quota that they share', () => {
    const workingSet = new WorkingSet<QuotaRow>(NOW)
    const shared = quota({ ownerId: groupOwner(5), groupId: 5, per: 'group' })
    workingSet.addQuota(shared)
    for (const ownerId of [1, 2]) workingSet.setChain(ownerId, [5])
    const payers = () => [1, 2].map((ownerId) => workingSet.limits(ownerId).payers.length)
    expect(payers()).toEqual([1, 1])
    shared.state = 'disabled'
    workingSet.markEdited(shared)
    expect(payers()).toEqual([0, 0])
  })

  it('passes thresholds by the settings that an edit has just given to their counts', () => {
    const workingSet = new WorkingSet<QuotaRow>(NOW)
    const ofGroup = { groupId: 5, per: 'member', thresholds: '50', countBeganAt: 0, copiesVersion: 1 } as const
    const followed = quota({ ...ofGroup, ownerId: groupOwner(5) })
    const count = quota({ ...ofGroup, id: 2, follows: 1, overrides: '' })
    workingSet.setChain(1, [5])
    workingSet.addQuota(followed)
    workingSet.addQuota(count)
    const consumed = (amount: number): readonly QuotaRow[] => {
      workingSet.applyAllocations([{ quotaId: 2, cycleSeq: 0, amount }], { used: 1 })
      return workingSet.takeReached()
    }
    expect(consumed(1)).toEqual([])
    followed.total = 4
    workingSet.markEdited(followed)
    expect(consumed(1)).toEqual([count])
  })
})
