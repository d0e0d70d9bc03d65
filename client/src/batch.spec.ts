import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { json, operation, problem, rejection, type Sent, TestNetwork } from '../test/network.js'
import { chunksOf } from './batch.js'
import { OutcomeUnknown } from './problem.js'
import type { MailBatchItem } from './types.js'

const items = (count: number): MailBatchItem[] =>
  Array.from({ length: count }, (_, index) => ({ accountId: 7, amount: 1, idempotencyKey: `msg-${index}` }))

const keysOf = ({ body }: Sent): string[] =>
  (body as { items: { idempotency_key: string }[] }).items.map(({ idempotency_key: key }) => key)

const done = (key: string): object => ({ status: 200, replayed: false, operation: operation({ id: key }) })
const away = {
  status: 503,
  problem: { type: 'about:blank', title: '', status: 503, detail: '', code: 'unavailable', request_id: 'r' },
}

describe('a batch', () => {
  it('sends again only the items that met 503, and answers in order', async () => {
    const met = new Set<string>()
    // At the first attempt, every third item meets 503.
    const network = new TestNetwork((sent) =>
      json(200, {
        results: keysOf(sent).map((key, index) => {
          if (index % 3 !== 0 || met.has(key)) return done(key)
          met.add(key)
          return away
        }),
      }),
    )
    const results = await network.client.mail.consumeBatch(items(9))
    expect(results.map((result) => result.status === 200 && result.operation.id)).toEqual(
      items(9).map((item) => item.idempotencyKey),
    )
    expect(network.sent.map(keysOf)).toEqual([items(9).map((item) => item.idempotencyKey), ['msg-0', 'msg-3', 'msg-6']])
    expect(network.sent[1]!.at - network.sent[0]!.at).toBe(100)
  })

  it('leaves refusals as they are', async () => {
    const refused = { ...away, status: 500, problem: { ...away.problem, status: 500, code: 'internal_error' } }
    const network = new TestNetwork(() => json(200, { results: [refused] }))
    expect(await network.client.mail.consumeBatch(items(1))).toMatchObject([
      { status: 500, problem: { code: 'internal_error', requestId: 'r' } },
    ])
    expect(network.sent).toHaveLength(1)
  })

  it('says 503 of what meets it until the deadline', async () => {
    const network = new TestNetwork((sent) =>
      json(200, { results: keysOf(sent).map((key) => (key === 'msg-1' ? away : done(key))) }),
    )
    const results = await network.client.mail.consumeBatch(items(3))
    expect(results.map(({ status }) => status)).toEqual([200, 503, 200])
    expect(network.sent.length).toBeGreaterThan(5)
    expect(network.timing.now()).toBeLessThanOrEqual(60_000)
  })

  it('says of each item that got no answer that nobody knows, and what became of the others', async () => {
    const network = new TestNetwork((sent) =>
      keysOf(sent).length === 1_000 ? json(200, { results: keysOf(sent).map(done) }) : 'broken',
    )
    const results = await network.client.mail.consumeBatch(items(1_002))
    expect(results.slice(0, 1_000).every(({ status }) => status === 200)).toBe(true)
    expect(results.slice(1_000)).toMatchObject([
      { status: 'unknown', error: { key: 'msg-1000' } },
      { status: 'unknown', error: { key: 'msg-1001' } },
    ])
    const last = results.at(-1)!
    expect(last.status === 'unknown' && last.error).toBeInstanceOf(OutcomeUnknown)
  })

  it('is refused as a whole where the service refuses it as a whole', async () => {
    const network = new TestNetwork(() => problem(401, 'unauthenticated'))
    expect(await rejection(network.client.mail.consumeBatch(items(1)))).toMatchObject({ code: 'unauthenticated' })
  })

  it('names a broken item by its place among all items, however they were sent', async () => {
    let calls = 0
    const broken = {
      status: 400,
      problem: {
        ...away.problem,
        code: 'validation_failed',
        detail: 'items[0].amount: must be more',
        errors: [{ field: 'items[0].idempotency_key', message: '' }],
      },
    }
    const network = new TestNetwork((sent) => {
      calls += 1
      if (calls === 1) return json(200, { results: keysOf(sent).map(done) })
      return json(200, { results: calls === 2 ? [done('msg-1000'), away] : [broken] })
    })
    const results = await network.client.mail.consumeBatch(items(1_002))
    expect(results[1_001]).toMatchObject({
      problem: { detail: 'items[1001].amount: must be more', errors: [{ field: 'items[1001].idempotencyKey' }] },
    })
  })

  it('of nothing sends nothing', async () => {
    const network = new TestNetwork(() => 'broken')
    expect(await network.client.mail.consumeBatch([])).toEqual([])
  })

  it('fills a request to the last byte of 1 MB', () => {
    const empty = Buffer.byteLength(
      '{"items":[{"account_id":7,"amount":1,"idempotency_key":""},{"account_id":7,"amount":1,"idempotency_key":""}]}',
    )
    const two = (bytes: number): MailBatchItem[] =>
      [600_000, bytes - empty - 600_000].map((length) => ({
        accountId: 7,
        amount: 1,
        idempotencyKey: 'x'.repeat(length),
      }))
    expect(chunksOf(two(1_000_000))).toHaveLength(1)
    expect(chunksOf(two(1_000_001))).toHaveLength(2)
  })

  it('goes in requests of at most 1,000 items and 1 MB, none of which could take the next item too', () => {
    // Keys up to the maximum length, and longer ones with escapes and code points beyond ASCII.
    const size = fc.oneof(fc.constant(3), fc.integer({ min: 1, max: 255 }), fc.integer({ min: 2_000, max: 90_000 }))
    const run = fc.record({
      size,
      letter: fc.constantFrom('x', '"', 'é', '😀'),
      count: fc.integer({ min: 1, max: 1_500 }),
    })
    const bytesOf = (chunk: readonly MailBatchItem[]): number =>
      Buffer.byteLength(
        JSON.stringify({
          items: chunk.map((item) => ({
            account_id: item.accountId,
            amount: item.amount,
            idempotency_key: item.idempotencyKey,
          })),
        }),
      )
    fc.assert(
      fc.property(fc.array(run, { maxLength: 4 }), (runs) => {
        const sent = runs.flatMap(({ size: length, letter, count }) =>
          Array.from({ length: length > 255 ? Math.min(count, 30) : count }, () => ({
            accountId: 7,
            amount: 1,
            idempotencyKey: letter.repeat(length),
          })),
        )
        const chunks = chunksOf(sent)
        expect(chunks.flat()).toEqual(sent)
        chunks.forEach((chunk, index) => {
          expect(chunk.length).toBeLessThanOrEqual(1_000)
          expect(bytesOf(chunk)).toBeLessThanOrEqual(1_000_000)
          const next = chunks[index + 1]?.[0]
          if (next !== undefined && chunk.length < 1_000) expect(bytesOf([...chunk, next])).toBeGreaterThan(1_000_000)
        })
      }),
      { numRuns: 40 },
    )
  }, 60_000)
})
