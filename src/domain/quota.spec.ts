import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { quotaState } from '../../test/support/quota-state.js'
import { type Instant, MAX_INSTANT } from '../common/instant.js'
import { CYCLE_UNITS, resetsOf } from './cycle.js'
import {
  isActive,
  isLive,
  isExpired,
  isPastReset,
  type QuotaState,
  remaining,
  roll,
  type Status,
  STATUSES,
  statusAt,
  summarise,
} from './quota.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const at = (text: string): Instant => Date.parse(text)

const NOW = at('2026-11-21T12:00:00Z')

const totalQuota = (given: Partial<QuotaState> = {}): QuotaState =>
  quotaState({ total: 100, expireAt: NOW + DAY, createdAt: NOW - DAY, ...given })

const cycleQuota = (anchor: string, given: Partial<QuotaState> = {}): QuotaState =>
  totalQuota({
    quotaType: 2,
    expireAt: null,
    cycleUnit: 'month',
    cycleTimeZone: 'UTC',
    cycleAnchorAt: at(anchor),
    cycleEndsAt: at(anchor),
    used: 30,
    reserved: 5,
    holdDueAt: NOW,
    ...given,
  })

const rolled = (quota: QuotaState, now: Instant): QuotaState => {
  roll(quota, now)
  return quota
}

const anyCycleQuota = fc
  .record({
    unit: fc.constantFrom(...CYCLE_UNITS),
    timeZone: fc.constantFrom('UTC', 'America/New_York', 'Europe/Berlin', 'Australia/Lord_Howe', 'Asia/Kolkata'),
    anchor: fc.integer({ min: at('2019-12-25T00:00Z') / 900_000, max: at('2022-01-05T00:00Z') / 900_000 }),
    lived: fc.option(fc.integer({ min: -3 * DAY, max: 400 * DAY }), { nil: null }),
    seq: fc.nat(5),
  })
  .map(({ unit, timeZone, anchor: quarters, lived, seq }) => {
    const anchor = quarters * 900_000
    return totalQuota({
      quotaType: 2,
      used: 30,
      reserved: 5,
      holdDueAt: anchor - 1,
      expireAt: lived === null ? null : anchor + lived,
      cycleUnit: unit,
      cycleTimeZone: timeZone,
      cycleAnchorAt: anchor,
      cycleEndsAt: anchor,
      cycleSeq: seq,
    })
  })

/** The first reset after `at`, found by walking from the anchor. */
const walkTo = ({ cycleUnit, cycleTimeZone, cycleAnchorAt }: QuotaState, until: Instant): Instant => {
  const rule = { unit: cycleUnit!, timeZone: cycleTimeZone!, anchor: cycleAnchorAt! }
  let n = 0
  while (resetsOf(rule)(n) <= until) n += 1
  return resetsOf(rule)(n)
}

describe('status', () => {
  it('becomes expired exactly at expire_at', () => {
    const quota = totalQuota({ expireAt: NOW })
    expect([NOW - 1, NOW, NOW + 1].map((now) => statusAt(quota, now))).toEqual(['active', 'expired', 'expired'])
  })

  it('never expires without an end', () => {
    expect(statusAt(cycleQuota('2026-12-01T00:00Z'), MAX_INSTANT)).toBe('active')
  })

  it('keeps a stored conclusion although this clock is behind', () => {
    expect(statusAt(totalQuota({ state: 'expired', expireAt: NOW + 1 }), NOW)).toBe('expired')
  })

  it.each<[Status, boolean, boolean, Status, boolean, boolean]>([
    // state, over, deleted: what is shown, does it pay, does it count among the live
    ['active', false, false, 'active', true, true],
    ['active', true, false, 'expired', false, false],
    ['expired', true, false, 'expired', false, false],
    ['disabled', false, false, 'disabled', false, true],
    ['disabled', true, false, 'disabled', false, false],
    ['active', false, true, 'active', false, false],
    ['active', true, true, 'expired', false, false],
    ['disabled', false, true, 'disabled', false, false],
  ])('%s, over: %s, deleted: %s is %s, pays: %s, is live: %s', (state, over, deleted, shown, pays, live) => {
    const quota = totalQuota({
      state,
      expireAt: over ? NOW : NOW + 1,
      deletedAt: deleted ? NOW - 1 : null,
    })
    expect(isExpired(quota, NOW)).toBe(over)
    expect(statusAt(quota, NOW)).toBe(shown)
    expect(isActive(quota, NOW)).toBe(pays)
    expect(isLive(quota, NOW)).toBe(live)
  })
})

describe('roll', () => {
  it('keeps the cycle until its end and begins a new one at that instant', () => {
    const end = at('2026-12-01T00:00Z')
    const before = cycleQuota('2026-12-01T00:00Z')
    const untouched = { ...before }
    expect(roll(before, end - 1)).toBe(false)
    expect(before).toEqual(untouched)
    expect(roll(before, end)).toBe(true)
    expect(before).toEqual({
      ...untouched,
      used: 0,
      reserved: 0,
      holdDueAt: null,
      cycleSeq: 1,
      cycleEndsAt: at('2027-01-01T00:00Z'),
    })
  })

  it('counts the month end from the anchor, not from the last reset', () => {
    const ends = ['2026-01-31', '2026-02-28', '2026-03-31', '2026-04-30'].map((day) => at(`${day}T08:00Z`))
    const quota = cycleQuota('2026-01-31T08:00Z')
    for (const [place, end] of ends.entries()) {
      expect(quota.cycleEndsAt).toBe(end)
      expect(quota.cycleSeq).toBe(place)
      roll(quota, end)
    }
  })

  it('skips missed cycles in one step, and accumulates nothing', () => {
    const quota = rolled(cycleQuota('2001-01-01T00:00Z', { cycleSeq: 7 }), NOW)
    expect(quota).toMatchObject({ cycleSeq: 8, cycleEndsAt: at('2026-12-01T00:00Z'), used: 0, total: 100 })
    expect(remaining(quota)).toBe(100)
  })

  it('ends in the cycle that examining each reset finds, wherever the quota ends, and only once', () => {
    fc.assert(
      fc.property(anyCycleQuota, fc.integer({ min: -5 * DAY, max: 500 * DAY }), (quota, later) => {
        const before = { ...quota }
        const now = quota.cycleAnchorAt! + later
        const until = quota.expireAt === null ? now : Math.min(now, quota.expireAt - 1)
        const moves = until >= before.cycleEndsAt!
        expect(roll(quota, now)).toBe(moves)
        expect(quota).toEqual(
          moves
            ? {
                ...before,
                cycleEndsAt: walkTo(before, until),
                cycleSeq: before.cycleSeq + 1,
                used: 0,
                reserved: 0,
                holdDueAt: null,
              }
            : before,
        )
        expect(roll(quota, now)).toBe(false)
      }),
      { numRuns: 500 },
    )
  })

  it('never rolls back, whatever the clock', () => {
    fc.assert(
      fc.property(
        anyCycleQuota,
        fc.array(fc.integer({ min: -900 * DAY, max: 900 * DAY }), { maxLength: 6 }),
        (quota, jumps) => {
          for (const jump of jumps) {
            const before = { ...quota }
            const moved = roll(quota, before.cycleAnchorAt! + jump)
            expect(quota.cycleEndsAt! > before.cycleEndsAt!).toBe(moved)
            expect(quota.cycleSeq - before.cycleSeq).toBe(moved ? 1 : 0)
            if (!moved) expect(quota).toEqual(before)
          }
        },
      ),
    )
  })

  it('stops at the end of an expired quota, with its used and reset', () => {
    const quota = cycleQuota('2026-10-01T00:00Z', { expireAt: at('2026-10-20T00:00Z') })
    roll(quota, at('2026-10-19T00:00Z'))
    quota.used = 44
    const last = { ...quota }
    expect(roll(quota, NOW + 400 * DAY)).toBe(false)
    expect(quota).toEqual(last)
    expect(quota.cycleEndsAt).toBe(at('2026-11-01T00:00Z'))
  })

  it('rolls an expired quota that nobody has read to the cycle of its last millisecond', () => {
    const quota = rolled(cycleQuota('2026-01-01T00:00Z', { expireAt: at('2026-10-20T00:00Z') }), NOW)
    expect(quota).toMatchObject({ used: 0, cycleSeq: 1, cycleEndsAt: at('2026-11-01T00:00Z') })
  })

  it('begins no cycle if the reset and the end are the same instant', () => {
    const end = at('2026-11-01T00:00Z')
    const quota = cycleQuota('2026-11-01T00:00Z', { expireAt: end })
    expect(roll(quota, end)).toBe(false)
    expect(quota).toMatchObject({ used: 30, cycleEndsAt: end })
    quota.expireAt = end + 1
    expect(roll(quota, end)).toBe(true)
  })

  it('continues when an expired quota is revived', () => {
    const quota = cycleQuota('2026-02-01T00:00Z', { expireAt: at('2026-01-15T00:00Z') })
    expect(roll(quota, NOW)).toBe(false)
    quota.expireAt = NOW + 1
    expect(roll(quota, NOW)).toBe(true)
    expect(quota).toMatchObject({ used: 0, cycleSeq: 1, cycleEndsAt: at('2026-12-01T00:00Z') })
  })

  it('stops at the latest time if the next reset is beyond it', () => {
    const quota = rolled(cycleQuota('9999-01-15T00:00Z', { cycleUnit: 'year' }), at('9999-02-01T00:00Z'))
    expect(quota).toMatchObject({ cycleEndsAt: MAX_INSTANT, cycleSeq: 1 })
    quota.used = 3
    for (const now of [at('9999-12-31T00:00Z'), MAX_INSTANT - 1, MAX_INSTANT]) expect(roll(quota, now)).toBe(false)
    expect(quota).toMatchObject({ used: 3, cycleSeq: 1 })
  })

  it('changes nothing in a quota of type 1', () => {
    const quota = totalQuota({ used: 5, reserved: 5, expireAt: MAX_INSTANT })
    const before = { ...quota }
    expect(roll(quota, MAX_INSTANT)).toBe(false)
    expect(quota).toEqual(before)
  })
})

describe('remaining', () => {
  it('is the unused part, and 0 if the total was lowered below it', () => {
    expect(remaining(totalQuota({ total: 10, used: 3, reserved: 2 }))).toBe(5)
    expect(remaining(totalQuota({ total: 10, used: 8, reserved: 2 }))).toBe(0)
    expect(remaining(totalQuota({ total: 4, used: 8, reserved: 2 }))).toBe(0)
  })
})

describe('isPastReset', () => {
  const quota = cycleQuota('2026-08-31T00:00Z', { cycleEndsAt: at('2026-11-30T00:00Z') })

  it('recognizes past resets of the same anchor, including one at this instant', () => {
    for (const past of ['2026-08-31', '2026-09-30', '2026-10-31'])
      expect(isPastReset(quota, at(`${past}T00:00Z`), NOW)).toBe(true)
    const reset = at('2026-11-30T00:00Z')
    expect(isPastReset(quota, reset, reset)).toBe(true)
    expect(isPastReset(quota, reset, reset - 1)).toBe(false)
  })

  it('recognizes no other instant', () => {
    for (const other of ['2026-07-31T00:00Z', '2026-10-30T00:00Z', '2026-10-31T00:00:00.001Z', '2026-10-31T01:00Z'])
      expect(isPastReset(quota, at(other), NOW)).toBe(false)
    expect(isPastReset(totalQuota(), NOW - DAY, NOW)).toBe(false)
  })
})

describe('summarise', () => {
  it('adds up only active quotas, and the remaining units of each', () => {
    const quotas = [
      totalQuota({ total: 10, used: 4, reserved: 1 }),
      totalQuota({ total: 2, used: 7 }),
      totalQuota({ total: 1000, state: 'disabled' }),
      totalQuota({ total: 1000, expireAt: NOW }),
      totalQuota({ total: 1000, deletedAt: NOW }),
    ]
    expect(summarise(quotas, NOW)).toEqual({ total: 12, used: 11, reserved: 1, remaining: 5, quotaCount: 2 })
  })

  it('is all zeros without quotas', () => {
    expect(summarise([], NOW)).toEqual({ total: 0, used: 0, reserved: 0, remaining: 0, quotaCount: 0 })
  })

  it('counts exactly those whose status is active', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            state: fc.constantFrom(...STATUSES),
            left: fc.integer({ min: -1, max: 1 }),
            deleted: fc.boolean(),
          }),
        ),
        (kinds) => {
          const quotas = kinds.map(({ state, left, deleted }) =>
            totalQuota({ state, expireAt: NOW + left, deletedAt: deleted ? NOW : null }),
          )
          const counted = quotas.filter((quota) => quota.deletedAt === null && statusAt(quota, NOW) === 'active').length
          expect(summarise(quotas, NOW).quotaCount).toBe(counted)
        },
      ),
    )
  })
})
