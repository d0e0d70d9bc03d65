import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { leftText, type Look, lookedAgain, secondsLeft } from './time-left.ts'

const looked = (looks: readonly Look[]): readonly Look[] => looks.reduce<readonly Look[]>(lookedAgain, [])

describe('the remaining time', () => {
  it('is the remaining work divided by the speed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 2, max: 60 }), (aSecond, seconds) => {
        const looks = looked(
          Array.from({ length: seconds + 1 }, (_, second) => ({ at: second * 1000, done: second * aSecond })),
        )
        expect(secondsLeft(looks, (seconds + 40) * aSecond)).toBe(40)
      }),
    )
  })

  it('follows the last half minute', () => {
    const slow = Array.from({ length: 60 }, (_, second) => ({ at: second * 1000, done: second }))
    const fast = Array.from({ length: 60 }, (_, second) => ({ at: 60_000 + second * 1000, done: 60 + second * 100 }))
    expect(secondsLeft(looked([...slow, ...fast]), 60 + 69 * 100)).toBe(10)
  })

  it('is unknown without enough readings or without progress', () => {
    expect(secondsLeft([], 10)).toBeUndefined()
    expect(secondsLeft(looked([{ at: 0, done: 5 }]), 10)).toBeUndefined()
    expect(secondsLeft(looked([0, 1000].map((at) => ({ at, done: at }))), 9_000)).toBeUndefined()
    expect(secondsLeft(looked([0, 2000, 4000].map((at) => ({ at, done: 5 }))), 10)).toBeUndefined()
    // The work has restarted: earlier readings do not count.
    expect(
      secondsLeft(
        looked([
          { at: 0, done: 900 },
          { at: 5000, done: 0 },
        ]),
        1000,
      ),
    ).toBeUndefined()
  })

  it.each([
    [0, 'a few seconds'],
    [6, 'about 10 seconds'],
    [60, 'about a minute'],
    [61, 'about 2 minutes'],
    [5400, 'about 2 hours'],
  ])('%i s', (seconds, text) => {
    expect(leftText(seconds)).toBe(text)
  })
})
