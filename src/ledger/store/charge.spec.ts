import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { cut } from '../../domain/draw-down.js'
import { firstIdAt, instantOfId } from '../rows/act-id.js'
import { type PaidOperation, type Charge, chargesOf, refundedBefore, type UsageAct } from './charge.js'

const ALLOCATIONS = fc.array(
  fc.record({ quotaId: fc.integer({ min: 1, max: 5 }), cycleSeq: fc.nat(3), amount: fc.integer({ min: 1, max: 9 }) }),
  { minLength: 1, maxLength: 5 },
)

function act(id: string, kind: UsageAct['kind'], amount: number | null): UsageAct {
  return { id, kind, ownerId: 7, operationId: 'o', amount, at: 5, plainQuotaId: null, cycleSeq: null, caps: null }
}

function net(charges: readonly Charge[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { quotaId, cycleSeq, charged, refunded } of charges) {
    const name = `${quotaId} ${cycleSeq}`
    sums[name] = (sums[name] ?? 0) + charged - refunded
  }
  return Object.fromEntries(Object.entries(sums).filter(([, sum]) => sum !== 0))
}

describe('charges of acts', () => {
  it('add up to the units that the operation keeps, however they were refunded', () => {
    fc.assert(
      fc.property(
        ALLOCATIONS,
        fc.nat(),
        fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 6 }),
        (allocations, n, backs) => {
          const held = allocations.reduce((sum, { amount }) => sum + amount, 0)
          const charged = 1 + (n % held)
          const refunds: UsageAct[] = []
          let left = charged
          for (const back of backs) {
            if (back > left) continue
            left -= back
            refunds.push(act(`r${refunds.length}`, 'refund', back))
          }
          // Some of them are in the totals already.
          const [known, rest] = [refunds.slice(0, n % 3), refunds.slice(n % 3)]
          const earlier = known.reduce((sum, { amount }) => sum + (amount ?? 0), 0)
          const before = [...refundedBefore(known), ...refundedBefore(rest.toReversed(), earlier)]
          const caps = [{ quotaId: 8, cycleSeq: 1 }]
          const operation: PaidOperation = { allocations, caps, charged, refundedBefore: new Map(before) }
          const charges = [act('c', 'commit', charged), ...refunds].flatMap((one) => chargesOf(one, operation))
          const kept = cut(allocations, 0, left).map((part) => ({
            ...part,
            ownerId: 7,
            at: 5,
            charged: part.amount,
            refunded: 0,
            byCap: false,
          }))
          expect(net(charges.filter(({ byCap }) => !byCap))).toEqual(net(kept))
          // A cap counts all of it, whoever paid.
          expect(net(charges.filter(({ byCap }) => byCap))).toEqual(left === 0 ? {} : { '8 1': left })
        },
      ),
    )
  })

  it('do not depend on later acts', () => {
    const allocations = [
      { quotaId: 1, cycleSeq: 0, amount: 3 },
      { quotaId: 2, cycleSeq: 4, amount: 3 },
    ]
    const [first, second] = [act('a', 'refund', 2), act('b', 'refund', 2)]
    const told = (refunds: UsageAct[], one: UsageAct): Charge[] =>
      chargesOf(one, { allocations, caps: [], charged: 6, refundedBefore: refundedBefore(refunds) })
    expect(told([first, second], first)).toEqual(told([first], first))
    expect(net([...told([first, second], first), ...told([first, second], second)])).toEqual({ '1 0': -1, '2 4': -3 })
  })

  it('of a plain consume come from its own columns; acts that move nothing have none', () => {
    const plain = { ...act('p', 'consume', 4), operationId: null, plainQuotaId: 9, cycleSeq: 2 }
    const charge = { ownerId: 7, quotaId: 9, cycleSeq: 2, at: 5, charged: 4, refunded: 0, byCap: false }
    expect(chargesOf(plain)).toEqual([charge])
    expect(chargesOf({ ...plain, caps: ' 3:0 12:7!' })).toEqual([
      charge,
      { ...charge, quotaId: 3, cycleSeq: 0, byCap: true },
      { ...charge, quotaId: 12, cycleSeq: 7, byCap: true },
    ])
    const allocations = [{ quotaId: 1, cycleSeq: 0, amount: 3 }]
    const operation = { allocations, caps: [], charged: 0, refundedBefore: refundedBefore([]) }
    for (const kind of ['reserve', 'release'] as const) expect(chargesOf(act('x', kind, 3), operation)).toEqual([])
    expect(chargesOf(act('x', 'create', null))).toEqual([])
  })
})

describe('the time in an id', () => {
  it('is read back, and orders ids', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), fc.nat(1_000_000), (instant, later) => {
        expect(instantOfId(firstIdAt(instant))).toBe(instant)
        expect(firstIdAt(instant + later) >= firstIdAt(instant)).toBe(true)
      }),
    )
    expect(instantOfId('')).toBe(0)
  })
})
