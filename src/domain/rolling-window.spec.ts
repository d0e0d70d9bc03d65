import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Instant } from '../common/instant.js'
import {
  addUnits,
  countsUntil,
  EMPTY_WINDOW,
  formatWindow,
  MAX_WINDOW_SECONDS,
  MIN_WINDOW_SECONDS,
  openingWindow,
  settleUnits,
  parseWindow,
  type RollingWindow,
  slotMilliseconds,
  sumOf,
  withoutPast,
} from './rolling-window.js'

const NOW = Date.parse('2026-11-21T12:00:00Z')

const anySeconds = fc.oneof(
  fc.constantFrom(MIN_WINDOW_SECONDS, 61, 3600, 86_400, MAX_WINDOW_SECONDS),
  fc.integer({ min: MIN_WINDOW_SECONDS, max: MAX_WINDOW_SECONDS }),
)

/** The same boundary found by walking there. */
const walkedBoundary = (seconds: number, from: Instant): Instant => {
  const length = Math.ceil((seconds * 1000) / 24)
  let boundary = from - (from % length)
  while (boundary < from) boundary += length
  return boundary
}

describe('countsUntil', () => {
  it('is the first boundary at least a whole window later, and at most a slot late', () => {
    fc.assert(
      fc.property(anySeconds, fc.nat(10 * MAX_WINDOW_SECONDS * 1000), (seconds, after) => {
        const at = NOW + after
        const until = countsUntil(seconds, at)
        expect(until).toBe(walkedBoundary(seconds, at + seconds * 1000))
        const late = until - (at + seconds * 1000)
        expect(late).toBeGreaterThanOrEqual(0)
        expect(late).toBeLessThan(slotMilliseconds(seconds))
      }),
      { numRuns: 1000 },
    )
  })

  it('counts slots from the epoch, of whole milliseconds', () => {
    expect(slotMilliseconds(60)).toBe(2500)
    expect(slotMilliseconds(61)).toBe(2542)
    expect(countsUntil(60, 0)).toBe(60_000)
    expect(countsUntil(60, 1)).toBe(62_500)
  })
})

describe('an opening balance', () => {
  it('counts whole until its boundary, with what is counted later, and not from it on', () => {
    const used = fc.oneof(fc.constantFrom(0, 1, 1_000_000_000_000), fc.nat())
    const late = fc.nat(MAX_WINDOW_SECONDS * 1000)
    fc.assert(
      fc.property(anySeconds, fc.nat(), used, late, fc.nat(9), (seconds, after, used, late, more) => {
        const createdAt = NOW + after
        const until = walkedBoundary(seconds, createdAt + seconds * 1000)
        const opened = openingWindow(seconds, createdAt, used)
        expect(opened).toEqual(used === 0 ? EMPTY_WINDOW : [{ until, used, reserved: 0 }])
        const at = createdAt + (late % (seconds * 1000))
        const window = addUnits(opened, countsUntil(seconds, at), { used: more })
        expect(sumOf(withoutPast(window, until - 1))).toEqual({ used: used + more, reserved: 0 })
        expect(sumOf(withoutPast(window, until)).used).toBe(countsUntil(seconds, at) > until ? more : 0)
      }),
    )
  })
})

describe('a rolling window', () => {
  it('contains at most 25 slots, each sum exact, for any number of counts', () => {
    fc.assert(
      fc.property(
        anySeconds,
        fc.array(fc.record({ permille: fc.integer({ min: 0, max: 60 }), amount: fc.integer({ min: 1, max: 9 }) }), {
          minLength: 30,
          maxLength: 60,
        }),
        (seconds, taken) => {
          let window: RollingWindow = EMPTY_WINDOW
          let now = NOW
          const log: { until: Instant; amount: number }[] = []
          for (const { permille, amount } of taken) {
            now += permille * seconds
            const until = countsUntil(seconds, now)
            window = addUnits(withoutPast(window, now), until, { used: amount })
            log.push({ until, amount })
            const counted = log.filter((one) => one.until > now).reduce((sum, one) => sum + one.amount, 0)
            if (sumOf(window).used !== counted) expect(sumOf(window)).toEqual({ used: counted, reserved: 0 })
            if (window.length > 25) expect(window).toHaveLength(25)
          }
        },
      ),
      { numRuns: 200 },
    )
  })

  it('contains 25 slots if something is counted in every part of it', () => {
    let window: RollingWindow = EMPTY_WINDOW
    for (let now = NOW; now < NOW + 120_000; now += 500) {
      window = addUnits(withoutPast(window, now), countsUntil(60, now), { used: 1 })
    }
    expect(window).toHaveLength(25)
  })

  it('returns units from the slot that counted them, and removes empty slots', () => {
    const one = addUnits(addUnits(EMPTY_WINDOW, 5000, { used: 3 }), 2500, { reserved: 4 })
    expect(one).toEqual([
      { until: 2500, used: 0, reserved: 4 },
      { until: 5000, used: 3, reserved: 0 },
    ])
    expect(settleUnits(one, 2500, { reserved: -4, used: 1 })).toEqual([
      { until: 2500, used: 1, reserved: 0 },
      { until: 5000, used: 3, reserved: 0 },
    ])
    expect(settleUnits(one, 2500, { reserved: -4 })).toEqual([{ until: 5000, used: 3, reserved: 0 }])
    expect(settleUnits(one, 3750, { used: -1 })).toBeUndefined()
    expect(settleUnits(one, 5000, { used: -4 })).toBeUndefined()
    expect(settleUnits(one, 5000, { used: 1, reserved: -1 })).toBeUndefined()
    expect(withoutPast(one, 2499)).toBe(one)
    expect(withoutPast(one, 2500)).toEqual([{ until: 5000, used: 3, reserved: 0 }])
  })

  it('stops counting at the largest exact number', () => {
    const most = Number.MAX_SAFE_INTEGER
    const full = addUnits(addUnits(EMPTY_WINDOW, 2500, { used: most - 1 }), 2500, { used: 10 })
    expect(full).toEqual([{ until: 2500, used: most, reserved: 0 }])
    expect(sumOf(addUnits(full, 5000, { used: 7 })).used).toBe(most)
  })

  it('is unchanged after it was formatted and parsed', () => {
    const anySlot = fc.record({
      step: fc.integer({ min: 1, max: 200_000_000 }),
      used: fc.nat(1_000_000_000_000),
      reserved: fc.oneof(fc.constant(0), fc.nat(1_000_000_000_000)),
    })
    fc.assert(
      fc.property(fc.array(anySlot, { maxLength: 25 }), (slots) => {
        let until = NOW
        const window = slots.map(({ step, used, reserved }) => ({ until: (until += step), used, reserved }))
        const text = formatWindow(window)
        expect(parseWindow(text)).toEqual(window)
        expect(text.length).toBeLessThanOrEqual(1000)
      }),
      { numRuns: 200 },
    )
    expect(
      formatWindow([
        { until: NOW, used: 40, reserved: 0 },
        { until: NOW + 2500, used: 3, reserved: 5 },
      ]),
    ).toBe(`${NOW}:40 2500:3/5`)
    for (const broken of ['x', '5', '5:', ' ', '5:1 ', '5:1/', '-5:1', '5:1.5'])
      expect(() => parseWindow(broken)).toThrow('no slot of a rolling window')
  })
})
