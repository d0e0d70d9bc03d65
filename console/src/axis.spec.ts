import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { fitsAbove, highestOf, limitOfDay, namedTimes, ticksTo } from './axis.ts'

const HOUR_MS = 3_600_000
const hours = (from: string, count: number) =>
  Array.from({ length: count }, (_, index) => Date.parse(from) + index * HOUR_MS)

describe('the ticks of an axis', () => {
  it.each([
    [0, [0, 1]],
    [3, [0, 1, 2, 3]],
    [5, [0, 2, 4, 6]],
    [9, [0, 5, 10]],
    [41, [0, 20, 40, 60]],
    [1_206, [0, 500, 1_000, 1_500]],
  ])('up to %d are %j', (most, ticks) => expect(ticksTo(most)).toEqual(ticks))

  it('are at most five round numbers, and the last is the first that is enough', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (most) => {
        const ticks = ticksTo(most)
        const [step = 0, last = 0] = [ticks[1], ticks.at(-1)]
        expect(ticks.length).toBeLessThanOrEqual(5)
        expect(String(step)).toMatch(/^[125]0*(e\+\d+)?$/)
        expect(ticks).toEqual(ticks.map((_, index) => index * step))
        expect(last).toBeGreaterThanOrEqual(most)
        expect(last - step).toBeLessThan(most)
        // No finer step has room.
        if (step > 1) expect(most / step).toBeGreaterThan(1)
      }),
    )
  })
})

describe('the height of bars', () => {
  it('is cut at four times the highest lowest part, if there is one', () => {
    const bars = (...highs: number[]) => highs.map((high) => ({ low: 10, high }))
    expect(highestOf(bars(15, 40))).toBe(40)
    expect(highestOf(bars(15, 41))).toBe(40)
    expect(highestOf([{ low: 0, high: 9_000 }])).toBe(9_000)
    expect(highestOf([])).toBe(0)
  })
})

describe('the named times', () => {
  it('are hours by the clock on the wall', () => {
    const starts = hours('2026-11-24T09:00:00Z', 48)
    const named = namedTimes(starts, 'hour', 8, () => HOUR_MS)
    expect(named.map((index) => new Date((starts[index] ?? 0) + HOUR_MS).toISOString().slice(11, 16))).toEqual([
      '12:00',
      '18:00',
      '00:00',
      '06:00',
      '12:00',
      '18:00',
      '00:00',
      '06:00',
    ])
  })

  it('leave room for each other, whatever there is to name', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('hour' as const, 'day' as const),
        fc.integer({ min: 1, max: 400 }),
        fc.integer({ min: 2, max: 12 }),
        fc.integer({ min: -24, max: 24 }),
        (step, count, most, halfHours) => {
          const named = namedTimes(hours('2026-11-24T09:00:00Z', count), step, most, () => (halfHours * HOUR_MS) / 2)
          // A first hour by the clock may come before a whole distance.
          expect(named.length).toBeLessThanOrEqual(most + 1)
          const apart = named.slice(1).map((index, n) => index - (named[n] ?? 0))
          expect(new Set(apart).size).toBeLessThanOrEqual(1)
        },
      ),
    )
  })
})

describe('the limit of a day', () => {
  const monthly = {
    ...{ quotaType: 2, total: 100, windowSeconds: null },
    ...{ cycleUnit: 'month', cycleResetAt: '2026-12-01T00:00:00.000Z' },
  }

  it('is that of a window of 24 hours, or of a cycle from midnight to midnight', () => {
    const rolling = { quotaType: 3, total: 300, cycleUnit: null, cycleResetAt: null }
    expect(limitOfDay({ ...rolling, windowSeconds: 86_400 })).toBe(300)
    expect(limitOfDay({ ...rolling, windowSeconds: 3_600 })).toBeUndefined()
    expect(limitOfDay({ ...monthly, cycleUnit: 'day' })).toBe(100)
    // A day from midnight to midnight UTC is part of two such cycles.
    expect(limitOfDay({ ...monthly, cycleUnit: 'day', cycleResetAt: '2026-12-01T05:00:00.000Z' })).toBeUndefined()
    expect(limitOfDay(monthly)).toBeUndefined()
  })

  it('is drawn if the bars below it can be read', () => {
    expect([80, 81].map((limit) => fitsAbove(limit, 10))).toEqual([true, false])
    expect(fitsAbove(1, 0)).toBe(false)
  })
})
