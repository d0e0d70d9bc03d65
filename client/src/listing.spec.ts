import { describe, expect, it } from '@jest/globals'
import { json, problem, rejection, type Sent, TestNetwork } from '../test/network.js'

/** A service with this number of rows, the newest with the largest id, that grows by one with each request. */
function growing(rows: number, pageSize = 20): TestNetwork {
  let newest = rows
  return new TestNetwork(({ path, query }: Sent) => {
    const size = Number(query['page_size'] ?? pageSize)
    const page = Number(query['page'] ?? 1)
    if (query['before_id'] !== undefined && query['page'] !== undefined)
      return problem(400, 'validation_failed', { errors: [] })
    if (page * size > 100_000) return problem(400, 'validation_failed', { errors: [] })
    const before = Number(query['before_id'] ?? Infinity)
    const from = Math.min(newest, before - 1) - (page - 1) * size
    const items = Array.from({ length: Math.max(0, Math.min(size, from)) }, (_, index) => ({ id: from - index }))
    newest += path.endsWith('/summary') ? 0 : 1
    return json(200, { items, page, page_size: size, total: newest, total_relation: 'exact' })
  })
}

async function walk<Item extends { id: number }>(list: AsyncIterable<Item>): Promise<number[]> {
  const ids: number[] = []
  for await (const { id } of list) ids.push(id)
  return ids
}

const down = (from: number): number[] => Array.from({ length: from }, (_, index) => from - index)

describe('a list', () => {
  it.each([0, 1, 19, 20, 21, 40, 457])(
    'of %d rows is walked over: each once, newest first, whatever comes meanwhile',
    async (rows) => {
      expect(await walk(growing(rows).client.mail.quotas.list())).toEqual(down(rows))
      expect(await walk(growing(rows).client.sms.quotas.changesOf(1))).toEqual(down(rows))
    },
  )

  it('is walked over beyond the depth that pages have', async () => {
    const network = growing(100_250)
    expect((await walk(network.client.mail.quotas.list({ pageSize: 100 }))).join()).toBe(down(100_250).join())
    expect(network.sent).toHaveLength(1_003)
    expect(network.sent.every(({ query }) => query['page'] === undefined)).toBe(true)
  })

  it('keeps its filters on the way', async () => {
    const network = growing(30)
    await walk(network.client.mail.quotas.list({ status: 'active', accountId: 7, label: undefined, deleted: true }))
    expect(network.sent.map(({ query }) => query)).toEqual([
      { status: 'active', account_id: '7', deleted: 'true' },
      { status: 'active', account_id: '7', deleted: 'true', before_id: '11' },
    ])
  })

  it('begins where the filter says', async () => {
    expect(await walk(growing(100).client.mail.quotas.list({ page: 3 }))).toEqual(down(60))
    expect(await walk(growing(100).client.mail.quotas.list({ beforeId: 31 }))).toEqual(down(30))
  })

  it('can be asked for a page alone', async () => {
    const network = growing(100)
    const list = network.client.mail.quotas.list({ page: 2, pageSize: 10 })
    expect(network.sent).toEqual([])
    expect(await list.page()).toMatchObject({ page: 2, pageSize: 10, total: 101, totalRelation: 'exact' })
    expect(network.sent).toHaveLength(1)
  })

  it('asks for no more pages than are looked at', async () => {
    const network = growing(100)
    for await (const { id } of network.client.mail.quotas.list()) if (id === 95) break
    expect(network.sent).toHaveLength(1)
  })

  it.each([
    ['owners', 'next_after', 'after', 7],
    ['changes', 'next_before', 'before', 31],
    ['expiring', 'next_cursor', 'cursor', '1798761600000.12'],
  ] as ['owners' | 'changes' | 'expiring', string, string, unknown][])(
    '%s is walked by its %s',
    async (name, member, parameter, value) => {
      const network = new TestNetwork((_, number) =>
        json(200, { items: [{ id: number }], [member]: number < 3 ? value : null }),
      )
      expect(await walk(network.client.sms.quotas[name]() as unknown as AsyncIterable<{ id: number }>)).toEqual([
        1, 2, 3,
      ])
      expect(network.sent.map(({ query }) => query)).toEqual([
        {},
        { [parameter]: String(value) },
        { [parameter]: String(value) },
      ])
    },
  )

  it('ends where its signal is aborted', async () => {
    const abort = new AbortController()
    const reason = new Error('enough')
    const walking = async (): Promise<void> => {
      for await (const { id } of growing(100).client.mail.quotas.list({}, { signal: abort.signal }))
        if (id === 85) abort.abort(reason)
    }
    expect(await rejection(walking())).toBe(reason)
  })
})
