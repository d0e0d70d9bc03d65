import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { quotaState } from '../../test/support/quota-state.js'
import { available, refusingCaps } from './cap.js'
import { inForce } from './chain.js'
import { draw } from './draw-down.js'
import { type QuotaState, remaining } from './quota.js'

const NOW = Date.parse('2026-11-21T12:00:00Z')

const quota = fc.record({
  total: fc.nat(20),
  used: fc.nat(20),
  end: fc.constantFrom(NOW - 1, NOW, NOW + 1000, NOW + 2000, null),
  cap: fc.constantFrom(null, null, 'enforce' as const, 'observe' as const),
  state: fc.constantFrom('active' as const, 'active' as const, 'disabled' as const),
  deleted: fc.constantFrom(false, false, true),
  followed: fc.constantFrom(false, false, true),
  createdAt: fc.nat(2),
})

/** One to four levels, the owner's first, each with up to five quotas; ids are in no order. */
const chain = fc.array(fc.array(quota, { maxLength: 5 }), { minLength: 1, maxLength: 4 }).chain((levels) => {
  const count = levels.flat().length
  return fc
    .shuffledSubarray(
      Array.from({ length: count }, (_, n) => n + 1),
      { minLength: count },
    )
    .map((ids) => {
      let next = 0
      return levels.map((level, n) =>
        level.map(({ end, deleted, followed, ...given }) =>
          quotaState({
            id: ids[(next += 1) - 1] ?? 0,
            expireAt: end,
            groupId: n === 0 ? null : n,
            per: n === 0 ? null : followed ? 'member' : 'group',
            deletedAt: deleted ? NOW : null,
            ...given,
          }),
        ),
      )
    })
})

/** By hand: unit for unit, each from the first quota in paying order that has one left. */
function paidByHand(levels: readonly QuotaState[][], amount: number): number[] | undefined {
  const counts = (one: QuotaState): boolean =>
    one.per !== 'member' &&
    one.deletedAt === null &&
    one.state === 'active' &&
    (one.expireAt === null || one.expireAt > NOW)
  const all = levels.flatMap((level, depth) => level.filter(counts).map((one) => ({ one, depth })))
  for (const { one } of all) if (one.cap === 'enforce' && one.total - one.used < amount) return undefined
  const left = new Map(all.map(({ one }) => [one.id, Math.max(0, one.total - one.used)]))
  const taken: number[] = []
  for (let unit = 0; unit < amount; unit += 1) {
    let best: (typeof all)[number] | undefined
    for (const entry of all) {
      if (entry.one.cap !== null || (left.get(entry.one.id) ?? 0) === 0) continue
      const key = ({ one, depth }: (typeof all)[number]): number[] => [
        depth,
        one.expireAt ?? Infinity,
        one.createdAt,
        one.id,
      ]
      const [a, b] = [key(entry), best === undefined ? undefined : key(best)]
      const place = a.findIndex((value, n) => value !== b?.[n])
      if (b === undefined || (place >= 0 && (a[place] ?? 0) < (b[place] ?? 0))) best = entry
    }
    if (best === undefined) return undefined
    left.set(best.one.id, (left.get(best.one.id) ?? 0) - 1)
    taken.push(best.one.id)
  }
  return taken
}

describe('a chain', () => {
  it('pays and bounds as by hand, unit for unit', () => {
    fc.assert(
      fc.property(chain, fc.integer({ min: 1, max: 40 }), (levels, amount) => {
        const { payers, caps } = inForce(levels, NOW)
        const paid = refusingCaps(caps, amount).length > 0 ? undefined : draw(payers, amount)
        expect(paid?.flatMap(({ quotaId, amount: units }) => Array.from({ length: units }, () => quotaId))).toEqual(
          paidByHand(levels, amount),
        )
        const most = available({ payers, caps })
        expect(most > 0 ? paidByHand(levels, most) : []).toBeDefined()
        expect(paidByHand(levels, Math.max(0, most) + 1)).toBeUndefined()
        expect(caps.map(({ id }) => id)).toEqual(caps.map(({ id }) => id).sort((a, b) => a - b))
        expect(payers.reduce((sum, one) => sum + remaining(one), 0)).toBeGreaterThanOrEqual(most)
      }),
    )
  })
})
