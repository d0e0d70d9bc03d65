import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { FairQueue } from './fair-queue.js'

describe('a fair queue', () => {
  it('gives each flow a turn', () => {
    const queue = new FairQueue<string>()
    for (const item of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'c2']) queue.push(item[0] ?? '', item)
    expect(queue.take(5)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2'])
    expect(queue.take(5)).toEqual(['a3', 'a4'])
    expect(queue.take(5)).toEqual([])
  })

  it('continues after the flow that was served last', () => {
    const queue = new FairQueue<string>()
    for (const item of ['a1', 'b1', 'c1', 'a2', 'b2', 'c2']) queue.push(item[0] ?? '', item)
    expect(queue.take(2)).toEqual(['a1', 'b1'])
    expect(queue.take(2)).toEqual(['c1', 'a2'])
    queue.push('d', 'd1')
    expect(queue.take(9)).toEqual(['b2', 'c2', 'd1'])
  })

  it('takes no more items of one flow than permitted', () => {
    const queue = new FairQueue<string>()
    for (const item of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'c2', 'c3']) queue.push(item[0] ?? '', item)
    expect(queue.take(9, 2)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2'])
    expect(queue.take(9, 2)).toEqual(['a3', 'c3', 'a4'])
    expect(queue.take(9, 2)).toEqual([])
  })

  it('skips a flow that may have no turn now, and keeps its place', () => {
    const queue = new FairQueue<string>()
    for (const item of ['a1', 'a2', 'b1', 'c1']) queue.push(item[0] ?? '', item)
    expect(queue.takeOne((flow) => flow !== 'a')).toBe('b1')
    expect(queue.takeOne((flow) => flow === 'd')).toBeUndefined()
    expect(queue.takeOne(() => true)).toBe('a1')
    expect(queue.size).toBe(2)
    expect([queue.takeOne(() => true), queue.takeOne(() => true), queue.takeOne(() => true)]).toEqual([
      'c1',
      'a2',
      undefined,
    ])
  })

  it('loses nothing, keeps the order of each flow, and lets no flow wait for more than one round of the others', () => {
    const step = fc.oneof(
      fc.record({ flow: fc.constantFrom('a', 'b', 'c', 'd') }),
      fc.record({ take: fc.integer({ min: 1, max: 7 }) }),
      fc.record({ drop: fc.nat() }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const queue = new FairQueue<{ flow: string; n: number }>()
        const waiting = new Map<string, number[]>()
        const queued = new Map<number, { flow: string; n: number }>()
        let n = 0
        for (const one of [...steps, { take: 1_000 }]) {
          if ('flow' in one) {
            const item = { flow: one.flow, n }
            queued.set(n, item)
            queue.push(one.flow, item)
            waiting.set(one.flow, [...(waiting.get(one.flow) ?? []), n])
            n += 1
            continue
          }
          if ('drop' in one) {
            const all = [...waiting].flatMap(([flow, line]) => line.map((place) => ({ flow, n: place })))
            const gone = all[one.drop % Math.max(1, all.length)]
            if (gone === undefined) continue
            const item = queued.get(gone.n)!
            expect([queue.delete(gone.flow, item), queue.delete(gone.flow, item)]).toEqual([true, false])
            waiting.set(
              gone.flow,
              waiting.get(gone.flow)!.filter((place) => place !== gone.n),
            )
            continue
          }
          const flows = [...waiting.values()].filter((line) => line.length > 0).length
          const taken = queue.take(one.take)
          const served = new Set(taken.slice(0, flows).map(({ flow }) => flow))
          expect(served.size).toBe(Math.min(flows, taken.length))
          for (const { flow, n: place } of taken) expect(waiting.get(flow)?.shift()).toBe(place)
          expect(queue.size).toBe([...waiting.values()].reduce((sum, line) => sum + line.length, 0))
        }
        expect(queue.size).toBe(0)
      }),
    )
  })

  it('is full for a flow that holds an equal share of it, and not for others', () => {
    const queue = new FairQueue<string>(4)
    for (const item of ['a1', 'a2', 'a3', 'a4']) {
      expect(queue.isFullFor('a')).toBe(false)
      queue.push('a', item)
    }
    expect([queue.isFullFor('a'), queue.isFullFor('b')]).toEqual([true, false])
    queue.push('b', 'b1')
    expect([queue.isFullFor('a'), queue.isFullFor('b')]).toEqual([true, false])
    queue.push('b', 'b2')
    expect([queue.isFullFor('a'), queue.isFullFor('b')]).toEqual([true, true])
  })

  it('stays fast with a long line', () => {
    const queue = new FairQueue<number>()
    for (let n = 0; n < 5_000; n += 1) queue.push('a', n)
    for (let n = 0; n < 5_000; n += 1) {
      expect(queue.take(1)).toEqual([n])
      queue.push('a', 5_000 + n)
    }
    expect(queue.take(10_000)).toHaveLength(5_000)
  })
})
