import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { heldIn, isIdle, leftAs, RELOAD_MS } from './hand-over.ts'

const times = fc.integer({ min: 0, max: 4e12 })

describe('a session that a page leaves to the next one', () => {
  it('is found as it was, with or without a token, within a minute', () => {
    const held = fc.record({ token: fc.option(fc.string(), { nil: undefined }), touchedAt: times })
    fc.assert(
      fc.property(held, times, fc.integer({ min: 0, max: RELOAD_MS - 1 }), (left, at, passed) => {
        expect(heldIn(leftAs(left, at), at + passed)).toEqual(left)
      }),
    )
  })

  it('is none later, at a time long before it was left, or without a page before', () => {
    const text = leftAs({ token: 'qs_a', touchedAt: 1e12 }, 1e12)
    expect([1e12 + RELOAD_MS, 1e12 - RELOAD_MS].map((at) => heldIn(text, at))).toEqual([undefined, undefined])
    expect(heldIn(null, 0)).toBeUndefined()
  })
})

describe('inactivity', () => {
  it('is too long from the minute that is set, and never with 0', () => {
    expect([29.999, 30].map((minutes) => isIdle(1e12, 1e12 + minutes * 60_000, 30))).toEqual([false, true])
    expect(isIdle(0, 4e12, 0)).toBe(false)
  })
})
