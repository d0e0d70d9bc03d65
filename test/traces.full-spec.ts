import { beforeAll, describe, expect } from '@jest/globals'
import { Tracing } from '../src/tracing/tracing.js'
import { TransactionRunner } from '../src/database/transaction-runner.js'
import { TestApp, TOKENS } from './support/app.js'
import { MAIL_API } from './support/channel-api.js'
import { Collector, type SentSpan } from './support/collector.js'
import { until } from './support/endpoints.js'
import { bodyOf, fresh, ledgerOf, refusal } from './support/quota-api.js'
import { it } from './support/scoped.js'
import { forEveryChannel, type Store } from './support/store.js'
import { CALLER, servedTraced, type Use } from './support/traced.js'

const INTERNAL = 1
const SERVER = 2
const CLIENT = 3
const FAILED = 2

forEveryChannel('traces', (kind, channels) => {
  let store: Store
  let collector: Collector

  beforeAll(async () => {
    collector = await Collector.start()
    store = await kind.open()
  })

  const traced = async (use: Use): Promise<void> => servedTraced(store, collector, {}, use)

  describe.each(channels)('of the channel $name', (api) => {
    const channel = api.name.toLowerCase()
    const quotaOf = (owner: number, app: TestApp) => ({
      [api.owner]: owner,
      quota_type: 1,
      total: 999_876_543_210,
      expire_at: app.clock.after(86_400),
    })

    it('connect the caller with the statements', async () => {
      // Values that no time and no id holds by chance.
      const owner = 8_765_432_109_000 + fresh()
      const key = `secret-key-${fresh()}`
      let consume: { traceId: string } = { traceId: '' }
      await traced(async (app, call) => {
        bodyOf(201, (await call('POST', api.quotas, { body: quotaOf(owner, app) })).answer)
        // A caller that spends is noted once a day, in a separate transaction.
        await call('POST', api.consume, { body: { [api.owner]: owner, amount: 1 }, key: 'first', as: 'usage' })
        consume = await call('POST', api.consume, {
          body: { [api.owner]: owner, amount: 98_765_432_101 },
          key,
          as: 'usage',
        })
      })
      const [request, ...inside] = collector.of(consume.traceId)
      expect(request).toMatchObject({
        name: `POST ${api.consume}`,
        kind: SERVER,
        parentSpanId: CALLER,
        attributes: {
          'http.request.method': 'POST',
          'http.route': api.consume,
          'http.response.status_code': 200,
          'quota.principal': 'usage',
          'quota.request_id': expect.any(String),
        },
      })
      const of = (name: string): SentSpan => inside.find((span) => span.name === name) ?? missing(name)
      const [stay, batch] = [of(`${channel} consume`), of(`${channel} batch`)]
      expect(stay).toMatchObject({ kind: INTERNAL, parentSpanId: request?.spanId, links: [idsOf(batch)] })
      expect(stay.attributes).toMatchObject({ 'quota.batch.size': 1, 'quota.queue.seconds': expect.any(Number) })
      expect(batch).toMatchObject({ kind: INTERNAL, parentSpanId: request?.spanId, links: [] })
      const statements = inside.filter((span) => span.kind === CLIENT)
      expect(statements.length).toBeGreaterThan(1)
      for (const { parentSpanId, attributes, began, ended } of statements) {
        expect(parentSpanId).toBe(batch.spanId)
        expect(attributes['db.system.name']).toBe(store.config.kind)
        expect([began >= batch.began, ended <= batch.ended]).toEqual([true, true])
      }
      const texts = statements.map(({ attributes }) => String(attributes['db.query.text'])).join('\n')
      for (const part of [/\bBEGIN|\bSTART TRANSACTION/, `${channel}_quota`, `INSERT INTO \`${channel}_`, 'COMMIT']) {
        expect(texts).toMatch(part)
      }
      expect(stay.began).toBeLessThanOrEqual(batch.began)
      expect(collector.resource).toMatchObject({ 'service.name': 'quota-service' })
      // Values stay where they are: also the counter after both, which the statement contains.
      for (const value of [key, '98765432101', '98765432102', '999876543210', String(owner), TOKENS.usage]) {
        expect(collector.text).not.toContain(value)
      }
      expect(texts).not.toMatch(/\b\d+\b/)
    })

    it('contain a batch once, in the trace of its first request, with links to the others', async () => {
      const owner = fresh()
      let calls: { traceId: string }[] = []
      await traced(async (app, call) => {
        bodyOf(201, (await call('POST', api.quotas, { body: quotaOf(owner, app) })).answer)
        await call('POST', api.consume, { body: { [api.owner]: owner, amount: 1 }, key: 'first' })
        const { engine, store: tables } = ledgerOf(app, api)
        const sending: Promise<{ traceId: string }>[] = []
        // What comes while the store is held gathers: SQLite takes one unit at a time, a server waits for the lock.
        await app.app.get(TransactionRunner).write(async (transaction) => {
          const lock = transaction.dialect === 'mysql' ? ' FOR UPDATE' : ''
          const { table, column } = { table: tables.owner.table, column: tables.owner.column('ownerId') }
          await transaction.rows(`SELECT * FROM ${table} WHERE ${column} = ?${lock}`, [owner])
          for (let n = 0; n < 12; n += 1) {
            const body = { [api.owner]: owner, amount: 1 }
            sending.push(call('POST', api.consume, { body, key: `k${n}`, sampled: n !== 5 }))
          }
          while (engine.depth < 12) await new Promise(setImmediate)
        })
        calls = await Promise.all(sending)
      })
      const spans = calls.flatMap(({ traceId }) => collector.of(traceId))
      const stays = spans.filter(({ name }) => name === `${channel} consume`)
      const batches = spans.filter(({ name }) => name === `${channel} batch`)
      // All but the one that its caller does not want to be followed.
      expect(stays).toHaveLength(11)
      expect(batches.length).toBeLessThan(11)
      expect(batches.map(({ attributes }) => Number(attributes['quota.batch.size'])).reduce((a, b) => a + b)).toBe(12)
      for (const stay of stays) {
        const batch = batches.find(({ spanId }) => spanId === stay.links[0]?.spanId)
        expect(batch?.attributes['quota.batch.size']).toBe(stay.attributes['quota.batch.size'])
      }
      const linked = batches.reduce((sum, { links }) => sum + links.length, 0)
      expect(linked + batches.length).toBe(11)
    })

    it('contain the statements of reads', async () => {
      const owner = fresh()
      let calls: { traceId: string }[] = []
      await traced(async (app, call) => {
        const { id } = bodyOf(201, (await call('POST', api.quotas, { body: quotaOf(owner, app) })).answer)
        calls = []
        for (const path of [`${api.quotas}/${id}`, api.summary(owner), `${api.quotas}/changes`]) {
          calls.push(await call('GET', path))
        }
      })
      const seen = calls.map(({ traceId }) => collector.of(traceId).map((span) => [span.kind, span.name]))
      for (const [place, route] of ['/:id', '/summary', '/changes'].entries()) {
        const [first, ...statements] = seen[place] ?? []
        expect(first).toEqual([SERVER, expect.stringContaining(`GET ${api.quotas}${route}`)])
        expect(statements.length).toBeGreaterThan(0)
        for (const statement of statements) expect(statement).toEqual([CLIENT, expect.stringMatching(/^SELECT /)])
      }
    })
  })

  it('contain nothing that the service does later in the background', async () => {
    let traceId = ''
    await traced(async (app, call) => {
      const quota = { account_id: fresh(), quota_type: 1, total: 5, expire_at: app.clock.after(86_400) }
      const created = await call('POST', MAIL_API.quotas, { body: quota })
      traceId = created.traceId
      const { id } = bodyOf(201, created.answer)
      const { event } = ledgerOf(app, MAIL_API).store
      const isNumbered = `SELECT 1 FROM ${event.table} WHERE ${event.column('quotaId')} = ? AND ${event.column('position')} IS NOT NULL`
      // Its event gets a place by itself: nobody has asked for it.
      await until('a place in the feed', async () => {
        const found = await app.app.get(TransactionRunner).read((transaction) => transaction.rows(isNumbered, [id]))
        return found.length > 0
      })
    })
    const names = collector.of(traceId).map(({ name }) => name)
    expect(names[0]).toBe(`POST ${MAIL_API.quotas}`)
    expect(names.filter((name) => name.includes('mail_event_feed'))).toEqual([])
  })

  it('distinguish refusals from faults', async () => {
    const sent: { traceId: string }[] = []
    await traced(async (app, call) => {
      const consume = { body: { account_id: fresh(), amount: 1 }, key: 'x' }
      sent.push(await call('POST', MAIL_API.consume, consume))
      sent.push(await call('GET', '/api/v1/nowhere'))
      app.app.get(TransactionRunner).requireWrites = () => {
        throw new Error('broken on purpose')
      }
      sent.push(await call('POST', MAIL_API.consume, { ...consume, key: 'y' }))
    })
    const ends = sent.map(({ traceId }) => collector.of(traceId)[0])
    expect(ends.map((span) => [span?.name, span?.attributes['http.response.status_code'], span?.status])).toEqual([
      [`POST ${MAIL_API.consume}`, 409, 0],
      ['GET', 404, 0],
      [`POST ${MAIL_API.consume}`, 500, FAILED],
    ])
    expect(ends[2]?.attributes['error.type']).toBe('500')
    expect(ends[1]?.attributes).not.toHaveProperty('http.route')
  })

  it('contain only work, and only of known callers', async () => {
    const sent: { traceId: string }[] = []
    await traced(async (_, call) => {
      for (const path of ['/health/live', '/health/ready', '/metrics', '/docs']) sent.push(await call('GET', path))
      sent.push(await call('GET', '/api/v1/me'))
    })
    expect(sent.map(({ traceId }) => collector.of(traceId).length)).toEqual([0, 0, 0, 0, 1])
    await traced(async (app) => {
      const traceparent = `00-${'ab'.repeat(16)}-${CALLER}-01`
      expect(refusal(await app.get('/api/v1/me', { as: undefined, headers: { traceparent } }))[0]).toBe(401)
    })
    expect(collector.of('ab'.repeat(16))).toEqual([])
  })

  it('do not exist without a collector', async () => {
    const app = await TestApp.start(store)
    const before = collector.spans.length
    expect(app.app.get(Tracing).tracer).toBeUndefined()
    // On a server the suites themselves follow statements (test/support/sorts.ts).
    if (kind.name === 'SQLite') expect(app.app.get(TransactionRunner).tracer).toBeUndefined()
    bodyOf(200, await app.get('/api/v1/me', { headers: { traceparent: `00-${'cd'.repeat(16)}-${CALLER}-01` } }))
    await app.stop()
    expect(collector.spans).toHaveLength(before)
  })
})

function idsOf({ traceId, spanId }: SentSpan): { traceId: string; spanId: string } {
  return { traceId, spanId }
}

function missing(name: string): never {
  throw new Error(`there is no span ${name}`)
}
