import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { countsWanted, type WantedCounts } from './wanted-counts.js'

const CHAINS = [[], [1], [2], [2, 1], [3, 2, 1]] as const
const FOLLOWED = new Map([
  [1, [10, 11]],
  [3, [30]],
])

/** What is asked for: `owner quota`. */
const asked = (wanted: readonly WantedCounts[]): string[] =>
  wanted.flatMap(({ ownerIds, follows = [] }) =>
    ownerIds.flatMap((owner) => [...follows].map((id) => `${owner} ${id}`)),
  )

describe('countsWanted', () => {
  const owners = fc.dictionary(fc.constantFrom('1', '2', '3', '4'), fc.constantFrom(...CHAINS))
  const chainsOf = (of: Record<string, readonly number[]>) =>
    new Map(Object.entries(of).map(([owner, chain]) => [Number(owner), chain]))

  it('asks for the counts of each owner, by a condition for each chain', () => {
    fc.assert(
      fc.property(owners, (of) => {
        const wanted = countsWanted(chainsOf(of), FOLLOWED, [])
        const expected = Object.entries(of).flatMap(([owner, chain]) =>
          chain.flatMap((group) => (FOLLOWED.get(group) ?? []).map((id) => `${owner} ${id}`)),
        )
        expect(asked(wanted).sort()).toEqual(expected.sort())
        expect(wanted.length).toBeLessThanOrEqual(new Set(Object.values(of)).size)
      }),
    )
  })

  it('asks for no owner of whom all of them were asked for before', () => {
    const chains = new Map([1, 2, 3, 4].map((owner) => [owner, CHAINS[4]]))
    const known = [
      { ownerIds: [1], follows: undefined },
      { ownerIds: [2], follows: new Set([10, 11, 30, 99]) },
      { ownerIds: [3], follows: new Set([10]) },
    ]
    expect(asked(countsWanted(chains, FOLLOWED, known)).sort()).toEqual(
      [3, 4].flatMap((owner) => [10, 11, 30].map((id) => `${owner} ${id}`)),
    )
  })
})
