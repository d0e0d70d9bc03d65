import { describe, expect, it } from '@jest/globals'
import { CapTrial, type TrialSettings } from './cap-trial.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const START = Date.UTC(2026, 10, 21, 12)

const settings = (some: Partial<TrialSettings>): TrialSettings => ({
  quotaType: 1,
  total: 10,
  cycleUnit: null,
  cycleResetAt: null,
  cycleTimeZone: null,
  windowSeconds: null,
  ...some,
})
const used = (units: number) => ({ used: units })
const daily = (resetAt: number) => settings({ quotaType: 2, cycleUnit: 'day', cycleResetAt: resetAt })

describe('a cap on trial', () => {
  it('counts what it would have refused, as an observe cap does', () => {
    const trial = new CapTrial(settings({}), START)
    expect([6, 4, 1, 1].map((units) => trial.take(START, used(units)))).toEqual([false, false, true, true])
    trial.settle(START + 1, START, used(-2))
    expect(trial.take(START + 2, used(1))).toBe(true)
    trial.settle(START + 3, START, used(-2))
    expect(trial.take(START + 4, { reserved: 1 })).toBe(false)
  })

  it('has a first cycle from its beginning to the reset, and whole ones after a reset in the past', () => {
    for (const [resetAt, refused] of [
      [START + DAY / 2, [false, true, false]],
      [START - 9 * DAY - HOUR, [false, true, true]],
      [START, [false, true, true]],
      [START + 9 * DAY, [false, true, true]],
    ] as const) {
      const trial = new CapTrial(daily(resetAt), START)
      expect([0, 1, DAY / 2].map((after) => trial.take(START + after, used(6)))).toEqual(refused)
    }
  })

  it('gives back only to the count that holds the operation', () => {
    const trial = new CapTrial(daily(START + HOUR), START)
    trial.take(START, used(10))
    expect(trial.take(START + HOUR, used(10))).toBe(false)
    // Of the count before.
    trial.settle(START + HOUR, START, used(-10))
    expect(trial.take(START + HOUR, used(1))).toBe(true)
    trial.settle(START + HOUR, START + HOUR, used(-2))
    expect(trial.take(START + HOUR, used(1))).toBe(false)
  })

  it('returns units at a boundary of slots', () => {
    // 24 slots of 2.5 s.
    const trial = new CapTrial(settings({ quotaType: 3, windowSeconds: 60 }), START)
    trial.take(START + 1, { reserved: 10 })
    trial.settle(START + 2, START + 1, { used: 4, reserved: -10 })
    expect(trial.take(START + 2, used(6))).toBe(false)
    expect(trial.take(START + 62_499, used(10))).toBe(true)
    expect(trial.take(START + 62_500, used(10))).toBe(true)
    expect(trial.take(START + 125_000, used(10))).toBe(false)
    // Of a slot that has left.
    trial.settle(START + 125_000, START + 1, used(-4))
    expect(trial.take(START + 125_000, used(1))).toBe(true)
  })
})
