import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'
import { Unavailable } from '../common/service-error.js'
import { SharedReads, type SharedReadsOptions } from './shared-reads.js'

/** Reads that end when they are told to. The value of a key is the key and the number of its read. */
class Store {
  readonly reads: { readonly keys: readonly string[]; readonly end: (error?: Error) => void }[] = []
  readonly shared: SharedReads<string, string>

  constructor(options: SharedReadsOptions<string> = {}) {
    this.shared = new SharedReads(async (keys) => {
      const number = this.reads.length
      await new Promise<void>((resolve, reject) => {
        this.reads.push({ keys, end: (error) => (error === undefined ? resolve() : reject(error)) })
      })
      return keys.map((key) => `${key}${number}`)
    }, options)
  }

  get keys(): string[] {
    return this.reads.map(({ keys }) => keys.join(''))
  }

  ask(keys: string): Promise<string>[] {
    return Array.from(keys, (key) => this.shared.get(key))
  }

  async until(reads: number): Promise<void> {
    while (this.reads.length < reads) await turn()
  }
}

/** Lets pass what needs no time. */
const turn = (): Promise<void> => jest.advanceTimersByTimeAsync(0)

beforeEach(() => {
  jest.useFakeTimers()
})

afterEach(() => {
  jest.useRealTimers()
})

describe('shared reads', () => {
  it('collect the keys that arrive together, and those that arrive during a read', async () => {
    const store = new Store()
    const first = store.ask('aba')
    await store.until(1)
    const later = store.ask('cad')
    await turn()
    expect(store.keys).toEqual(['ab'])
    store.reads[0]!.end()
    expect(await Promise.all(first)).toEqual(['a0', 'b0', 'a0'])
    await store.until(2)
    store.reads[1]!.end()
    expect(await Promise.all(later)).toEqual(['c1', 'a1', 'd1'])
    expect(store.keys).toEqual(['ab', 'cad'])
  })

  it('treat keys as equal that the options call equal', async () => {
    const store = new Store({ keyOf: (key) => key.toLowerCase() })
    const asked = store.ask('aAbB')
    await store.until(1)
    store.reads[0]!.end()
    expect(await Promise.all(asked)).toEqual(['a0', 'a0', 'b0', 'b0'])
  })

  it('fail together if the database is not available, without a further read', async () => {
    const store = new Store()
    const asked = Promise.allSettled(store.ask('abc'))
    await store.until(1)
    store.reads[0]!.end(new Unavailable('database_away'))
    expect((await asked).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(store.keys).toEqual(['abc'])
  })

  it('that are alone wait only for the same key', async () => {
    const store = new Store({ alone: true })
    const first = store.ask('aab')
    await turn()
    const later = store.ask('aca')
    await turn()
    expect(store.keys).toEqual(['a', 'b', 'c'])
    store.reads[0]!.end(new Error('broken'))
    await expect(first[0]).rejects.toThrow('broken')
    await expect(first[1]).rejects.toThrow('broken')
    await store.until(4)
    for (const { end } of store.reads) end()
    expect(await Promise.all([first[2], ...later])).toEqual(['b1', 'a3', 'c2', 'a3'])
  })

  it('share a failure for a second, too, if their number is limited', async () => {
    let reads = 0
    const shared = new SharedReads<void, number>(
      async () => {
        reads += 1
        if (reads === 1) throw new Error('broken')
        return [reads]
      },
      { perSecond: 1 },
    )
    const get = async (): Promise<number | string> => {
      const answer = shared.get().catch(String)
      await turn()
      return answer
    }
    expect(await get()).toBe('Error: broken')
    await jest.advanceTimersByTimeAsync(999)
    expect(await get()).toBe('Error: broken')
    await jest.advanceTimersByTimeAsync(1)
    expect(await get()).toBe(2)
  })
})

/** A request, and what the model knows of it. */
interface Asked {
  readonly key: string
  read: ModelRead | undefined
  answer: string | undefined
}

/** A read; if it breaks, with the reads of each of its keys. */
interface ModelRead {
  readonly number: number
  readonly keys: readonly string[]
  readonly began: number
  /** Does it fail for all of its keys? */
  readonly refused: boolean
  ended: boolean
}

/**
 * A naive model beside the reads: holds each read, when it begins, against all requests that wait, and when time has
 * passed, tells whether a read should have begun. Keys in upper case break their reads.
 */
class Model {
  readonly asked: Asked[] = []
  readonly reads: ModelRead[] = []
  private readonly first = new AsyncLocalStorage<Asked>()
  private readonly byFirst = new Map<Asked, ModelRead>()
  private readonly shared: SharedReads<string, string>

  constructor(
    private readonly options: SharedReadsOptions<string>,
    /** How long each read lasts, and what becomes of it. */
    private readonly script: readonly { readonly ms: number; readonly refused: boolean }[],
  ) {
    this.shared = new SharedReads((keys) => this.read(keys), options)
  }

  get waiting(): Asked[] {
    return this.asked.filter(({ read }) => read === undefined)
  }

  get unanswered(): Asked[] {
    return this.asked.filter(({ answer }) => answer === undefined)
  }

  get inProgress(): ModelRead[] {
    return this.reads.filter(({ ended }) => !ended)
  }

  /** The reads that began less than a second ago. */
  get recent(): ModelRead[] {
    return this.reads.filter(({ began }) => performance.now() - began < 1_000)
  }

  ask(key: string): void {
    const { perSecond = Infinity } = this.options
    const last = this.recent.length >= perSecond ? this.reads.at(-1) : undefined
    const asked: Asked = { key, read: last, answer: undefined }
    this.asked.push(asked)
    const told = (answer: string): void => {
      // Whoever is answered before its read has ended is answered by another one.
      asked.answer = asked.read?.ended === false && answer !== 'refused' ? 'too early' : answer
    }
    this.first.run(asked, () => this.shared.get(key)).then(told, (error: unknown) => told((error as Error).message))
  }

  /** The answer of a request, by its own key and by its read. */
  expected({ key, read }: Asked): string {
    if (read === undefined) return 'never read'
    if (read.refused) return 'refused'
    return key === key.toUpperCase() ? `${key} is broken` : `${key}${read.number}`
  }

  /** Nobody waits who need not. */
  checkNobodyWaits(): void {
    const { alone = false } = this.options
    const running = this.inProgress
    const waiting = this.waiting.map(({ key }) => key)
    if (alone) expect(running.map(({ keys }) => keys[0])).toEqual(expect.arrayContaining(waiting))
    else if (waiting.length > 0 && running.length < 3) {
      expect(Math.min(...running.map(({ began }) => performance.now() - began))).toBeLessThan(20)
    }
  }

  private async read(keys: readonly string[]): Promise<string[]> {
    const first = this.first.getStore()!
    const read = this.byFirst.get(first) ?? this.begun(first, keys)
    const { ms } = this.script[read.number % this.script.length]!
    await new Promise((resolve) => setTimeout(resolve, ms))
    const broken = keys.find((key) => key === key.toUpperCase())
    // If it is repeated for each of its keys, it ends with the last of them.
    read.ended = read.refused || ((broken === undefined || keys.length === 1) && keys.at(-1) === read.keys.at(-1))
    if (read.refused) throw Object.assign(new Unavailable('database_away'), { message: 'refused' })
    if (broken !== undefined) throw new Error(keys.length === 1 ? `${broken} is broken` : 'some are broken')
    return keys.map((key) => `${key}${read.number}`)
  }

  private begun(first: Asked, keys: readonly string[]): ModelRead {
    const { most = 500, alone = false, perSecond = Infinity } = this.options
    const running = this.inProgress
    const waiting = [...new Set(this.waiting.map(({ key }) => key))]
    if (alone) {
      expect(keys).toHaveLength(1)
      expect(waiting).toContain(keys[0])
      expect(running.map((one) => one.keys[0])).not.toContain(keys[0])
    } else {
      expect(keys).toEqual(waiting.slice(0, most))
      expect(running.length).toBeLessThan(3)
      for (const { began } of running) expect(performance.now() - began).toBeGreaterThanOrEqual(20)
    }
    expect(this.recent.length).toBeLessThan(perSecond)
    // Its trace is that of whoever asked first.
    expect(first).toBe(this.waiting.find(({ key }) => key === keys[0]))
    const number = this.reads.length
    const { refused } = this.script[number % this.script.length]!
    const read = { number, keys, began: performance.now(), refused, ended: false }
    this.reads.push(read)
    this.byFirst.set(first, read)
    for (const one of this.waiting) if (keys.includes(one.key)) one.read = read
    return read
  }
}

describe('shared reads, beside a naive model', () => {
  /** Asks for keys, one step of time after the other, and waits for the answers. */
  async function run(model: Model, steps: readonly string[], stepMs: number): Promise<void> {
    for (let step = 0; step < steps.length || model.unanswered.length > 0; step += 1) {
      expect(step).toBeLessThan(1_000)
      for (const key of steps[step] ?? '') model.ask(key)
      await turn()
      model.checkNobodyWaits()
      await jest.advanceTimersByTimeAsync(stepMs)
    }
    expect(model.asked.map(({ answer }) => answer)).toEqual(model.asked.map((one) => model.expected(one)))
  }

  const script = (ms: number) =>
    fc.array(
      fc.record({ ms: fc.nat(ms), refused: fc.oneof({ arbitrary: fc.constant(false), weight: 6 }, fc.boolean()) }),
      { minLength: 1, maxLength: 20, size: 'max' },
    )
  const asks = (keys: string) =>
    fc.oneof(
      { arbitrary: fc.constant(''), weight: 2 },
      fc.array(fc.constantFrom(...keys.split('')), { maxLength: 7 }).map((some) => some.join('')),
    )

  it('begin after all of their requests, as soon as they may, in order, for equal keys once, and fail apart', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ most: fc.integer({ min: 1, max: 6 }), alone: fc.boolean() }),
        script(100),
        fc.array(asks('aabbcdefgX'), { maxLength: 40, size: 'max' }),
        async (options, reads, steps) => run(new Model(options, reads), steps, 3),
      ),
      { numRuns: 50 },
    )
  })

  it('are as many within a second as permitted; further requests get the last one, which began within it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({ perSecond: fc.integer({ min: 1, max: 4 }), alone: fc.boolean() }),
        script(700),
        fc.array(asks('aaaa'), { maxLength: 40, size: 'max' }),
        async (options, reads, steps) => run(new Model(options, reads), steps, 100),
      ),
      { numRuns: 50 },
    )
  })
})
