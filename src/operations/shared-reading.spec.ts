import { describe, expect, it } from '@jest/globals'
import { SharedReading } from './shared-reading.js'

describe('SharedReading', () => {
  let now = 0
  let readings = 0

  const shared = (perSecond: number, read = () => Promise.resolve((readings += 1))) => {
    now = 5_000
    readings = 0
    return new SharedReading(read, perSecond, () => now)
  }

  it('gives one reading to all who ask while it is read', async () => {
    const one = shared(9)
    expect(await Promise.all([one.get(), one.get(), one.get()])).toEqual([1, 1, 1])
    expect(await one.get()).toBe(2)
  })

  it('gives the last one where it has been read often enough within a second', async () => {
    const one = shared(2)
    const got = []
    for (const at of [0, 100, 200, 999, 1_000, 1_001, 1_099, 1_100, 2_500]) {
      now = 5_000 + at
      got.push(await one.get())
    }
    expect(got).toEqual([1, 2, 2, 2, 3, 3, 3, 4, 5])
  })

  it('shares a failure, and forgets it after a second', async () => {
    const one = shared(1, () => ((readings += 1) === 1 ? Promise.reject(new Error('gone')) : Promise.resolve(readings)))
    await expect(one.get()).rejects.toThrow('gone')
    now += 999
    await expect(one.get()).rejects.toThrow('gone')
    now += 1
    expect(await one.get()).toBe(2)
  })

  it('reads once at a time, however long it takes', async () => {
    const waiting: ((value: number) => void)[] = []
    const one = shared(1, () => new Promise<number>((resolve) => waiting.push(resolve)))
    const early = one.get()
    now += 60_000
    const late = one.get()
    expect(waiting).toHaveLength(1)
    waiting[0]!(7)
    expect(await Promise.all([early, late])).toEqual([7, 7])
    // It began a minute ago: what it says is too old for whoever asks now.
    void one.get()
    expect(waiting).toHaveLength(2)
  })
})
