import { describe, expect } from '@jest/globals'
import { DataSource } from 'typeorm'
import { stored } from '../ids.js'
import { type Body, bodyOf, ledgerOf } from '../quota-api.js'
import { it } from '../scoped.js'
import { DAY, HOUR, MINUTE, type UsageSuite } from './suite.js'

/** The effects of caps (contract, §9), as a caller sees them. */
export function capContract(suite: UsageSuite): void {
  const { channel, newKey, inSeconds, total, cycle, consume, reserve, commit, release, refund, read, check } = suite
  const { ledger, batch, item, quota, update, remove, restore, sweep, counters, refused, replayed } = suite

  /** Creates a rolling cap. A slot is 2.5 s long if the window is a minute. */
  const rolling = async (amount: number, window = MINUTE, more: object = {}): Promise<number> => {
    const body = { quota_type: 3, total: amount, cap: 'enforce', window_seconds: window, ...more }
    return bodyOf(201, await suite.app.post(channel.quotas, { [channel.owner]: suite.owner, ...body })).id
  }
  const summary = async (): Promise<Body> => bodyOf(200, await suite.app.get(channel.summary(suite.owner)))
  const reset = async (id: number): Promise<Body> =>
    bodyOf(200, await suite.app.send('post', `${channel.quotas}/${id}/reset`))
  const idsIn = (items: readonly Body[]): string[] => items.map(({ id }) => id)
  const changesOf = async (id: number): Promise<Body[]> =>
    bodyOf(200, await suite.app.get(`${channel.quotas}/${id}/changes`)).items

  describe('counting', () => {
    it('counts the whole amount in every active cap, once each, and names them', async () => {
      const small = await cycle(3, HOUR)
      const large = await total(100)
      const hourly = await cycle(50, HOUR, { cap: 'enforce' })
      const fixed = await total(60, DAY, { cap: 'observe' })
      const minute = await rolling(40)
      const disabled = await rolling(40)
      await update(disabled, { status: 'disabled' })
      await remove(await rolling(40))
      const one = await consume(2)
      expect(one.body).toMatchObject({ allocations: [{ quota_id: small, amount: 2 }], caps: [hourly, fixed, minute] })
      expect(Object.keys(one.body)).toEqual(
        ['id kind state OWNER amount charged refunded allocations caps owner_remaining expires_at created_at']
          .join()
          .replace('OWNER', channel.owner)
          .split(' '),
      )
      const two = await consume(5)
      expect(two.body).toMatchObject({
        allocations: [
          { quota_id: small, amount: 1 },
          { quota_id: large, amount: 4 },
        ],
        caps: [hourly, fixed, minute],
        owner_remaining: 33,
      })
      const held = await reserve(4)
      expect(held.body.caps).toEqual([hourly, fixed, minute])
      expect(await counters(hourly)).toEqual([7, 4, 39])
      expect(await counters(fixed)).toEqual([7, 4, 49])
      expect(await counters(minute)).toEqual([7, 4, 29])
      expect(await counters(disabled)).toEqual([0, 0, 40])
      for (const { body } of [one, two, held]) expect((await read(body.id)).body).toEqual(body)
    })

    it('begins when a cap is created, and does not change earlier answers', async () => {
      await total(100)
      const key = newKey()
      const before = await consume(5, key)
      expect(before.text).not.toContain('caps')
      const { id: held } = (await reserve(5)).body
      const cap = await rolling(10)
      expect(await counters(cap)).toEqual([0, 0, 10])
      replayed(await consume(5, key), before)
      expect((await commit(held)).body.caps).toBeUndefined()
      expect((await refund(before.body.id)).body.caps).toBeUndefined()
      expect((await read(before.body.id)).text).not.toContain('caps')
      expect(await counters(cap)).toEqual([0, 0, 10])
    })

    it('stores a consume that one quota paid as one row', async () => {
      await total(100)
      await rolling(10)
      await cycle(10, HOUR, { cap: 'observe' })
      const { body } = await consume(5)
      const rows = async (table: string, column: string): Promise<number> =>
        (
          await suite.app.app
            .get(DataSource)
            .query(`SELECT 1 FROM ${channel.channel}_${table} WHERE ${column} = ?`, stored([body.id]))
        ).length
      expect(await rows('act', 'id')).toBe(1)
      expect(await rows('operation', 'id')).toBe(0)
      expect(await rows('allocation', 'operation_id')).toBe(0)
      await refund(body.id, 1)
      expect(await rows('operation', 'id')).toBe(1)
      expect(await rows('allocation', 'operation_id')).toBe(3)
    })
  })

  describe('deciding', () => {
    it('admits only what fits into every enforce cap, and otherwise changes nothing', async () => {
      const payer = await total(1000, 30 * DAY)
      const hourly = await cycle(10, HOUR, { cap: 'enforce' })
      const daily = await rolling(20, DAY)
      const watched = await rolling(5, DAY, { cap: 'observe' })
      expect((await consume(10)).status).toBe(200)
      const ids = [payer, hourly, daily, watched]
      const before = await Promise.all(ids.map(counters))
      refused(await consume(1), 409, 'quota_exceeded')
      refused(await reserve(1), 409, 'quota_exceeded')
      expect(await Promise.all(ids.map(counters))).toEqual(before)
      suite.app.clock.pass(HOUR)
      expect((await consume(10)).status).toBe(200)
      refused(await consume(11), 409, 'quota_exceeded')
    })

    it('refuses what the payers do not have, however much caps would admit', async () => {
      await rolling(1000)
      refused(await consume(1), 409, 'no_active_quota')
      await total(3)
      const { body } = await consume(4)
      expect(body).toMatchObject({ remaining: 3, payable: 3, caps: [], refills_at: null })
      expect((await consume(3)).status).toBe(200)
    })

    it('ignores caps that are disabled, expired or deleted, and applies them again afterwards', async () => {
      await total(100)
      const cap = await total(1, HOUR, { cap: 'enforce' })
      refused(await consume(2), 409, 'quota_exceeded')
      await update(cap, { status: 'disabled' })
      expect((await consume(2)).body.caps).toBeUndefined()
      await update(cap, { status: 'active' })
      refused(await consume(2), 409, 'quota_exceeded')
      await remove(cap)
      expect((await consume(2)).body.caps).toBeUndefined()
      bodyOf(200, await restore(cap))
      refused(await consume(2), 409, 'quota_exceeded')
      suite.app.clock.pass(HOUR)
      expect((await consume(2)).body.caps).toBeUndefined()
      await update(cap, { cap: 'observe', expire_at: inSeconds(HOUR) })
      expect((await consume(2)).body.would_refuse).toEqual([cap])
      await update(cap, { cap: 'enforce', total: 4 })
      expect((await consume(2)).body.caps).toEqual([cap])
    })

    it('decides the items of a batch one after another', async () => {
      await total(100)
      const cap = await rolling(5)
      const watched = await rolling(4, MINUTE, { cap: 'observe' })
      const { results } = (await batch([item(3), item(3), item(2), item(1)])).body
      expect(results.map(({ status }: Body) => status)).toEqual([200, 409, 200, 409])
      expect(results[1].problem).toMatchObject({ requested: 3, remaining: 2, payable: 97, caps: [{ id: cap }] })
      expect(results[2].operation).toMatchObject({ caps: [cap, watched], would_refuse: [watched], owner_remaining: 0 })
    })
  })

  describe('an observe cap', () => {
    const counted = async (): Promise<Body[]> => {
      await ledgerOf(suite.app, channel).refusals.flush()
      const { items } = bodyOf(200, await suite.app.get(`${channel.quotas}/refusals?${channel.owner}=${suite.owner}`))
      return items.map(({ code, count, requested }: Body) => [code, count, requested])
    }

    it('admits everything, and the first answer and its replays name what it would have refused', async () => {
      await total(100)
      const cap = await rolling(5, MINUTE, { cap: 'observe' })
      const other = await cycle(3, HOUR, { cap: 'observe' })
      const key = newKey()
      expect((await consume(3)).body.would_refuse).toBeUndefined()
      const first = await consume(4, key)
      expect(first.body).toMatchObject({ caps: [cap, other], would_refuse: [cap, other], owner_remaining: 93 })
      expect(Object.keys(first.body).slice(8, 10)).toEqual(['caps', 'would_refuse'])
      expect(await counters(cap)).toEqual([7, 0, 0])
      replayed(await consume(4, key), first)
      const { would_refuse: _, ...later } = first.body
      expect((await read(first.body.id)).body).toEqual(later)
      expect((await ledger(`${channel.owner}=${suite.owner}`)).body.items[0]).toEqual(later)
      const held = await reserve(1)
      expect(held.body.would_refuse).toEqual([cap, other])
      expect((await commit(held.body.id)).body).toMatchObject({ caps: [cap, other] })
      expect((await commit(held.body.id)).text).not.toContain('would_refuse')
      expect((await refund(first.body.id)).text).not.toContain('would_refuse')
      replayed(await consume(4, key), first)
    })

    it('is counted among refusals once for each operation, by its amount', async () => {
      await total(100)
      await rolling(1, MINUTE, { cap: 'observe' })
      await rolling(2, MINUTE, { cap: 'observe' })
      const key = newKey()
      await consume(5, key)
      await consume(5, key)
      await reserve(4)
      await batch([item(3)])
      expect(await counted()).toEqual([['quota_observed', 3, 12]])
      const cap = await rolling(2)
      await consume(7)
      expect(await counted()).toEqual([
        ['quota_exceeded', 1, 7],
        ['quota_observed', 3, 12],
      ])
      await remove(cap)
      const top = bodyOf(200, await suite.app.get(`${channel.quotas}/refusals/top?page_size=100`)).items
      expect(
        top
          .filter((one: Body) => one[channel.owner] === suite.owner)
          .map(({ code, count, requested }: Body) => [code, count, requested]),
      ).toEqual([
        ['quota_observed', 3, 12],
        ['quota_exceeded', 1, 7],
      ])
    })
  })

  describe('what is available', () => {
    it('is what the payers have left, limited by enforce caps, in every answer', async () => {
      expect(await summary()).toMatchObject({ total: 0, available: 0, caps: [], quota_count: 0 })
      const payer = await total(100)
      expect(await summary()).toMatchObject({ remaining: 100, available: 100, caps: [] })
      const minute = await rolling(20)
      const fixed = await total(30, DAY, { cap: 'enforce' })
      const watched = await cycle(1, HOUR, { cap: 'observe' })
      await update(await rolling(1), { status: 'disabled' })
      expect((await consume(5)).body.owner_remaining).toBe(15)
      const boundary = '2026-11-21T12:01:00.000Z'
      expect(await summary()).toEqual({
        [channel.owner]: suite.owner,
        group_id: null,
        total: 100,
        used: 5,
        reserved: 0,
        remaining: 95,
        quota_count: 1,
        available: 15,
        caps: [
          {
            id: minute,
            group_id: null,
            cap: 'enforce',
            quota_type: 3,
            total: 20,
            used: 5,
            reserved: 0,
            remaining: 15,
            refills_at: boundary,
          },
          {
            id: fixed,
            group_id: null,
            cap: 'enforce',
            quota_type: 1,
            total: 30,
            used: 5,
            reserved: 0,
            remaining: 25,
            refills_at: null,
          },
          {
            id: watched,
            group_id: null,
            cap: 'observe',
            quota_type: 2,
            total: 1,
            used: 5,
            reserved: 0,
            remaining: 0,
            refills_at: inSeconds(HOUR),
          },
        ],
      })
      const owners = bodyOf(200, await suite.app.get(`${channel.quotas}/owners?after=${suite.owner - 1}&page_size=1`))
      expect(owners.items[0]).toEqual({
        [channel.owner]: suite.owner,
        group_id: null,
        total: 100,
        used: 5,
        reserved: 0,
        remaining: 95,
        quota_count: 1,
        available: 15,
      })
      await update(payer, { total: 10 })
      expect(await summary()).toMatchObject({ remaining: 5, available: 5 })
      await update(payer, { status: 'disabled' })
      expect(await summary()).toMatchObject({ remaining: 0, available: 0, caps: [{ id: minute }, {}, {}] })
    })

    it('is the answer of a check, with the refusing caps', async () => {
      await total(100)
      const minute = await rolling(20)
      const fixed = await cycle(30, HOUR, { cap: 'enforce' })
      await rolling(1, MINUTE, { cap: 'observe' })
      const base = { remaining: 20, payable: 100 }
      expect((await check(20)).body).toEqual({ allowed: true, requested: 20, ...base, refills_at: null, caps: [] })
      await consume(15)
      const answer = (await check(16)).body
      expect(answer).toMatchObject({ allowed: false, remaining: 5, payable: 85, refills_at: inSeconds(HOUR) })
      expect(answer.caps.map(({ id }: Body) => id)).toEqual([minute, fixed])
      const { body } = await consume(16)
      expect(body).toMatchObject({ requested: 16, remaining: 5, payable: 85, refills_at: inSeconds(HOUR) })
      expect(body.caps).toEqual(answer.caps)
      expect(body.quotas).toHaveLength(1)
      expect((await check(21)).body).toMatchObject({ allowed: false, refills_at: null, caps: [{}, {}] })
      expect((await check(15)).body).toMatchObject({ refills_at: '2026-11-21T12:01:00.000Z', caps: [{ id: minute }] })
    })

    it('of an owner without an active payer is 0, whatever the caps', async () => {
      const cap = await rolling(20)
      expect((await check(1)).body).toEqual({
        allowed: false,
        requested: 1,
        remaining: 0,
        payable: 0,
        refills_at: null,
        caps: [],
      })
      expect((await check(21)).body.caps).toMatchObject([{ id: cap }])
    })
  })

  describe('when more fits again', () => {
    const fits = async (amount: number): Promise<string | null> => {
      const { body } = await consume(amount)
      expect(body.refills_at).toBe((await check(amount)).body.refills_at)
      return body.refills_at
    }

    it('is when payers and caps admit it together', async () => {
      await cycle(10, 3 * HOUR)
      await cycle(10, 2 * HOUR, { cap: 'enforce', cycle_unit: 'hour' })
      const { body } = await consume(10)
      expect(body.status ?? 200).toBe(200)
      expect(await fits(10)).toBe(inSeconds(3 * HOUR))
      await total(10)
      expect(await fits(10)).toBe(inSeconds(2 * HOUR))
      expect(await fits(11)).toBeNull()
    })

    it('is also the end of an enforce cap', async () => {
      await total(100)
      await total(5, HOUR, { cap: 'enforce' })
      expect(await fits(6)).toBe(inSeconds(HOUR))
      suite.app.clock.pass(HOUR)
      expect((await consume(6)).status).toBe(200)
    })

    it('is a boundary of a rolling cap, after as many as necessary', async () => {
      await total(1000)
      await rolling(100)
      for (let n = 0; n < 4; n += 1) {
        await consume(25)
        suite.app.clock.pass(5)
      }
      // At 12:00:20; units counted at 0, 5, 10 and 15 return at 60, 65, 70 and 75.
      expect(await fits(25)).toBe(inSeconds(40))
      expect(await fits(26)).toBe(inSeconds(45))
      expect(await fits(100)).toBe(inSeconds(55))
      suite.app.clock.pass(40)
      expect((await consume(25)).status).toBe(200)
    })

    it('is the end of a hold, although a rolling cap itself shows the boundary of its slot', async () => {
      await total(1000)
      const cap = await rolling(10, HOUR)
      // Slots are 150 s long: no boundary is at the end of this hold.
      await reserve(10, 10 * MINUTE + 1)
      expect(await fits(10)).toBe(inSeconds(10 * MINUTE + 1))
      expect((await summary()).caps).toMatchObject([{ id: cap, reserved: 10, refills_at: inSeconds(HOUR) }])
      suite.app.clock.pass(10 * MINUTE)
      refused(await consume(10), 409, 'quota_exceeded')
      suite.app.clock.pass(1)
      expect((await summary()).caps).toMatchObject([{ id: cap, reserved: 0, remaining: 10, refills_at: null }])
      expect((await consume(10)).status).toBe(200)
    })
  })

  describe('a rolling cap', () => {
    it('counts units until the first boundary at least a whole window later', async () => {
      await total(1000)
      const cap = await rolling(10)
      suite.app.clock.pass(1)
      await consume(10)
      // Counted at 12:00:01, with slots of 2.5 s: until 12:01:02.5.
      suite.app.clock.pass(61)
      expect(await counters(cap)).toEqual([10, 0, 0])
      refused(await consume(1), 409, 'quota_exceeded')
      suite.app.clock.set('2026-11-21T12:01:02.499Z')
      refused(await consume(1), 409, 'quota_exceeded')
      suite.app.clock.set('2026-11-21T12:01:02.500Z')
      expect(await counters(cap)).toEqual([0, 0, 10])
      expect((await consume(10)).status).toBe(200)
    })

    it('counts a hold from its creation, whenever it is committed', async () => {
      await total(1000)
      const cap = await rolling(10)
      const { id: held } = (await reserve(8, HOUR)).body
      suite.app.clock.pass(30)
      expect((await commit(held, 6)).body).toMatchObject({ charged: 6, owner_remaining: 4 })
      expect(await counters(cap)).toEqual([6, 0, 4])
      suite.app.clock.pass(29)
      expect(await counters(cap)).toEqual([6, 0, 4])
      suite.app.clock.pass(1)
      expect(await counters(cap)).toEqual([0, 0, 10])
      const { id: second } = (await reserve(5, HOUR)).body
      suite.app.clock.pass(60)
      expect(await counters(cap)).toEqual([0, 0, 10])
      await consume(10)
      expect((await commit(second)).body).toMatchObject({ owner_remaining: 0 })
      expect(await counters(cap)).toEqual([10, 0, 0])
    })

    it('continues to empty while it is disabled, expired or deleted', async () => {
      await total(1000)
      const caps = [await rolling(10), await rolling(10), await rolling(10)] as const
      await consume(10)
      await update(caps[0], { status: 'disabled' })
      await update(caps[1], { expire_at: inSeconds(1) })
      await remove(caps[2])
      suite.app.clock.pass(30)
      expect(await counters(caps[0])).toEqual([10, 0, 0])
      expect(await counters(caps[1])).toEqual([10, 0, 0])
      suite.app.clock.pass(30)
      expect(await counters(caps[0])).toEqual([0, 0, 10])
      expect((await quota(caps[1])).body).toMatchObject({ status: 'expired', used: 0 })
      expect(bodyOf(200, await restore(caps[2]))).toMatchObject({ used: 0, remaining: 10 })
    })

    it('begins a new count with another window, and with a manual reset', async () => {
      await total(1000)
      const cap = await rolling(10)
      const { id: spent } = (await consume(3)).body
      const { id: held } = (await reserve(4)).body
      expect((await update(cap, { window_seconds: 120 })).body).toMatchObject({ used: 0, reserved: 0, version: 2 })
      expect(await changesOf(cap)).toMatchObject([
        {
          action: 'update',
          before: { window_seconds: 60, used: 3, reserved: 4 },
          after: { window_seconds: 120, used: 0, reserved: 0 },
        },
        {},
      ])
      await consume(5)
      await refund(spent)
      await commit(held)
      expect(await counters(cap)).toEqual([5, 0, 5])
      expect(await reset(cap)).toMatchObject({ used: 0, remaining: 10, version: 2 })
      expect((await changesOf(cap))[0]).toMatchObject({
        action: 'reset',
        before: { used: 5, reserved: 0 },
        after: { used: 0, reserved: 0 },
      })
      expect((await consume(10)).status).toBe(200)
      expect((await update(cap, { total: 12 })).body).toMatchObject({ used: 10, remaining: 2 })
    })
  })

  describe('returning units', () => {
    it('returns to each cap the sum of what returns to the payers', async () => {
      await cycle(3, HOUR)
      await total(100)
      const caps = [
        await cycle(50, HOUR, { cap: 'enforce' }),
        await total(50, DAY, { cap: 'observe' }),
        await rolling(50),
      ] as const
      const all = async (): Promise<unknown[]> => Promise.all(caps.map(counters))
      const same = (used: number, reserved: number): unknown[] => caps.map(() => [used, reserved, 50 - used - reserved])
      const { id: held } = (await reserve(10)).body
      const { id: released } = (await reserve(7)).body
      await reserve(5, MINUTE / 2)
      const { id: spent } = (await consume(8)).body
      expect(await all()).toEqual(same(8, 22))
      await commit(held, 4)
      expect(await all()).toEqual(same(12, 12))
      await release(released)
      expect(await all()).toEqual(same(12, 5))
      await refund(spent, 3)
      expect(await all()).toEqual(same(9, 5))
      suite.app.clock.pass(MINUTE / 2)
      expect(await all()).toEqual(same(9, 0))
      await sweep()
      expect(await all()).toEqual(same(9, 0))
      await refund(spent)
      await refund(held)
      expect(await all()).toEqual(same(0, 0))
    })

    it("uses each cap's own count: one has rolled, another has not", async () => {
      await total(100)
      const hourly = await cycle(50, HOUR, { cap: 'enforce' })
      const daily = await cycle(50, DAY, { cap: 'enforce' })
      const minute = await rolling(50)
      const long = await rolling(50, 2 * HOUR)
      const { id: spent } = (await consume(10)).body
      const { id: held } = (await reserve(10, 2 * HOUR)).body
      suite.app.clock.pass(HOUR)
      await consume(1)
      await refund(spent, 4)
      await commit(held, 3)
      expect(await counters(hourly)).toEqual([1, 0, 49])
      expect(await counters(daily)).toEqual([10, 0, 40])
      expect(await counters(minute)).toEqual([1, 0, 49])
      expect(await counters(long)).toEqual([10, 0, 40])
    })

    it('also applies to caps that are disabled, expired or deleted by then', async () => {
      await total(100)
      const disabled = await cycle(50, DAY, { cap: 'enforce' })
      const over = await total(50, DAY, { cap: 'enforce' })
      const deleted = await rolling(50, HOUR)
      const { id: spent } = (await consume(10)).body
      const { id: held } = (await reserve(10)).body
      await update(disabled, { status: 'disabled' })
      await update(over, { expire_at: inSeconds(1) })
      await remove(deleted)
      suite.app.clock.pass(2)
      await refund(spent)
      await release(held)
      expect(await counters(disabled)).toEqual([0, 0, 50])
      expect(await counters(over)).toEqual([0, 0, 50])
      expect(bodyOf(200, await restore(deleted))).toMatchObject({ used: 0, reserved: 0 })
    })

    it('does not change a cap that was reset manually since', async () => {
      await total(100)
      const cap = await total(50, DAY, { cap: 'enforce' })
      const { id: spent } = (await consume(10)).body
      const { id: held } = (await reserve(10, MINUTE)).body
      await reset(cap)
      await consume(1)
      await refund(spent)
      await commit(held, 5)
      expect(await counters(cap)).toEqual([1, 0, 49])
    })

    it('excludes units that are due at once, whether or not that is recorded', async () => {
      await total(100)
      const caps = [await rolling(10, HOUR), await total(10, DAY, { cap: 'enforce' })]
      const { id } = (await reserve(10, MINUTE)).body
      refused(await consume(1), 409, 'quota_exceeded')
      suite.app.clock.pass(MINUTE)
      expect((await consume(10)).body).toMatchObject({ caps, owner_remaining: 0 })
      expect((await read(id)).body).toMatchObject({ state: 'expired', caps })
      refused(await commit(id), 409, 'operation_already_settled')
      for (const cap of caps) expect(await counters(cap)).toEqual([10, 0, 0])
      await sweep()
      for (const cap of caps) expect(await counters(cap)).toEqual([10, 0, 0])
    })
  })

  describe('the ledger of a cap', () => {
    it('lists the operations that it counted, newest first', async () => {
      await total(1000)
      await cycle(3, HOUR)
      await consume(1)
      const cap = await rolling(500)
      const later = await total(500, DAY, { cap: 'observe' })
      const plain = (await consume(1)).body
      const split = (await consume(5)).body
      const held = (await reserve(2)).body
      const refunded = (await consume(4)).body
      await refund(refunded.id, 1)
      await update(later, { status: 'disabled' })
      const last = (await consume(7)).body
      const all = [last, refunded, held, split, plain].map(({ id }) => id)
      const page = async (id: number, more = ''): Promise<Body> => bodyOf(200, await ledger(`quota_id=${id}${more}`))
      expect(idsIn((await page(cap)).items)).toEqual(all)
      expect(idsIn((await page(later)).items)).toEqual(all.slice(1))
      expect(idsIn((await page(cap, '&kind=reserve')).items)).toEqual([held.id])
      expect(idsIn((await page(cap, '&state=consumed')).items)).toEqual(all.filter((id) => id !== held.id))
      const first = await page(cap, '&page_size=2')
      expect(idsIn(first.items)).toEqual(all.slice(0, 2))
      expect(idsIn((await page(cap, `&page_size=3&before=${first.next_before}`)).items)).toEqual(all.slice(2))
      await remove(cap)
      expect(idsIn((await page(cap)).items)).toEqual(all)
      expect(idsIn(bodyOf(200, await ledger(`${channel.owner}=${suite.owner}`)).items)).toHaveLength(6)
    })
  })

  describe('everywhere else', () => {
    it('a cap that ends soon is among the expiring quotas, and one of each type', async () => {
      const caps = [
        await total(5, HOUR, { cap: 'enforce' }),
        await rolling(5, MINUTE, { expire_at: inSeconds(2 * HOUR) }),
      ]
      const { items } = bodyOf(200, await suite.app.get(`${channel.quotas}/expiring?days=1&page_size=100`))
      expect(idsIn(items.filter((one: Body) => one[channel.owner] === suite.owner))).toEqual(caps)
    })

    it('a reset of a payer does not change caps', async () => {
      const payer = await total(10)
      const cap = await rolling(15)
      await consume(10)
      await reset(payer)
      expect((await consume(6)).body).toMatchObject({ remaining: 5, payable: 10, caps: [{ id: cap }] })
    })
  })
}
