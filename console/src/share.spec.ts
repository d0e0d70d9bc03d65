import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { levelOf, shareText } from './share.ts'

const total = fc.integer({ min: 1, max: 10 ** 12 })

describe('the used share', () => {
  it.each([
    [0, 7, '0%'],
    [1, 1_000, '<1%'],
    [10, 1_000, '1%'],
    [2, 3, '66%'],
    [899, 1_000, '89%'],
    [9_049, 10_000, '90.4%'],
    [999_999, 1_000_000, '99.9%'],
    [1_000, 1_000, '100%'],
    [3_000, 2_000, '150%'],
  ])('%d of %d is %s', (used, whole, text) => expect(shareText(used, whole)).toBe(text))

  it('is all only if nothing is left, and nothing only if nothing is used', () => {
    fc.assert(
      fc.property(
        total,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: -2, max: 2 }),
        (whole, part, by) => {
          const used = Math.min(whole, Math.max(0, Math.round(whole * part) + by))
          expect(shareText(used, whole) === '100%').toBe(used === whole)
          expect(shareText(used, whole) === '0%').toBe(used === 0)
        },
      ),
    )
  })

  it('never says more than is used, nor less by a percent', () => {
    fc.assert(
      fc.property(total, fc.integer({ min: 0, max: 10 ** 12 }), (whole, used) => {
        const text = shareText(used, whole)
        const shown = text === '<1%' ? 0 : Number(text.replace(/[%,]/g, ''))
        // Exactly: a double of such a share may be too small.
        const tenths = BigInt(Math.round(shown * 10))
        expect(tenths * BigInt(whole)).toBeLessThanOrEqual(BigInt(used) * 1000n)
        expect((tenths + 10n) * BigInt(whole)).toBeGreaterThanOrEqual(BigInt(used) * 1000n)
      }),
    )
  })

  it('of a total of 0 is not told', () => expect(shareText(0, 0)).toBe(''))
})

describe('the level', () => {
  const of = (used: number, whole: number, more: object = {}) =>
    levelOf({ total: whole, used, reserved: 0, remaining: Math.max(0, whole - used), ...more })

  it('is out exactly if nothing is left', () => {
    fc.assert(
      fc.property(total, fc.nat(), fc.array(fc.integer({ min: 1, max: 100 })), (whole, used, thresholds) => {
        expect(of(used, whole, { thresholds }) === 'out').toBe(used >= whole)
      }),
    )
  })

  it('is near from the first threshold on', () => {
    fc.assert(
      fc.property(total, fc.integer({ min: 1, max: 99 }), (whole, first) => {
        const reached = Math.ceil((whole / 100) * first)
        fc.pre(reached > 1 && reached < whole && whole < 10 ** 9)
        const levels = [reached - 1, reached].map((used) => of(used, whole, { thresholds: [first, 100] }))
        expect(levels).toEqual([((reached - 1) * 100) / whole >= first ? 'near' : 'fine', 'near'])
      }),
    )
  })

  it('is near from 90 % on without thresholds, with what is held', () => {
    expect([899, 900].map((used) => of(used, 1000))).toEqual(['fine', 'near'])
    expect([null, []].map((thresholds) => of(900, 1000, { thresholds }))).toEqual(['near', 'near'])
    expect(of(100, 1000, { reserved: 800, remaining: 100 })).toBe('near')
    // An event would not be told yet.
    expect(of(100, 1000, { reserved: 800, remaining: 100, thresholds: [90] })).toBe('fine')
  })

  it('is out for a total of 0', () => expect(of(0, 0)).toBe('out'))
})
