import { beforeEach, describe, expect, it } from '@jest/globals'
import { STEADY_FOR_REMOVAL_MS, STEADY_MS } from './clock.js'
import { FollowedClock, MAX_SILENCE_MS, STEP_MS } from './followed-clock.js'

const EVERY_MS = 2_000

let mono: number
/** What the source's clock is ahead of the monotonic one. */
let ahead: number
let clock: FollowedClock

beforeEach(() => {
  mono = 5_000
  ahead = 1_800_000_000_000
  clock = new FollowedClock(() => mono)
})

/** Asks the source: it answers after a part of the way, in whole milliseconds. */
function ask(way = 2, there = 0.5): string {
  const sent = mono
  const at = Math.floor(sent + way * there + ahead)
  mono += way
  return clock.follow({ sent, received: mono, at }).what
}

/** Asks again and again. @returns what became of it, without repetitions */
function askFor(milliseconds: number, way?: number): string[] {
  const told: string[] = []
  for (const end = mono + milliseconds; mono < end; mono += EVERY_MS) {
    const what = ask(way)
    if (told.at(-1) !== what) told.push(what)
  }
  return told
}

const wrongBy = (): number => clock.now() - (mono + ahead)

describe('a followed clock', () => {
  it('has no time before the first sample, and accepts the first one', () => {
    expect(() => clock.now()).toThrow('never asked')
    ask(100)
    expect(Math.abs(wrongBy())).toBeLessThanOrEqual(51)
  })

  it('advances by itself', () => {
    ask()
    mono += 20_000
    expect(Math.abs(wrongBy())).toBeLessThanOrEqual(2)
  })

  it('is as exact as its best sample, however inexact the others are', () => {
    for (const there of [0, 0.1, 0.9, 1]) {
      clock = new FollowedClock(() => mono)
      ask(1_900, there)
      for (let n = 0; n < 20; n += 1) ask(n === 7 ? 3 : 100 + 90 * n, n % 2 === 0 ? 0 : 1)
      expect(Math.abs(wrongBy())).toBeLessThanOrEqual(5)
    }
  })

  it('follows a source that runs at another rate, and never goes back', () => {
    for (const pace of [0.999, 1.001]) {
      clock = new FollowedClock(() => mono)
      ask()
      let last = clock.now()
      for (let n = 0; n < 500; n += 1) {
        mono += 1_000
        ahead += 1_000 * (pace - 1)
        expect(ask()).toBe('agrees')
        expect(Math.abs(wrongBy())).toBeLessThanOrEqual(5)
        expect(clock.now()).toBeGreaterThanOrEqual(last)
        last = clock.now()
      }
      expect(clock.steady).toBe(true)
    }
  })

  it('stands still when a sample sets it back a little', () => {
    askFor(10_000)
    const before = clock.now()
    ahead -= 1_500
    expect(ask()).toBe('agrees')
    expect(clock.now()).toBe(before)
    mono += 3_000
    expect(Math.abs(wrongBy())).toBeLessThanOrEqual(3)
  })

  it('is steady after its time has been confirmed for a minute, and for removals after an hour', () => {
    ask()
    expect(clock.steadyForMs).toBe(0)
    askFor(STEADY_MS - EVERY_MS)
    expect(clock.steady).toBe(false)
    askFor(2 * EVERY_MS)
    expect([clock.steady, clock.steadyForRemoval]).toEqual([true, false])
    askFor(STEADY_FOR_REMOVAL_MS)
    expect(clock.steadyForRemoval).toBe(true)
  })

  it('is not steady without samples, nor immediately after they return', () => {
    askFor(2 * STEADY_MS)
    mono += MAX_SILENCE_MS - 2 * EVERY_MS
    expect(clock.steady).toBe(true)
    mono += 2 * EVERY_MS
    expect(clock.steady).toBe(false)
    expect(ask()).toBe('agrees')
    expect(clock.steady).toBe(false)
    askFor(STEADY_MS + 2 * EVERY_MS)
    expect(clock.steady).toBe(true)
  })

  it.each([STEP_MS + 10, -STEP_MS - 10, 660_000, -660_000, 32 * 86_400_000, 315_360_000_000, -315_360_000_000])(
    'goes on as before after a step of %i ms, and takes the other time over once it has stayed',
    (step) => {
      askFor(2 * STEADY_MS)
      ahead += step
      expect(askFor(STEADY_MS - EVERY_MS)).toEqual(['stepped', 'agrees'])
      expect(Math.abs(wrongBy() + step)).toBeLessThanOrEqual(5)
      expect(clock.steadyForMs).toBe(0)
      expect(askFor(3 * EVERY_MS)).toContain('adopted')
      expect(Math.abs(wrongBy())).toBeLessThanOrEqual(5)
      expect([clock.steady, clock.steadyForRemoval]).toEqual([true, false])
    },
  )

  it.each([9_000, 50_000])('forgets a time that lasted for %i ms, and waits until it is steady again', (wrong) => {
    askFor(2 * STEADY_FOR_REMOVAL_MS)
    ahead += 32 * 86_400_000
    expect(askFor(wrong)).toEqual(['stepped', 'agrees'])
    ahead -= 32 * 86_400_000
    expect(ask()).toBe('returned')
    expect(Math.abs(wrongBy())).toBeLessThanOrEqual(5)
    expect(clock.steady).toBe(false)
    askFor(STEADY_MS + 2 * EVERY_MS)
    expect([clock.steady, clock.steadyForRemoval]).toEqual([true, false])
  })

  it('accepts neither of two different sources that answer in turn, and continues by the first', () => {
    askFor(2 * STEADY_MS)
    for (let n = 0; n < 200; n += 1) {
      ahead += n % 2 === 0 ? 10_000 : -10_000
      ask()
      mono += EVERY_MS
      expect(clock.steady).toBe(false)
    }
    expect(Math.abs(wrongBy())).toBeLessThanOrEqual(5)
  })

  it('does not accept a time on which two samples agree across a silence', () => {
    askFor(2 * STEADY_MS)
    ahead += 660_000
    ask()
    mono += 2 * STEADY_MS
    expect(ask()).toBe('agrees')
    expect(clock.steady).toBe(false)
    expect(Math.abs(wrongBy() + 660_000)).toBeLessThanOrEqual(5)
  })

  it('ignores a sample that took too long', () => {
    askFor(2 * STEADY_MS)
    const steadyFor = clock.steadyForMs
    ahead += 660_000
    expect(ask(STEP_MS + 1)).toBe('agrees')
    expect(clock.steadyForMs).toBe(steadyFor)
  })

  it('replaces a first sample that took too long by the next one', () => {
    for (const there of [0, 1]) {
      clock = new FollowedClock(() => mono)
      ask(2 * STEP_MS + 500, there)
      expect(ask()).toBe('agrees')
      expect(Math.abs(wrongBy())).toBeLessThanOrEqual(2)
    }
  })

  it('confirms no time later than that of its source, nor than its own', async () => {
    ask()
    const now = clock.now()
    expect(await clock.confirmed(async () => now - 5_000)).toBe(now - 5_000)
    expect(await clock.confirmed(async () => now + 5_000)).toBe(now)
  })
})
