import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { type Instant, MAX_INSTANT } from '../time/instant.js'
import { cycleAt, type CycleUnit, resetsOf } from './cycle.js'
import { isActive, MAX_LIVE_QUOTAS, type QuotaState, remaining, roll, statusAt } from './quota.js'
import { type Hold, nextRefill, Refills } from './refill.js'

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
  label: null,
  cap: null,
  windowSeconds: null,
  thresholds: null,
  passed: null,
  window: null,
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

const refillsAt = (quotas: readonly QuotaState[], holds: readonly Hold[], amount: number): Instant | null =>
  new Refills(quotas, holds).at(amount)

/** Every generated quota has had its first reset by then, and every hold is over. */
const BOUND = NOW + 27 * HOUR

/**
 * The same question asked naively: through all resets of all quotas in time order, and at each of them the books as
 * they would then stand, with every quota rolled and every due hold given back.
 */
const oracle = (quotas: readonly QuotaState[], holds: readonly Hold[], amount: number): Instant | null => {
  const resets = new Set<Instant>()
  for (const { cycleUnit: unit, cycleTimeZone: timeZone, cycleAnchorAt: anchor, expireAt } of quotas) {
    if (unit === null) continue
    for (let n = 0; ; n += 1) {
      const reset = resetsOf({ unit, timeZone: timeZone!, anchor: anchor! })(n)
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

/** Reset times of one quota worth looking at: those up to `horizon` and the first one after it, all before its end. */
const resetsUpTo = (quota: QuotaState, horizon: Instant): Instant[] => {
  const { cycleUnit: unit, cycleTimeZone: timeZone, cycleAnchorAt: anchor, expireAt } = quota
  const found: Instant[] = []
  for (let reset = nextRefill(quota); reset !== null;) {
    found.push(reset)
    if (reset > horizon) break
    const next = cycleAt({ unit: unit!, timeZone: timeZone!, anchor: anchor! }, reset).end
    reset = next > reset && (expireAt === null || next < expireAt) ? next : null
  }
  return found
}

/**
 * The same question asked without any order: each reset, and at each of them each quota, and for each quota all holds.
 */
const multiplied = (quotas: readonly QuotaState[], holds: readonly Hold[], amount: number): Instant | null => {
  const capacityAt = (one: QuotaState, at: Instant): number => {
    if (one.expireAt !== null && at >= one.expireAt) return 0
    if (one.cycleEndsAt !== null && at >= one.cycleEndsAt) return one.total
    let due = 0
    for (const { expiresAt, allocations } of holds) {
      if (expiresAt > at) continue
      for (const { quotaId, cycleSeq, amount: kept } of allocations)
        if (quotaId === one.id && cycleSeq === one.cycleSeq) due += kept
    }
    return remaining({ ...one, reserved: one.reserved - due })
  }
  const horizon = holds.reduce((latest, { expiresAt }) => Math.max(latest, expiresAt), -Infinity)
  const candidates = new Set(quotas.flatMap((one) => resetsUpTo(one, horizon)))
  for (const at of [...candidates].sort((a, b) => a - b))
    if (quotas.reduce((sum, one) => sum + capacityAt(one, at), 0) >= amount) return at
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
  it('is the next reset if that is before the end', () => {
    expect(nextRefill(quota({}))).toBe(NOW + HOUR)
    expect(nextRefill(quota({ expireAt: NOW + HOUR + 1 }))).toBe(NOW + HOUR)
    expect(nextRefill(quota({ expireAt: NOW + HOUR }))).toBeNull()
    expect(nextRefill(quota({ expireAt: NOW + HOUR - 1 }))).toBeNull()
    expect(nextRefill(type1({}))).toBeNull()
  })
})

describe('refillsAt', () => {
  it('is the first reset that returns enough', () => {
    const quotas = [
      quota({ id: 1, used: 10 }),
      quota({ id: 2, used: 10, cycleEndsAt: NOW + 2 * HOUR, cycleAnchorAt: NOW + 2 * HOUR }),
    ]
    expect(refillsAt(quotas, [], 10)).toBe(NOW + HOUR)
    expect(refillsAt(quotas, [], 11)).toBe(NOW + 2 * HOUR)
    expect(refillsAt(quotas, [], 20)).toBe(NOW + 2 * HOUR)
    expect(refillsAt(quotas, [], 21)).toBeNull()
  })

  it('is null if nothing ever resets', () => {
    expect(refillsAt([type1({ used: 10 })], [], 1)).toBeNull()
    expect(refillsAt([], [], 1)).toBeNull()
  })

  it('is a reset and not the end of a hold, although the hold is necessary for it to fit', () => {
    const quotas = [type1({ id: 1, reserved: 10 }), quota({ id: 2, used: 10 })]
    const holds = [hold(NOW + 150 * MINUTE, 1, 10)]
    expect(refillsAt(quotas, holds, 10)).toBe(NOW + HOUR)
    expect(refillsAt(quotas, holds, 20)).toBe(NOW + 3 * HOUR)
  })

  it('counts a hold as returned at the instant it is due', () => {
    const quotas = [type1({ id: 1, reserved: 10 }), quota({ id: 2, used: 10 })]
    expect(refillsAt(quotas, [hold(NOW + HOUR, 1, 10)], 20)).toBe(NOW + HOUR)
    expect(refillsAt(quotas, [hold(NOW + HOUR + 1, 1, 10)], 20)).toBe(NOW + 2 * HOUR)
  })

  it('ignores a quota from its end on', () => {
    const expiring = (expireAt: Instant): QuotaState[] => [type1({ id: 1, expireAt }), quota({ id: 2, used: 10 })]
    expect(refillsAt(expiring(NOW + HOUR), [], 20)).toBeNull()
    expect(refillsAt(expiring(NOW + HOUR + 1), [], 20)).toBe(NOW + HOUR)
  })

  it('ignores a reset that a quota does not reach', () => {
    const quotas = [type1({ id: 1, reserved: 10 }), quota({ id: 2, used: 10, expireAt: NOW + 90 * MINUTE })]
    expect(refillsAt(quotas, [hold(NOW + 100 * MINUTE, 1, 10)], 10)).toBe(NOW + HOUR)
    expect(refillsAt(quotas, [hold(NOW + 100 * MINUTE, 1, 10)], 11)).toBeNull()
    quotas[1]!.total = 3
    expect(refillsAt(quotas, [hold(NOW + 100 * MINUTE, 1, 10)], 4)).toBeNull()
  })

  it('does not return units that a lowered total has removed', () => {
    const quotas = [type1({ id: 1, total: 3, used: 5, reserved: 4 }), quota({ id: 2, used: 10 })]
    const holds = [hold(NOW + MINUTE, 1, 4)]
    expect(refillsAt(quotas, holds, 10)).toBe(NOW + HOUR)
    expect(refillsAt(quotas, holds, 11)).toBeNull()
  })

  it('ignores a hold of an earlier cycle', () => {
    const quotas = [
      quota({ id: 1, cycleSeq: 3, used: 10, cycleEndsAt: NOW + DAY, cycleAnchorAt: NOW + DAY }),
      quota({ id: 2, used: 10 }),
    ]
    expect(refillsAt(quotas, [hold(NOW + MINUTE, 1, 10, 2)], 11)).toBe(NOW + DAY)
  })

  it('equals the result of examining every reset', () => {
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
    // Where a later reset than each quota's next is the answer, the holds decided: the generated books are to meet
    // that.
    expect(late).toBeGreaterThan(30)
  })

  it('equals the result of examining each reset with each quota and hold, also after counters and holds have changed', () => {
    const answers = { never: 0, at: 0 }
    const month = fc.record({
      unit: fc.constantFrom<CycleUnit>('hour', 'hour', 'day', 'week', 'month'),
      timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Pacific/Apia'),
    })
    const moves = fc.array(
      fc.record({
        place: fc.nat(7),
        used: fc.nat(6),
        total: fc.nat(12),
        kind: fc.constantFrom('use', 'open', 'close'),
        after: fc.integer({ min: 1, max: 26 * 60 }).map((minutes) => minutes * MINUTE),
      }),
      { maxLength: 6 },
    )
    const amounts = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(
        anyBooks,
        fc.array(month, { minLength: 5, maxLength: 5 }),
        moves,
        amounts,
        // Where clocks change on that day, and where they do not.
        fc.constantFrom(0, Date.parse('2026-10-24T23:00:00Z') - NOW, Date.parse('2026-03-07T20:00:00Z') - NOW),
        ({ quotas: drawn, holds: first }, rules, later, asked, away) => {
          const quotas = drawn.map((one, place) => {
            const { unit, timeZone } = rules[place]!
            const shifted = { expireAt: one.expireAt === null ? null : one.expireAt + away }
            if (one.cycleEndsAt === null) return { ...one, ...shifted }
            const at = one.cycleEndsAt + away
            return { ...one, ...shifted, cycleUnit: unit, cycleTimeZone: timeZone, cycleAnchorAt: at, cycleEndsAt: at }
          })
          const holds = new Map<string, Hold>(
            first.map((one) => [one.operationId, { ...one, expiresAt: one.expiresAt + away }]),
          )
          const refills = new Refills(quotas, holds)
          const compare = (): void => {
            for (const amount of asked) {
              const expected = multiplied(quotas, [...holds.values()], amount)
              expect(refills.at(amount)).toBe(expected)
              answers[expected === null ? 'never' : 'at'] += 1
            }
          }
          compare()
          for (const { place, used, kind, after } of later) {
            const one = quotas[place % Math.max(1, quotas.length)]
            if (one === undefined) continue
            const amount = used + 1
            if (kind === 'use') {
              one.used += used
              refills.countersChanged()
            } else if (kind === 'open') {
              const opened = hold(NOW + away + after, one.id, amount, one.cycleSeq)
              if (holds.has(opened.operationId)) continue
              one.reserved += amount
              holds.set(opened.operationId, opened)
              refills.holdsChanged()
            } else {
              const [closed] = [...holds.values()]
              if (closed === undefined) continue
              holds.delete(closed.operationId)
              for (const { quotaId, cycleSeq, amount: kept } of closed.allocations)
                for (const paid of quotas) if (paid.id === quotaId && paid.cycleSeq === cycleSeq) paid.reserved -= kept
              refills.holdsChanged()
            }
            compare()
          }
        },
      ),
      { numRuns: 400 },
    )
    expect(answers.at).toBeGreaterThan(300)
    expect(answers.never).toBeGreaterThan(300)
  })

  describe('of 200 quotas and 5,000 holds', () => {
    const quotas = Array.from({ length: MAX_LIVE_QUOTAS }, (_, place) => {
      const first = NOW + (place + 1) * 7919
      return quota({
        id: place + 1,
        total: 1_000_000,
        cycleUnit: place % 2 === 0 ? 'day' : 'hour',
        cycleAnchorAt: place % 2 === 0 ? first + 23 * HOUR : first,
        cycleEndsAt: place % 2 === 0 ? first + 23 * HOUR : first,
      })
    })
    // Its units are never there together with those of the others, so that a search has to go to the end.
    quotas[0]!.expireAt = NOW + 1
    const holds = Array.from({ length: 5000 }, (_, n) => {
      const paid = quotas[(2 * n) % quotas.length]!
      paid.reserved += 100
      return { ...hold(NOW + 1000 + ((n * 17_279) % DAY), paid.id, 100), operationId: String(n) }
    })

    it('takes milliseconds, and hardly more for 500 refusals', () => {
      const all = quotas.reduce((sum, { total }) => sum + total, 0)
      let looked = 0
      const counted = {
        values: () => {
          looked += 1
          return holds
        },
      }
      const start = performance.now()
      const refills = new Refills(quotas, counted)
      const answers = Array.from({ length: 500 }, (_, n) => refills.at(all - n))
      const took = performance.now() - start
      expect(answers[0]).toBeNull()
      expect(looked).toBe(1)
      // Some 10 ms; quotas times resets times holds are seven seconds for a single amount.
      expect(took).toBeLessThan(1000)
    })

    it('is correct', () => {
      const some = quotas.filter(({ id }) => id % 20 < 2)
      const refills = new Refills(some, holds)
      const least = some.reduce((sum, one) => sum + remaining(one), 0)
      for (let amount = least + 1; amount <= 20_000_000; amount += 400_001)
        expect(refills.at(amount)).toBe(multiplied(some, holds, amount))
    })
  })

  it('ends at the latest time', () => {
    const last = quota({
      cycleUnit: 'year',
      cycleAnchorAt: MAX_INSTANT - DAY,
      cycleEndsAt: MAX_INSTANT - DAY,
      used: 10,
    })
    expect(refillsAt([last], [hold(MAX_INSTANT, 1, 1)], 11)).toBeNull()
  })
})
