import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { boundary, type CycleUnit } from './cycle.js'
import { type Instant, LATEST } from './instant.js'
import { isActive, type QuotaState, remaining, roll, statusAt } from './quota.js'
import { type Hold, nextRefill, refillsAt } from './refill.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOW = Date.parse('2026-11-21T12:00:00Z')

const quota = (given: Partial<QuotaState>): QuotaState => ({
  id: 1,
  quotaType: 2,
  total: 10,
  used: 0,
  reserved: 0,
  state: 'active',
  expireAt: null,
  cycleUnit: 'hour',
  cycleTimeZone: 'UTC',
  cycleAnchorAt: NOW + HOUR,
  cycleEndsAt: NOW + HOUR,
  cycleSeq: 0,
  holdDueAt: null,
  createdAt: 0,
  deletedAt: null,
  ...given,
})

const type1 = (given: Partial<QuotaState>): QuotaState =>
  quota({
    quotaType: 1,
    cycleUnit: null,
    cycleTimeZone: null,
    cycleAnchorAt: null,
    cycleEndsAt: null,
    expireAt: NOW + DAY,
    ...given,
  })

const hold = (expiresAt: Instant, quotaId: number, amount: number, cycleSeq = 0): Hold => ({
  operationId: `${quotaId} ${expiresAt}`,
  expiresAt,
  allocations: [{ quotaId, cycleSeq, amount }],
})

/** Every generated quota has had its first reset by then, and every hold is over. */
const BOUND = NOW + 27 * HOUR

/**
 * The same question asked naively: through all resets of all quotas in time order, and at each of them the books as they would then stand,
 * with every quota rolled and every due hold given back.
 */
const oracle = (quotas: readonly QuotaState[], holds: readonly Hold[], amount: number): Instant | null => {
  const resets = new Set<Instant>()
  for (const { cycleUnit: unit, cycleTimeZone: timeZone, cycleAnchorAt: anchor, expireAt } of quotas) {
    if (unit === null) continue
    for (let n = 0; ; n += 1) {
      const reset = boundary({ unit, timeZone: timeZone!, anchor: anchor! }, n)
      if (reset > BOUND) break
      if (reset > NOW && (expireAt === null || reset < expireAt)) resets.add(reset)
    }
  }
  for (const at of [...resets].sort((a, b) => a - b)) {
    let capacity = 0
    for (const one of quotas) {
      const then = { ...one }
      for (const { expiresAt, allocations } of holds)
        for (const { quotaId, cycleSeq, amount: kept } of allocations)
          if (expiresAt <= at && quotaId === then.id && cycleSeq === then.cycleSeq) then.reserved -= kept
      roll(then, at)
      if (statusAt(then, at) === 'active') capacity += Math.max(0, then.total - then.used - then.reserved)
    }
    if (capacity >= amount) return at
  }
  return null
}

const anyQuota = fc.record({
  cyclic: fc.constantFrom(true, false, false),
  unit: fc.constantFrom<CycleUnit>('hour', 'hour', 'day'),
  // Coarse, so that resets, ends and holds meet at the same instant.
  firstReset: fc.integer({ min: 1, max: 6 }).map((quarters) => quarters * 15 * MINUTE),
  long: fc.constantFrom(true, false, false, false),
  end: fc.option(
    fc.integer({ min: 1, max: 40 }).map((quarters) => quarters * 15 * MINUTE),
    { nil: null, freq: 1 },
  ),
  state: fc.constantFrom('active', 'active', 'active', 'active', 'disabled', 'expired'),
  total: fc.nat(12),
  used: fc.nat(4),
  seq: fc.nat(2),
})

const anyHold = fc.record({
  after: fc.integer({ min: 1, max: 30 }).map((quarters) => quarters * 15 * MINUTE),
  parts: fc.uniqueArray(
    fc.record({
      place: fc.nat(4),
      amount: fc.integer({ min: 1, max: 9 }),
      // Some holds were paid by a cycle that is over.
      age: fc.constantFrom(0, 0, 0, 1),
    }),
    { minLength: 1, maxLength: 4, selector: ({ place }) => place },
  ),
})

/** Quotas of one owner as they stand at NOW, rolled, with `reserved` being what their open holds keep. */
const anyBooks = fc
  .record({
    kinds: fc.array(anyQuota, { minLength: 2, maxLength: 5 }),
    keeps: fc.array(anyHold, { minLength: 1, maxLength: 5 }),
  })
  .map(({ kinds, keeps }) => {
    const quotas = kinds.map(({ cyclic, unit, firstReset, long, end, state, total, used, seq }, place) => {
      const common = { id: place + 1, total, used, cycleSeq: seq, state } as const
      if (!cyclic) return type1({ ...common, cycleSeq: 0, expireAt: NOW + (end ?? DAY) })
      const first = NOW + firstReset + (long ? DAY : 0)
      return quota({
        ...common,
        cycleUnit: unit,
        cycleAnchorAt: first,
        cycleEndsAt: first,
        expireAt: end === null ? null : NOW + end,
      })
    })
    const holds = keeps
      .map(({ after, parts }, place) => ({
        operationId: String(place),
        expiresAt: NOW + after,
        allocations: parts.flatMap(({ place: of, amount, age }) => {
          const paid = quotas[of]
          return paid === undefined ? [] : [{ quotaId: paid.id, cycleSeq: paid.cycleSeq - age, amount }]
        }),
      }))
      .filter(({ allocations }) => allocations.length > 0)
    for (const one of quotas)
      for (const { allocations } of holds)
        for (const { quotaId, cycleSeq, amount } of allocations)
          if (quotaId === one.id && cycleSeq === one.cycleSeq) one.reserved += amount
    return { quotas: quotas.filter((one) => isActive(one, NOW)), holds }
  })

describe('nextRefill', () => {
  it('is the next reset where it comes before the end', () => {
    expect(nextRefill(quota({}))).toBe(NOW + HOUR)
    expect(nextRefill(quota({ expireAt: NOW + HOUR + 1 }))).toBe(NOW + HOUR)
    expect(nextRefill(quota({ expireAt: NOW + HOUR }))).toBeNull()
    expect(nextRefill(quota({ expireAt: NOW + HOUR - 1 }))).toBeNull()
    expect(nextRefill(type1({}))).toBeNull()
  })
})

describe('refillsAt', () => {
  it('is the first reset that frees enough', () => {
    const quotas = [
      quota({ id: 1, used: 10 }),
      quota({ id: 2, used: 10, cycleEndsAt: NOW + 2 * HOUR, cycleAnchorAt: NOW + 2 * HOUR }),
    ]
    expect(refillsAt(quotas, [], 10)).toBe(NOW + HOUR)
    expect(refillsAt(quotas, [], 11)).toBe(NOW + 2 * HOUR)
    expect(refillsAt(quotas, [], 20)).toBe(NOW + 2 * HOUR)
    expect(refillsAt(quotas, [], 21)).toBeNull()
  })

  it('is null where nothing ever resets', () => {
    expect(refillsAt([type1({ used: 10 })], [], 1)).toBeNull()
    expect(refillsAt([], [], 1)).toBeNull()
  })

  it('is a reset and not the end of a hold, although the hold is what makes it fit', () => {
    const quotas = [type1({ id: 1, reserved: 10 }), quota({ id: 2, used: 10 })]
    const holds = [hold(NOW + 150 * MINUTE, 1, 10)]
    expect(refillsAt(quotas, holds, 10)).toBe(NOW + HOUR)
    expect(refillsAt(quotas, holds, 20)).toBe(NOW + 3 * HOUR)
  })

  it('counts a hold as returned at the very instant it is due', () => {
    const quotas = [type1({ id: 1, reserved: 10 }), quota({ id: 2, used: 10 })]
    expect(refillsAt(quotas, [hold(NOW + HOUR, 1, 10)], 20)).toBe(NOW + HOUR)
    expect(refillsAt(quotas, [hold(NOW + HOUR + 1, 1, 10)], 20)).toBe(NOW + 2 * HOUR)
  })

  it('looks past a quota that is over by then, from its end on', () => {
    const expiring = (expireAt: Instant): QuotaState[] => [type1({ id: 1, expireAt }), quota({ id: 2, used: 10 })]
    expect(refillsAt(expiring(NOW + HOUR), [], 20)).toBeNull()
    expect(refillsAt(expiring(NOW + HOUR + 1), [], 20)).toBe(NOW + HOUR)
  })

  it('takes no reset for one that a quota no longer comes to', () => {
    const quotas = [type1({ id: 1, reserved: 10 }), quota({ id: 2, used: 10, expireAt: NOW + 90 * MINUTE })]
    expect(refillsAt(quotas, [hold(NOW + 100 * MINUTE, 1, 10)], 10)).toBe(NOW + HOUR)
    expect(refillsAt(quotas, [hold(NOW + 100 * MINUTE, 1, 10)], 11)).toBeNull()
    quotas[1]!.total = 3
    expect(refillsAt(quotas, [hold(NOW + 100 * MINUTE, 1, 10)], 4)).toBeNull()
  })

  it('does not free twice what a total lowered below its use has lost', () => {
    const quotas = [type1({ id: 1, total: 3, used: 5, reserved: 4 }), quota({ id: 2, used: 10 })]
    const holds = [hold(NOW + MINUTE, 1, 4)]
    expect(refillsAt(quotas, holds, 10)).toBe(NOW + HOUR)
    expect(refillsAt(quotas, holds, 11)).toBeNull()
  })

  it('ignores a hold of a cycle that is over', () => {
    const quotas = [
      quota({ id: 1, cycleSeq: 3, used: 10, cycleEndsAt: NOW + DAY, cycleAnchorAt: NOW + DAY }),
      quota({ id: 2, used: 10 }),
    ]
    expect(refillsAt(quotas, [hold(NOW + MINUTE, 1, 10, 2)], 11)).toBe(NOW + DAY)
  })

  it('says what stepping through every reset says', () => {
    let late = 0
    fc.assert(
      fc.property(anyBooks, fc.integer({ min: 1, max: 20 }), ({ quotas, holds }, missing) => {
        const amount = quotas.reduce((left, one) => left + remaining(one), missing)
        const before = structuredClone(quotas)
        const expected = oracle(quotas, holds, amount)
        expect(refillsAt(quotas, holds, amount)).toBe(expected)
        expect(quotas).toEqual(before)
        if (expected !== null && !quotas.some((one) => one.cycleEndsAt === expected)) late += 1
      }),
      { numRuns: 3000 },
    )
    // Where a later reset than each quota's next is the answer, the holds decided: the generated books are to meet that.
    expect(late).toBeGreaterThan(30)
  })

  it('comes to an end where time does', () => {
    const last = quota({ cycleUnit: 'year', cycleAnchorAt: LATEST - DAY, cycleEndsAt: LATEST - DAY, used: 10 })
    expect(refillsAt([last], [hold(LATEST, 1, 1)], 11)).toBeNull()
  })
})
