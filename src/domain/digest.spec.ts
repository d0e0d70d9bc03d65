import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import {
  byTime,
  collect,
  type Collected,
  digestPeriod,
  isCollected,
  MAX_DIGEST_LINES,
  type Ranked,
  weightOf,
} from './digest.js'

const time = (text: string): number => Date.parse(text)

describe('the period of a digest', () => {
  it.each<['hourly' | 'daily', string, string, string, string]>([
    ['hourly', 'Asia/Kolkata', '2026-11-26T06:59:59.999Z', '2026-11-26T06:00:00Z', '2026-11-26T07:00:00Z'],
    ['hourly', 'UTC', '2026-11-26T07:00:00Z', '2026-11-26T07:00:00Z', '2026-11-26T08:00:00Z'],
    ['daily', 'UTC', '2026-11-26T06:59:59.999Z', '2026-11-25T07:00:00Z', '2026-11-26T07:00:00Z'],
    ['daily', 'UTC', '2026-11-26T07:00:00Z', '2026-11-26T07:00:00Z', '2026-11-27T07:00:00Z'],
    // In summer, and across the change of the clock.
    ['daily', 'Europe/Berlin', '2026-07-01T12:00:00Z', '2026-07-01T05:00:00Z', '2026-07-02T05:00:00Z'],
    ['daily', 'Europe/Berlin', '2026-10-24T12:00:00Z', '2026-10-24T05:00:00Z', '2026-10-25T06:00:00Z'],
  ])('%s in %s around %s is from %s to %s', (digest, zone, at, start, end) => {
    expect(digestPeriod(digest, zone, time(at))).toEqual({ start: time(start), end: time(end) })
  })
})

describe('a digest', () => {
  it('tells refusals and 100 % first, then higher thresholds, then the rest, and ends of refusals last', () => {
    const order = [
      weightOf('owner.refused', undefined),
      weightOf('quota.threshold_reached', 99),
      weightOf('quota.threshold_reached', 1),
      weightOf('quota.created', undefined),
      weightOf('owner.recovered', undefined),
    ]
    expect([...order].sort((a, b) => a - b)).toEqual(order)
    expect(new Set(order).size).toBe(order.length)
    expect(weightOf('quota.threshold_reached', 100)).toBe(order[0])
    expect(weightOf('quota.reset', undefined)).toBe(weightOf('quota.created', undefined))
  })

  it('is the same in whatever order and steps its events come', () => {
    const event = fc.record({
      weight: fc.integer({ min: 0, max: 3 }),
      at: fc.integer({ min: 0, max: 5 }),
      channel: fc.constantFrom('mail', 'sms'),
    })
    fc.assert(
      fc.property(
        fc.array(event, { minLength: 1, maxLength: 150 }),
        fc.integer({ min: 1, max: 40 }),
        (events, step) => {
          const all: Ranked[] = events.map((one, position) => ({ ...one, position }))
          let collected: Collected | undefined
          for (const from of [...all.keys()].filter((n) => n % step === 0).reverse())
            collected = collect(collected, all.slice(from, from + step))
          const worst = [...all].sort((a, b) => a.weight - b.weight || byTime(a, b)).slice(0, MAX_DIGEST_LINES)
          const inOrder = [...all].sort(byTime)
          expect(collected).toEqual({ count: all.length, first: inOrder[0], last: inOrder.at(-1), worst })
        },
      ),
    )
  })

  it('knows what it has collected: exactly while it lists everything, then by the times', () => {
    const all = Array.from({ length: 2 * MAX_DIGEST_LINES + 2 }, (_, position): Ranked => {
      return { weight: 0, at: position, channel: 'mail', position }
    })
    const even = all.filter(({ position }) => position % 2 === 0)
    const [listed, more] = [collect(undefined, even.slice(0, MAX_DIGEST_LINES)), collect(undefined, even)]
    expect(all.filter((one) => isCollected(listed, one))).toEqual(even.slice(0, MAX_DIGEST_LINES))
    expect(all.filter((one) => isCollected(more, one))).toEqual(all.slice(0, -1))
  })
})
