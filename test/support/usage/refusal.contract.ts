import { describe, expect } from '@jest/globals'
import { it } from '../scoped.js'
import { DAY, HOUR, MINUTE, type UsageSuite } from './suite.js'

/** The contents of refusals. */
export function refusalContract(suite: UsageSuite): void {
  const { newKey, inSeconds, total, cycle, consume, reserve, check, batch, item, update, remove, refused } = suite

  describe('the refusal', () => {
    it('has exactly this body', async () => {
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
        payable: 8,
        refills_at: null,
        caps: [],
        quotas: [
          { id: daily, group_id: null, total: 10, used: 4, reserved: 3, remaining: 3, refills_at: inSeconds(DAY) },
          { id: ending, group_id: null, total: 5, used: 0, reserved: 0, remaining: 5, refills_at: null },
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

    it('names only active quotas', async () => {
      const expired = await total(5, MINUTE)
      const disabled = await total(5)
      const deleted = await total(5)
      const good = await total(5)
      await update(disabled, { status: 'disabled' })
      await remove(deleted)
      suite.app.clock.pass(MINUTE)
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
          payable: answer.body.remaining,
          refills_at: refill,
          caps: [],
        })
      }

      it('never, if nothing resets', async () => {
        await total(5)
        await expectRefill(6, null)
      })

      it('at the reset', async () => {
        await cycle(5, DAY)
        await consume(3)
        await expectRefill(3, inSeconds(DAY))
        await expectRefill(5, inSeconds(DAY))
      })

      it('never, if the total is too small', async () => {
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

      it('including the remaining units of the others', async () => {
        await cycle(5, HOUR)
        await total(7, 10 * DAY)
        await consume(6)
        await expectRefill(11, inSeconds(HOUR))
        await expectRefill(12, null)
      })

      it('excluding quotas that have expired by then', async () => {
        await cycle(5, 2 * HOUR)
        await total(7, HOUR)
        await consume(1)
        await expectRefill(12, null)
        await consume(11)
        await expectRefill(5, inSeconds(2 * HOUR))
      })

      it('excluding quotas that expire at that instant', async () => {
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

      it('at the end of a hold, if its units were all that was missing', async () => {
        await total(10, 10 * DAY)
        await cycle(1, 2 * HOUR)
        await reserve(11, HOUR)
        await expectRefill(11, inSeconds(HOUR))
        await expectRefill(12, null)
      })

      it('at the end of as many holds as necessary', async () => {
        await total(10, 10 * DAY)
        for (const seconds of [HOUR, 3 * HOUR, 2 * HOUR]) await reserve(3, seconds)
        await expectRefill(4, inSeconds(HOUR))
        await expectRefill(5, inSeconds(2 * HOUR))
        await expectRefill(10, inSeconds(3 * HOUR))
      })

      it('at a reset or at the end of a hold, whichever returns enough', async () => {
        await total(10, 10 * DAY)
        await cycle(1, 2 * HOUR)
        await reserve(11, 3 * HOUR)
        await expectRefill(1, inSeconds(2 * HOUR))
        await expectRefill(2, inSeconds(3 * HOUR))
        await expectRefill(11, inSeconds(3 * HOUR))
        await expectRefill(12, null)
      })

      it('with a hold in the cycle that a reset ends', async () => {
        await cycle(5, HOUR)
        await reserve(5, 2 * HOUR)
        await expectRefill(5, inSeconds(HOUR))
      })

      it('and it fits from that time on', async () => {
        await cycle(5, HOUR)
        await consume(5)
        const { refills_at } = (await consume(4)).body
        suite.app.clock.set(Date.parse(refills_at) - 1)
        refused(await consume(4), 409, 'quota_exceeded')
        suite.app.clock.set(refills_at)
        expect((await consume(4)).status).toBe(200)
      })
    })
  })
}
