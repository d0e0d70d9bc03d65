import { describe, expect, it } from '@jest/globals'
import { TestClock } from '../../../test/support/clock.js'
import { EXACT_UP_TO, RecentCounts } from './recent-counts.js'

const LONG = EXACT_UP_TO + 1

describe('counts of long lists', () => {
  const begin = (): { counts: RecentCounts; clock: TestClock } => {
    const clock = new TestClock()
    return { counts: new RecentCounts({ reach: 'all', tasks: new Set() }, 'mail', clock), clock }
  }

  it('run one at a time, and once for a list that is named again while it waits', async () => {
    const { counts, clock } = begin()
    const begun: string[] = []
    const ends: (() => void)[] = []
    const count = (name: string) => async (): Promise<number> => {
      begun.push(name)
      await new Promise<void>((resolve) => ends.push(resolve))
      return 20_000
    }
    const asked = ['a', 'b', 'a', 'b'].map(async (name) => counts.total(name, LONG, count(name)))
    expect(await Promise.all(asked)).toEqual(Array(4).fill({ total: LONG, total_relation: 'recent' }))
    clock.pass(120)
    await counts.total('b', LONG, count('b'))
    expect(begun).toEqual(['a'])
    ends[0]?.()
    expect(await counts.total('b', LONG, count('b'))).toMatchObject({ total: LONG })
    expect(begun).toEqual(['a', 'b'])
    ends[1]?.()
    expect(await counts.total('b', LONG, count('b'))).toMatchObject({ total: 20_000 })
    expect(begun).toEqual(['a', 'b'])
  })

  it('that fail leave what has just been counted, and are tried again', async () => {
    const { counts } = begin()
    const fails = async (): Promise<number> => Promise.reject(new Error('no turn'))
    expect(await counts.total('a', LONG, fails)).toEqual({ total: LONG, total_relation: 'recent' })
    expect(await counts.total('a', LONG, async () => 30_000)).toEqual({ total: 30_000, total_relation: 'recent' })
  })

  it('are shared for a minute, and renewed outside of requests from half a minute on', async () => {
    const { counts, clock } = begin()
    let length = 20_000
    const total = async (): Promise<number> => (await counts.total('a', LONG, async () => length)).total
    expect(await total()).toBe(20_000)
    length = 30_000
    clock.pass(60)
    expect(await total()).toBe(20_000)
    clock.pass(1)
    expect(await total()).toBe(30_000)
    length = 40_000
    clock.pass(29)
    await counts.task.run()
    expect(await total()).toBe(30_000)
    clock.pass(1)
    await counts.task.run()
    expect(await total()).toBe(40_000)
    await counts.task.stop()
  })
})
