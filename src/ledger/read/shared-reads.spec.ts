import { describe, expect, it } from '@jest/globals'
import { SharedReads } from './shared-reads.js'

/** Reads that end when they are told to, and say how many there were before. */
function store() {
  const shared = new SharedReads<number>()
  const ends: ((error?: Error) => void)[] = []
  const ask = async (key: string): Promise<number> =>
    shared.get(key, async () => {
      const place = ends.length
      await new Promise<void>((resolve, reject) => {
        ends.push((error) => (error === undefined ? resolve() : reject(error)))
      })
      return place
    })
  return { ask, ends }
}

const turn = async (): Promise<void> => new Promise(setImmediate)

describe('like reads', () => {
  it('are run once for all who come together', async () => {
    const { ask, ends } = store()
    const asked = [ask('a'), ask('a'), ask('a')]
    expect(ends).toHaveLength(0)
    await turn()
    expect(ends).toHaveLength(1)
    ends[0]!()
    expect(await Promise.all(asked)).toEqual([0, 0, 0])
  })

  it('are run once for all who come while one is under way, and begin after they have come', async () => {
    const { ask, ends } = store()
    const first = ask('a')
    await turn()
    const [second, third] = [ask('a'), ask('a')]
    const other = ask('b')
    await turn()
    expect(ends).toHaveLength(2)
    ends[0]!()
    expect(await first).toBe(0)
    await turn()
    expect(ends).toHaveLength(3)
    const fourth = ask('a')
    ends[1]!()
    ends[2]!()
    expect(await Promise.all([second, third, other])).toEqual([2, 2, 1])
    await turn()
    ends[3]!()
    expect(await fourth).toBe(3)
    const fifth = ask('a')
    await turn()
    ends[4]!()
    expect(await fifth).toBe(4)
  })

  it('fail for those who asked for them, and for no one else', async () => {
    const { ask, ends } = store()
    const first = ask('a')
    await turn()
    const second = ask('a')
    ends[0]!(new Error('broken'))
    await expect(first).rejects.toThrow('broken')
    await turn()
    ends[1]!()
    expect(await second).toBe(1)
  })
})
