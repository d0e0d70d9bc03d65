import { describe, expect } from '@jest/globals'
import type { Response } from 'supertest'
import { it } from '../scoped.js'
import { DAY, type UsageSuite } from './suite.js'

/** Reads of usage. */
export function readContract(suite: UsageSuite): void {
  const {
    channel,
    other,
    newKey,
    inSeconds,
    total,
    cycle,
    consume,
    reserve,
    commit,
    release,
    refund,
    read,
    check,
    ledger,
    batch,
    item,
    quota,
    remove,
    sweep,
    counters,
    refused,
  } = suite

  describe('reading one operation', () => {
    it('shows its present state, with the owner_remaining of its last act', async () => {
      await total(100)
      const hold = await reserve(20)
      expect((await read(hold.body.id)).body).toEqual(hold.body)
      await consume(30)
      expect((await read(hold.body.id)).body.owner_remaining).toBe(80)
      const committed = await commit(hold.body.id, 15)
      expect(committed.body.owner_remaining).toBe(55)
      await consume(5)
      expect((await read(hold.body.id)).body).toEqual(committed.body)
      const refunded = await refund(hold.body.id, 1)
      expect(refunded.body.owner_remaining).toBe(51)
      await consume(1)
      expect((await read(hold.body.id)).text).toBe(refunded.text)
    })

    it('keeps the owner_remaining of the reserve when a hold expires', async () => {
      await total(100)
      const hold = await reserve(20, 1)
      suite.app.clock.pass(1)
      const expected = { ...hold.body, state: 'expired' }
      expect((await read(hold.body.id)).body).toEqual(expected)
      await sweep()
      expect((await read(hold.body.id)).body).toEqual(expected)
    })

    it('is 404 if there is none', async () => {
      const id = '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d'
      refused(await read(id), 404, 'operation_not_found')
      refused(await commit(id), 404, 'operation_not_found')
      refused(await release(id), 404, 'operation_not_found')
      refused(await refund(id), 404, 'operation_not_found')
    })

    it("does not find the other channel's", async () => {
      await total(5)
      const { id } = (await consume(1)).body
      refused(await suite.app.get(`${other.usage}/${id}`), 404, 'operation_not_found')
      refused(await suite.app.post(`${other.usage}/${id}/refund`, {}, { key: newKey() }), 404, 'operation_not_found')
    })

    it.each([
      '1',
      'x',
      '01939f3e-5c00-4a6b-8c1d-2e3f4a5b6c7d',
      '01939f3e-5c00-7a6b-cc1d-2e3f4a5b6c7d',
      '01939f3e5c007a6b8c1d2e3f4a5b6c7d',
      '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d0',
      '00000000-0000-0000-0000-000000000000',
      '%27',
    ])('refuses the id %s, which is no UUIDv7', async (id) => {
      refused(await read(id), 400, 'validation_failed')
      refused(await commit(id), 400, 'validation_failed')
      refused(await release(id), 400, 'validation_failed')
      refused(await refund(id), 400, 'validation_failed')
    })

    it('finds it in upper case too', async () => {
      await total(5)
      const answer = await consume(1)
      expect((await read(answer.body.id.toUpperCase())).text).toBe(answer.text)
    })
  })

  describe('check', () => {
    it('returns whether an amount fits, and charges nothing', async () => {
      const id = await cycle(10, DAY)
      await consume(2)
      await reserve(3)
      expect((await check(5)).status).toBe(200)
      expect((await check(5)).body).toEqual({
        allowed: true,
        requested: 5,
        remaining: 5,
        payable: 5,
        refills_at: null,
        caps: [],
      })
      expect((await check(6)).body).toEqual({
        allowed: false,
        requested: 6,
        remaining: 5,
        payable: 5,
        refills_at: inSeconds(600),
        caps: [],
      })
      expect((await check(9)).body.refills_at).toBe(inSeconds(DAY))
      expect(await counters(id)).toEqual([2, 3, 5])
    })

    it('adds up quotas', async () => {
      await total(5, DAY)
      await cycle(5, DAY)
      expect((await check(10)).body.allowed).toBe(true)
      expect((await check(11)).body.allowed).toBe(false)
    })
  })

  describe('the ledger', () => {
    const idsOf = (page: Response): string[] => page.body.items.map(({ id }: { id: string }) => id)

    it('lists operations newest first, in their present state', async () => {
      await total(100)
      const first = await consume(1)
      suite.app.clock.pass(1)
      const second = await reserve(2)
      suite.app.clock.pass(1)
      const third = await reserve(3)
      const committed = await commit(second.body.id, 1)
      const page = await ledger(`${channel.owner}=${suite.owner}`)
      expect(page.status).toBe(200)
      expect(page.body).toEqual({ items: [third.body, committed.body, first.body], next_before: null })
    })

    it('is empty for an unknown owner or quota', async () => {
      expect((await ledger(`${channel.owner}=${suite.owner}`)).body).toEqual({ items: [], next_before: null })
      expect((await ledger('quota_id=9007199254740991')).body).toEqual({ items: [], next_before: null })
    })

    it('pages by the last seen operation', async () => {
      await total(100)
      const ids: string[] = []
      for (let n = 0; n < 7; n += 1) ids.unshift((await consume(1)).body.id)
      const query = `${channel.owner}=${suite.owner}&page_size=3`
      const first = await ledger(query)
      expect([idsOf(first), first.body.next_before]).toEqual([ids.slice(0, 3), ids[2]])
      // New operations do not shift the pages.
      await consume(1)
      const second = await ledger(`${query}&before=${first.body.next_before}`)
      expect([idsOf(second), second.body.next_before]).toEqual([ids.slice(3, 6), ids[5]])
      const third = await ledger(`${query}&before=${second.body.next_before}`)
      expect([idsOf(third), third.body.next_before]).toEqual([ids.slice(6), null])
      expect((await ledger(`${query}&before=${ids[6]}`)).body).toEqual({ items: [], next_before: null })
    })

    it('pages by an id without an operation', async () => {
      await total(10)
      const { id } = (await consume(1)).body
      const from = async (before: string): Promise<string[]> =>
        idsOf(await ledger(`${channel.owner}=${suite.owner}&before=${before}`))
      expect(await from('ffffffff-ffff-7fff-bfff-ffffffffffff')).toEqual([id])
      expect(await from('FFFFFFFF-FFFF-7FFF-BFFF-FFFFFFFFFFFF')).toEqual([id])
      expect(await from('00000000-0000-7000-8000-000000000000')).toEqual([])
    })

    it('has no next page if the last one is full', async () => {
      await total(100)
      for (let n = 0; n < 3; n += 1) await consume(1)
      expect((await ledger(`${channel.owner}=${suite.owner}&page_size=3`)).body.next_before).toBeNull()
      expect((await ledger(`${channel.owner}=${suite.owner}&page_size=2`)).body.next_before).not.toBeNull()
    })

    it('shows 20 by default, and up to 100', async () => {
      await total(1000)
      await batch(Array.from({ length: 101 }, () => item(1)))
      expect((await ledger(`${channel.owner}=${suite.owner}`)).body.items).toHaveLength(20)
      const page = await ledger(`${channel.owner}=${suite.owner}&page_size=100`)
      expect(page.body.items).toHaveLength(100)
      const rest = await ledger(`${channel.owner}=${suite.owner}&page_size=100&before=${page.body.next_before}`)
      expect([rest.body.items.length, rest.body.next_before]).toEqual([1, null])
    })

    it('by quota lists operations that the quota paid in part', async () => {
      const first = await total(10, DAY)
      const second = await total(10, 2 * DAY)
      const one = await consume(8)
      const both = await consume(5)
      const two = await consume(1)
      expect(idsOf(await ledger(`quota_id=${first}`))).toEqual([both.body.id, one.body.id])
      const page = await ledger(`quota_id=${second}&page_size=1`)
      expect(page.body).toEqual({ items: [two.body], next_before: two.body.id })
      const rest = await ledger(`quota_id=${second}&page_size=1&before=${page.body.next_before}`)
      expect(rest.body).toEqual({ items: [both.body], next_before: null })
    })

    it("keeps deleted quotas' usage readable", async () => {
      const id = await total(10)
      const spent = await consume(3)
      await remove(id)
      refused(await quota(id), 404, 'quota_not_found')
      expect((await ledger(`quota_id=${id}`)).body.items).toEqual([spent.body])
      expect((await ledger(`${channel.owner}=${suite.owner}`)).body.items).toEqual([spent.body])
      expect((await read(spent.body.id)).body).toEqual(spent.body)
    })

    it('shows an expired hold as expired, swept or not', async () => {
      const id = await total(10)
      await reserve(3, 1)
      suite.app.clock.pass(1)
      const before = await ledger(`quota_id=${id}`)
      expect(before.body.items[0].state).toBe('expired')
      await sweep()
      expect((await ledger(`quota_id=${id}`)).text).toBe(before.text)
    })
  })
}
