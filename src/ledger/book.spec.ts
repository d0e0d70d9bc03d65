import { describe, expect, it } from '@jest/globals'
import { Book } from './book.js'
import type { QuotaRow } from './quota.entity.js'

const NOW = Date.parse('2026-11-21T12:00:00Z')

describe('a sweep', () => {
  it('moves the due time on past a hold that was settled early, so that nobody looks again before the next one', () => {
    const quota = {
      id: 1,
      ownerId: 1,
      quotaType: 1,
      total: 10,
      used: 0,
      reserved: 5,
      state: 'active',
      expireAt: NOW + 1e9,
      cycleUnit: null,
      cycleTimeZone: null,
      cycleAnchorAt: null,
      cycleEndsAt: null,
      cycleSeq: 0,
      // Of a hold that was released before it was due.
      holdDueAt: NOW - 1,
      version: 1,
      createdAt: 0,
      updatedAt: 0,
      deletedAt: null,
    } satisfies QuotaRow
    const book = new Book<QuotaRow>(NOW)
    book.addQuota(quota)
    const open = { operationId: 'open', expiresAt: NOW + 500, allocations: [{ quotaId: 1, cycleSeq: 0, amount: 5 }] }
    book.owner(1).holds.set('open', open)
    book.sweep(1)
    expect(quota).toMatchObject({ holdDueAt: NOW + 500, reserved: 5 })
    expect(book.movedCounters()).toEqual([{ id: 1, values: { holdDueAt: NOW + 500 } }])
    expect(book.expiredOperations).toEqual([])
  })
})
