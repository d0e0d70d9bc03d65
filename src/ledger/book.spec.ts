import { describe, expect, it } from '@jest/globals'
import type { Hold } from '../quota/refill.js'
import { Book } from './book.js'
import type { QuotaRow } from './quota.entity.js'

const NOW = Date.parse('2026-11-21T12:00:00Z')

const quota = (given: Partial<QuotaRow>): QuotaRow => ({
  id: 1,
  ownerId: 1,
  quotaType: 1,
  total: 10,
  used: 0,
  reserved: 0,
  state: 'active',
  expireAt: NOW + 1e9,
  cycleUnit: null,
  cycleTimeZone: null,
  cycleAnchorAt: null,
  cycleEndsAt: null,
  cycleSeq: 0,
  holdDueAt: null,
  label: null,
  version: 1,
  createdAt: 0,
  updatedAt: 0,
  deletedAt: null,
  ...given,
})

const hold = (operationId: string, quotaId: number, amount: number, cycleSeq = 0): { ownerId: number; hold: Hold } => ({
  ownerId: 1,
  hold: { operationId, expiresAt: NOW - 1, allocations: [{ quotaId, cycleSeq, amount }] },
})

/** A quota of 10 that five due holds of 2 keep wholly. */
const kept = (): { book: Book<QuotaRow>; one: QuotaRow; due: ReturnType<typeof hold>[] } => {
  const book = new Book<QuotaRow>(NOW)
  const one = quota({ reserved: 10, holdDueAt: NOW - 1 })
  book.addQuota(one)
  const due = ['a', 'b', 'c', 'd', 'e'].map((id) => hold(id, 1, 2))
  book.overdue([1], [{ quotaId: 1, cycleSeq: 0, amount: 10 }])
  return { book, one, due }
}

describe('what due holds keep', () => {
  it('counts no more, and stays written down until the holds are', () => {
    const { book, one, due } = kept()
    expect(one.reserved).toBe(0)
    expect(book.movedCounters()).toEqual([])
    book.sweep(due.slice(0, 2), true)
    expect(one.reserved).toBe(0)
    expect(book.movedCounters()).toEqual([{ id: 1, values: { reserved: 6 } }])
    expect([...book.expiredOperations]).toEqual(['a', 'b'])
    expect(book.closedHolds).toEqual(['a', 'b'])
    // Twice is once.
    book.sweep(due, true)
    expect(book.movedCounters()).toEqual([{ id: 1, values: { reserved: 0 } }])
    expect(book.closedHolds).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('is swept as far as it is spent, so that what is written never passes the total', () => {
    const { book, one, due } = kept()
    expect(book.leans).toBe(false)
    book.move([{ quotaId: 1, cycleSeq: 0, amount: 5 }], { used: 1 })
    expect(book.leans).toBe(true)
    book.sweep(due, false)
    expect(book.leans).toBe(false)
    expect([...book.expiredOperations]).toEqual(['a', 'b', 'c'])
    expect(book.stored(one)).toMatchObject({ used: 5, reserved: 4, total: 10 })
    expect(book.movedCounters()).toEqual([{ id: 1, values: { used: 5, reserved: 4 } }])
  })

  it('is nothing to lean on where only an edit lowered the total', () => {
    const { book, one, due } = kept()
    one.total = 1
    book.edited(one)
    expect(book.leans).toBe(false)
    book.sweep(due, false)
    expect(book.stored(one).reserved).toBe(10)
  })

  it('counts no more in a quota that is taken in later, and never in a newer cycle', () => {
    const book = new Book<QuotaRow>(NOW)
    book.overdue(
      [1],
      [
        { quotaId: 1, cycleSeq: 0, amount: 4 },
        { quotaId: 2, cycleSeq: 0, amount: 4 },
      ],
    )
    const deleted = quota({ reserved: 7, deletedAt: NOW - 5 })
    const newer = quota({ id: 2, reserved: 7, cycleSeq: 1 })
    book.addQuota(deleted)
    book.addQuota(newer)
    expect([deleted.reserved, newer.reserved]).toEqual([3, 7])
    book.sweep([hold('old', 2, 4), hold('gone', 1, 4)], true)
    expect([book.stored(deleted).reserved, book.stored(newer).reserved]).toEqual([3, 7])
  })
})

describe('the time when a look at the holds is due', () => {
  it('stays while anything due is written down', () => {
    const { book, one, due } = kept()
    book.sweep(due.slice(0, 4), true)
    book.moveDueTimes(new Map([[1, NOW + 500]]))
    expect(one.holdDueAt).toBe(NOW - 1)
    book.sweep(due, true)
    book.moveDueTimes(new Map())
    expect(one.holdDueAt).toBeNull()
  })

  it('moves on past a hold that was settled early, so that nobody looks again before the next one', () => {
    const book = new Book<QuotaRow>(NOW)
    const one = quota({ reserved: 5, holdDueAt: NOW - 1 })
    book.addQuota(one)
    book.overdue([1], [])
    book.moveDueTimes(new Map([[1, NOW + 500]]))
    expect(book.movedCounters()).toEqual([{ id: 1, values: { holdDueAt: NOW + 500 } }])
    expect(book.expiredOperations.size).toBe(0)
  })

  it('is not later than a hold that the same batch opens', () => {
    const { book, one, due } = kept()
    book.sweep(due, true)
    book.move([{ quotaId: 1, cycleSeq: 0, amount: 1 }], { reserved: 1 })
    book.openHold(1, {
      operationId: 'new',
      expiresAt: NOW + 100,
      allocations: [{ quotaId: 1, cycleSeq: 0, amount: 1 }],
    })
    book.moveDueTimes(new Map([[1, NOW + 500]]))
    expect(one.holdDueAt).toBe(NOW + 100)
  })
})
