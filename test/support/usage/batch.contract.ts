import { describe, expect } from '@jest/globals'
import { it } from '../scoped.js'
import { type BatchResult, type UsageSuite } from './suite.js'

/** Many consumes in one request. */
export function batchContract(suite: UsageSuite): void {
  const { channel, newKey, total, refund, read, batch, item, counters, refused } = suite

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

    it('creates operations like single requests', async () => {
      await total(10)
      const { operation } = (await batch([item(4)])).body.results[0]
      expect(operation).toEqual((await read(operation.id)).body)
      expect((await refund(operation.id)).body.owner_remaining).toBe(10)
    })

    it('may name several owners', async () => {
      await total(10)
      const mine = item(4)
      suite.owner += 1
      await total(20)
      const { results } = (await batch([mine, item(5), { ...mine, idempotency_key: newKey() }])).body
      expect(results.map(({ operation }: BatchResult) => operation?.owner_remaining)).toEqual([6, 15, 2])
    })

    it('refuses an invalid item individually, naming its fields', async () => {
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
      refused(await suite.app.post(`${channel.usage}/consume/batch`, body, { as: 'usage' }), 400, 'validation_failed')
    })

    it('accepts 1000 items, and not 1001', async () => {
      const id = await total(999)
      const items = Array.from({ length: 1000 }, () => item(1))
      refused(await batch([...items, item(1)]), 400, 'validation_failed')
      expect(await counters(id)).toEqual([0, 0, 999])
      const { results } = (await batch(items)).body
      expect(results.map(({ status }: BatchResult) => status)).toEqual([...Array.from({ length: 999 }, () => 200), 409])
      expect(await counters(id)).toEqual([999, 0, 0])
    })

    it('requires no Idempotency-Key header: each item has its own', async () => {
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

    it('decides the next request with a key anew if the previous one was refused', async () => {
      await total(10)
      const key = newKey()
      const { results } = (await batch([item(11, key), item(4, key), item(11, key)])).body
      expect(results.map(({ status }: BatchResult) => status)).toEqual([409, 200, 422])
    })
  })
}
