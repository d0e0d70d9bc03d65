import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  exampleOf,
  type Limit,
  limitText,
  ordinal,
  reachedThreshold,
  readThresholds,
  readWindow,
  windowText,
  windowTyped,
} from './limits.ts'

const rolling: Limit = { cap: 'enforce', quotaType: 3, total: 300, windowSeconds: 86_400, cycleUnit: null }

describe('a window', () => {
  it.each([
    [60, '1 minute'],
    [61, '61 seconds'],
    [3_600, '1 hour'],
    [5_400, '90 minutes'],
    [86_400, '24 hours'],
    [172_800, '2 days'],
    [2_678_400, '31 days'],
  ])('of %d s is called %s', (seconds, text) => {
    expect(windowText(seconds)).toBe(text)
  })

  it('is read back from its text', () => {
    fc.assert(
      fc.property(fc.integer({ min: 60, max: 2_678_400 }), (seconds) => {
        expect(readWindow(windowTyped(seconds)).value).toBe(seconds)
      }),
    )
  })

  it.each(['', ' hour', '0 hour', '1.5 hour', '59 second', '32 day', '745 hour', '3 week', 'x minute'])(
    'is not "%s"',
    (typed) => {
      expect(readWindow(typed).mistake).toBeDefined()
    },
  )
})

describe('thresholds', () => {
  it.each([
    ['', []],
    ['50 80', [50, 80]],
    ['80 %, 50%', [50, 80]],
    ['100;1', [1, 100]],
    ['80 80', [80]],
  ])('"%s" are %j', (text, value) => {
    expect(readThresholds(text)).toEqual({ value })
  })

  it.each(['0', '101', '8.5', 'half', '50 80 -1', '1 2 3 4 5 6 7 8 9 10 11'])('"%s" are none', (text) => {
    expect(readThresholds(text).mistake).toBeDefined()
  })

  it('are reached from an exact number of units', () => {
    const total = fc.integer({ min: 1, max: 1_000_000_000_000 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), total, (threshold, units) => {
        const least = Number((BigInt(threshold) * BigInt(units) + 99n) / 100n)
        const at = (used: number) => reachedThreshold({ thresholds: [threshold], used, total: units })
        expect([at(least - 1), at(least)]).toEqual([undefined, threshold])
      }),
    )
  })

  it('the highest reached one counts; none if the total is 0', () => {
    expect(reachedThreshold({ thresholds: [50, 80, 90], used: 85, total: 100 })).toBe(80)
    expect(reachedThreshold({ thresholds: [50], used: 0, total: 0 })).toBeUndefined()
    expect(reachedThreshold({ thresholds: null, used: 5, total: 5 })).toBeUndefined()
  })
})

describe('a limit in words', () => {
  it.each<[Limit, string]>([
    [rolling, 'At most 300 in any 24 hours; the 301st waits until the oldest are 24 hours old.'],
    [{ ...rolling, windowSeconds: 3_600 }, 'At most 300 in any hour; the 301st waits until the oldest are 1 hour old.'],
    [
      { ...rolling, cap: 'observe' },
      'Lets everything through, and tells what it would have refused: the 301st in any 24 hours.',
    ],
    [{ ...rolling, total: 0, ends: 'tomorrow' }, 'Lets nothing through. It ends tomorrow.'],
    [
      { ...rolling, quotaType: 2, cycleUnit: 'hour', total: 1_001 },
      'At most 1,001 each hour; the 1,002nd waits until the next hour begins.',
    ],
    [{ ...rolling, quotaType: 1, ends: 'May' }, 'At most 300 until May; the 301st waits until then.'],
    [
      { ...rolling, cap: null, quotaType: 2, cycleUnit: 'month' },
      'Pays for 300 each month; what is left at a reset is lost.',
    ],
    [{ ...rolling, cap: null, quotaType: 1, ends: 'May' }, 'Pays for 300 until May; what is left then is lost.'],
  ])('%j', (limit, sentence) => {
    expect(exampleOf(limit)).toBe(sentence)
  })

  it('is short beside a bar', () => {
    expect(limitText({ ...rolling, total: 1, windowSeconds: 604_800 })).toBe('1 in any 7 days')
  })

  it.each([
    [1, '1st'],
    [2, '2nd'],
    [3, '3rd'],
    [11, '11th'],
    [112, '112th'],
    [1_023, '1,023rd'],
  ])('counts %d as the %s', (value, text) => {
    expect(ordinal(value)).toBe(text)
  })
})
