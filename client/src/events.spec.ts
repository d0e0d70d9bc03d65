import { describe, expect, it } from '@jest/globals'
import { json, problem, rejection, TestNetwork } from '../test/network.js'
import { events, webhookEndpoints } from './events.js'
import { isProblem, OutcomeUnknown } from './problem.js'

const event = (n: number): object => ({
  id: `e-${n}`,
  type: 'quota.threshold_reached',
  at: '2026-11-23T00:00:00.000Z',
  account_id: 7,
  quota_id: n,
  data: { threshold: 80, crossed: [50, 80], total: 10, used: 8, cycle_reset_at: null, label: null, operation_id: null },
})

/** A service with this number of events; a cursor is the number of events before it. */
function feedOf(count: () => number, pageSize = 2): TestNetwork {
  return new TestNetwork(({ query }) => {
    const from = query['after'] === 'latest' ? count() : Number(query['after'] ?? 0)
    const to = Math.min(count(), from + pageSize)
    const items = Array.from({ length: to - from }, (_, n) => event(from + n))
    return json(200, { items, next_after: String(to) })
  })
}

describe('events', () => {
  it('are walked to the end for now, with the filter on each page', async () => {
    const network = feedOf(() => 5)
    const feed = events(network.client.mail, { accountId: 7, type: 'quota.threshold_reached', pageSize: 2 })
    const seen: (number | null)[] = []
    for await (const one of feed) {
      seen.push(one.quotaId)
      if (one.type === 'quota.threshold_reached') expect(one.data.operationId).toBe(null)
    }
    expect(seen).toEqual([0, 1, 2, 3, 4])
    expect(feed.cursor).toBe('5')
    const queries = network.sent.map(({ query }) => query)
    expect(queries.map(({ after }) => after)).toEqual([undefined, '2', '4', '5'])
    expect(new Set(queries.map(({ account_id: owner, type }) => `${owner} ${type}`))).toEqual(
      new Set(['7 quota.threshold_reached']),
    )
    expect(network.sent[0]?.path).toBe('/api/v1/quotas/events')
  })

  it('go on at the cursor of what was done with: nothing is left out, and the page that was begun comes again', async () => {
    const { client } = feedOf(() => 5)
    const feed = events(client.sms)
    let cursor: string | undefined
    for await (const { quotaId } of feed) {
      cursor = feed.cursor
      if (quotaId === 3) break
    }
    expect(cursor).toBe('2')
    const seen: (number | null)[] = []
    for await (const { quotaId } of events(client.sms, { after: cursor })) seen.push(quotaId)
    expect(seen).toEqual([2, 3, 4])
  })

  it('are followed until somebody says stop', async () => {
    let count = 1
    const network = feedOf(() => count)
    const ending = new AbortController()
    const seen: (number | null)[] = []
    const following = (async () => {
      for await (const { quotaId } of events(network.client.mail, {}, { signal: ending.signal }).follow({
        everyMs: 1000,
      })) {
        seen.push(quotaId)
        if (count < 4) count += 1
        else ending.abort(new Error('enough'))
      }
    })()
    expect(await rejection(following)).toMatchObject({ message: 'enough' })
    expect(seen).toEqual([0, 1, 2, 3])
  })

  it('say that a cursor is too old', async () => {
    const { client } = new TestNetwork(() => problem(410, 'cursor_expired'))
    const error = await rejection(events(client.mail, { after: 'x' })[Symbol.asyncIterator]().next())
    expect(isProblem(error) && [error.status, error.code]).toEqual([410, 'cursor_expired'])
  })
})

describe('endpoints of webhooks', () => {
  it('are tested as long as a server for mail may take', async () => {
    const network = new TestNetwork(() => 'silence')
    network.timing.chance = 0
    expect(await rejection(webhookEndpoints(network.client).test('ops'))).toBeInstanceOf(OutcomeUnknown)
    expect(network.sent.map(({ at }) => at)).toEqual([0, 40_000])
  })

  it('are listed, tried, enabled and sent to again', async () => {
    const answers: Record<string, object> = {
      'GET /api/v1/webhooks': { items: [{ name: 'ops', state: 'disabled', oldest_waiting_at: null }] },
      'POST /api/v1/webhooks/o%20ps/test': { status: 204, error: null, ms: 12 },
      'POST /api/v1/webhooks/ops/enable': { name: 'ops', state: 'active' },
      'POST /api/v1/webhooks/ops/replay': { events: 4 },
    }
    const network = new TestNetwork(({ method, path }) => json(200, answers[`${method} ${path}`]))
    const endpoints = webhookEndpoints(network.client)
    expect(await endpoints.list()).toEqual([{ name: 'ops', state: 'disabled', oldestWaitingAt: null }])
    expect(await endpoints.test('o ps')).toEqual({ status: 204, error: null, ms: 12 })
    expect((await endpoints.enable('ops')).state).toBe('active')
    expect(await endpoints.replay('ops', { from: '2026-11-01T00:00:00Z' })).toBe(4)
    expect(network.sent.at(-1)?.body).toEqual({ from: '2026-11-01T00:00:00Z' })
  })
})
