import { describe, expect, it } from '@jest/globals'
import type DataLoader from 'dataloader'
import { Unavailable } from '../error/service-error.js'
import { gatheringLoader } from './gathering-loader.js'

/** A store whose reads end when they are told to. */
class Store {
  readonly reads: { readonly keys: readonly string[]; readonly end: (error?: Error) => void }[] = []
  readonly loader: DataLoader<string, string>

  constructor(options: { most?: number; keyOf?: (key: string) => unknown } = {}) {
    this.loader = gatheringLoader(async (keys) => {
      await new Promise<void>((resolve, reject) => {
        this.reads.push({ keys, end: (error) => (error === undefined ? resolve() : reject(error)) })
      })
      return keys.map((key) => key.toUpperCase())
    }, options)
  }

  async until(reads: number): Promise<void> {
    while (this.reads.length < reads) await new Promise(setImmediate)
  }
}

describe('reads of one kind', () => {
  it('that come together go together, and what comes meanwhile gathers for the next', async () => {
    const store = new Store()
    const first = ['a', 'b', 'a'].map(async (key) => store.loader.load(key))
    await store.until(1)
    const later = ['c', 'd'].map(async (key) => store.loader.load(key))
    expect(store.reads.map(({ keys }) => keys.join(''))).toEqual(['ab'])
    store.reads[0]!.end()
    expect(await Promise.all(first)).toEqual(['A', 'B', 'A'])
    await store.until(2)
    expect(store.reads[1]!.keys).toEqual(['c', 'd'])
    store.reads[1]!.end()
    expect(await Promise.all(later)).toEqual(['C', 'D'])
  })

  it('are no more than the store takes, in the order in which they came', async () => {
    const store = new Store({ most: 2 })
    const asked = ['a', 'b', 'c', 'd', 'e'].map(async (key) => store.loader.load(key))
    for (const [place, keys] of ['ab', 'cd', 'e'].entries()) {
      await store.until(place + 1)
      expect(store.reads[place]!.keys.join('')).toBe(keys)
      store.reads[place]!.end()
    }
    expect(await Promise.all(asked)).toEqual(['A', 'B', 'C', 'D', 'E'])
  })

  it('are shared by those who ask for the same, but not by who comes when they have begun', async () => {
    const store = new Store({ most: 2, keyOf: (key) => key.toLowerCase() })
    const early = ['a', 'A', 'a', 'b', 'B'].map(async (key) => store.loader.load(key))
    await store.until(1)
    const late = store.loader.load('a')
    for (const place of [0, 1]) {
      await store.until(place + 1)
      store.reads[place]!.end()
    }
    expect(await Promise.all([...early, late])).toEqual(['A', 'A', 'A', 'B', 'B', 'A'])
    expect(store.reads.map(({ keys }) => keys)).toEqual([['a', 'b'], ['a']])
  })

  it('are not held up by a slow one, and never more than three', async () => {
    const store = new Store()
    const asked: Promise<string>[] = []
    for (const [place, key] of ['a', 'b', 'c'].entries()) {
      asked.push(store.loader.load(key))
      await store.until(place + 1)
    }
    asked.push(store.loader.load('d'))
    store.reads[1]!.end()
    await store.until(4)
    for (const { end } of store.reads) end()
    expect(await Promise.all(asked)).toEqual(['A', 'B', 'C', 'D'])
  })

  it('leave the one that breaks them to itself', async () => {
    const loader = gatheringLoader<number, number>(async (keys) => {
      if (keys.includes(7)) throw new Error(`broken among ${keys.length}`)
      return keys.map((key) => 2 * key)
    })
    const results = await Promise.allSettled([1, 2, 7, 3, 4].map(async (key) => loader.load(key)))
    expect(results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason)))).toEqual([
      2,
      4,
      'Error: broken among 1',
      6,
      8,
    ])
  })

  it('are refused together where the store is away', async () => {
    let reads = 0
    const loader = gatheringLoader<number, number>(async () => {
      reads += 1
      throw new Unavailable('database_away')
    })
    const results = await Promise.allSettled([1, 2, 3].map(async (key) => loader.load(key)))
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(reads).toBe(1)
  })
})
