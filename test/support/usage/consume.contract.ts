import { describe, expect } from '@jest/globals'
import { START } from '../quota-api.js'
import { it } from '../scoped.js'
import { DAY, LARGEST, MINUTE, type UsageSuite, UUID_V7 } from './suite.js'

/** Consumes, and their answers. */
export function consumeContract(suite: UsageSuite): void {
  const {
    channel,
    other,
    newKey,
    inSeconds,
    total,
    consume,
    reserve,
    check,
    ledger,
    batch,
    item,
    quota,
    update,
    remove,
    restore,
    summary,
    counters,
    sums,
    refused,
  } = suite

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
        [channel.owner]: suite.owner,
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

    it('is visible at once in the quota and in the summary', async () => {
      const id = await total(100)
      await consume(20)
      expect(await counters(id)).toEqual([20, 0, 80])
      expect(await sums()).toEqual([20, 0, 80])
      expect((await quota(id)).body.version).toBe(1)
    })

    it('does not change updated_at and the history of changes', async () => {
      const id = await total(100)
      suite.app.clock.pass(MINUTE)
      await consume(20)
      expect((await quota(id)).body.updated_at).toBe(START)
      expect((await suite.app.get(`${channel.quotas}/${id}/changes`)).body.total).toBe(1)
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
      const answer = await suite.app.post(
        `${channel.usage}/consume`,
        { [channel.owner]: suite.owner, amount },
        { as: 'usage', key: newKey() },
      )
      refused(answer, 400, 'validation_failed')
      expect(answer.body.errors).toEqual([{ field: 'amount', message: expect.any(String) }])
      expect(await sums()).toEqual([0, 0, 100])
    })

    it.each([0, -1, 1.5, 2 ** 53, '7', null])('refuses the owner %j', async (id) => {
      const body = { [channel.owner]: id, amount: 1 }
      const answer = await suite.app.post(`${channel.usage}/consume`, body, { as: 'usage', key: newKey() })
      refused(answer, 400, 'validation_failed')
      expect(answer.body.errors).toEqual([{ field: channel.owner, message: expect.any(String) }])
    })

    it('names every wrong field at once, including unknown ones', async () => {
      const body = { amount: 0, quota_id: 3 }
      const answer = await suite.app.post(`${channel.usage}/consume`, body, { as: 'usage', key: newKey() })
      const fields = answer.body.errors.map(({ field }: { field: string }) => field)
      expect(fields.sort()).toEqual(['amount', channel.owner, 'quota_id'].sort())
    })

    it("refuses the other channel's owner field", async () => {
      const body = { [other.owner]: suite.owner, amount: 1 }
      refused(
        await suite.app.post(`${channel.usage}/consume`, body, { as: 'usage', key: newKey() }),
        400,
        'validation_failed',
      )
    })

    it("never charges the other channel's quotas", async () => {
      const body = { [other.owner]: suite.owner, quota_type: 1, total: 5, expire_at: inSeconds(DAY) }
      expect((await suite.app.post(other.quotas, body)).status).toBe(201)
      refused(await consume(1), 409, 'no_active_quota')
    })

    it("never charges another owner's quotas", async () => {
      await total(5)
      suite.owner += 1
      await total(7)
      await consume(6)
      suite.owner -= 1
      expect(await sums()).toEqual([0, 0, 5])
      suite.owner += 1
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

    it('charges nothing if they cannot pay it together', async () => {
      const first = await total(10, DAY)
      const second = await total(5, 2 * DAY)
      refused(await consume(16), 409, 'quota_exceeded')
      refused(await reserve(16), 409, 'quota_exceeded')
      expect(await counters(first)).toEqual([0, 0, 10])
      expect(await counters(second)).toEqual([0, 0, 5])
      expect((await ledger(`${channel.owner}=${suite.owner}`)).body.items).toEqual([])
      expect((await consume(15)).status).toBe(200)
    })

    it('splits over 200 quotas, and over the units next to a hold', async () => {
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
      expect(checked.body).toEqual({
        allowed: false,
        requested: 1,
        remaining: 0,
        payable: 0,
        refills_at: null,
        caps: [],
      })
    }

    it('never had one', expectNone)

    it('has a disabled one', async () => {
      await update(await total(5), { status: 'disabled' })
      await expectNone()
    })

    it('has an expired one', async () => {
      await total(5, MINUTE)
      suite.app.clock.pass(MINUTE)
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

  describe('never overdrawn', () => {
    it('by many concurrent callers', async () => {
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

  describe('owner_remaining', () => {
    it('adds up the remaining units of each quota, never less than 0', async () => {
      const low = await total(10, DAY)
      await total(10, 2 * DAY)
      await consume(8)
      await update(low, { total: 2 })
      expect((await consume(3)).body.owner_remaining).toBe(7)
      expect(await summary()).toEqual({
        [channel.owner]: suite.owner,
        group_id: null,
        total: 12,
        used: 11,
        reserved: 0,
        remaining: 7,
        quota_count: 2,
        available: 7,
        caps: [],
      })
    })
  })

  describe('access', () => {
    it('is open to every principal, and to nobody else', async () => {
      await total(100)
      const { id } = (await consume(1)).body
      for (const as of ['usage', 'service', 'admin'] as const) {
        expect((await consume(1, newKey(), { as })).status).toBe(200)
        expect((await suite.app.get(`${channel.usage}/${id}`, { as })).status).toBe(200)
      }
      refused(await consume(1, newKey(), { as: undefined }), 401, 'unauthenticated')
      refused(await suite.app.get(`${channel.usage}/x`, { as: undefined }), 401, 'unauthenticated')
    })
  })
}
