import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { metOften } from '../../test/support/fast-check.js'
import { quotaState } from '../../test/support/quota-state.js'
import { fromSome, refillsAt } from '../../test/support/refills.js'
import { type Instant, MAX_INSTANT } from '../common/instant.js'
import { type CycleUnit, resetsOf } from './cycle.js'
import { isActive, MAX_LIVE_QUOTAS, type QuotaState, remaining, roll, statusAt } from './quota.js'
import { type Hold, nextRefill, Refills } from './refill.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOW = Date.parse('2026-11-21T12:00:00Z')

const quota = (given: Partial<QuotaState>): QuotaState =>
  quotaState({
    quotaType: 2,
    cycleUnit: 'hour',
    cycleTimeZone: 'UTC',
    cycleAnchorAt: NOW + HOUR,
    cycleEndsAt: NOW + HOUR,
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

/**
 * The same question asked naively: through every reset, every end of a quota and every end of a hold in order of time,
 * and the millisecond before each, with the books as they would then stand: every quota rolled, every due hold given
 * back.
 */
const oracle = (quotas: readonly QuotaState[], holds: readonly Hold[], amount: number): Instant | null => {
  const ends = [
    ...holds.map(({ expiresAt }) => expiresAt),
    ...quotas.flatMap(({ expireAt, cycleEndsAt }) => [expireAt ?? -Infinity, cycleEndsAt ?? -Infinity]),
  ]
  const horizon = Math.max(...ends)
  const instants = new Set(ends)
  for (const { cycleUnit: unit, cycleTimeZone: timeZone, cycleAnchorAt: anchor } of quotas) {
    if (unit === null) continue
    for (let n = 0, reset = -Infinity; reset <= horizon; n += 1) {
      reset = resetsOf({ unit, timeZone: timeZone!, anchor: anchor! })(n)
      instants.add(reset)
    }
  }
  const fitsAt = (at: Instant): boolean => {
    let capacity = 0
    for (const one of quotas) {
      const then = { ...one }
      for (const { expiresAt, allocations } of holds)
        for (const { quotaId, cycleSeq, amount: kept } of allocations)
          if (expiresAt <= at && quotaId === then.id && cycleSeq === then.cycleSeq) then.reserved -= kept
      roll(then, at)
      if (statusAt(then, at) === 'active') capacity += remaining(then)
    }
    return capacity >= amount
  }
  for (const at of [...instants].sort((a, b) => a - b)) {
    if (at === -Infinity) continue
    if (fitsAt(at - 1)) throw new Error(`fits at no known instant: ${at - 1}`)
    if (fitsAt(at)) return at
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

  it('is the end of a hold if its units were all that was missing', () => {
    const quotas = [type1({ id: 1, reserved: 10 }), quota({ id: 2, used: 10 })]
    const holds = [hold(NOW + 150 * MINUTE, 1, 10)]
    expect(refillsAt(quotas, holds, 10)).toBe(NOW + HOUR)
    expect(refillsAt(quotas, holds, 11)).toBe(NOW + 150 * MINUTE)
    expect(refillsAt(quotas, holds, 20)).toBe(NOW + 150 * MINUTE)
    expect(refillsAt([type1({ reserved: 10 })], [hold(NOW + 5, 1, 4), hold(NOW + 9, 1, 6)], 5)).toBe(NOW + 9)
  })

  it('is the earlier of a reset and the end of a hold if both return enough', () => {
    const quotas = [type1({ id: 1, reserved: 10 }), quota({ id: 2, used: 10 })]
    expect(refillsAt(quotas, [hold(NOW + HOUR - 1, 1, 10)], 10)).toBe(NOW + HOUR - 1)
    expect(refillsAt(quotas, [hold(NOW + HOUR, 1, 10)], 20)).toBe(NOW + HOUR)
    expect(refillsAt(quotas, [hold(NOW + HOUR + 1, 1, 10)], 10)).toBe(NOW + HOUR)
  })

  it('ignores a hold that ends after its cycle or its quota', () => {
    const quotas = [quota({ id: 1, reserved: 10 }), type1({ id: 2, reserved: 10, expireAt: NOW + 2 * HOUR })]
    expect(refillsAt(quotas, [hold(NOW + 90 * MINUTE, 1, 10)], 11)).toBeNull()
    expect(refillsAt(quotas, [hold(NOW + 2 * HOUR, 2, 10)], 11)).toBeNull()
    expect(refillsAt(quotas, [hold(NOW + 2 * HOUR - 1, 2, 10)], 11)).toBe(NOW + 2 * HOUR - 1)
  })

  it('ignores a quota from its end on', () => {
    const expiring = (expireAt: Instant): QuotaState[] => [type1({ id: 1, expireAt }), quota({ id: 2, used: 10 })]
    expect(refillsAt(expiring(NOW + HOUR), [], 20)).toBeNull()
    expect(refillsAt(expiring(NOW + HOUR + 1), [], 20)).toBe(NOW + HOUR)
  })

  it('ignores a reset that a quota does not reach', () => {
    const quotas = [type1({ id: 1, used: 10 }), quota({ id: 2, used: 10, expireAt: NOW + 90 * MINUTE })]
    expect(refillsAt(quotas, [], 10)).toBe(NOW + HOUR)
    quotas[1]!.expireAt = NOW + HOUR
    expect(refillsAt(quotas, [], 10)).toBeNull()
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

  it('is known from the earliest holds if later ones make no difference', () => {
    const holds = { values: () => [hold(NOW + 1, 1, 3)], knownUntil: NOW + 1 }
    const payer = type1({ reserved: 10 })
    const refills = new Refills([payer], holds)
    expect(refills.at(3)).toBe(NOW + 1)
    expect(refills.at(4)).toBeUndefined()
    expect(refills.at(11)).toBeNull()
    payer.reserved = 3
    refills.countersChanged()
    expect(refills.at(10)).toBe(NOW + 1)
    // At the latest by a reset, at the earliest by a hold.
    expect(new Refills([quota({ reserved: 10 })], { ...holds, knownUntil: NOW + HOUR }).at(9)).toBe(NOW + HOUR)
    expect(new Refills([quota({ reserved: 10 })], { ...holds, knownUntil: NOW + HOUR - 1 }).at(9)).toBeUndefined()
  })

  it('equals the result of examining every instant at which anything happens', () => {
    const answers = { reset: 0, hold: 0, never: 0 }
    fc.assert(
      fc.property(anyBooks, fc.integer({ min: 1, max: 20 }), ({ quotas, holds }, missing) => {
        const amount = quotas.reduce((left, one) => left + remaining(one), missing)
        const before = structuredClone(quotas)
        const expected = oracle(quotas, holds, amount)
        expect(refillsAt(quotas, holds, amount)).toBe(expected)
        expect(quotas).toEqual(before)
        if (expected === null) answers.never += 1
        else answers[quotas.some((one) => one.cycleEndsAt === expected) ? 'reset' : 'hold'] += 1
      }),
      { numRuns: 3000 },
    )
    for (const times of [...Object.values(answers), ...Object.values(fromSome)])
      expect(times).toBeGreaterThan(metOften(100))
  })

  it('equals it in every time zone, and after counters and holds have changed', () => {
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
            const left = quotas.reduce((sum, one) => sum + remaining(one), 0)
            for (const missing of asked) {
              const amount = left + missing
              const expected = oracle(quotas, [...holds.values()], amount)
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
    expect(answers.at).toBeGreaterThan(metOften(300))
    expect(answers.never).toBeGreaterThan(metOften(300))
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
      const ids = new Set(some.map(({ id }) => id))
      const theirs = holds.filter(({ allocations }) => ids.has(allocations[0]!.quotaId)).slice(0, 100)
      const refills = new Refills(some, theirs)
      const least = some.reduce((sum, one) => sum + remaining(one), 0)
      for (let amount = least + 1; amount <= 20_000_000; amount += 800_001)
        expect(refills.at(amount)).toBe(oracle(some, theirs, amount))
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
