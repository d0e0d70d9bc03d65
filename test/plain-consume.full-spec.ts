import { beforeAll, describe, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { TestApp } from './support/app.js'
import { type ChannelApi, MAIL_API, SMS_API } from './support/channel-api.js'
import { stored } from './support/ids.js'
import { bodyOf, fresh, stopSweepers, sweeperOf } from './support/quota-api.js'
import { rowsRead } from './support/rows-read.js'
import { onEveryStore } from './support/store.js'
import { shuffled, times } from './support/wire.js'

const APIS = [MAIL_API, SMS_API] as const

/** One operation as every route tells it. */
interface Told {
  readonly operation: unknown
  readonly acts: unknown
  readonly ofOwner: unknown
  readonly ofQuota: unknown
  readonly byKey: unknown
}

onEveryStore('a consume in one row', (kind) => {
  let app: TestApp
  let dataSource: DataSource

  beforeAll(async () => {
    app = await TestApp.on(kind)
    await stopSweepers(app)
    dataSource = app.app.get(DataSource)
  })

  async function quotaOf(api: ChannelApi, owner: number, total = 100): Promise<number> {
    const made = await app.post(api.quotas, {
      [api.owner]: owner,
      quota_type: 1,
      total,
      expire_at: app.clock.after(1_000_000 + fresh()),
    })
    return bodyOf(201, made).id as number
  }

  async function consume(api: ChannelApi, owner: number, amount: number, key: string): Promise<string> {
    const answer = await app.post(api.consume, { [api.owner]: owner, amount }, { key })
    bodyOf(200, answer)
    return answer.text
  }

  const usage = (api: ChannelApi): string => api.usage
  const idOf = (text: string): string => (JSON.parse(text) as { id: string }).id

  async function refund(api: ChannelApi, id: string, amount: number, key: string): Promise<string> {
    const answer = await app.post(`${usage(api)}/${id}/refund`, { amount }, { key })
    bodyOf(200, answer)
    return answer.text
  }

  async function told(api: ChannelApi, id: string, owner: number, quota: number, key: string): Promise<Told> {
    const get = async (path: string): Promise<unknown> => bodyOf(200, await app.get(`${usage(api)}${path}`))
    return {
      operation: await get(`/${id}`),
      acts: await get(`/${id}/acts`),
      ofOwner: await get(`?${api.owner}=${owner}`),
      ofQuota: await get(`?quota_id=${quota}`),
      byKey: await get(`?idempotency_key=${key}`),
    }
  }

  const actsRead = async (): Promise<number> => rowsRead(kind, dataSource, 'mail_act')

  /** How many rows the operation has: its act, others' acts, operation, allocations. */
  async function rowsOf(api: ChannelApi, id: string): Promise<number[]> {
    const conditions = [`act WHERE id = ?`, `operation WHERE id = ?`, `allocation WHERE operation_id = ?`]
    return Promise.all(
      conditions.map(async (of) => {
        const [row] = await dataSource.query<{ n: number | string }[]>(
          `SELECT COUNT(*) AS n FROM ${api.channel}_${of}`,
          stored([id]),
        )
        return Number(row?.n)
      }),
    )
  }

  it.each(APIS)('tells $name the same by every route', async (api) => {
    const owner = fresh()
    const quota = await quotaOf(api, owner)
    const key = `new-${owner}`
    const text = await consume(api, owner, 7, key)
    expect(await rowsOf(api, idOf(text))).toEqual([1, 0, 0])
    expect(await consume(api, owner, 7, key)).toBe(text)
    const page = { items: [JSON.parse(text)], next_before: null }
    expect(await told(api, idOf(text), owner, quota, key)).toMatchObject({
      operation: JSON.parse(text),
      acts: { items: [{ kind: 'consume', amount: 7, idempotency_key: key }] },
      ofOwner: page,
      ofQuota: page,
      byKey: page,
    })
    const other = await app.post(api.consume, { [api.owner]: owner, amount: 8 }, { key })
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reused'])
  })

  it.each(APIS)('makes the other rows when a $name consume is refunded, and shows it once', async (api) => {
    const owner = fresh()
    const quota = await quotaOf(api, owner)
    const spent = await consume(api, owner, 10, `spend-${owner}`)
    const id = idOf(spent)
    const [back] = await Promise.all([
      refund(api, id, 3, `refund-${owner}`),
      refund(api, id, 4, `other-${owner}`),
      refund(api, id, 3, `refund-${owner}`),
    ])
    expect(await rowsOf(api, id)).toEqual([1, 1, 1])
    expect(await consume(api, owner, 10, `spend-${owner}`)).toBe(spent)
    expect(await refund(api, id, 3, `refund-${owner}`)).toBe(back)
    const now = { ...JSON.parse(spent), refunded: 7, owner_remaining: 97 }
    const all = await told(api, id, owner, quota, `refund-${owner}`)
    expect(all).toMatchObject({
      operation: now,
      ofOwner: { items: [now], next_before: null },
      ofQuota: { items: [now], next_before: null },
      byKey: { items: [now], next_before: null },
    })
    expect((all.acts as { items: { kind: string }[] }).items.map(({ kind }) => kind)).toEqual([
      'consume',
      'refund',
      'refund',
    ])
    const tooMuch = await app.post(`${usage(api)}/${id}/refund`, { amount: 4 }, { key: `third-${owner}` })
    expect([tooMuch.status, tooMuch.body.code]).toEqual([409, 'refund_exceeds_charge'])
    expect(bodyOf(200, await app.get(api.summary(owner)))).toMatchObject({ used: 3 })
  })

  it('is not read if it is older than the period that is asked for', async () => {
    const owner = fresh()
    await quotaOf(MAIL_API, owner, 10_000)
    const item = () => ({ account_id: owner, amount: 1, idempotency_key: `old-${fresh()}` })
    const items = Array.from({ length: 1_000 }, item)
    for (const batch of [items, items.map(item)])
      bodyOf(200, await app.post(`${MAIL_API.consume}/batch`, { items: batch }, { as: 'usage' }))
    app.clock.pass(3 * 86_400)
    const young = idOf(await consume(MAIL_API, owner, 1, `young-${fresh()}`))
    const before = await actsRead()
    const from = encodeURIComponent(app.clock.after(-3_600))
    const page = bodyOf(200, await app.get(`${usage(MAIL_API)}?account_id=${owner}&from=${from}`))
    expect(page.items.map(({ id }: { id: string }) => id)).toEqual([young])
    expect((await actsRead()) - before).toBeLessThan(1_000)
  })

  it.each([
    ['is over', (at: string) => ({ expire_at: at })],
    ['is disabled', () => ({ status: 'disabled' })],
  ])('is not read for a cap that %s', async (_, ended) => {
    const owner = fresh()
    await quotaOf(MAIL_API, owner, 10_000)
    const settings = { account_id: owner, quota_type: 1, cap: 'observe', total: 10, expire_at: app.clock.after(7_200) }
    const cap = bodyOf(201, await app.post(MAIL_API.quotas, settings))
    const counted = idOf(await consume(MAIL_API, owner, 1, `counted-${owner}`))
    const edit = { version: cap.version, ...ended(app.clock.after(3_600)) }
    bodyOf(200, await app.put(`${MAIL_API.quotas}/${cap.id}`, edit))
    app.clock.pass(3 * 86_400)
    const item = () => ({ account_id: owner, amount: 1, idempotency_key: `later-${fresh()}` })
    for (let batch = 0; batch < 2; batch += 1)
      bodyOf(200, await app.post(`${MAIL_API.consume}/batch`, { items: times(1_000).map(item) }, { as: 'usage' }))
    const before = await actsRead()
    const page = bodyOf(200, await app.get(`${usage(MAIL_API)}?quota_id=${cap.id}`))
    expect([page.items.map(({ id }: { id: string }) => id), page.next_before]).toEqual([[counted], null])
    expect((await actsRead()) - before).toBeLessThan(1_000)
  })

  it.each([
    ['a cap whose end is moved into the past', false, (at: string) => ({ expire_at: at })],
    ['a count whose quota is disabled', true, () => ({ status: 'disabled' })],
    ['a count of a quota whose end is moved into the past', true, (at: string) => ({ expire_at: at })],
  ])('remains in the ledger of %s', async (_, isOfMember, ended) => {
    const owner = fresh()
    await quotaOf(MAIL_API, owner, 10_000)
    const group: number = bodyOf(201, await app.post(`${MAIL_API.quotas}/groups`, { name: `of ${owner}` })).id
    bodyOf(200, await app.post(`${MAIL_API.quotas}/groups/${group}/members`, { account_ids: [owner] }))
    const place = isOfMember ? { group_id: group, per: 'member' } : { account_id: owner }
    const settings = { ...place, quota_type: 1, cap: 'observe', total: 10, expire_at: app.clock.after(30 * 86_400) }
    const cap = bodyOf(201, await app.post(MAIL_API.quotas, settings))
    const early = app.clock.after(3_600)
    const ids: string[] = []
    for (const key of ['first', 'second', 'third']) {
      ids.unshift(idOf(await consume(MAIL_API, owner, 1, `${key}-${owner}`)))
      app.clock.pass(5 * 86_400)
    }
    bodyOf(200, await app.put(`${MAIL_API.quotas}/${cap.id}`, { version: cap.version, ...ended(early) }))
    await sweeperOf(app, MAIL_API).sweep()
    app.clock.pass(3 * 86_400)
    const counts = bodyOf(200, await app.get(`${MAIL_API.list}?account_id=${owner}&cap=observe`)).items
    const page = bodyOf(200, await app.get(`${usage(MAIL_API)}?quota_id=${counts[0].id}`))
    expect(page.items.map(({ id }: { id: string }) => id)).toEqual(ids)
  })

  it('is refunded in one batch with others', async () => {
    const owner = fresh()
    await quotaOf(MAIL_API, owner)
    // Requests in hand together share a transaction.
    const spent = await Promise.all(
      Array.from({ length: 30 }, async (_, n) => consume(MAIL_API, owner, 2, `together-${owner}-${n}`)),
    )
    await Promise.all(
      spent.flatMap((text, n) => [
        refund(MAIL_API, idOf(text), 2, `back-${owner}-${n}`),
        consume(MAIL_API, owner, 1, `more-${owner}-${n}`),
      ]),
    )
    expect(bodyOf(200, await app.get(MAIL_API.summary(owner)))).toMatchObject({ used: 30 })
  })

  it('has separate rows if several quotas pay', async () => {
    const owner = fresh()
    await quotaOf(MAIL_API, owner, 3)
    await quotaOf(MAIL_API, owner, 3)
    expect(await rowsOf(MAIL_API, idOf(await consume(MAIL_API, owner, 5, `split-${owner}`)))).toEqual([1, 1, 2])
  })

  it('has no hold to settle', async () => {
    const owner = fresh()
    await quotaOf(MAIL_API, owner)
    const id = idOf(await consume(MAIL_API, owner, 1, `settled-${owner}`))
    for (const how of ['commit', 'release']) {
      const answer = await app.post(`${usage(MAIL_API)}/${id}/${how}`, {})
      expect([answer.status, answer.body.code, answer.body.state]).toEqual([
        409,
        'operation_already_settled',
        'consumed',
      ])
    }
    expect(await rowsOf(MAIL_API, id)).toEqual([1, 0, 0])
  })

  it.each(APIS)('takes its place among the $name operations of every page and filter', async (api) => {
    const owner = fresh()
    const quota = await quotaOf(api, owner, 1_000)
    const expected: string[] = []
    for (let n = 0; n < 12; n += 1) {
      app.clock.pass(1)
      const key = `mixed-${owner}-${n}`
      if (n % 3 === 0) {
        const body = { [api.owner]: owner, amount: 1, ttl_seconds: 3600 }
        expected.unshift(bodyOf(201, await app.post(api.reserve, body, { key })).id as string)
      } else {
        expected.unshift(idOf(await consume(api, owner, 2, key)))
        if (n % 3 === 2) await refund(api, expected[0] ?? '', 1, `${key}-back`)
      }
    }
    const page = async (query: string): Promise<{ ids: string[]; next: string | null }> => {
      const { items, next_before: next } = bodyOf(200, await app.get(`${usage(api)}?${query}`))
      return { ids: (items as { id: string }[]).map(({ id }) => id), next }
    }
    const reserves = expected.filter((_, n) => (expected.length - 1 - n) % 3 === 0)
    const consumes = expected.filter((id) => !reserves.includes(id))
    for (const of of [`${api.owner}=${owner}`, `quota_id=${quota}`]) {
      expect((await page(of)).ids).toEqual(expected)
      const walked: string[] = []
      for (let next: string | null = ''; next !== null;) {
        const part = await page(`${of}&page_size=5${next === '' ? '' : `&before=${next}`}`)
        walked.push(...part.ids)
        ;({ next } = part)
      }
      expect(walked).toEqual(expected)
      expect((await page(`${of}&kind=consume`)).ids).toEqual(consumes)
      expect((await page(`${of}&kind=reserve`)).ids).toEqual(reserves)
      expect((await page(`${of}&state=consumed`)).ids).toEqual(consumes)
      expect((await page(`${of}&state=reserved`)).ids).toEqual(reserves)
      expect((await page(`${of}&state=committed`)).ids).toEqual([])
      const { created_at: fifth } = bodyOf(200, await app.get(`${usage(api)}/${expected[5]}`))
      expect((await page(`${of}&from=${fifth}`)).ids).toEqual(expected.slice(0, 6))
      expect((await page(`${of}&to=${fifth}`)).ids).toEqual(expected.slice(6))
    }
  })

  describe('is listed by a quota of each member', () => {
    const members = times(1_050).map((n) => 100_000 + n)
    const quotas: number[] = []
    /** What the members took, newest first. */
    let ids: string[] = []

    beforeAll(async () => {
      const group = bodyOf(201, await app.post(`${MAIL_API.quotas}/groups`, { name: 'many' })).id as number
      for (const cap of [null, 'enforce'])
        quotas.push(
          bodyOf(
            201,
            await app.post(MAIL_API.quotas, {
              ...{ group_id: group, per: 'member', quota_type: 1, total: 10_000, cap },
              expire_at: app.clock.after(1_000_000),
            }),
          ).id as number,
        )
      for (let n = 0; n < members.length; n += 100) {
        const added = { account_ids: members.slice(n, n + 100) }
        bodyOf(200, await app.post(`${MAIL_API.quotas}/groups/${group}/members`, added))
      }
      const [busy = 0] = members
      const takers = [...shuffled([...members, ...Array.from({ length: 950 }, () => busy)]), ...members.slice(-30)]
      for (let n = 0; n < takers.length; n += 1_000) {
        const items = takers
          .slice(n, n + 1_000)
          .map((owner) => ({ account_id: owner, amount: 1, idempotency_key: `of-${fresh()}` }))
        bodyOf(200, await app.post(`${MAIL_API.consume}/batch`, { items }, { as: 'usage' }))
      }
      const rows = await dataSource.query<{ id: string }[]>(
        "SELECT LOWER(HEX(id)) AS id FROM mail_act WHERE kind = 'consume' AND owner_id >= 100000 ORDER BY id DESC",
      )
      ids = rows.map(({ id }) => id.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'))
      expect(ids).toHaveLength(takers.length)
    })

    const page = async (query: string, as: 'admin' | 'own-usage' = 'admin') =>
      bodyOf(200, await app.get(`${usage(MAIL_API)}?${query}`, { as }))
    const idsOf = (items: { id: string }[]): string[] => items.map(({ id }) => id)

    it('newest first, page by page, whoever took how much', async () => {
      for (const quota of quotas) {
        const seen: string[] = []
        for (let next: string | null = ''; next !== null && seen.length < 500;) {
          const found = await page(`quota_id=${quota}&page_size=100${next === '' ? '' : `&before=${next}`}`)
          seen.push(...idsOf(found.items))
          next = found.next_before as string | null
        }
        expect(seen).toEqual(ids.slice(0, 500))
        const last = await page(`quota_id=${quota}&page_size=100&before=${ids.at(-40)}`)
        expect([idsOf(last.items), last.next_before]).toEqual([ids.slice(-39), null])
      }
    })

    it('also those with rows of their own', async () => {
      const [one, two] = [ids[700]!, ids[1_500]!]
      for (const id of [one, two]) await refund(MAIL_API, id, 1, `back-${fresh()}`)
      const owner = members[3]!
      const held = await app.post(
        MAIL_API.reserve,
        { account_id: owner, amount: 2, ttl_seconds: 60 },
        { key: `h-${fresh()}` },
      )
      const { id } = bodyOf(201, held)
      for (const quota of quotas) {
        expect(idsOf((await page(`quota_id=${quota}&state=reserved`)).items)).toEqual([id])
        expect(idsOf((await page(`quota_id=${quota}&kind=reserve`)).items)).toEqual([id])
        const around = await page(`quota_id=${quota}&page_size=2&before=${ids[699]}`)
        expect(idsOf(around.items)).toEqual([one, ids[701]])
      }
    })

    it('without reading what the page does not show', async () => {
      for (const quota of quotas) {
        const before = await actsRead()
        expect((await page(`quota_id=${quota}`)).items).toHaveLength(20)
        expect((await actsRead()) - before).toBeLessThan(1_050 + 21 * 21 + 200)
      }
    })

    it('to a caller only what it made', async () => {
      const body = { account_id: members[5], amount: 1 }
      const { id } = bodyOf(200, await app.post(MAIL_API.consume, body, { as: 'own-usage', key: `own-${fresh()}` }))
      for (const quota of quotas) expect(idsOf((await page(`quota_id=${quota}`, 'own-usage')).items)).toEqual([id])
    })
  })

  it('shows the oldest of very many acts', async () => {
    const owner = fresh()
    await quotaOf(MAIL_API, owner, 50_000)
    const id = idOf(await consume(MAIL_API, owner, 50_000, `many-${owner}`))
    await refund(MAIL_API, id, 1, `one-${owner}`)
    const { columns = [] } = dataSource.entityMetadatas.find(({ tableName }) => tableName === 'mail_act') ?? {}
    const names = columns.map(({ databaseName }) => databaseName)
    const own: Record<string, string> = {
      id: kind.name === 'SQLite' ? 'randomblob(16)' : "UNHEX(REPLACE(UUID(), '-', ''))",
      deduplication_key: 'NULL',
    }
    const copied = names.map((name) => own[name] ?? name).join(', ')
    for (let refunds = 1; refunds < 10_500; refunds *= 2)
      await dataSource.query(
        `INSERT INTO mail_act (${names.join(', ')}) SELECT ${copied} FROM mail_act WHERE operation_id = ?`,
        stored([id]),
      )
    const { items } = bodyOf(200, await app.get(`${usage(MAIL_API)}/${id}/acts`))
    expect(items).toHaveLength(10_000)
    expect(items[0]).toMatchObject({ kind: 'consume', amount: 50_000 })
  })
})
