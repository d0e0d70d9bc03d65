import { describe, expect, it } from '@jest/globals'
import { type Fate, json, problem, rejection, type Sent, TestNetwork } from '../test/network.js'
import { changeSets, type ChangeSetState } from './change-sets.js'
import { OutcomeUnknown } from './problem.js'

const PATH = '/api/v1/quotas/change-sets'
const COUNTS = { rows: 5, planned: 3, unchanged: 1, invalid: 1, applied: 0, conflict: 0, reverted: 0, kept: 0 }

function set(state: ChangeSetState, version = 1): object {
  return {
    id: 1,
    state,
    source: 'filter',
    filter: { label: 'a_b' },
    change: { update: { total: { percent: 20 } } },
    actor: 'anna',
    version,
    created_at: '2026-11-23T00:00:00.000Z',
    applied_at: null,
    reverted_at: null,
    counts: COUNTS,
  }
}

const told = ({ method, path }: Sent): string => `${method} ${path}`
const csv = (text: string): Response => new Response(text, { headers: { 'content-type': 'text/csv' } })

describe('change sets', () => {
  it('are made, waited for, applied as they were seen, and undone', async () => {
    const answers: Record<string, object[]> = {
      [`POST ${PATH}`]: [set('preparing')],
      [`GET ${PATH}/1`]: [set('preparing'), set('ready', 2), set('applying', 3), set('applied', 4), set('reverted', 6)],
      [`POST ${PATH}/1/apply`]: [set('applying', 3)],
      [`POST ${PATH}/1/revert`]: [set('reverting', 5)],
    }
    const network = new TestNetwork((sent) => json(200, answers[told(sent)]?.shift()))
    const sets = changeSets(network.client.mail)
    const made = await sets.create(
      { filter: { label: 'a_b', userId: 3 }, change: { update: { total: { percent: 20 }, expireAt: null } } },
      { key: 'k' },
    )
    const ready = await sets.wait(made)
    expect(ready).toMatchObject({ state: 'ready', createdAt: '2026-11-23T00:00:00.000Z', filter: { label: 'a_b' } })
    const applied = await sets.wait(await sets.apply(ready))
    expect(applied.state).toBe('applied')
    expect((await sets.wait(await sets.revert(applied))).state).toBe('reverted')
    const bodies = network.sent.filter(({ method }) => method === 'POST').map(({ body }) => body)
    expect(bodies).toEqual([
      { filter: { label: 'a_b', user_id: 3 }, change: { update: { total: { percent: 20 }, expire_at: null } } },
      { version: 2, rows: 3 },
      { version: 4 },
    ])
    expect(network.sent[0]?.headers['idempotency-key']).toBe('k')
  })

  it('are waited for no longer than wanted', async () => {
    const network = new TestNetwork(() => json(200, set('applying')))
    const sets = changeSets(network.client.mail)
    expect(await rejection(sets.wait(1, { deadlineMs: 60_000 }))).toMatchObject({ name: 'TimeoutError' })
    const away = new TestNetwork(() => problem(503, 'unavailable'))
    const waiting = changeSets(away.client.mail).wait(1, { deadlineMs: 600_000 })
    expect(await rejection(waiting)).toMatchObject({ code: 'unavailable' })
    expect(away.timing.now()).toBeGreaterThan(580_000)
    const silent = new TestNetwork(() => 'silence')
    expect(await rejection(changeSets(silent.client.mail).wait(1, { deadlineMs: 1_000 }))).toBeInstanceOf(
      OutcomeUnknown,
    )
    expect(silent.timing.now()).toBeLessThanOrEqual(1_000)
    expect(network.timing.now()).toBeGreaterThan(50_000)
    expect(network.sent.length).toBeLessThan(25)
    const ending = new AbortController()
    ending.abort(new Error('enough'))
    expect(await rejection(sets.wait(1, { signal: ending.signal }))).toMatchObject({ message: 'enough' })
  })

  it.each<[string, Fate[], unknown]>([
    [
      'the lost answer had applied it',
      ['broken', problem(409, 'version_mismatch', { version: 3 }), json(200, set('applying', 3))],
      { state: 'applying' },
    ],
    [
      'the state says so',
      ['broken', problem(409, 'change_set_state'), json(200, set('applied', 4))],
      { state: 'applied' },
    ],
    [
      'somebody reverted it meanwhile',
      ['broken', problem(409, 'version_mismatch', { version: 9 }), json(200, set('reverted', 9))],
      { code: 'version_mismatch' },
    ],
    ['nothing was lost', [problem(409, 'change_set_differs')], { code: 'change_set_differs' }],
  ])('are applied once: %s', async (_what, fates, expected) => {
    const network = new TestNetwork((_, number) => fates[number - 1]!)
    const sets = changeSets(network.client.mail)
    const applied = sets.apply({ id: 1, version: 2, counts: COUNTS } as never)
    expect(await applied.catch((error: unknown) => error)).toMatchObject(expected as Record<string, unknown>)
  })

  it('are dropped once', async () => {
    const fates: Fate[] = ['broken', problem(404, 'change_set_not_found')]
    const network = new TestNetwork((_, number) => fates[number - 1]!)
    await changeSets(network.client.sms).delete(1)
    expect(network.sent.map(told)).toEqual(Array(2).fill('DELETE /api/sms/admin/quota/change-sets/1'))
  })

  it('and their rows are walked page by page', async () => {
    const network = new TestNetwork(({ path, query }) =>
      path.endsWith('/rows')
        ? json(200, {
            items: [{ row: Number(query['after'] ?? 0) + 1, quota_id: 12 }],
            next_after: query['after'] === undefined ? 1 : null,
          })
        : json(200, {
            items: [set(query['before'] === undefined ? 'ready' : 'applied')],
            next_before: query['before'] === undefined ? 1 : null,
          }),
    )
    const sets = changeSets(network.client.mail)
    const rows: unknown[] = []
    for await (const { row, quotaId } of sets.rows(1, { outcome: 'planned' })) rows.push([row, quotaId])
    expect(rows).toEqual([
      [1, 12],
      [2, 12],
    ])
    expect(network.sent.map(({ query }) => query)).toEqual([{ outcome: 'planned' }, { outcome: 'planned', after: '1' }])
    const states: string[] = []
    for await (const { state } of sets.list()) states.push(state)
    expect(states).toEqual(['ready', 'applied'])
  })
})

describe('files', () => {
  const FILE = 'id,total\n12,100\n'

  it('are imported as they are, and again where the answer is lost and there is a key', async () => {
    const network = new TestNetwork((_, number) => (number === 1 ? 'broken' : json(202, set('preparing'))))
    expect(await changeSets(network.client.mail).import(FILE, { key: 'k' })).toMatchObject({ state: 'preparing' })
    expect(network.sent.map(told)).toEqual(Array(2).fill('POST /api/v1/quotas/import'))
    for (const { body, headers } of network.sent) expect([body, headers['content-type']]).toEqual([FILE, 'text/csv'])
  })

  it.each([
    ['there is no key', {}, FILE],
    ['it is a stream', { key: 'k' }, new Blob([FILE]).stream()],
  ])('are not sent twice where %s', async (_what, options, file) => {
    const network = new TestNetwork(() => 'broken')
    expect(await rejection(changeSets(network.client.mail).import(file, options))).toBeInstanceOf(OutcomeUnknown)
    expect(network.sent.length).toBe(1)
  })

  it('sends no stream a second time, also where the first had no effect', async () => {
    const network = new TestNetwork(() => problem(429, 'rate_limited'))
    const file = new Blob([FILE]).stream()
    const refused = await rejection(changeSets(network.client.mail).import(file, { key: 'k' }))
    expect([refused, network.sent.length]).toEqual([expect.objectContaining({ code: 'rate_limited' }), 1])
  })

  it('are exported row by row, typed as the record', async () => {
    const text =
      'id,account_id,user_id,quota_type,total,cycle_unit,label,thresholds,expire_at,group_id,follows,overrides\r\n' +
      '12,7,,2,100,month,"\'=a, ""b""",50 80,,5,9,total label\r\n' +
      '11,7,3,1,5,,,none,2026-12-01T00:00:00.000Z,5,9,none\r\n'
    const network = new TestNetwork(() => csv(text))
    const rows: unknown[] = []
    for await (const row of changeSets(network.client.mail).export({ label: 'x' })) rows.push(row)
    expect(rows).toEqual([
      {
        id: 12,
        accountId: 7,
        userId: null,
        quotaType: 2,
        total: 100,
        cycleUnit: 'month',
        label: '=a, "b"',
        thresholds: [50, 80],
        expireAt: null,
        groupId: 5,
        follows: 9,
        overrides: ['total', 'label'],
      },
      {
        id: 11,
        accountId: 7,
        userId: 3,
        quotaType: 1,
        total: 5,
        cycleUnit: null,
        label: null,
        thresholds: [],
        expireAt: '2026-12-01T00:00:00.000Z',
        groupId: 5,
        follows: 9,
        overrides: [],
      },
    ])
    expect(network.sent.map((sent) => [told(sent), sent.query])).toEqual([
      ['GET /api/v1/quotas/export.csv', { label: 'x' }],
    ])
  })

  it('end the request where nobody goes on reading, and tell of what breaks off', async () => {
    let cancelled = false
    const endless = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode('id\n1\n2\n')),
      cancel: () => void (cancelled = true),
    })
    const network = new TestNetwork((_, number) =>
      number === 1
        ? new Response(endless)
        : new Response(
            new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new TypeError('terminated')) }),
          ),
    )
    const sets = changeSets(network.client.mail)
    for await (const { id } of sets.export()) {
      expect(id).toBe(1)
      break
    }
    expect(cancelled).toBe(true)
    expect(await rejection(sets.export().next())).toMatchObject({ message: 'terminated' })
  })

  it('are refused as everything else', async () => {
    const network = new TestNetwork(() => problem(403, 'forbidden'))
    expect(await rejection(changeSets(network.client.mail).export().next())).toMatchObject({ code: 'forbidden' })
    expect(await rejection(changeSets(network.client.mail).rowsCsv(1))).toMatchObject({ code: 'forbidden' })
  })
})
