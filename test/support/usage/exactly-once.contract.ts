import { describe, expect } from '@jest/globals'
import { it } from '../scoped.js'
import { type BatchResult, DAY, HOUR, type UsageSuite } from './suite.js'

/** A key takes effect once. */
export function exactlyOnceContract(suite: UsageSuite): void {
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
    refund,
    ledger,
    batch,
    item,
    update,
    remove,
    restore,
    sweep,
    counters,
    sums,
    refused,
    replayed,
  } = suite

  describe('exactly once', () => {
    it('requires a key for consume, reserve and refund', async () => {
      await total(10)
      const { id } = (await consume(1)).body
      const body = { [channel.owner]: suite.owner, amount: 1 }
      for (const path of ['consume', 'reserve', `${id}/refund`]) {
        const answer = await suite.app.post(`${channel.usage}/${path}`, path.endsWith('refund') ? {} : body, {
          as: 'usage',
        })
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
      const body = { [channel.owner]: suite.owner, amount: 1 }
      refused(await suite.app.post(`${channel.usage}/consume`, body, { headers }), 400, 'idempotency_key_invalid')
    })

    it('checks the body before the key, and the key before the operation', async () => {
      refused(
        await suite.app.post(`${channel.usage}/consume`, { [channel.owner]: suite.owner, amount: 0 }),
        400,
        'validation_failed',
      )
      const absent = `${channel.usage}/01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d/refund`
      refused(await suite.app.post(absent, {}), 400, 'idempotency_key_missing')
    })

    it.each(['!', '~', 'a,b', '"quoted"', 'a b', '{}'])('takes a key like %s', async (part) => {
      const id = await total(10)
      const mine = `${part}${part.repeat(255)}`.slice(0, 255)
      const first = await consume(1, mine)
      expect(first.status).toBe(200)
      replayed(await consume(1, mine), first)
      expect(await counters(id)).toEqual([1, 0, 9])
    })

    it('replays a consume byte for byte, and charges nothing twice', async () => {
      const id = await total(10)
      const key = newKey()
      const first = await consume(4, key)
      expect(first.headers['idempotency-replayed']).toBeUndefined()
      for (let n = 0; n < 3; n += 1) replayed(await consume(4, key), first)
      expect(await counters(id)).toEqual([4, 0, 6])
      expect((await ledger(`${channel.owner}=${suite.owner}`)).body.items).toHaveLength(1)
    })

    it('replays a reserve with its 201', async () => {
      const id = await total(10)
      const key = newKey()
      const first = await reserve(4, 60, key)
      suite.app.clock.pass(10)
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

    it('replays single requests in a batch, and items of a batch as single requests', async () => {
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

    it('replays regardless of later changes of the operation', async () => {
      await total(10)
      const consumed = newKey()
      const reserved = newKey()
      const first = await consume(4, consumed)
      const hold = await reserve(3, 60, reserved)
      await refund(first.body.id)
      await commit(hold.body.id, 1)
      suite.app.clock.pass(DAY)
      replayed(await consume(4, consumed), first)
      replayed(await reserve(3, 60, reserved), hold)
      expect(await sums()).toEqual([1, 0, 9])
    })

    it('replays regardless of later changes of the quota', async () => {
      const key = newKey()
      const id = await cycle(10, HOUR)
      const first = await consume(4, key)
      suite.app.clock.pass(HOUR)
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
      suite.app.clock.pass(30 * DAY)
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
      // The key is checked before the operation is found missing.
      const unknown = '019aa000-0000-7000-8000-000000000000'
      refused(await refund(unknown, 4, key), 422, 'idempotency_key_reused')
      refused(await refund(unknown, 4), 404, 'operation_not_found')
      suite.owner += 1
      refused(await consume(4, key), 422, 'idempotency_key_reused')
      await total(100)
      refused(await consume(4, key), 422, 'idempotency_key_reused')
      expect((await batch([item(4, key)])).body.results).toEqual([
        { status: 422, problem: expect.objectContaining({ code: 'idempotency_key_reused' }) },
      ])
      suite.owner -= 1
      replayed(await consume(4, key), first)
      expect(await counters(id)).toEqual([4, 0, 96])
      suite.owner += 1
    })

    it('has one set of keys for creates and for usage', async () => {
      const key = newKey()
      const body = { [channel.owner]: suite.owner, quota_type: 1, total: 5, expire_at: inSeconds(DAY) }
      const made = await suite.app.post(channel.quotas, body, { as: 'admin', key })
      expect(made.status).toBe(201)
      refused(await consume(1, key, { as: 'admin' }), 422, 'idempotency_key_reused')
      expect((await consume(1, key)).status).toBe(200)
    })

    it('distinguishes reserves by their duration', async () => {
      await total(100)
      const key = newKey()
      await reserve(4, 600, key)
      refused(await reserve(4, 601, key), 422, 'idempotency_key_reused')
      refused(await reserve(5, 600, key), 422, 'idempotency_key_reused')
      refused(await consume(4, key), 422, 'idempotency_key_reused')
    })

    it('distinguishes refunds by operation and amount', async () => {
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
        `{"amount":1e2,"${channel.owner}":${suite.owner}}`,
        `{ "amount" : 100.0 , "${channel.owner}" : ${suite.owner}.0 }`,
      ]) {
        replayed(await suite.app.send('post', path, { as: 'usage', key, headers: json, body }), first)
      }
    })

    it('does not remember refusals, so that a request deferred today succeeds after the reset', async () => {
      await cycle(10, HOUR)
      await consume(8)
      const key = newKey()
      refused(await consume(5, key), 409, 'quota_exceeded')
      refused(await consume(5, key), 409, 'quota_exceeded')
      suite.app.clock.pass(HOUR)
      const passed = await consume(5, key)
      expect(passed.status).toBe(200)
      expect(passed.headers['idempotency-replayed']).toBeUndefined()
      replayed(await consume(5, key), passed)
    })

    it('lets another request use the key of a refused one', async () => {
      await total(10)
      const key = newKey()
      refused(await consume(11, key), 409, 'quota_exceeded')
      refused(await consume(0, key), 400, 'validation_failed')
      expect((await consume(4, key)).status).toBe(200)
      refused(await consume(11, key), 422, 'idempotency_key_reused')
    })

    it('separates the keys of callers', async () => {
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

    it('separates the keys of channels', async () => {
      await total(10)
      const body = { [other.owner]: suite.owner, quota_type: 1, total: 5, expire_at: inSeconds(DAY) }
      await suite.app.post(other.quotas, body)
      const key = newKey()
      expect((await consume(1, key)).status).toBe(200)
      const there = await suite.app.post(
        `${other.usage}/consume`,
        { [other.owner]: suite.owner, amount: 2 },
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

    it('lets one of parallel requests of two owners with one key succeed', async () => {
      await total(100)
      const first = suite.owner
      suite.owner += 1
      await total(100)
      for (let round = 0; round < 10; round += 1) {
        const key = newKey()
        const answers = await Promise.all(
          Array.from({ length: 8 }, async (_, n) =>
            suite.app.post(
              `${channel.usage}/consume`,
              { [channel.owner]: first + (n % 2), amount: 1 },
              { as: 'usage', key },
            ),
          ),
        )
        const codes = answers.map(({ status, body }) => (status === 200 ? body[channel.owner] : body.code))
        const winner = codes.find((code) => typeof code === 'number')
        expect([first, first + 1]).toContain(winner)
        expect(codes).toEqual(answers.map((_, n) => (first + (n % 2) === winner ? winner : 'idempotency_key_reused')))
      }
      const spent = (await sums())[0]
      suite.owner -= 1
      expect(spent + (await sums())[0]).toBe(10)
      suite.owner += 1
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
}
