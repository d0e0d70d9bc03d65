import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { v7 } from 'uuid'
import { ActQueue, type QueuedAct } from './act-queue.js'

const NOW = Date.UTC(2026, 10, 21)
// Few times, counters and last bytes, so that many acts differ only in the last one.
const id = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.nat(3), fc.nat(3), fc.nat(3))
      .map(([msecs, seq, last]) => v7({ msecs: NOW + msecs, seq, random: new Uint8Array(16).fill(last, 15) })),
  },
  { weight: 1, arbitrary: fc.constant('') },
)
const act = fc.record({ id, at: fc.nat(3).map((after) => NOW + after), settles: fc.boolean(), used: fc.nat(5) })

describe('acts in a queue', () => {
  it('leave it by their times, then by their ids', () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60, size: 'max' }), fc.nat(60), (acts, early) => {
        const queue = new ActQueue()
        const numbered = acts.map((one, n) => ({ ...one, id: one.id, reserved: n }))
        const left: QueuedAct[] = []
        const waiting: typeof numbered = []
        const byOrder = (a: (typeof numbered)[0], b: (typeof numbered)[0]): number =>
          a.at - b.at || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
        const expected: string[] = []
        const pop = (): void => {
          waiting.sort(byOrder)
          const { at, id: first } = waiting.shift()!
          expected.push(`${at} ${first}`)
          expect(queue.nextAt).toBe(at)
          left.push(queue.pop())
        }
        for (const [n, { id: of, at, settles, used, reserved }] of numbered.entries()) {
          queue.push(of, { at, countedAt: settles ? at - 1 : undefined, used, reserved })
          waiting.push(numbered[n]!)
          if (n === early) pop()
        }
        while (waiting.length > 0) pop()
        expect(left.map(({ at, reserved }) => `${at} ${numbered[reserved]!.id}`)).toEqual(expected)
        for (const { at, countedAt, used, reserved } of left) {
          const put = numbered[reserved]!
          expect([countedAt, used]).toEqual([put.settles ? at - 1 : undefined, put.used])
        }
        expect([queue.length, queue.nextAt]).toEqual([0, Infinity])
      }),
    )
  })

  it('may be more than fit at first', () => {
    const queue = new ActQueue()
    for (let n = 0; n < 5_000; n += 1)
      queue.push('', { at: (n * 7919) % 5_000, countedAt: undefined, used: n, reserved: 0 })
    for (let at = 0; at < 5_000; at += 1) expect(queue.pop().at).toBe(at)
  })
})
