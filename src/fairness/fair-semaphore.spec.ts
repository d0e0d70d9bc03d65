import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import fc from 'fast-check'
import { FairSemaphore, type Limits, type Wait } from './fair-semaphore.js'

const LONG_MS = 10_000
const FLOWS = ['a', 'b', 'c']

/** An item that requests a place. */
class Item {
  state: 'waiting' | 'granted' | 'refused' = 'granted'
  private wait: Wait | undefined

  constructor(
    private readonly semaphore: FairSemaphore,
    readonly flow: string,
    readonly weight: number,
    told: (item: Item) => void = () => undefined,
    patienceMs = LONG_MS,
  ) {
    this.wait = semaphore.acquire(flow, weight, patienceMs)
    if (this.wait === undefined) {
      told(this)
      return
    }
    this.state = 'waiting'
    void this.wait.granted.then((granted) => {
      this.state = granted ? 'granted' : 'refused'
      if (granted) told(this)
    })
  }

  /** Releases its place, or ends its wait. */
  end(): void {
    if (this.state === 'granted') this.semaphore.release(this.flow, this.weight)
    else this.wait?.cancel()
  }
}

describe('a fair semaphore', () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] })
  })

  afterEach(() => {
    jest.useRealTimers()
  })

  it('has places at once, up to the share of each flow', () => {
    const semaphore = new FairSemaphore({ weightOfOne: 10 })
    const isTaken = (flow: string, weight: number): boolean => semaphore.acquire(flow, weight, LONG_MS) === undefined
    expect([isTaken('a', 4), isTaken('a', 6), isTaken('b', 10)]).toEqual([true, true, true])
    expect(isTaken('a', 1)).toBe(false)
    expect([...semaphore.shares()].map(([flow, { weight }]) => [flow, weight])).toEqual([
      ['a', 10],
      ['b', 10],
    ])
  })

  it('admits the items of a flow in order of arrival', async () => {
    const semaphore = new FairSemaphore({ weightOfOne: 10 })
    const [six, two, five, one] = [6, 2, 5, 1].map((weight) => new Item(semaphore, 'a', weight))
    two!.end()
    await turn()
    // The last item would fit, but it came later.
    expect([five!.state, one!.state]).toEqual(['waiting', 'waiting'])
    six!.end()
    await turn()
    expect([five!.state, one!.state]).toEqual(['granted', 'granted'])
  })

  it('admits an item heavier than a share alone', async () => {
    const semaphore = new FairSemaphore({ weightOfOne: 10 })
    const [heavy, light] = [25, 1].map((weight) => new Item(semaphore, 'a', weight))
    expect([heavy!.state, light!.state]).toEqual(['granted', 'waiting'])
    heavy!.end()
    await turn()
    expect(light!.state).toBe('granted')
  })

  it('limits the time and the weight of waiting items', async () => {
    const semaphore = new FairSemaphore({ weightOfOne: 10, waitingWeightOfOne: 40 })
    const items = [10, 10, 10, 10, 10].map((weight) => new Item(semaphore, 'a', weight))
    const beyond = new Item(semaphore, 'a', 1)
    await turn()
    expect(beyond.state).toBe('refused')
    jest.advanceTimersByTime(LONG_MS)
    await turn()
    expect(items.map(({ state }) => state)).toEqual(['granted', 'refused', 'refused', 'refused', 'refused'])
    items[0]!.end()
    expect(semaphore.shares().size).toBe(0)
    expect(jest.getTimerCount()).toBe(0)
  })

  it('admits a lighter item after the heavier one before it has given up', async () => {
    const semaphore = new FairSemaphore({ weightOfOne: 10 })
    const [, heavy, light] = [6, 6, 1].map((weight) => new Item(semaphore, 'a', weight))
    heavy!.end()
    await turn()
    expect([heavy!.state, light!.state]).toEqual(['refused', 'granted'])
  })

  const limits: fc.Arbitrary<Limits> = fc.record(
    {
      items: fc.integer({ min: 1, max: 6 }),
      itemsOfOne: fc.integer({ min: 1, max: 4 }),
      weightOfOne: fc.integer({ min: 1, max: 10 }),
      keptOfOne: fc.integer({ min: 1, max: 8 }),
      waitingWeightOfOne: fc.integer({ min: 1, max: 15 }),
    },
    { requiredKeys: [] },
  )
  const weight = fc.constantFrom(0, 0, 0, 1, 2, 5, 12)
  const step = fc.oneof(
    { arbitrary: fc.record({ ask: fc.constantFrom('a', ...FLOWS), weight }), weight: 3 },
    { arbitrary: fc.record({ end: fc.nat() }), weight: 1 },
    { arbitrary: fc.record({ pass: fc.constantFrom(1_000, LONG_MS) }), weight: 1 },
  )

  it('keeps its limits, the order of each flow and its turns, and leaves no place unused', async () => {
    await fc.assert(
      fc.asyncProperty(limits, fc.array(step, { maxLength: 60 }), async (limit, steps) => {
        const semaphore = new FairSemaphore(limit)
        const { items = Infinity, itemsOfOne = Infinity, weightOfOne = Infinity } = limit
        const { keptOfOne = Infinity, waitingWeightOfOne = Infinity } = limit
        let live: Item[] = []
        const of = (flow: string, state: Item['state']): Item[] =>
          live.filter((item) => item.flow === flow && item.state === state)
        const weightOf = (some: readonly Item[]): number => some.reduce((sum, { weight }) => sum + weight, 0)
        const inHand = (): number => live.filter(({ state }) => state === 'granted').length
        const hasPlace = (flow: string, weight: number): boolean => {
          const mine = of(flow, 'granted')
          const fits = weightOf(mine) === 0 || weightOf(mine) + weight <= weightOfOne
          return inHand() < items && mine.length < itemsOfOne && fits
        }
        for (const one of steps) {
          const waited = new Map(FLOWS.map((flow) => [flow, of(flow, 'waiting')]))
          if ('ask' in one) {
            const { ask: flow, weight } = one
            const before = of(flow, 'waiting')
            const kept = of(flow, 'granted').length + before.length < keptOfOne
            const waits = weightOf(before) === 0 || weightOf(before) + weight <= waitingWeightOfOne
            const expected =
              before.length === 0 && hasPlace(flow, weight) ? 'granted' : kept && waits ? 'waiting' : 'refused'
            const item = new Item(semaphore, flow, weight)
            await turn()
            expect(item.state).toBe(expected)
            live.push(item)
          } else if ('end' in one) {
            const ending = live[one.end % Math.max(1, live.length)]
            live = live.filter((item) => item !== ending)
            ending?.end()
          } else jest.advanceTimersByTime(one.pass)
          await turn()
          live = live.filter(({ state }) => state !== 'refused')
          // The admitted item was the first of its flow.
          for (const [flow, before] of waited) {
            const still = before.filter((item) => live.includes(item))
            const states = still.map(({ state }) => state)
            expect(states).toEqual([...states].sort())
            expect(of(flow, 'granted').length).toBeLessThanOrEqual(itemsOfOne)
            const [mine, waiting] = [of(flow, 'granted'), of(flow, 'waiting')]
            const heavy = mine.filter(({ weight }) => weight > 0)
            expect(heavy.length === 1 || weightOf(mine) <= weightOfOne).toBe(true)
            // The first waiting item of each flow does not fit.
            if (waiting[0] !== undefined) expect(hasPlace(flow, waiting[0].weight)).toBe(false)
            expect(semaphore.shares().get(flow)).toEqual(
              mine.length + waiting.length === 0
                ? undefined
                : expect.objectContaining({ items: mine.length, weight: weightOf(mine), waiting: waiting.length }),
            )
          }
          expect(inHand()).toBeLessThanOrEqual(items)
        }
        while (live.length > 0) {
          live.shift()!.end()
          await turn()
        }
        expect([semaphore.waiting, semaphore.shares().size]).toEqual([0, 0])
        expect(jest.getTimerCount()).toBe(0)
      }),
      { numRuns: 150 },
    )
  })

  it('gives free places to each waiting flow in turn, however much one of them requests', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...FLOWS), { minLength: 1, maxLength: 40 }), async (asking) => {
        const semaphore = new FairSemaphore({ items: 1 })
        const order: string[] = []
        const first = new Item(semaphore, 'first', 0)
        const items = asking.map((flow) => new Item(semaphore, flow, 0, (item) => order.push(item.flow)))
        first.end()
        await turn()
        const left = new Map(FLOWS.map((flow) => [flow, asking.filter((one) => one === flow).length]))
        let sinceLast = new Map<string, number>()
        for (let at = 0; at < asking.length; at += 1) {
          const flow = order[at]!
          left.set(flow, left.get(flow)! - 1)
          sinceLast.set(flow, -1)
          // Between two turns of a flow that waits, each other flow has one at most.
          sinceLast = new Map(FLOWS.map((one) => [one, left.get(one)! > 0 ? (sinceLast.get(one) ?? 0) + 1 : 0]))
          for (const since of sinceLast.values()) expect(since).toBeLessThan(FLOWS.length)
          items.find((item) => item.flow === flow && item.state === 'granted')!.end()
          items.splice(
            items.findIndex((item) => item.flow === flow && item.state === 'granted'),
            1,
          )
          await turn()
        }
        expect(order).toHaveLength(asking.length)
      }),
      { numRuns: 50 },
    )
  })
})
