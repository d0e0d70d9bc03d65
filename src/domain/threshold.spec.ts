import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { MAX_AMOUNT } from './quota.js'
import {
  areThresholds,
  armUnreached,
  nextPassAt,
  passThresholds,
  reachedAt,
  thresholdsOf,
  thresholdsText,
  type Watched,
} from './threshold.js'

type Mutable = { -readonly [K in keyof Watched]: Watched[K] }

const watched = (given: Partial<Watched> = {}): Mutable => ({
  total: 100,
  used: 0,
  cycleSeq: 0,
  thresholds: '50 80',
  passed: null,
  ...given,
})

const thresholds = fc.uniqueArray(fc.integer({ min: 1, max: 100 }), { maxLength: 10 })

describe('thresholds as a setting', () => {
  it('are stored ascending and shown as they are stored', () => {
    fc.assert(
      fc.property(thresholds, (list) => {
        expect(areThresholds(list)).toBe(true)
        expect(thresholdsOf(thresholdsText(list))).toEqual([...list].sort((a, b) => a - b))
      }),
    )
  })

  it.each([
    [[0]],
    [[101]],
    [[1.5]],
    [[50, 50]],
    [['50']],
    ['50'],
    [null],
    [Array.from({ length: 11 }, (_, n) => n + 1)],
  ])('refuses %j', (value) => {
    expect(areThresholds(value)).toBe(false)
  })
})

describe('reachedAt', () => {
  it('is exactly the smallest integer that is at least the share', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: MAX_AMOUNT }), (threshold, total) => {
        const at = BigInt(reachedAt(threshold, total))
        const share = BigInt(threshold) * BigInt(total)
        expect(at * 100n >= share && (at - 1n) * 100n < share).toBe(true)
      }),
    )
  })

  it('is never reached if the total is 0', () => {
    expect(reachedAt(1, 0)).toBe(Infinity)
  })
})

describe('passThresholds', () => {
  it('returns several at once, and each only once', () => {
    const quota = watched({ used: 80 })
    expect(passThresholds(quota)).toEqual([50, 80])
    expect(passThresholds(quota)).toEqual([])
    expect(nextPassAt(quota)).toBe(Infinity)
    quota.used = 10
    expect(passThresholds(quota)).toEqual([])
    quota.used = 90
    expect(passThresholds(quota)).toEqual([])
  })

  it('is armed again by a new count', () => {
    const quota = watched({ used: 80 })
    passThresholds(quota)
    quota.cycleSeq += 1
    quota.used = 50
    expect(passThresholds(quota)).toEqual([50])
  })

  it('remembers a threshold that is removed from the list and added again', () => {
    const quota = watched({ used: 60 })
    expect(passThresholds(quota)).toEqual([50])
    quota.thresholds = null
    expect(passThresholds(quota)).toEqual([])
    quota.thresholds = '50 60'
    expect(passThresholds(quota)).toEqual([60])
  })

  it('is armed by an edit of the total after which it is not reached', () => {
    const quota = watched({ used: 80 })
    passThresholds(quota)
    quota.total = 120
    armUnreached(quota)
    expect(passThresholds(quota)).toEqual([])
    expect(nextPassAt(quota)).toBe(96)
    quota.total = 100
    armUnreached(quota)
    expect(passThresholds(quota)).toEqual([80])
  })
})

/**
 * The same, as the contract says it: a flag for each threshold there could be, looked at after every act, and shares
 * compared as fractions.
 */
class Model {
  readonly armed = new Map(Array.from({ length: 100 }, (_, n) => [n + 1, true]))
  list: readonly number[] = []
  total = 100n
  used = 0n

  newCount(): void {
    this.used = 0n
    for (const threshold of this.armed.keys()) this.armed.set(threshold, true)
  }

  reached(threshold: number): boolean {
    return this.total > 0n && this.used * 100n >= BigInt(threshold) * this.total
  }

  editTotal(total: bigint): void {
    this.total = total
    for (const threshold of this.armed.keys()) if (!this.reached(threshold)) this.armed.set(threshold, true)
  }

  fire(): number[] {
    const due = this.list.filter((threshold) => this.armed.get(threshold) === true && this.reached(threshold))
    for (const threshold of due) this.armed.set(threshold, false)
    return due.sort((a, b) => a - b)
  }
}

describe('any order of acts', () => {
  const amount = fc.integer({ min: 0, max: 120 })
  const step = fc.oneof(
    fc.record({ act: fc.constant('use' as const), by: amount }),
    fc.record({ act: fc.constant('refund' as const), by: amount }),
    fc.record({ act: fc.constant('total' as const), by: amount }),
    fc.record({ act: fc.constant('thresholds' as const), list: thresholds }),
    fc.record({ act: fc.constant('new count' as const) }),
  )

  it('returns the thresholds that the contract specifies', () => {
    fc.assert(
      fc.property(thresholds, fc.array(step, { maxLength: 60 }), (list, steps) => {
        const model = new Model()
        const quota = watched({ thresholds: thresholdsText(list) })
        model.list = list
        for (const one of steps) {
          switch (one.act) {
            case 'use':
              quota.used += one.by
              model.used += BigInt(one.by)
              break
            case 'refund': {
              const back = Math.min(one.by, quota.used)
              quota.used -= back
              model.used -= BigInt(back)
              break
            }
            case 'total':
              quota.total = one.by
              armUnreached(quota)
              model.editTotal(BigInt(one.by))
              break
            case 'thresholds':
              quota.thresholds = thresholdsText(one.list)
              model.list = one.list
              break
            case 'new count':
              quota.used = 0
              quota.cycleSeq += 1
              model.newCount()
          }
          const due = model.fire()
          expect(quota.used >= nextPassAt(quota)).toBe(due.length > 0)
          expect(passThresholds(quota)).toEqual(due)
          expect((quota.passed ?? '').length).toBeLessThanOrEqual(320)
        }
      }),
    )
  })
})
