import { describe, expect, it } from '@jest/globals'
import type { Transaction } from '../../database/transaction-runner.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { GroupPatch, Request } from '../store/command.js'
import type { GroupStore } from '../store/group-store.js'
import { WorkingSet } from '../store/working-set.js'
import { GroupActs } from './group-acts.js'

const NOW = Date.parse('2026-11-21T12:00:00Z')

interface Gate {
  readonly defaultGroupId: number | null
  readonly chainsVersion: number
}

/** The gate after a group was created. */
async function gateAfter(before: Gate, patch: GroupPatch): Promise<Gate> {
  let gate = before
  const store = {
    hasName: async () => Promise.resolve(false),
    insertGroup: async () => Promise.resolve(5),
    chainOf: async () => Promise.resolve([]),
    outdateCounts: async () => Promise.resolve(),
    setGate: async (_: Transaction, written: Gate) => {
      gate = written
      return Promise.resolve()
    },
  } as unknown as GroupStore<QuotaRow>
  const acts = new GroupActs({} as Transaction, store, new WorkingSet<QuotaRow>(NOW), before, new Map())
  const command = { kind: 'group', action: 'create', groupId: null, patch, version: undefined } as const
  const request: Request = {
    id: 'a',
    ownerId: 0,
    caller: 'boss',
    callerId: 'boss',
    requestId: 'r',
    key: null,
    deduplicationKey: null,
    command,
  }
  await acts.decide(request, command)
  return gate
}

describe('a new group', () => {
  it('makes batches remember the groups of owners, if it is the first one', async () => {
    const none = { defaultGroupId: null, chainsVersion: 0 }
    expect(await gateAfter(none, { name: 'one' })).toEqual({ defaultGroupId: null, chainsVersion: 1 })
    expect(await gateAfter(none, { name: 'all', isDefault: true })).toEqual({ defaultGroupId: 5, chainsVersion: 1 })
    const some = { defaultGroupId: null, chainsVersion: 3 }
    expect(await gateAfter(some, { name: 'two' })).toEqual(some)
    expect(await gateAfter(some, { name: 'all', isDefault: true })).toEqual({ defaultGroupId: 5, chainsVersion: 3 })
  })
})
