import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { quotaState } from '../../test/support/quota-state.js'
import { MAX_INSTANT } from '../common/instant.js'
import { type Allocation, byDrawDown, cut, draw, expiresFirstAt } from './draw-down.js'
import { MAX_AMOUNT, MAX_LIVE_QUOTAS, type QuotaState, remaining } from './quota.js'

const quota = (given: Partial<QuotaState>): QuotaState =>
  quotaState({
    quotaType: 2,
    total: 100,
    cycleUnit: 'month',
    cycleTimeZone: 'UTC',
    cycleAnchorAt: 0,
    cycleEndsAt: 1000,
    ...given,
  })

const sum = (parts: readonly { amount: number }[]): number => parts.reduce((total, { amount }) => total + amount, 0)

/** One entry for each unit: the quota and the cycle that it came from. */
const units = (parts: readonly Allocation[]): string[] =>
  parts.flatMap(({ quotaId, cycleSeq, amount }) => Array.from({ length: amount }, () => `${quotaId}/${cycleSeq}`))

const anyQuotas = fc
  .array(
    fc.record({
      total: fc.nat(12),
      used: fc.nat(12),
      reserved: fc.nat(5),
      cycleSeq: fc.nat(3),
      createdAt: fc.nat(2),
      cycleEndsAt: fc.option(fc.nat(3), { nil: null }),
      expireAt: fc.option(fc.nat(3), { nil: null }),
    }),
    { maxLength: 6 },
  )
  .map((given) => given.map((one, place) => quota({ ...one, id: place + 1 })))

const anyAllocations = fc
  .array(fc.record({ cycleSeq: fc.nat(3), amount: fc.integer({ min: 1, max: 9 }) }), { minLength: 1, maxLength: 5 })
  .map((parts) => parts.map((part, place) => ({ quotaId: place + 1, ...part })))

describe('the draw-down order', () => {
  it('is determined by the time when units are lost: the earlier of reset and end, never if there is neither', () => {
    expect(expiresFirstAt(quota({ cycleEndsAt: 5, expireAt: 9 }))).toBe(5)
    expect(expiresFirstAt(quota({ cycleEndsAt: 9, expireAt: 5 }))).toBe(5)
    expect(expiresFirstAt(quota({ cycleEndsAt: 9 }))).toBe(9)
    expect(expiresFirstAt(quota({ cycleEndsAt: null, expireAt: 5 }))).toBe(5)
    expect(expiresFirstAt(quota({ cycleEndsAt: null }))).toBe(MAX_INSTANT)
    // A member's count ends with what it follows.
    expect(expiresFirstAt(quota({ cycleEndsAt: 9, expireAt: 7, followedEndsAt: 5 }))).toBe(5)
  })

  it('has the quota whose units are lost sooner first, then the older one, then the smaller id', () => {
    const inOrder = [
      quota({ id: 9, cycleEndsAt: 10, expireAt: 1, createdAt: 9 }),
      quota({ id: 8, cycleEndsAt: 2, createdAt: 8 }),
      quota({ id: 7, cycleEndsAt: null, expireAt: 3, createdAt: 1 }),
      quota({ id: 3, cycleEndsAt: 3, createdAt: 2 }),
      quota({ id: 4, cycleEndsAt: 3, createdAt: 2 }),
      quota({ id: 1, cycleEndsAt: 3, createdAt: 3 }),
      quota({ id: 2, cycleEndsAt: 4, createdAt: 0 }),
    ]
    fc.assert(
      fc.property(fc.shuffledSubarray(inOrder, { minLength: inOrder.length }), (shuffled) => {
        expect([...shuffled].sort(byDrawDown)).toEqual(inOrder)
      }),
    )
  })

  it('is a strict order of any quotas', () => {
    fc.assert(
      fc.property(anyQuotas, (quotas) => {
        const sorted = [...quotas].sort(byDrawDown)
        for (const [place, a] of sorted.entries()) {
          expect(byDrawDown(a, a)).toBe(0)
          for (const b of sorted.slice(place + 1)) {
            expect(byDrawDown(a, b)).toBeLessThan(0)
            expect(byDrawDown(b, a)).toBeGreaterThan(0)
          }
        }
      }),
    )
  })
})

describe('draw', () => {
  it('takes everything from the first quota that can pay, and splits only if necessary', () => {
    const quotas = [
      quota({ id: 1, total: 10, used: 8, cycleSeq: 4 }),
      quota({ id: 2, total: 5, used: 9 }),
      quota({ id: 3, total: 7, reserved: 3 }),
      quota({ id: 4, total: 50 }),
    ]
    expect(draw(quotas, 2)).toEqual([{ quotaId: 1, cycleSeq: 4, amount: 2 }])
    expect(draw(quotas, 7)).toEqual([
      { quotaId: 1, cycleSeq: 4, amount: 2 },
      { quotaId: 3, cycleSeq: 0, amount: 4 },
      { quotaId: 4, cycleSeq: 0, amount: 1 },
    ])
  })

  it('pays the last unit, and not one more', () => {
    const quotas = [quota({ id: 1, total: 3 }), quota({ id: 2, total: 4, used: 1 })]
    expect(sum(draw(quotas, 6) ?? [])).toBe(6)
    expect(draw(quotas, 7)).toBeUndefined()
    expect(draw([], 1)).toBeUndefined()
  })

  it('pays all or nothing, never more than a quota has, in order, and changes no quota', () => {
    fc.assert(
      fc.property(anyQuotas, fc.integer({ min: 1, max: 40 }), (quotas, amount) => {
        const before = structuredClone(quotas)
        const parts = draw(quotas, amount)
        expect(quotas).toEqual(before)
        // Unit by unit: each comes from the first quota that has one left.
        const open = quotas.flatMap((one) => Array.from({ length: remaining(one) }, () => `${one.id}/${one.cycleSeq}`))
        if (open.length < amount) expect(parts).toBeUndefined()
        else {
          expect(units(parts!)).toEqual(open.slice(0, amount))
          expect(new Set(parts!.map(({ quotaId }) => quotaId)).size).toBe(parts!.length)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('is exact at the largest amounts over the most quotas', () => {
    const quotas = Array.from({ length: MAX_LIVE_QUOTAS }, (_, id) => quota({ id, total: MAX_AMOUNT, used: id }))
    const all = quotas.reduce((total, one) => total + remaining(one), 0)
    expect(all).toBe(MAX_LIVE_QUOTAS * MAX_AMOUNT - 19_900)
    expect(sum(draw(quotas, all)!)).toBe(all)
    expect(draw(quotas, all + 1)).toBeUndefined()
  })
})

describe('cut', () => {
  it('returns a range of the units, for any bounds', () => {
    fc.assert(
      fc.property(anyAllocations, fc.nat(45), fc.nat(45), (parts, a, b) => {
        const [from, to] = [Math.min(a, b, sum(parts)), Math.min(Math.max(a, b), sum(parts))]
        const before = structuredClone(parts)
        const stretch = cut(parts, from, to)
        expect(units(stretch)).toEqual(units(parts).slice(from, to))
        expect(stretch.every(({ amount }) => amount > 0)).toBe(true)
        expect(parts).toEqual(before)
      }),
      { numRuns: 500 },
    )
  })

  it('returns everything from 0 to the end, and nothing for an empty range', () => {
    fc.assert(
      fc.property(anyAllocations, fc.nat(45), (parts, place) => {
        const border = Math.min(place, sum(parts))
        expect(cut(parts, 0, sum(parts))).toEqual(parts)
        expect(cut(parts, border, border)).toEqual([])
        expect([...units(cut(parts, 0, border)), ...units(cut(parts, border, sum(parts)))]).toEqual(units(parts))
      }),
    )
  })

  it('returns what was allocated last first', () => {
    const parts = [
      { quotaId: 1, cycleSeq: 0, amount: 3 },
      { quotaId: 2, cycleSeq: 0, amount: 2 },
    ]
    expect(cut(parts, 4, 5)).toEqual([{ quotaId: 2, cycleSeq: 0, amount: 1 }])
    expect(cut(parts, 2, 4)).toEqual([
      { quotaId: 1, cycleSeq: 0, amount: 1 },
      { quotaId: 2, cycleSeq: 0, amount: 1 },
    ])
  })

  it('refunds exactly the charged units, last unit first, however the refunds are split', () => {
    fc.assert(
      fc.property(
        anyAllocations,
        fc.nat(45),
        fc.infiniteStream(fc.integer({ min: 1, max: 8 })),
        (parts, some, slices) => {
          const charged = Math.min(some, sum(parts))
          const returned: string[] = []
          for (let left = charged; left > 0;) {
            const back = Math.min(left, slices.next().value ?? 1)
            returned.push(...units(cut(parts, left - back, left)).reverse())
            left -= back
          }
          expect(returned.reverse()).toEqual(units(cut(parts, 0, charged)))
        },
      ),
    )
  })
})
