import { describe, expect } from '@jest/globals'
import { it } from '../scoped.js'
import { DAY, HOUR, type UsageSuite } from './suite.js'

/** Operations that are paid in one cycle and settled in another. */
export function resetContract(suite: UsageSuite): void {
  const { inSeconds, total, cycle, consume, reserve, commit, release, refund, update, sweep, counters, sums, refused } =
    suite

  describe('across a reset', () => {
    it('a new cycle begins with nothing used and nothing reserved', async () => {
      const id = await cycle(10, HOUR)
      await consume(3)
      await reserve(4, 2 * HOUR)
      suite.app.clock.pass(HOUR - 1)
      expect(await counters(id)).toEqual([3, 4, 3])
      suite.app.clock.pass(1)
      expect(await counters(id)).toEqual([0, 0, 10])
      expect(await sums()).toEqual([0, 0, 10])
      expect((await consume(10)).body.owner_remaining).toBe(0)
    })

    it.each([['before anything was written in the new cycle'], ['after something was']])(
      'a commit burdens no newer cycle, %s',
      async (when) => {
        const id = await cycle(10, HOUR)
        const { id: operation } = (await reserve(4, 2 * HOUR)).body
        suite.app.clock.pass(HOUR)
        const spent = when.startsWith('after') ? 2 : 0
        if (spent > 0) await consume(spent)
        const answer = await commit(operation, 3)
        expect(answer.body).toMatchObject({ state: 'committed', charged: 3, owner_remaining: 10 - spent })
        expect(await counters(id)).toEqual([spent, 0, 10 - spent])
      },
    )

    it('a release, a refund and an expiry return nothing to a later cycle', async () => {
      const id = await cycle(10, HOUR)
      const held = (await reserve(2, 2 * HOUR)).body.id
      await reserve(2, 2 * HOUR)
      const spent = (await consume(3)).body.id
      suite.app.clock.pass(HOUR)
      await consume(9)
      expect((await release(held)).body).toMatchObject({ state: 'released', owner_remaining: 1 })
      expect((await refund(spent)).body).toMatchObject({ refunded: 3, owner_remaining: 1 })
      expect(await counters(id)).toEqual([9, 0, 1])
      suite.app.clock.pass(HOUR)
      expect(await counters(id)).toEqual([9, 0, 1])
      await sweep()
      expect(await counters(id)).toEqual([9, 0, 1])
      refused(await consume(2), 409, 'quota_exceeded')
    })

    it('attributes each part to the cycle that paid it', async () => {
      const daily = await cycle(5, HOUR)
      const other = await total(20, 10 * DAY)
      const { id: operation } = (await consume(12)).body
      suite.app.clock.pass(HOUR)
      // A new operation in the new cycle must not be mistaken for the old one.
      await consume(2)
      expect((await refund(operation, 10)).body.owner_remaining).toBe(20 + 5 - 2)
      expect(await counters(daily)).toEqual([2, 0, 3])
      expect(await counters(other)).toEqual([0, 0, 20])
    })

    it('skips many cycles', async () => {
      const id = await cycle(10, HOUR, { cycle_unit: 'hour' })
      const { id: operation } = (await consume(4)).body
      const { id: hold } = (await reserve(4, DAY)).body
      suite.app.clock.pass(20 * HOUR)
      expect(await counters(id)).toEqual([0, 0, 10])
      await commit(hold)
      await refund(operation)
      expect(await counters(id)).toEqual([0, 0, 10])
      expect((await consume(10)).status).toBe(200)
    })

    it('keeps within the cycle where an edit moves its end', async () => {
      const id = await cycle(10, HOUR)
      const { id: operation } = (await consume(4)).body
      await update(id, { cycle_reset_at: inSeconds(5 * HOUR) })
      suite.app.clock.pass(2 * HOUR)
      expect(await counters(id)).toEqual([4, 0, 6])
      await refund(operation, 1)
      expect(await counters(id)).toEqual([3, 0, 7])
    })
  })
}
