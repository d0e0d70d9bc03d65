import { describe, expect } from '@jest/globals'
import { START } from '../quota-api.js'
import { it } from '../scoped.js'
import { DAY, MINUTE, type UsageSuite, UUID_V7 } from './suite.js'

/** Holds, their settlement, and refunds. */
export function holdContract(suite: UsageSuite): void {
  const {
    channel,
    newKey,
    inSeconds,
    total,
    consume,
    reserve,
    commit,
    release,
    refund,
    read,
    quota,
    counters,
    sums,
    refused,
  } = suite

  describe('reserve', () => {
    it('answers 201 and the operation, held for 600 s by default', async () => {
      const id = await total(100)
      const answer = await reserve(20)
      expect(answer.status).toBe(201)
      expect(answer.body).toEqual({
        id: expect.stringMatching(UUID_V7),
        kind: 'reserve',
        state: 'reserved',
        [channel.owner]: suite.owner,
        amount: 20,
        charged: 0,
        refunded: 0,
        allocations: [{ quota_id: id, amount: 20 }],
        owner_remaining: 80,
        expires_at: inSeconds(600),
        created_at: START,
      })
      expect(await counters(id)).toEqual([0, 20, 80])
      expect(await sums()).toEqual([0, 20, 80])
    })

    it.each([1, 86_400])('holds for %d s', async (ttl) => {
      await total(100)
      expect((await reserve(1, ttl)).body.expires_at).toBe(inSeconds(ttl))
    })

    it.each([0, -1, 86_401, 1.5])('refuses to hold for %d s', async (ttl) => {
      await total(100)
      const answer = await reserve(1, ttl)
      refused(answer, 400, 'validation_failed')
      expect(answer.body.errors).toEqual([{ field: 'ttl_seconds', message: expect.any(String) }])
    })

    it('reduces what others can spend', async () => {
      await total(10)
      await reserve(7)
      refused(await consume(4), 409, 'quota_exceeded')
      refused(await reserve(4), 409, 'quota_exceeded')
      expect((await consume(3)).body.owner_remaining).toBe(0)
    })
  })

  describe('commit', () => {
    it('spends the held units', async () => {
      const id = await total(100)
      const hold = await reserve(20)
      suite.app.clock.pass(MINUTE)
      const answer = await commit(hold.body.id)
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual({ ...hold.body, state: 'committed', charged: 20 })
      expect(await counters(id)).toEqual([20, 0, 80])
    })

    it('spends a part, and the rest returns', async () => {
      const id = await total(100)
      const hold = await reserve(20)
      expect((await commit(hold.body.id, 5)).body).toMatchObject({
        state: 'committed',
        amount: 20,
        charged: 5,
        refunded: 0,
        allocations: [{ quota_id: id, amount: 20 }],
        owner_remaining: 95,
      })
      expect(await counters(id)).toEqual([5, 0, 95])
    })

    it('returns first what was allocated last', async () => {
      const first = await total(10, DAY)
      const second = await total(10, 2 * DAY)
      const hold = await reserve(15)
      expect((await commit(hold.body.id, 11)).body.allocations).toEqual(hold.body.allocations)
      expect(await counters(first)).toEqual([10, 0, 0])
      expect(await counters(second)).toEqual([1, 0, 9])
    })

    it('cannot exceed the hold', async () => {
      const id = await total(100)
      const hold = await reserve(20)
      refused(await commit(hold.body.id, 21), 409, 'commit_exceeds_hold')
      expect(await counters(id)).toEqual([0, 20, 80])
      expect((await commit(hold.body.id, 20)).status).toBe(200)
    })

    it.each([0, -1, 1.5, '1', null])('refuses the amount %j', async (amount) => {
      await total(100)
      const hold = await reserve(20)
      const answer = await suite.app.post(`${channel.usage}/${hold.body.id}/commit`, { amount }, { as: 'usage' })
      refused(answer, 400, 'validation_failed')
      expect((await read(hold.body.id)).body.state).toBe('reserved')
    })

    it('requires no body and no key', async () => {
      await total(100)
      const hold = await reserve(20)
      const answer = await suite.app.send('post', `${channel.usage}/${hold.body.id}/commit`, { as: 'usage' })
      expect([answer.status, answer.body.charged]).toEqual([200, 20])
    })

    it('may be sent by another caller than the one that reserved', async () => {
      await total(100)
      const hold = await reserve(20)
      expect((await commit(hold.body.id, 5, { as: 'other' })).status).toBe(200)
      expect((await commit(hold.body.id, 5, { as: 'service' })).headers['idempotency-replayed']).toBe('true')
    })
  })

  describe('release', () => {
    it('returns the whole hold', async () => {
      const id = await total(100)
      const hold = await reserve(20)
      const answer = await release(hold.body.id)
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual({ ...hold.body, state: 'released', owner_remaining: 100 })
      expect(await counters(id)).toEqual([0, 0, 100])
    })

    it('accepts an empty body, and no other', async () => {
      await total(100)
      const hold = await reserve(20)
      const path = `${channel.usage}/${hold.body.id}/release`
      refused(await suite.app.post(path, { amount: 5 }, { as: 'usage' }), 400, 'validation_failed')
      expect((await suite.app.post(path, {}, { as: 'usage' })).status).toBe(200)
    })
  })

  describe('refund', () => {
    it('returns all that is left by default', async () => {
      const id = await total(100)
      const spent = await consume(20)
      const answer = await refund(spent.body.id)
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual({ ...spent.body, refunded: 20, owner_remaining: 100 })
      expect(await counters(id)).toEqual([0, 0, 100])
    })

    it('returns a part, and then what is left', async () => {
      const id = await total(100)
      const { id: operation } = (await consume(20)).body
      expect((await refund(operation, 5)).body).toMatchObject({ charged: 20, refunded: 5, owner_remaining: 85 })
      expect((await refund(operation, 6)).body).toMatchObject({ charged: 20, refunded: 11, owner_remaining: 91 })
      expect(await counters(id)).toEqual([9, 0, 91])
      expect((await refund(operation)).body).toMatchObject({ charged: 20, refunded: 20, owner_remaining: 100 })
      expect(await counters(id)).toEqual([0, 0, 100])
    })

    it('returns first what was allocated last, refund after refund', async () => {
      const ids = [await total(10, DAY), await total(10, 2 * DAY), await total(10, 3 * DAY)]
      const { id: operation, allocations } = (await consume(25)).body
      const used = async (): Promise<number[]> => {
        const found = []
        for (const id of ids) found.push((await quota(id)).body.used)
        return found
      }
      expect(await used()).toEqual([10, 10, 5])
      await refund(operation, 3)
      expect(await used()).toEqual([10, 10, 2])
      await refund(operation, 4)
      expect(await used()).toEqual([10, 8, 0])
      const last = await refund(operation, 9)
      expect(await used()).toEqual([9, 0, 0])
      expect(last.body.allocations).toEqual(allocations)
      await refund(operation)
      expect(await used()).toEqual([0, 0, 0])
    })

    it('applies to committed units, as far as they were charged', async () => {
      const first = await total(10, DAY)
      const second = await total(10, 2 * DAY)
      const { id: operation } = (await reserve(20)).body
      await commit(operation, 12)
      refused(await refund(operation, 13), 409, 'refund_exceeds_charge')
      expect((await refund(operation, 3)).body).toMatchObject({ state: 'committed', charged: 12, refunded: 3 })
      expect(await counters(first)).toEqual([9, 0, 1])
      expect(await counters(second)).toEqual([0, 0, 10])
    })

    it('never returns more than was charged', async () => {
      const id = await total(100)
      const { id: operation } = (await consume(20)).body
      refused(await refund(operation, 21), 409, 'refund_exceeds_charge')
      await refund(operation, 15)
      refused(await refund(operation, 6), 409, 'refund_exceeds_charge')
      expect(await counters(id)).toEqual([5, 0, 95])
      await refund(operation)
      refused(await refund(operation), 409, 'refund_exceeds_charge')
      refused(await refund(operation, 1), 409, 'refund_exceeds_charge')
    })

    it('is refused if nothing was charged', async () => {
      await total(100)
      const open = (await reserve(5)).body.id
      const released = (await reserve(5)).body.id
      await release(released)
      const expired = (await reserve(5, 1)).body.id
      suite.app.clock.pass(1)
      for (const id of [open, released, expired]) {
        refused(await refund(id), 409, 'refund_exceeds_charge')
        refused(await refund(id, 1), 409, 'refund_exceeds_charge')
      }
    })

    it.each([0, -1, 1.5, '1', null])('refuses the amount %j', async (amount) => {
      await total(100)
      const { id } = (await consume(20)).body
      const answer = await suite.app.post(`${channel.usage}/${id}/refund`, { amount }, { as: 'usage', key: newKey() })
      refused(answer, 400, 'validation_failed')
    })
  })
}
