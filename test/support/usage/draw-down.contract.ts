import { describe, expect } from '@jest/globals'
import { START } from '../quota-api.js'
import { it } from '../scoped.js'
import { DAY, HOUR, MINUTE, type UsageSuite } from './suite.js'

/** The quotas that pay, and those that no longer do. */
export function drawDownContract(suite: UsageSuite): void {
  const {
    inSeconds,
    total,
    cycle,
    consume,
    reserve,
    commit,
    release,
    refund,
    quota,
    update,
    remove,
    restore,
    counters,
    sums,
    refused,
  } = suite

  describe('draw-down order', () => {
    const payer = async (): Promise<number> => (await consume(1)).body.allocations[0].quota_id

    it('charges first what ends first', async () => {
      await total(1, 3 * DAY)
      const soon = await total(1, DAY)
      await total(1, 2 * DAY)
      expect(await payer()).toBe(soon)
    })

    it('charges first what resets first', async () => {
      await cycle(1, 3 * DAY)
      const soon = await cycle(1, DAY)
      expect(await payer()).toBe(soon)
    })

    it('compares a reset with an end', async () => {
      const ending = await total(1, 2 * DAY)
      const resetting = await cycle(1, DAY)
      expect(await payer()).toBe(resetting)
      expect(await payer()).toBe(ending)
    })

    it('uses the earlier of a reset and an end of one quota', async () => {
      const between = await total(1, 5 * DAY)
      const resetsLateEndsSoon = await cycle(1, 10 * DAY, { expire_at: inSeconds(DAY) })
      expect(await payer()).toBe(resetsLateEndsSoon)
      expect(await payer()).toBe(between)
    })

    it('charges a cycle without end after a quota that ends before its reset', async () => {
      const resetting = await cycle(1, 10 * DAY)
      const ending = await total(1, 9 * DAY)
      expect(await payer()).toBe(ending)
      expect(await payer()).toBe(resetting)
    })

    it('charges the older quota of two whose units are lost at the same time', async () => {
      const end = inSeconds(5 * DAY)
      suite.app.clock.pass(MINUTE)
      const young = await total(1, 0, { expire_at: end })
      suite.app.clock.set(START)
      const old = await total(1, 0, { expire_at: end })
      expect(old).toBeGreaterThan(young)
      suite.app.clock.pass(HOUR)
      expect(await payer()).toBe(old)
      expect(await payer()).toBe(young)
    })

    it('charges the smaller id of two that are equally old', async () => {
      const ids = [await total(1), await total(1), await total(1)]
      expect([await payer(), await payer(), await payer()]).toEqual(ids)
    })

    it('follows a reset into the next cycle', async () => {
      const daily = await cycle(1, DAY)
      const ending = await total(1, DAY + HOUR)
      suite.app.clock.pass(DAY)
      expect(await payer()).toBe(ending)
      expect(await payer()).toBe(daily)
    })

    it('follows an edit', async () => {
      const first = await total(1, DAY)
      const second = await total(1, 2 * DAY)
      await update(first, { expire_at: inSeconds(3 * DAY) })
      expect([await payer(), await payer()]).toEqual([second, first])
    })

    it('skips empty, disabled, expired and deleted quotas', async () => {
      const expired = await total(5, MINUTE)
      const disabled = await total(5, DAY)
      const deleted = await total(5, DAY)
      const empty = await total(0, DAY)
      const good = await total(5, 2 * DAY)
      await update(disabled, { status: 'disabled' })
      await remove(deleted)
      suite.app.clock.pass(MINUTE)
      const answer = await consume(5)
      expect(answer.body.allocations).toEqual([{ quota_id: good, amount: 5 }])
      expect(answer.body.owner_remaining).toBe(0)
      for (const id of [expired, disabled, empty]) expect((await quota(id)).body.used).toBe(0)
    })

    it('skips a quota whose total an edit lowered below its use', async () => {
      const low = await total(10, DAY)
      const high = await total(10, 2 * DAY)
      await consume(8)
      await update(low, { total: 3 })
      expect(await counters(low)).toEqual([8, 0, 0])
      expect(await sums()).toEqual([8, 0, 10])
      expect((await consume(10)).body.allocations).toEqual([{ quota_id: high, amount: 10 }])
    })
  })

  describe('quotas that no longer pay', () => {
    it.each(['disabled', 'expired', 'deleted'])('take commits, releases and refunds: %s', async (how) => {
      const id = await total(100, HOUR)
      const committed = (await reserve(10, 2 * HOUR)).body.id
      const released = (await reserve(20, 2 * HOUR)).body.id
      const spent = (await consume(30)).body.id
      if (how === 'disabled') await update(id, { status: 'disabled' })
      if (how === 'expired') suite.app.clock.pass(HOUR)
      if (how === 'deleted') await remove(id)
      refused(await consume(1), 409, 'no_active_quota')
      expect((await commit(committed, 7)).body).toMatchObject({ state: 'committed', charged: 7, owner_remaining: 0 })
      expect((await release(released)).body).toMatchObject({ state: 'released', owner_remaining: 0 })
      expect((await refund(spent, 25)).body).toMatchObject({ refunded: 25, owner_remaining: 0 })
      if (how === 'deleted') await restore(id)
      expect(await counters(id)).toEqual([12, 0, 88])
      if (how === 'disabled') await update(id, { status: 'active' })
      if (how === 'expired') await update(id, { expire_at: inSeconds(DAY) })
      expect(await sums()).toEqual([12, 0, 88])
    })

    it('count in no owner_remaining', async () => {
      const gone = await total(100, DAY)
      await total(7, 2 * DAY)
      const spent = (await consume(30)).body.id
      await update(gone, { status: 'disabled' })
      expect((await refund(spent, 1)).body.owner_remaining).toBe(7)
      expect((await consume(1)).body.owner_remaining).toBe(6)
    })
  })
}
