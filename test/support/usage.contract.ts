import { afterAll, beforeAll, beforeEach, describe, expect } from '@jest/globals'
import type { Response } from 'supertest'
import { partOf } from '../../src/channel-api/ledger.module.js'
import { Sweeper } from '../../src/ledger/sweeper.js'
import type { QuotaRow } from '../../src/ledger/quota.entity.js'
import { MAIL } from '../../src/mail-quota/mail.channel.js'
import { SMS } from '../../src/sms-quota/sms.channel.js'
import { type As, type Sent, TestApp } from './app.js'
import { it } from './scoped.js'
import type { Store, StoreKind } from './store.js'

/** One channel as the wire shows it: everything that tells the two apart. */
export interface ChannelUnderTest {
  readonly name: 'mail' | 'SMS'
  /** The owner's field. */
  readonly owner: 'account_id' | 'user_id'
  /** Where usage lives. */
  readonly usage: string
  /** Where quotas live. */
  readonly quotas: string
  summary(owner: number): string
  readonly sweeper: string
}

export const MAIL_UNDER_TEST: ChannelUnderTest = {
  name: 'mail',
  owner: 'account_id',
  usage: '/api/v1/quotas/usage',
  quotas: '/api/v1/quotas',
  summary: (owner) => `/api/v1/quotas/summary/${owner}`,
  sweeper: partOf(MAIL, Sweeper),
}

export const SMS_UNDER_TEST: ChannelUnderTest = {
  name: 'SMS',
  owner: 'user_id',
  usage: '/api/sms/quota/usage',
  quotas: '/api/sms/admin/quota',
  summary: (owner) => `/api/sms/admin/quota/summary?user_id=${owner}`,
  sweeper: partOf(SMS, Sweeper),
}

/** One result of a batch, as far as tests look into it. */
interface BatchResult {
  status: number
  replayed?: boolean
  operation?: { id: string; owner_remaining: number }
  problem?: { errors?: { field: string }[] }
}

const START = '2026-11-21T12:00:00.000Z'
const MINUTE = 60
const HOUR = 3600
const DAY = 86_400
const LARGEST = 1_000_000_000_000
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** What every channel promises about usage (contract, §4 and §7 "Of usage"), as a caller sees it. */
export function usageContract(channel: ChannelUnderTest, other: ChannelUnderTest, kind: StoreKind): void {
  let store: Store
  let app: TestApp
  let owner = 1000
  let keys = 0

  beforeAll(async () => {
    store = await kind.open()
    app = await TestApp.start(store)
  })

  afterAll(async () => {
    await app.stop()
    await store.drop()
  })

  // Every test has an owner of its own, and the same noon.
  beforeEach(() => {
    owner += 1
    app.clock.set(START)
  })

  const newKey = (): string => `key-${(keys += 1)}`
  const inSeconds = (seconds: number): string => app.clock.after(seconds)

  /** Makes a quota of type 1. */
  async function total(amount: number, endsIn = 30 * DAY, more: object = {}): Promise<number> {
    const body = { [channel.owner]: owner, quota_type: 1, total: amount, expire_at: inSeconds(endsIn), ...more }
    const made = await app.post(channel.quotas, body)
    expect(made.status).toBe(201)
    return made.body.id
  }

  /** Makes a quota of type 2. */
  async function cycle(amount: number, resetsIn = DAY, more: object = {}): Promise<number> {
    const made = await app.post(channel.quotas, {
      [channel.owner]: owner,
      quota_type: 2,
      total: amount,
      cycle_unit: 'day',
      cycle_reset_at: inSeconds(resetsIn),
      ...more,
    })
    expect(made.status).toBe(201)
    return made.body.id
  }

  const consume = async (amount: number, key = newKey(), sent: Sent = {}): Promise<Response> =>
    app.post(`${channel.usage}/consume`, { [channel.owner]: owner, amount }, { as: 'usage', key, ...sent })
  const reserve = async (amount: number, ttl?: number, key = newKey(), sent: Sent = {}): Promise<Response> =>
    app.post(
      `${channel.usage}/reserve`,
      { [channel.owner]: owner, amount, ...(ttl === undefined ? {} : { ttl_seconds: ttl }) },
      { as: 'usage', key, ...sent },
    )
  const commit = async (id: string, amount?: number, sent: Sent = {}): Promise<Response> =>
    app.post(`${channel.usage}/${id}/commit`, amount === undefined ? {} : { amount }, { as: 'usage', ...sent })
  const release = async (id: string, sent: Sent = {}): Promise<Response> =>
    app.send('post', `${channel.usage}/${id}/release`, { as: 'usage', ...sent })
  const refund = async (id: string, amount?: number, key = newKey(), sent: Sent = {}): Promise<Response> =>
    app.post(`${channel.usage}/${id}/refund`, amount === undefined ? {} : { amount }, { as: 'usage', key, ...sent })
  const read = async (id: string): Promise<Response> => app.get(`${channel.usage}/${id}`, { as: 'usage' })
  const check = async (amount: number): Promise<Response> =>
    app.get(`${channel.usage}/check?${channel.owner}=${owner}&amount=${amount}`, { as: 'usage' })
  const ledger = async (query: string): Promise<Response> => app.get(`${channel.usage}?${query}`, { as: 'usage' })
  const batch = async (items: readonly unknown[], as: As = 'usage'): Promise<Response> =>
    app.post(`${channel.usage}/consume/batch`, { items }, { as })
  const item = (amount: unknown, key: unknown = newKey()): object => ({
    [channel.owner]: owner,
    amount,
    idempotency_key: key,
  })
  const quota = async (id: number): Promise<Response> => app.get(`${channel.quotas}/${id}`)
  const update = async (id: number, patch: object): Promise<Response> => app.put(`${channel.quotas}/${id}`, patch)
  const remove = async (id: number): Promise<Response> => app.delete(`${channel.quotas}/${id}`)
  const restore = async (id: number): Promise<Response> => app.send('post', `${channel.quotas}/${id}/restore`)
  const summary = async (): Promise<Record<string, number>> => (await app.get(channel.summary(owner))).body
  const sweep = async (): Promise<void> => app.app.get<Sweeper<QuotaRow>>(channel.sweeper).sweep()

  /** What a quota's counters show: [used, reserved, remaining]. */
  async function counters(id: number): Promise<[number, number, number]> {
    const { used, reserved, remaining } = (await quota(id)).body
    return [used, reserved, remaining]
  }

  async function sums(): Promise<[number, number, number]> {
    const { used, reserved, remaining } = await summary()
    return [used!, reserved!, remaining!]
  }

  function refused(response: Response, status: number, code: string): void {
    expect([response.status, response.body.code]).toEqual([status, code])
    expect(response.headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(response.body).toMatchObject({ status, request_id: response.headers['x-request-id'] })
  }

  function replayed(response: Response, first: Response): void {
    expect(response.status).toBe(first.status)
    expect(response.text).toBe(first.text)
    expect(response.headers['idempotency-replayed']).toBe('true')
    expect(response.headers['content-type']).toBe(first.headers['content-type'])
  }

  describe('consume', () => {
    it('answers 200 and the operation, member for member', async () => {
      const id = await total(100)
      const answer = await consume(20)
      expect(answer.status).toBe(200)
      expect(answer.headers['idempotency-replayed']).toBeUndefined()
      expect(answer.body).toEqual({
        id: expect.stringMatching(UUID_V7),
        kind: 'consume',
        state: 'consumed',
        [channel.owner]: owner,
        amount: 20,
        charged: 20,
        refunded: 0,
        allocations: [{ quota_id: id, amount: 20 }],
        owner_remaining: 80,
        expires_at: null,
        created_at: START,
      })
      expect(Object.keys(answer.body)).toEqual([
        'id',
        'kind',
        'state',
        channel.owner,
        'amount',
        'charged',
        'refunded',
        'allocations',
        'owner_remaining',
        'expires_at',
        'created_at',
      ])
    })

    it('shows at once in the quota and in the summary', async () => {
      const id = await total(100)
      await consume(20)
      expect(await counters(id)).toEqual([20, 0, 80])
      expect(await sums()).toEqual([20, 0, 80])
      expect((await quota(id)).body.version).toBe(1)
    })

    it('leaves updated_at and the history of changes alone', async () => {
      const id = await total(100)
      app.clock.pass(MINUTE)
      await consume(20)
      expect((await quota(id)).body.updated_at).toBe(START)
      expect((await app.get(`${channel.quotas}/${id}/changes`)).body.total).toBe(1)
    })

    it('takes the last unit, and not one more', async () => {
      const id = await total(10)
      expect((await consume(10)).body.owner_remaining).toBe(0)
      refused(await consume(1), 409, 'quota_exceeded')
      expect(await counters(id)).toEqual([10, 0, 0])
    })

    it('takes amounts up to 10^12', async () => {
      await total(LARGEST)
      expect((await consume(LARGEST)).body).toMatchObject({ charged: LARGEST, owner_remaining: 0 })
    })

    it.each([0, -1, 1.5, LARGEST + 1, '5', null, true, [5], {}])('refuses the amount %j', async (amount) => {
      await total(100)
      const answer = await app.post(
        `${channel.usage}/consume`,
        { [channel.owner]: owner, amount },
        { as: 'usage', key: newKey() },
      )
      refused(answer, 400, 'validation_failed')
      expect(answer.body.errors).toEqual([{ field: 'amount', message: expect.any(String) }])
      expect(await sums()).toEqual([0, 0, 100])
    })

    it.each([0, -1, 1.5, 2 ** 53, '7', null])('refuses the owner %j', async (id) => {
      const body = { [channel.owner]: id, amount: 1 }
      const answer = await app.post(`${channel.usage}/consume`, body, { as: 'usage', key: newKey() })
      refused(answer, 400, 'validation_failed')
      expect(answer.body.errors).toEqual([{ field: channel.owner, message: expect.any(String) }])
    })

    it('names every broken field at once, unknown ones too', async () => {
      const body = { amount: 0, quota_id: 3 }
      const answer = await app.post(`${channel.usage}/consume`, body, { as: 'usage', key: newKey() })
      const fields = answer.body.errors.map(({ field }: { field: string }) => field)
      expect(fields.sort()).toEqual(['amount', channel.owner, 'quota_id'].sort())
    })

    it("refuses the other channel's owner field", async () => {
      const body = { [other.owner]: owner, amount: 1 }
      refused(
        await app.post(`${channel.usage}/consume`, body, { as: 'usage', key: newKey() }),
        400,
        'validation_failed',
      )
    })

    it("never takes from the other channel's quotas", async () => {
      const body = { [other.owner]: owner, quota_type: 1, total: 5, expire_at: inSeconds(DAY) }
      expect((await app.post(other.quotas, body)).status).toBe(201)
      refused(await consume(1), 409, 'no_active_quota')
    })

    it("never takes from another owner's quotas", async () => {
      await total(5)
      owner += 1
      await total(7)
      await consume(6)
      owner -= 1
      expect(await sums()).toEqual([0, 0, 5])
      owner += 1
    })
  })

  describe('all or nothing', () => {
    it('splits an amount over several quotas', async () => {
      const first = await total(10, DAY)
      const second = await total(5, 2 * DAY)
      const answer = await consume(12)
      expect(answer.body).toMatchObject({
        charged: 12,
        allocations: [
          { quota_id: first, amount: 10 },
          { quota_id: second, amount: 2 },
        ],
        owner_remaining: 3,
      })
      expect(await counters(first)).toEqual([10, 0, 0])
      expect(await counters(second)).toEqual([2, 0, 3])
    })

    it('takes nothing where they cannot pay it together', async () => {
      const first = await total(10, DAY)
      const second = await total(5, 2 * DAY)
      refused(await consume(16), 409, 'quota_exceeded')
      refused(await reserve(16), 409, 'quota_exceeded')
      expect(await counters(first)).toEqual([0, 0, 10])
      expect(await counters(second)).toEqual([0, 0, 5])
      expect((await ledger(`${channel.owner}=${owner}`)).body.items).toEqual([])
      expect((await consume(15)).status).toBe(200)
    })

    it('splits over 200 quotas, and over a hold and what is left beside it', async () => {
      const ids = await Promise.all(Array.from({ length: 200 }, async (_, n) => total(2, DAY + n)))
      const hold = await reserve(199)
      expect(hold.body.allocations).toHaveLength(100)
      expect(hold.body.allocations[99]).toEqual({ quota_id: ids[99], amount: 1 })
      const rest = await consume(201)
      expect(rest.body.allocations).toHaveLength(101)
      expect(rest.body.allocations[0]).toEqual({ quota_id: ids[99], amount: 1 })
      expect(await sums()).toEqual([201, 199, 0])
    })

    it('reserves across quotas in the same way', async () => {
      const first = await total(10, DAY)
      const second = await total(5, 2 * DAY)
      const answer = await reserve(12)
      expect(answer.body.allocations).toEqual([
        { quota_id: first, amount: 10 },
        { quota_id: second, amount: 2 },
      ])
      expect(await counters(first)).toEqual([0, 10, 0])
      expect(await counters(second)).toEqual([0, 2, 3])
    })
  })

  describe('draw-down order', () => {
    const payer = async (): Promise<number> => (await consume(1)).body.allocations[0].quota_id

    it('takes first what ends first', async () => {
      await total(1, 3 * DAY)
      const soon = await total(1, DAY)
      await total(1, 2 * DAY)
      expect(await payer()).toBe(soon)
    })

    it('takes first what resets first', async () => {
      await cycle(1, 3 * DAY)
      const soon = await cycle(1, DAY)
      expect(await payer()).toBe(soon)
    })

    it('weighs a reset against an end', async () => {
      const ending = await total(1, 2 * DAY)
      const resetting = await cycle(1, DAY)
      expect(await payer()).toBe(resetting)
      expect(await payer()).toBe(ending)
    })

    it('takes the earlier of a reset and an end of one quota', async () => {
      const between = await total(1, 5 * DAY)
      const resetsLateEndsSoon = await cycle(1, 10 * DAY, { expire_at: inSeconds(DAY) })
      expect(await payer()).toBe(resetsLateEndsSoon)
      expect(await payer()).toBe(between)
    })

    it('takes a cycle without end after what ends before its reset', async () => {
      const resetting = await cycle(1, 10 * DAY)
      const ending = await total(1, 9 * DAY)
      expect(await payer()).toBe(ending)
      expect(await payer()).toBe(resetting)
    })

    it('takes the older quota of two that are lost together', async () => {
      const end = inSeconds(5 * DAY)
      app.clock.pass(MINUTE)
      const young = await total(1, 0, { expire_at: end })
      app.clock.set(START)
      const old = await total(1, 0, { expire_at: end })
      expect(old).toBeGreaterThan(young)
      app.clock.pass(HOUR)
      expect(await payer()).toBe(old)
      expect(await payer()).toBe(young)
    })

    it('takes the smaller id of two that are of one age', async () => {
      const ids = [await total(1), await total(1), await total(1)]
      expect([await payer(), await payer(), await payer()]).toEqual(ids)
    })

    it('follows a reset into the next cycle', async () => {
      const daily = await cycle(1, DAY)
      const ending = await total(1, DAY + HOUR)
      app.clock.pass(DAY)
      expect(await payer()).toBe(ending)
      expect(await payer()).toBe(daily)
    })

    it('follows an edit', async () => {
      const first = await total(1, DAY)
      const second = await total(1, 2 * DAY)
      await update(first, { expire_at: inSeconds(3 * DAY) })
      expect([await payer(), await payer()]).toEqual([second, first])
    })

    it('passes over what is empty, disabled, expired or deleted', async () => {
      const expired = await total(5, MINUTE)
      const disabled = await total(5, DAY)
      const deleted = await total(5, DAY)
      const empty = await total(0, DAY)
      const good = await total(5, 2 * DAY)
      await update(disabled, { status: 'disabled' })
      await remove(deleted)
      app.clock.pass(MINUTE)
      const answer = await consume(5)
      expect(answer.body.allocations).toEqual([{ quota_id: good, amount: 5 }])
      expect(answer.body.owner_remaining).toBe(0)
      for (const id of [expired, disabled, empty]) expect((await quota(id)).body.used).toBe(0)
    })

    it('passes over what an edit left below its use', async () => {
      const low = await total(10, DAY)
      const high = await total(10, 2 * DAY)
      await consume(8)
      await update(low, { total: 3 })
      expect(await counters(low)).toEqual([8, 0, 0])
      expect(await sums()).toEqual([8, 0, 10])
      expect((await consume(10)).body.allocations).toEqual([{ quota_id: high, amount: 10 }])
    })
  })

  describe('the refusal', () => {
    it('is this body, to the letter', async () => {
      const daily = await cycle(10, DAY)
      const ending = await total(5, 30 * DAY)
      await consume(4)
      await reserve(3)
      const answer = await consume(20, newKey(), { headers: { 'X-Request-Id': 'request-1' } })
      expect(answer.status).toBe(409)
      expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/)
      expect(answer.headers['retry-after']).toBeUndefined()
      expect(answer.body).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
        title: expect.any(String),
        status: 409,
        detail: expect.any(String),
        code: 'quota_exceeded',
        request_id: 'request-1',
        requested: 20,
        remaining: 8,
        refills_at: null,
        quotas: [
          { id: daily, total: 10, used: 4, reserved: 3, remaining: 3, refills_at: inSeconds(DAY) },
          { id: ending, total: 5, used: 0, reserved: 0, remaining: 5, refills_at: null },
        ],
      })
    })

    it('is the same for a reserve, and in a batch', async () => {
      await cycle(10, DAY)
      const alone = await consume(11)
      const held = await reserve(11)
      const { results } = (await batch([item(11)])).body
      const bare = ({ request_id: _, ...body }: Record<string, unknown>): Record<string, unknown> => body
      expect(bare(held.body)).toEqual(bare(alone.body))
      expect(results).toEqual([{ status: 409, problem: expect.objectContaining(bare(alone.body)) }])
    })

    it('names the first 20 quotas in draw-down order', async () => {
      const ids: number[] = []
      for (let n = 0; n < 22; n += 1) ids.push(await total(1, (23 - n) * DAY))
      const { body } = await consume(23)
      expect(body.remaining).toBe(22)
      expect(body.quotas.map(({ id }: { id: number }) => id)).toEqual(ids.reverse().slice(0, 20))
    })

    it('names active quotas alone', async () => {
      const expired = await total(5, MINUTE)
      const disabled = await total(5)
      const deleted = await total(5)
      const good = await total(5)
      await update(disabled, { status: 'disabled' })
      await remove(deleted)
      app.clock.pass(MINUTE)
      const { body } = await consume(6)
      expect(body.remaining).toBe(5)
      expect(body.quotas.map(({ id }: { id: number }) => id)).toEqual([good])
      expect(expired).toBeLessThan(good)
    })

    describe('says when the request could fit', () => {
      const expectRefill = async (amount: number, refill: string | null): Promise<void> => {
        const answer = await consume(amount)
        refused(answer, 409, 'quota_exceeded')
        expect(answer.body.refills_at).toBe(refill)
        const { body } = await check(amount)
        expect(body).toEqual({
          allowed: false,
          requested: amount,
          remaining: answer.body.remaining,
          refills_at: refill,
        })
      }

      it('never, where nothing resets', async () => {
        await total(5)
        await expectRefill(6, null)
      })

      it('at the reset', async () => {
        await cycle(5, DAY)
        await consume(3)
        await expectRefill(3, inSeconds(DAY))
        await expectRefill(5, inSeconds(DAY))
      })

      it('never, where the total is too small', async () => {
        await cycle(5, DAY)
        await expectRefill(6, null)
      })

      it('at the first reset that is enough, not at the first one', async () => {
        const small = await cycle(2, HOUR)
        await cycle(10, 5 * HOUR)
        await consume(12)
        await expectRefill(2, inSeconds(HOUR))
        await expectRefill(3, inSeconds(5 * HOUR))
        await expectRefill(12, inSeconds(5 * HOUR))
        await expectRefill(13, null)
        expect(small).toBeGreaterThan(0)
      })

      it('counting what is left of the others', async () => {
        await cycle(5, HOUR)
        await total(7, 10 * DAY)
        await consume(6)
        await expectRefill(11, inSeconds(HOUR))
        await expectRefill(12, null)
      })

      it('not counting what is over by then', async () => {
        await cycle(5, 2 * HOUR)
        await total(7, HOUR)
        await consume(1)
        await expectRefill(12, null)
        await consume(11)
        await expectRefill(5, inSeconds(2 * HOUR))
      })

      it('not counting what is over at that very instant', async () => {
        await cycle(5, HOUR)
        await total(7, HOUR)
        await expectRefill(13, null)
        await consume(5)
        await expectRefill(8, null)
      })

      it('before the quota ends, else never', async () => {
        const endsAtReset = await cycle(5, HOUR, { expire_at: inSeconds(HOUR) })
        await consume(5)
        await expectRefill(1, null)
        await update(endsAtReset, { expire_at: inSeconds(HOUR + 1) })
        await expectRefill(1, inSeconds(HOUR))
        const { quotas } = (await consume(1)).body
        expect(quotas[0].refills_at).toBe(inSeconds(HOUR))
      })

      it('in a quota of its own: its next reset before its end, else null', async () => {
        await cycle(5, HOUR)
        await cycle(5, 3 * HOUR, { expire_at: inSeconds(2 * HOUR) })
        await cycle(5, 3 * HOUR, { expire_at: inSeconds(3 * HOUR) })
        await cycle(5, 4 * HOUR, { expire_at: inSeconds(5 * HOUR) })
        const { quotas } = (await consume(21)).body
        expect(quotas.map(({ refills_at }: { refills_at: string }) => refills_at)).toEqual([
          inSeconds(HOUR),
          null,
          null,
          inSeconds(4 * HOUR),
        ])
      })

      it('counting holds that are due by then as returned', async () => {
        await total(10, 10 * DAY)
        await cycle(1, 2 * HOUR)
        await reserve(11, HOUR)
        await expectRefill(11, inSeconds(2 * HOUR))
      })

      it('counting a hold that is due at that very instant', async () => {
        await total(10, 10 * DAY)
        await cycle(1, 2 * HOUR)
        await reserve(11, 2 * HOUR)
        await expectRefill(11, inSeconds(2 * HOUR))
      })

      it('at a later reset, where the hold lasts beyond the first', async () => {
        await total(10, 10 * DAY)
        await cycle(1, 2 * HOUR)
        await reserve(11, 3 * HOUR)
        await expectRefill(1, inSeconds(2 * HOUR))
        await expectRefill(2, inSeconds(2 * HOUR + DAY))
        await expectRefill(11, inSeconds(2 * HOUR + DAY))
        await expectRefill(12, null)
      })

      it('with a hold in the cycle that a reset ends', async () => {
        await cycle(5, HOUR)
        await reserve(5, 2 * HOUR)
        await expectRefill(5, inSeconds(HOUR))
      })

      it('from there on, as it said', async () => {
        await cycle(5, HOUR)
        await consume(5)
        const { refills_at } = (await consume(4)).body
        app.clock.set(Date.parse(refills_at) - 1)
        refused(await consume(4), 409, 'quota_exceeded')
        app.clock.set(refills_at)
        expect((await consume(4)).status).toBe(200)
      })
    })
  })

  describe('an owner without an active quota', () => {
    const expectNone = async (): Promise<void> => {
      const answer = await consume(1)
      refused(answer, 409, 'no_active_quota')
      expect(answer.body.type).toBe('about:blank')
      refused(await reserve(1), 409, 'no_active_quota')
      expect((await batch([item(1)])).body.results).toEqual([
        { status: 409, problem: expect.objectContaining({ code: 'no_active_quota', status: 409 }) },
      ])
      const checked = await check(1)
      expect(checked.body).toEqual({ allowed: false, requested: 1, remaining: 0, refills_at: null })
    }

    it('never had one', expectNone)

    it('has a disabled one', async () => {
      await update(await total(5), { status: 'disabled' })
      await expectNone()
    })

    it('has an expired one', async () => {
      await total(5, MINUTE)
      app.clock.pass(MINUTE)
      await expectNone()
    })

    it('has a deleted one', async () => {
      await remove(await total(5))
      await expectNone()
    })

    it('has one again, when it comes back', async () => {
      const id = await total(5)
      await remove(id)
      refused(await consume(1, 'comes back'), 409, 'no_active_quota')
      await restore(id)
      expect((await consume(1, 'comes back')).status).toBe(200)
    })
  })

  describe('reserve', () => {
    it('answers 201 and the operation, held for 600 s by default', async () => {
      const id = await total(100)
      const answer = await reserve(20)
      expect(answer.status).toBe(201)
      expect(answer.body).toEqual({
        id: expect.stringMatching(UUID_V7),
        kind: 'reserve',
        state: 'reserved',
        [channel.owner]: owner,
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

    it('counts against what others may take', async () => {
      await total(10)
      await reserve(7)
      refused(await consume(4), 409, 'quota_exceeded')
      refused(await reserve(4), 409, 'quota_exceeded')
      expect((await consume(3)).body.owner_remaining).toBe(0)
    })
  })

  describe('commit', () => {
    it('spends what is held', async () => {
      const id = await total(100)
      const hold = await reserve(20)
      app.clock.pass(MINUTE)
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

    it('takes no more than is held', async () => {
      const id = await total(100)
      const hold = await reserve(20)
      refused(await commit(hold.body.id, 21), 409, 'commit_exceeds_hold')
      expect(await counters(id)).toEqual([0, 20, 80])
      expect((await commit(hold.body.id, 20)).status).toBe(200)
    })

    it.each([0, -1, 1.5, '1', null])('refuses the amount %j', async (amount) => {
      await total(100)
      const hold = await reserve(20)
      const answer = await app.post(`${channel.usage}/${hold.body.id}/commit`, { amount }, { as: 'usage' })
      refused(answer, 400, 'validation_failed')
      expect((await read(hold.body.id)).body.state).toBe('reserved')
    })

    it('needs no body and no key', async () => {
      await total(100)
      const hold = await reserve(20)
      const answer = await app.send('post', `${channel.usage}/${hold.body.id}/commit`, { as: 'usage' })
      expect([answer.status, answer.body.charged]).toEqual([200, 20])
    })

    it('may be sent by another caller than the one who holds', async () => {
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

    it('takes an empty body, and none with anything in it', async () => {
      await total(100)
      const hold = await reserve(20)
      const path = `${channel.usage}/${hold.body.id}/release`
      refused(await app.post(path, { amount: 5 }, { as: 'usage' }), 400, 'validation_failed')
      expect((await app.post(path, {}, { as: 'usage' })).status).toBe(200)
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

    it('is for what was committed, as far as it was charged', async () => {
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

    it('is refused where nothing was ever charged', async () => {
      await total(100)
      const open = (await reserve(5)).body.id
      const released = (await reserve(5)).body.id
      await release(released)
      const expired = (await reserve(5, 1)).body.id
      app.clock.pass(1)
      for (const id of [open, released, expired]) {
        refused(await refund(id), 409, 'refund_exceeds_charge')
        refused(await refund(id, 1), 409, 'refund_exceeds_charge')
      }
    })

    it.each([0, -1, 1.5, '1', null])('refuses the amount %j', async (amount) => {
      await total(100)
      const { id } = (await consume(20)).body
      const answer = await app.post(`${channel.usage}/${id}/refund`, { amount }, { as: 'usage', key: newKey() })
      refused(answer, 400, 'validation_failed')
    })
  })

  describe('reading one operation', () => {
    it('shows what has become of it, with the owner_remaining of its last act', async () => {
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
      app.clock.pass(1)
      const expected = { ...hold.body, state: 'expired' }
      expect((await read(hold.body.id)).body).toEqual(expected)
      await sweep()
      expect((await read(hold.body.id)).body).toEqual(expected)
    })

    it('is 404 where there is none', async () => {
      const id = '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d'
      refused(await read(id), 404, 'operation_not_found')
      refused(await commit(id), 404, 'operation_not_found')
      refused(await release(id), 404, 'operation_not_found')
      refused(await refund(id), 404, 'operation_not_found')
    })

    it("does not find the other channel's", async () => {
      await total(5)
      const { id } = (await consume(1)).body
      refused(await app.get(`${other.usage}/${id}`), 404, 'operation_not_found')
      refused(await app.post(`${other.usage}/${id}/refund`, {}, { key: newKey() }), 404, 'operation_not_found')
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
    it('says whether an amount fits, and takes nothing', async () => {
      const id = await cycle(10, DAY)
      await consume(2)
      await reserve(3)
      expect((await check(5)).status).toBe(200)
      expect((await check(5)).body).toEqual({ allowed: true, requested: 5, remaining: 5, refills_at: null })
      expect((await check(6)).body).toEqual({
        allowed: false,
        requested: 6,
        remaining: 5,
        refills_at: inSeconds(DAY),
      })
      expect(await counters(id)).toEqual([2, 3, 5])
    })

    it('adds up quotas', async () => {
      await total(5, DAY)
      await cycle(5, DAY)
      expect((await check(10)).body.allowed).toBe(true)
      expect((await check(11)).body.allowed).toBe(false)
    })

    it.each([
      '',
      'amount=5',
      'OWNER=7',
      'OWNER=7&amount=0',
      'OWNER=7&amount=1.5',
      'OWNER=07&amount=1',
      'OWNER=x&amount=1',
    ])('refuses ?%s', async (query) => {
      refused(
        await app.get(`${channel.usage}/check?${query.replace('OWNER', channel.owner)}`, { as: 'usage' }),
        400,
        'validation_failed',
      )
    })

    it.each(['OWNER=7&amount=1&ttl_seconds=3', 'OWNER=7&amount=1&amount=1'])('refuses ?%s', async (query) => {
      refused(
        await app.get(`${channel.usage}/check?${query.replace('OWNER', channel.owner)}`, { as: 'usage' }),
        400,
        'validation_failed',
      )
    })
  })

  describe('the ledger', () => {
    const idsOf = (page: Response): string[] => page.body.items.map(({ id }: { id: string }) => id)

    it('lists operations newest first, as each is now', async () => {
      await total(100)
      const first = await consume(1)
      app.clock.pass(1)
      const second = await reserve(2)
      app.clock.pass(1)
      const third = await reserve(3)
      const committed = await commit(second.body.id, 1)
      const page = await ledger(`${channel.owner}=${owner}`)
      expect(page.status).toBe(200)
      expect(page.body).toEqual({ items: [third.body, committed.body, first.body], next_before: null })
    })

    it('is empty for an owner and for a quota nobody knows', async () => {
      expect((await ledger(`${channel.owner}=${owner}`)).body).toEqual({ items: [], next_before: null })
      expect((await ledger('quota_id=9007199254740991')).body).toEqual({ items: [], next_before: null })
    })

    it('pages by the last one seen', async () => {
      await total(100)
      const ids: string[] = []
      for (let n = 0; n < 7; n += 1) ids.unshift((await consume(1)).body.id)
      const query = `${channel.owner}=${owner}&page_size=3`
      const first = await ledger(query)
      expect([idsOf(first), first.body.next_before]).toEqual([ids.slice(0, 3), ids[2]])
      // What comes in meanwhile shifts nothing.
      await consume(1)
      const second = await ledger(`${query}&before=${first.body.next_before}`)
      expect([idsOf(second), second.body.next_before]).toEqual([ids.slice(3, 6), ids[5]])
      const third = await ledger(`${query}&before=${second.body.next_before}`)
      expect([idsOf(third), third.body.next_before]).toEqual([ids.slice(6), null])
      expect((await ledger(`${query}&before=${ids[6]}`)).body).toEqual({ items: [], next_before: null })
    })

    it('pages by an id that nothing has', async () => {
      await total(10)
      const { id } = (await consume(1)).body
      const from = async (before: string): Promise<string[]> =>
        idsOf(await ledger(`${channel.owner}=${owner}&before=${before}`))
      expect(await from('ffffffff-ffff-7fff-bfff-ffffffffffff')).toEqual([id])
      expect(await from('FFFFFFFF-FFFF-7FFF-BFFF-FFFFFFFFFFFF')).toEqual([id])
      expect(await from('00000000-0000-7000-8000-000000000000')).toEqual([])
    })

    it('has no next page where the last one is full', async () => {
      await total(100)
      for (let n = 0; n < 3; n += 1) await consume(1)
      expect((await ledger(`${channel.owner}=${owner}&page_size=3`)).body.next_before).toBeNull()
      expect((await ledger(`${channel.owner}=${owner}&page_size=2`)).body.next_before).not.toBeNull()
    })

    it('shows 20 where no size is given, and up to 100', async () => {
      await total(1000)
      await batch(Array.from({ length: 101 }, () => item(1)))
      expect((await ledger(`${channel.owner}=${owner}`)).body.items).toHaveLength(20)
      const page = await ledger(`${channel.owner}=${owner}&page_size=100`)
      expect(page.body.items).toHaveLength(100)
      const rest = await ledger(`${channel.owner}=${owner}&page_size=100&before=${page.body.next_before}`)
      expect([rest.body.items.length, rest.body.next_before]).toEqual([1, null])
    })

    it('by quota lists what the quota paid a part of', async () => {
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
      expect((await ledger(`${channel.owner}=${owner}`)).body.items).toEqual([spent.body])
      expect((await read(spent.body.id)).body).toEqual(spent.body)
    })

    it('shows an expired hold as expired, swept or not', async () => {
      const id = await total(10)
      await reserve(3, 1)
      app.clock.pass(1)
      const before = await ledger(`quota_id=${id}`)
      expect(before.body.items[0].state).toBe('expired')
      await sweep()
      expect((await ledger(`quota_id=${id}`)).text).toBe(before.text)
    })

    it.each([
      '',
      'before=01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d',
      'OWNER=7&quota_id=1',
      'OWNER=0',
      'OWNER=07',
      'OWNER=x',
      'OWNER=9007199254740992',
      'quota_id=0',
      'quota_id=-1',
      'quota_id=1.0',
      'OWNER=7&before=5',
      'OWNER=7&before=',
      'OWNER=7&before=01939f3e-5c00-4a6b-8c1d-2e3f4a5b6c7d',
      'OWNER=7&page_size=0',
      'OWNER=7&page_size=101',
      'OWNER=7&page_size=x',
      'OWNER=7&page=1',
      'OWNER=7&OWNER=7',
      'OWNER=7&status=expired',
    ])('refuses ?%s', async (query) => {
      refused(await ledger(query.replaceAll('OWNER', channel.owner)), 400, 'validation_failed')
    })
  })

  describe('a batch', () => {
    it('answers item by item, in order', async () => {
      const id = await total(10)
      const items = [item(4), item(7), item(6)]
      const answer = await batch(items)
      expect(answer.status).toBe(200)
      expect(answer.headers['content-type']).toMatch(/^application\/json/)
      expect(answer.body).toEqual({
        results: [
          { status: 200, replayed: false, operation: expect.objectContaining({ amount: 4, owner_remaining: 6 }) },
          { status: 409, problem: expect.objectContaining({ code: 'quota_exceeded', requested: 7, remaining: 6 }) },
          { status: 200, replayed: false, operation: expect.objectContaining({ amount: 6, owner_remaining: 0 }) },
        ],
      })
      expect(await counters(id)).toEqual([10, 0, 0])
    })

    it('makes operations like any other', async () => {
      await total(10)
      const { operation } = (await batch([item(4)])).body.results[0]
      expect(operation).toEqual((await read(operation.id)).body)
      expect((await refund(operation.id)).body.owner_remaining).toBe(10)
    })

    it('may name several owners', async () => {
      await total(10)
      const mine = item(4)
      owner += 1
      await total(20)
      const { results } = (await batch([mine, item(5), { ...mine, idempotency_key: newKey() }])).body
      expect(results.map(({ operation }: BatchResult) => operation?.owner_remaining)).toEqual([6, 15, 2])
    })

    it('answers a broken item by itself, naming its fields', async () => {
      const id = await total(10)
      const answer = await batch([
        item(1),
        { ...item(0), idempotency_key: '' },
        { ...item(1), extra: 1 },
        null,
        5,
        [],
        {},
        item(2, 'ü'),
        item(2, 'k'.repeat(256)),
        item(2, 5),
        item(2, channel.name.padEnd(255, 'b')),
      ])
      expect(answer.status).toBe(200)
      const shown = answer.body.results.map(({ status, problem }: BatchResult) => [
        status,
        ...(problem?.errors ?? []).map(({ field }) => field).sort(),
      ])
      expect(shown).toEqual([
        [200],
        [400, 'items[1].amount', 'items[1].idempotency_key'],
        [400, 'items[2].extra'],
        [400, 'items[3]'],
        [400, 'items[4]'],
        [400, 'items[5]'],
        [400, ...[`items[6].${channel.owner}`, 'items[6].amount', 'items[6].idempotency_key'].sort()],
        [400, 'items[7].idempotency_key'],
        [400, 'items[8].idempotency_key'],
        [400, 'items[9].idempotency_key'],
        [200],
      ])
      expect(answer.body.results[1].problem).toMatchObject({ code: 'validation_failed', status: 400 })
      expect(await counters(id)).toEqual([3, 0, 7])
    })

    it.each([
      [{}],
      [{ items: [] }],
      [{ items: 5 }],
      [{ items: null }],
      [{ items: {} }],
      [[]],
      [{ items: [{}], more: 1 }],
    ])('that is none is 400 as a whole: %j', async (body) => {
      refused(await app.post(`${channel.usage}/consume/batch`, body, { as: 'usage' }), 400, 'validation_failed')
    })

    it('takes 1000 items, and not 1001', async () => {
      const id = await total(999)
      const items = Array.from({ length: 1000 }, () => item(1))
      refused(await batch([...items, item(1)]), 400, 'validation_failed')
      expect(await counters(id)).toEqual([0, 0, 999])
      const { results } = (await batch(items)).body
      expect(results.map(({ status }: BatchResult) => status)).toEqual([...Array.from({ length: 999 }, () => 200), 409])
      expect(await counters(id)).toEqual([999, 0, 0])
    })

    it('needs no Idempotency-Key header: each item has its own', async () => {
      await total(10)
      expect((await batch([item(1)])).status).toBe(200)
    })

    it('replays within itself', async () => {
      const id = await total(10)
      const key = newKey()
      const { results } = (await batch([item(3, key), item(3, key), item(4, key)])).body
      expect(results).toEqual([
        { status: 200, replayed: false, operation: expect.objectContaining({ amount: 3 }) },
        { status: 200, replayed: true, operation: results[0].operation },
        { status: 422, problem: expect.objectContaining({ code: 'idempotency_key_reused', status: 422 }) },
      ])
      expect(await counters(id)).toEqual([3, 0, 7])
    })

    it('judges the next request with a key anew where the one before was refused', async () => {
      await total(10)
      const key = newKey()
      const { results } = (await batch([item(11, key), item(4, key), item(11, key)])).body
      expect(results.map(({ status }: BatchResult) => status)).toEqual([409, 200, 422])
    })
  })

  describe('exactly once', () => {
    it('needs a key for consume, reserve and refund', async () => {
      await total(10)
      const { id } = (await consume(1)).body
      const body = { [channel.owner]: owner, amount: 1 }
      for (const path of ['consume', 'reserve', `${id}/refund`]) {
        const answer = await app.post(`${channel.usage}/${path}`, path.endsWith('refund') ? {} : body, { as: 'usage' })
        refused(answer, 400, 'idempotency_key_missing')
      }
      expect(await sums()).toEqual([1, 0, 9])
    })

    it.each([
      ['empty', ''],
      ['of 256 characters', 'k'.repeat(256)],
      ['beyond ASCII', 'schl\u00fcssel'],
      ['with a control character', 'a\tb'],
    ])('refuses a key that is %s', async (_, key) => {
      await total(10)
      refused(await consume(1, key), 400, 'idempotency_key_invalid')
      refused(await reserve(1, 60, key), 400, 'idempotency_key_invalid')
    })

    it('refuses a key sent twice, even the same', async () => {
      await total(10)
      const headers = { 'Idempotency-Key': ['k', 'k'] as unknown as string }
      const body = { [channel.owner]: owner, amount: 1 }
      refused(await app.post(`${channel.usage}/consume`, body, { headers }), 400, 'idempotency_key_invalid')
    })

    it('judges the body before the key, and the key before the operation', async () => {
      refused(
        await app.post(`${channel.usage}/consume`, { [channel.owner]: owner, amount: 0 }),
        400,
        'validation_failed',
      )
      const absent = `${channel.usage}/01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d/refund`
      refused(await app.post(absent, {}), 400, 'idempotency_key_missing')
    })

    it.each(['!', '~', 'a,b', '"quoted"', 'a b', '{}'])('takes a key like %s', async (part) => {
      const id = await total(10)
      const mine = `${part}${part.repeat(255)}`.slice(0, 255)
      const first = await consume(1, mine)
      expect(first.status).toBe(200)
      replayed(await consume(1, mine), first)
      expect(await counters(id)).toEqual([1, 0, 9])
    })

    it('replays a consume byte for byte, and takes nothing twice', async () => {
      const id = await total(10)
      const key = newKey()
      const first = await consume(4, key)
      expect(first.headers['idempotency-replayed']).toBeUndefined()
      for (let n = 0; n < 3; n += 1) replayed(await consume(4, key), first)
      expect(await counters(id)).toEqual([4, 0, 6])
      expect((await ledger(`${channel.owner}=${owner}`)).body.items).toHaveLength(1)
    })

    it('replays a reserve with its 201', async () => {
      const id = await total(10)
      const key = newKey()
      const first = await reserve(4, 60, key)
      app.clock.pass(10)
      replayed(await reserve(4, 60, key), first)
      expect(first.status).toBe(201)
      expect(await counters(id)).toEqual([0, 4, 6])
    })

    it('replays a refund', async () => {
      const id = await total(10)
      const { id: operation } = (await consume(8)).body
      const key = newKey()
      const first = await refund(operation, 3, key)
      await refund(operation, 2)
      replayed(await refund(operation, 3, key), first)
      expect(await counters(id)).toEqual([3, 0, 7])
    })

    it('replays alone what was sent in a batch, and in a batch what was sent alone', async () => {
      const id = await total(10)
      const inBatch = newKey()
      const alone = newKey()
      const sent = await batch([item(2, inBatch)])
      const first = await consume(3, alone)
      const again = await consume(2, inBatch)
      expect(again.headers['idempotency-replayed']).toBe('true')
      expect(sent.text).toBe(`{"results":[{"status":200,"replayed":false,"operation":${again.text}}]}`)
      const both = await batch([item(3, alone), item(2, inBatch)])
      expect(both.text).toBe(
        `{"results":[{"status":200,"replayed":true,"operation":${first.text}},{"status":200,"replayed":true,"operation":${again.text}}]}`,
      )
      expect(await counters(id)).toEqual([5, 0, 5])
    })

    it('replays whatever has become of the operation since', async () => {
      await total(10)
      const consumed = newKey()
      const reserved = newKey()
      const first = await consume(4, consumed)
      const hold = await reserve(3, 60, reserved)
      await refund(first.body.id)
      await commit(hold.body.id, 1)
      app.clock.pass(DAY)
      replayed(await consume(4, consumed), first)
      replayed(await reserve(3, 60, reserved), hold)
      expect(await sums()).toEqual([1, 0, 9])
    })

    it('replays whatever has become of the quota since', async () => {
      const key = newKey()
      const id = await cycle(10, HOUR)
      const first = await consume(4, key)
      app.clock.pass(HOUR)
      replayed(await consume(4, key), first)
      await update(id, { total: 1 })
      replayed(await consume(4, key), first)
      await update(id, { status: 'disabled' })
      replayed(await consume(4, key), first)
      await remove(id)
      replayed(await consume(4, key), first)
      expect((await batch([item(4, key)])).body.results[0]).toEqual({
        status: 200,
        replayed: true,
        operation: first.body,
      })
      await restore(id)
      expect(await counters(id)).toEqual([0, 0, 1])
    })

    it('replays after 30 days', async () => {
      await total(10, 60 * DAY)
      const key = newKey()
      const first = await consume(4, key)
      app.clock.pass(30 * DAY)
      await sweep()
      replayed(await consume(4, key), first)
    })

    it('refuses the same key with another request', async () => {
      const id = await total(100)
      const key = newKey()
      const first = await consume(4, key)
      refused(await consume(5, key), 422, 'idempotency_key_reused')
      refused(await reserve(4, 600, key), 422, 'idempotency_key_reused')
      refused(await refund(first.body.id, 4, key), 422, 'idempotency_key_reused')
      // The key is looked at before the operation is missed.
      const unknown = '019aa000-0000-7000-8000-000000000000'
      refused(await refund(unknown, 4, key), 422, 'idempotency_key_reused')
      refused(await refund(unknown, 4), 404, 'operation_not_found')
      owner += 1
      refused(await consume(4, key), 422, 'idempotency_key_reused')
      await total(100)
      refused(await consume(4, key), 422, 'idempotency_key_reused')
      expect((await batch([item(4, key)])).body.results).toEqual([
        { status: 422, problem: expect.objectContaining({ code: 'idempotency_key_reused' }) },
      ])
      owner -= 1
      replayed(await consume(4, key), first)
      expect(await counters(id)).toEqual([4, 0, 96])
      owner += 1
    })

    it('keeps one set of keys for creating and for using', async () => {
      const key = newKey()
      const body = { [channel.owner]: owner, quota_type: 1, total: 5, expire_at: inSeconds(DAY) }
      const made = await app.post(channel.quotas, body, { as: 'admin', key })
      expect(made.status).toBe(201)
      refused(await consume(1, key, { as: 'admin' }), 422, 'idempotency_key_reused')
      expect((await consume(1, key)).status).toBe(200)
    })

    it('tells a reserve apart by how long it holds', async () => {
      await total(100)
      const key = newKey()
      await reserve(4, 600, key)
      refused(await reserve(4, 601, key), 422, 'idempotency_key_reused')
      refused(await reserve(5, 600, key), 422, 'idempotency_key_reused')
      refused(await consume(4, key), 422, 'idempotency_key_reused')
    })

    it('tells a refund apart by its operation and its amount', async () => {
      await total(100)
      const one = (await consume(10)).body.id
      const two = (await consume(10)).body.id
      const key = newKey()
      await refund(one, 4, key)
      refused(await refund(two, 4, key), 422, 'idempotency_key_reused')
      refused(await refund(one, 5, key), 422, 'idempotency_key_reused')
      refused(await refund(one, undefined, key), 422, 'idempotency_key_reused')
    })

    it('compares requests by meaning: absent defaults', async () => {
      await total(100)
      const short = newKey()
      const long = newKey()
      const unsaid = await reserve(4, undefined, short)
      replayed(await reserve(4, 600, short), unsaid)
      const said = await reserve(4, 600, long)
      replayed(await reserve(4, undefined, long), said)
      const operation = (await consume(10)).body.id
      await refund(operation, 4)
      const all = newKey()
      const first = await refund(operation, undefined, all)
      expect(first.body.refunded).toBe(10)
      replayed(await refund(operation, 6, all), first)
      replayed(await refund(operation, undefined, all), first)
      refused(await refund(operation, 10, all), 422, 'idempotency_key_reused')
      const second = (await consume(7)).body.id
      const named = newKey()
      const whole = await refund(second, 7, named)
      replayed(await refund(second, undefined, named), whole)
    })

    it('compares requests by meaning: the form of numbers, the order of members, white space', async () => {
      await total(1000)
      const key = newKey()
      const first = await consume(100, key)
      const path = `${channel.usage}/consume`
      const json = { 'Content-Type': 'application/json' }
      for (const body of [
        `{"amount":1e2,"${channel.owner}":${owner}}`,
        `{ "amount" : 100.0 , "${channel.owner}" : ${owner}.0 }`,
      ]) {
        replayed(await app.send('post', path, { as: 'usage', key, headers: json, body }), first)
      }
    })

    it('refuses without remembering, so that a request deferred today passes after the reset', async () => {
      await cycle(10, HOUR)
      await consume(8)
      const key = newKey()
      refused(await consume(5, key), 409, 'quota_exceeded')
      refused(await consume(5, key), 409, 'quota_exceeded')
      app.clock.pass(HOUR)
      const passed = await consume(5, key)
      expect(passed.status).toBe(200)
      expect(passed.headers['idempotency-replayed']).toBeUndefined()
      replayed(await consume(5, key), passed)
    })

    it('lets a key whose request was refused serve another one', async () => {
      await total(10)
      const key = newKey()
      refused(await consume(11, key), 409, 'quota_exceeded')
      refused(await consume(0, key), 400, 'validation_failed')
      expect((await consume(4, key)).status).toBe(200)
      refused(await consume(11, key), 422, 'idempotency_key_reused')
    })

    it('keeps keys of callers apart', async () => {
      const id = await total(10)
      const key = newKey()
      const mine = await consume(1, key, { as: 'service' })
      const theirs = await consume(2, key, { as: 'other' })
      expect([mine.status, theirs.status]).toEqual([200, 200])
      replayed(await consume(1, key, { as: 'service' }), mine)
      replayed(await consume(2, key, { as: 'other' }), theirs)
      expect(await counters(id)).toEqual([3, 0, 7])
      expect((await batch([item(3, key)], 'admin')).body.results[0].replayed).toBe(false)
    })

    it('keeps keys of channels apart', async () => {
      await total(10)
      const body = { [other.owner]: owner, quota_type: 1, total: 5, expire_at: inSeconds(DAY) }
      await app.post(other.quotas, body)
      const key = newKey()
      expect((await consume(1, key)).status).toBe(200)
      const there = await app.post(
        `${other.usage}/consume`,
        { [other.owner]: owner, amount: 2 },
        { as: 'usage', key: `${key}-${channel.name}` },
      )
      expect(there.status).toBe(200)
      expect((await consume(3, `${key}-${channel.name}`)).status).toBe(200)
    })

    it('compares keys by bytes: case, and spaces within', async () => {
      const id = await total(100)
      const key = newKey()
      const items = [key, key.toUpperCase(), `${key} .`, `. ${key}`, `${key}  .`].map((each) => item(1, each))
      const first = await batch(items)
      expect(first.body.results.map(({ replayed: was }: BatchResult) => was)).toEqual([
        false,
        false,
        false,
        false,
        false,
      ])
      expect(await counters(id)).toEqual([5, 0, 95])
      const second = await batch(items)
      expect(second.text).toBe(first.text.replaceAll('"replayed":false', '"replayed":true'))
      expect(await counters(id)).toEqual([5, 0, 95])
    })

    it('gives parallel requests with one key all the success', async () => {
      const id = await total(1000)
      for (let round = 0; round < 10; round += 1) {
        const key = newKey()
        const answers = await Promise.all(Array.from({ length: 8 }, async () => consume(3, key)))
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
        expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
        const firsts = answers.filter(({ headers }) => headers['idempotency-replayed'] === undefined)
        expect(firsts).toHaveLength(1)
      }
      expect(await counters(id)).toEqual([30, 0, 970])
    })

    it('gives parallel requests of two owners with one key one success, whoever wins', async () => {
      await total(100)
      const first = owner
      owner += 1
      await total(100)
      for (let round = 0; round < 10; round += 1) {
        const key = newKey()
        const answers = await Promise.all(
          Array.from({ length: 8 }, async (_, n) =>
            app.post(`${channel.usage}/consume`, { [channel.owner]: first + (n % 2), amount: 1 }, { as: 'usage', key }),
          ),
        )
        const codes = answers.map(({ status, body }) => (status === 200 ? body[channel.owner] : body.code))
        const winner = codes.find((code) => typeof code === 'number')
        expect([first, first + 1]).toContain(winner)
        expect(codes).toEqual(answers.map((_, n) => (first + (n % 2) === winner ? winner : 'idempotency_key_reused')))
      }
      const spent = (await sums())[0]
      owner -= 1
      expect(spent + (await sums())[0]).toBe(10)
      owner += 1
    })

    it('gives parallel refunds with one key one effect', async () => {
      const id = await total(100)
      const operation = (await consume(50)).body.id
      const key = newKey()
      const answers = await Promise.all(Array.from({ length: 8 }, async () => refund(operation, 5, key)))
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
      expect(await counters(id)).toEqual([45, 0, 55])
    })
  })

  describe('settled once', () => {
    /** A hold of 10 in each state that a hold can end in, and a consume. */
    async function settled(how: string): Promise<string> {
      await total(100)
      if (how === 'consumed') return (await consume(10)).body.id
      const { id } = (await reserve(10, 60)).body
      if (how.startsWith('committed')) await commit(id, how === 'committed in part' ? 4 : undefined)
      if (how === 'released') await release(id)
      if (how === 'expired') app.clock.pass(60)
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

    it('answers the very same act with 200 again, byte for byte', async () => {
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
      app.clock.pass(61)
      await sweep()
      replayed(await commit(committed), first)
      replayed(await release(released), second)
      refused(await release(committed), 409, 'operation_already_settled')
      expect(await sums()).toEqual([10, 0, 90])
    })

    it('lets one of parallel commits and releases win', async () => {
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
    it('counts until the very instant, and no longer: in the quota, the summary, check, the operation', async () => {
      const id = await total(10)
      const { id: operation, expires_at } = (await reserve(7, 60)).body
      app.clock.set(Date.parse(expires_at) - 1)
      expect(await counters(id)).toEqual([0, 7, 3])
      expect(await sums()).toEqual([0, 7, 3])
      expect((await check(4)).body).toMatchObject({ allowed: false, remaining: 3 })
      expect((await read(operation)).body.state).toBe('reserved')
      const listed = await app.get(
        `${channel.quotas}${channel.name === 'SMS' ? '/list' : ''}?${channel.owner}=${owner}`,
      )
      expect(listed.body.items[0]).toMatchObject({ reserved: 7, remaining: 3 })
      refused(await consume(4), 409, 'quota_exceeded')

      app.clock.set(expires_at)
      expect(await counters(id)).toEqual([0, 0, 10])
      expect(await sums()).toEqual([0, 0, 10])
      expect((await check(10)).body).toMatchObject({ allowed: true, remaining: 10 })
      expect((await read(operation)).body.state).toBe('expired')
      const later = await app.get(`${channel.quotas}${channel.name === 'SMS' ? '/list' : ''}?${channel.owner}=${owner}`)
      expect(later.body.items[0]).toMatchObject({ reserved: 0, remaining: 10 })
    })

    it('frees its units for the next consume at the very instant', async () => {
      const id = await total(10)
      const { expires_at } = (await reserve(7, 60)).body
      app.clock.set(expires_at)
      const answer = await consume(10)
      expect([answer.status, answer.body.owner_remaining]).toEqual([200, 0])
      expect(await counters(id)).toEqual([10, 0, 0])
    })

    it('frees them for the next reserve, and in a refusal', async () => {
      const id = await total(10)
      await reserve(7, 60)
      await reserve(1, 120)
      app.clock.pass(60)
      const no = await consume(10)
      expect(no.body).toMatchObject({ remaining: 9, quotas: [{ id, used: 0, reserved: 1, remaining: 9 }] })
      expect((await reserve(9)).body.owner_remaining).toBe(0)
      expect(await counters(id)).toEqual([0, 10, 0])
    })

    it('can be committed until the instant before', async () => {
      const id = await total(10)
      const { id: operation, expires_at } = (await reserve(7, 60)).body
      app.clock.set(Date.parse(expires_at) - 1)
      expect((await commit(operation)).status).toBe(200)
      app.clock.set(expires_at)
      expect(await counters(id)).toEqual([7, 0, 3])
      expect((await read(operation)).body.state).toBe('committed')
    })

    it('is settled: no commit, no release, no refund; swept or not', async () => {
      await total(10)
      const { id } = (await reserve(7, 60)).body
      app.clock.pass(60)
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
      app.clock.pass(60)
      expect((await commit(kept, 1)).body.owner_remaining).toBe(9)
    })

    it('stays out of the count whatever was swept when', async () => {
      const id = await total(100)
      for (const ttl of [10, 20, 30, 40]) await reserve(10, ttl)
      app.clock.pass(15)
      expect(await counters(id)).toEqual([0, 30, 70])
      await sweep()
      expect(await counters(id)).toEqual([0, 30, 70])
      app.clock.pass(10)
      expect((await consume(1)).body.owner_remaining).toBe(79)
      expect(await counters(id)).toEqual([1, 20, 79])
      app.clock.pass(10)
      expect(await counters(id)).toEqual([1, 10, 89])
      await sweep()
      app.clock.pass(10)
      await sweep()
      expect(await counters(id)).toEqual([1, 0, 99])
    })

    it('of a quota that was deleted meanwhile is gone when the quota returns', async () => {
      const id = await total(10)
      await reserve(7, 60)
      await remove(id)
      app.clock.pass(60)
      expect((await restore(id)).body).toMatchObject({ used: 0, reserved: 0, remaining: 10 })
      expect(await counters(id)).toEqual([0, 0, 10])
      expect((await consume(10)).status).toBe(200)
    })

    it('of a quota that expired meanwhile is gone when the quota is revived', async () => {
      const id = await total(10, 30)
      await reserve(7, 60)
      app.clock.pass(60)
      const revived = await update(id, { expire_at: inSeconds(DAY) })
      expect(revived.body).toMatchObject({ status: 'active', used: 0, reserved: 0, remaining: 10 })
      expect((await consume(10)).status).toBe(200)
    })

    it('of a quota that was disabled meanwhile is gone when an edit answers', async () => {
      const id = await total(10)
      await reserve(7, 60)
      await update(id, { status: 'disabled' })
      app.clock.pass(60)
      expect((await update(id, { total: 11 })).body).toMatchObject({ reserved: 0, remaining: 11 })
      expect((await update(id, { total: 11 })).body).toMatchObject({ reserved: 0, remaining: 11 })
    })

    it('across several quotas frees each of them', async () => {
      const first = await total(5, DAY)
      const second = await total(5, 2 * DAY)
      await reserve(8, 60)
      app.clock.pass(60)
      expect(await counters(first)).toEqual([0, 0, 5])
      expect(await counters(second)).toEqual([0, 0, 5])
    })
  })

  describe('across a reset', () => {
    it('a new cycle begins with nothing used and nothing reserved', async () => {
      const id = await cycle(10, HOUR)
      await consume(3)
      await reserve(4, 2 * HOUR)
      app.clock.pass(HOUR - 1)
      expect(await counters(id)).toEqual([3, 4, 3])
      app.clock.pass(1)
      expect(await counters(id)).toEqual([0, 0, 10])
      expect(await sums()).toEqual([0, 0, 10])
      expect((await consume(10)).body.owner_remaining).toBe(0)
    })

    it.each([['before anything was written in the new cycle'], ['after something was']])(
      'a commit burdens no newer cycle, %s',
      async (when) => {
        const id = await cycle(10, HOUR)
        const { id: operation } = (await reserve(4, 2 * HOUR)).body
        app.clock.pass(HOUR)
        const spent = when.startsWith('after') ? 2 : 0
        if (spent > 0) await consume(spent)
        const answer = await commit(operation, 3)
        expect(answer.body).toMatchObject({ state: 'committed', charged: 3, owner_remaining: 10 - spent })
        expect(await counters(id)).toEqual([spent, 0, 10 - spent])
      },
    )

    it('a release, a refund and an expiry enrich no newer cycle', async () => {
      const id = await cycle(10, HOUR)
      const held = (await reserve(2, 2 * HOUR)).body.id
      await reserve(2, 2 * HOUR)
      const spent = (await consume(3)).body.id
      app.clock.pass(HOUR)
      await consume(9)
      expect((await release(held)).body).toMatchObject({ state: 'released', owner_remaining: 1 })
      expect((await refund(spent)).body).toMatchObject({ refunded: 3, owner_remaining: 1 })
      expect(await counters(id)).toEqual([9, 0, 1])
      app.clock.pass(HOUR)
      expect(await counters(id)).toEqual([9, 0, 1])
      await sweep()
      expect(await counters(id)).toEqual([9, 0, 1])
      refused(await consume(2), 409, 'quota_exceeded')
    })

    it('books each part to the cycle that paid it', async () => {
      const daily = await cycle(5, HOUR)
      const other = await total(20, 10 * DAY)
      const { id: operation } = (await consume(12)).body
      app.clock.pass(HOUR)
      // A new operation in the new cycle must not be mistaken for the old one.
      await consume(2)
      expect((await refund(operation, 10)).body.owner_remaining).toBe(20 + 5 - 2)
      expect(await counters(daily)).toEqual([2, 0, 3])
      expect(await counters(other)).toEqual([0, 0, 20])
    })

    it('jumps over many cycles', async () => {
      const id = await cycle(10, HOUR, { cycle_unit: 'hour' })
      const { id: operation } = (await consume(4)).body
      const { id: hold } = (await reserve(4, DAY)).body
      app.clock.pass(20 * HOUR)
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
      app.clock.pass(2 * HOUR)
      expect(await counters(id)).toEqual([4, 0, 6])
      await refund(operation, 1)
      expect(await counters(id)).toEqual([3, 0, 7])
    })
  })

  describe('quotas that no longer pay', () => {
    it.each(['disabled', 'expired', 'deleted'])('take commits, releases and refunds: %s', async (how) => {
      const id = await total(100, HOUR)
      const committed = (await reserve(10, 2 * HOUR)).body.id
      const released = (await reserve(20, 2 * HOUR)).body.id
      const spent = (await consume(30)).body.id
      if (how === 'disabled') await update(id, { status: 'disabled' })
      if (how === 'expired') app.clock.pass(HOUR)
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

  describe('owner_remaining', () => {
    it('adds up what each quota has left, never less than nothing', async () => {
      const low = await total(10, DAY)
      await total(10, 2 * DAY)
      await consume(8)
      await update(low, { total: 2 })
      expect((await consume(3)).body.owner_remaining).toBe(7)
      expect(await summary()).toEqual({
        [channel.owner]: owner,
        total: 12,
        used: 11,
        reserved: 0,
        remaining: 7,
        quota_count: 2,
      })
    })
  })

  describe('never overdrawn', () => {
    it('by many callers at once', async () => {
      const first = await total(7, DAY)
      const second = await total(3, 2 * DAY)
      const answers = await Promise.all(
        Array.from({ length: 60 }, async (_, n) => (n % 3 === 0 ? reserve(1) : consume(1))),
      )
      expect(answers.filter(({ status }) => status < 300)).toHaveLength(10)
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(50)
      expect((await counters(first))[2]).toBe(0)
      expect((await counters(second))[2]).toBe(0)
      const [used, reserved, remaining] = await sums()
      expect([used + reserved, remaining]).toEqual([10, 0])
    })
  })

  describe('access', () => {
    it('is for every principal, and for nobody else', async () => {
      await total(100)
      const { id } = (await consume(1)).body
      for (const as of ['usage', 'service', 'admin'] as const) {
        expect((await consume(1, newKey(), { as })).status).toBe(200)
        expect((await app.get(`${channel.usage}/${id}`, { as })).status).toBe(200)
      }
      refused(await consume(1, newKey(), { as: undefined }), 401, 'unauthenticated')
      refused(await app.get(`${channel.usage}/x`, { as: undefined }), 401, 'unauthenticated')
    })
  })
}
