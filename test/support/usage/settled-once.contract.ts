import { describe, expect } from '@jest/globals'
import { it } from '../scoped.js'
import { DAY, type UsageSuite } from './suite.js'

/** A hold is settled once, by a caller or by its expiry. */
export function settledOnceContract(suite: UsageSuite): void {
  const {
    channel,
    inSeconds,
    total,
    consume,
    reserve,
    commit,
    release,
    refund,
    read,
    check,
    update,
    remove,
    restore,
    sweep,
    counters,
    sums,
    refused,
    replayed,
  } = suite

  describe('settled once', () => {
    /** A hold of 10 in each of its final states, and a consume. */
    async function settled(how: string): Promise<string> {
      await total(100)
      if (how === 'consumed') return (await consume(10)).body.id
      const { id } = (await reserve(10, 60)).body
      if (how.startsWith('committed')) await commit(id, how === 'committed in part' ? 4 : undefined)
      if (how === 'released') await release(id)
      if (how === 'expired') suite.app.clock.pass(60)
      return id
    }

    it.each(['released', 'expired', 'consumed'])('refuses to commit what is %s', async (how) => {
      const id = await settled(how)
      const before = await sums()
      refused(await commit(id), 409, 'operation_already_settled')
      refused(await commit(id, 1), 409, 'operation_already_settled')
      refused(await commit(id, 1000), 409, 'operation_already_settled')
      expect(await sums()).toEqual(before)
      expect((await read(id)).body.state).toBe(how)
    })

    it.each(['committed', 'committed in part', 'expired', 'consumed'])('refuses to release what is %s', async (how) => {
      const id = await settled(how)
      const before = await sums()
      refused(await release(id), 409, 'operation_already_settled')
      expect(await sums()).toEqual(before)
    })

    it('refuses to commit another amount', async () => {
      const id = await settled('committed in part')
      refused(await commit(id, 5), 409, 'operation_already_settled')
      refused(await commit(id), 409, 'operation_already_settled')
      refused(await commit(id, 11), 409, 'operation_already_settled')
      expect(await sums()).toEqual([4, 0, 96])
    })

    it('answers the same act with 200 again, byte for byte', async () => {
      await total(100)
      const full = (await reserve(10)).body.id
      const part = (await reserve(10)).body.id
      const back = (await reserve(10)).body.id
      const first = [await commit(full), await commit(part, 4), await release(back)]
      for (const answer of first) expect(answer.headers['idempotency-replayed']).toBeUndefined()
      await refund(full, 3)
      await consume(1)
      replayed(await commit(full), first[0]!)
      replayed(await commit(full, 10), first[0]!)
      replayed(await commit(part, 4), first[1]!)
      replayed(await release(back), first[2]!)
      expect(await sums()).toEqual([12, 0, 88])
    })

    it('counts commit {} and the full amount as the same, whichever came first', async () => {
      const id = await settled('')
      const first = await commit(id, 10)
      replayed(await commit(id), first)
    })

    it('answers the same act again after the hold would have expired', async () => {
      await total(100)
      const committed = (await reserve(10, 60)).body.id
      const released = (await reserve(10, 60)).body.id
      const first = await commit(committed)
      const second = await release(released)
      suite.app.clock.pass(61)
      await sweep()
      replayed(await commit(committed), first)
      replayed(await release(released), second)
      refused(await release(committed), 409, 'operation_already_settled')
      expect(await sums()).toEqual([10, 0, 90])
    })

    it('lets one of several parallel commits and releases succeed', async () => {
      await total(1000)
      for (let round = 0; round < 10; round += 1) {
        const { id } = (await reserve(10)).body
        const before = await sums()
        const answers = await Promise.all(
          Array.from({ length: 8 }, async (_, n) => (n % 2 === 0 ? commit(id) : release(id))),
        )
        const state = (await read(id)).body.state
        const expected = answers.map((_, n) => ((n % 2 === 0) === (state === 'committed') ? 200 : 409))
        expect(answers.map(({ status }) => status)).toEqual(expected)
        const charged = state === 'committed' ? 10 : 0
        expect(await sums()).toEqual([before[0] + charged, 0, before[2] + 10 - charged])
      }
    })
  })

  describe('an expired hold', () => {
    it('counts until the exact instant, and no longer: in the quota, the summary, check, the operation', async () => {
      const id = await total(10)
      const { id: operation, expires_at } = (await reserve(7, 60)).body
      suite.app.clock.set(Date.parse(expires_at) - 1)
      expect(await counters(id)).toEqual([0, 7, 3])
      expect(await sums()).toEqual([0, 7, 3])
      expect((await check(4)).body).toMatchObject({ allowed: false, remaining: 3 })
      expect((await read(operation)).body.state).toBe('reserved')
      const listed = await suite.app.get(`${channel.list}?${channel.owner}=${suite.owner}`)
      expect(listed.body.items[0]).toMatchObject({ reserved: 7, remaining: 3 })
      refused(await consume(4), 409, 'quota_exceeded')

      suite.app.clock.set(expires_at)
      expect(await counters(id)).toEqual([0, 0, 10])
      expect(await sums()).toEqual([0, 0, 10])
      expect((await check(10)).body).toMatchObject({ allowed: true, remaining: 10 })
      expect((await read(operation)).body.state).toBe('expired')
      const later = await suite.app.get(`${channel.list}?${channel.owner}=${suite.owner}`)
      expect(later.body.items[0]).toMatchObject({ reserved: 0, remaining: 10 })
    })

    it('frees its units for the next consume at the very instant', async () => {
      const id = await total(10)
      const { expires_at } = (await reserve(7, 60)).body
      suite.app.clock.set(expires_at)
      const answer = await consume(10)
      expect([answer.status, answer.body.owner_remaining]).toEqual([200, 0])
      expect(await counters(id)).toEqual([10, 0, 0])
    })

    it('frees them for the next reserve, and in a refusal', async () => {
      const id = await total(10)
      await reserve(7, 60)
      await reserve(1, 120)
      suite.app.clock.pass(60)
      const no = await consume(10)
      expect(no.body).toMatchObject({ remaining: 9, quotas: [{ id, used: 0, reserved: 1, remaining: 9 }] })
      expect((await reserve(9)).body.owner_remaining).toBe(0)
      expect(await counters(id)).toEqual([0, 10, 0])
    })

    it('can be committed until the instant before', async () => {
      const id = await total(10)
      const { id: operation, expires_at } = (await reserve(7, 60)).body
      suite.app.clock.set(Date.parse(expires_at) - 1)
      expect((await commit(operation)).status).toBe(200)
      suite.app.clock.set(expires_at)
      expect(await counters(id)).toEqual([7, 0, 3])
      expect((await read(operation)).body.state).toBe('committed')
    })

    it('is settled: no commit, no release, no refund; swept or not', async () => {
      await total(10)
      const { id } = (await reserve(7, 60)).body
      suite.app.clock.pass(60)
      for (let round = 0; round < 2; round += 1) {
        refused(await commit(id), 409, 'operation_already_settled')
        refused(await release(id), 409, 'operation_already_settled')
        refused(await refund(id), 409, 'refund_exceeds_charge')
        await sweep()
      }
      expect(await sums()).toEqual([0, 0, 10])
    })

    it('is shown in owner_remaining of other acts', async () => {
      await total(10)
      const kept = (await reserve(2, 600)).body.id
      await reserve(5, 60)
      suite.app.clock.pass(60)
      expect((await commit(kept, 1)).body.owner_remaining).toBe(9)
    })

    it('no longer counts, whenever it is swept', async () => {
      const id = await total(100)
      for (const ttl of [10, 20, 30, 40]) await reserve(10, ttl)
      suite.app.clock.pass(15)
      expect(await counters(id)).toEqual([0, 30, 70])
      await sweep()
      expect(await counters(id)).toEqual([0, 30, 70])
      suite.app.clock.pass(10)
      expect((await consume(1)).body.owner_remaining).toBe(79)
      expect(await counters(id)).toEqual([1, 20, 79])
      suite.app.clock.pass(10)
      expect(await counters(id)).toEqual([1, 10, 89])
      await sweep()
      suite.app.clock.pass(10)
      await sweep()
      expect(await counters(id)).toEqual([1, 0, 99])
    })

    it('of a quota deleted meanwhile no longer counts when the quota is restored', async () => {
      const id = await total(10)
      await reserve(7, 60)
      await remove(id)
      suite.app.clock.pass(60)
      expect((await restore(id)).body).toMatchObject({ used: 0, reserved: 0, remaining: 10 })
      expect(await counters(id)).toEqual([0, 0, 10])
      expect((await consume(10)).status).toBe(200)
    })

    it('of a quota expired meanwhile no longer counts when the quota is revived', async () => {
      const id = await total(10, 30)
      await reserve(7, 60)
      suite.app.clock.pass(60)
      const revived = await update(id, { expire_at: inSeconds(DAY) })
      expect(revived.body).toMatchObject({ status: 'active', used: 0, reserved: 0, remaining: 10 })
      expect((await consume(10)).status).toBe(200)
    })

    it('of a quota disabled meanwhile no longer counts in the answer of an edit', async () => {
      const id = await total(10)
      await reserve(7, 60)
      await update(id, { status: 'disabled' })
      suite.app.clock.pass(60)
      expect((await update(id, { total: 11 })).body).toMatchObject({ reserved: 0, remaining: 11 })
      expect((await update(id, { total: 11 })).body).toMatchObject({ reserved: 0, remaining: 11 })
    })

    it('across several quotas returns the units of each', async () => {
      const first = await total(5, DAY)
      const second = await total(5, 2 * DAY)
      await reserve(8, 60)
      suite.app.clock.pass(60)
      expect(await counters(first)).toEqual([0, 0, 5])
      expect(await counters(second)).toEqual([0, 0, 5])
    })
  })
}
