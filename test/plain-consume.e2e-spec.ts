import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { dataSourceOptions } from '../src/database/data-source-options.js'
import { migrate } from '../src/database/migrate.js'
import { FINISHING, MIGRATIONS } from '../src/database/migrations/index.js'
import { WritePlainConsumes1795400000001 } from '../src/database/migrations/1795400000001-write-plain-consumes.js'
import { ENTITIES } from '../src/entities.js'
import { TestApp } from './support/app.js'
import { type ChannelApi, MAIL_API, SMS_API } from './support/channel-api.js'
import { bodyOf, fresh, stopSweepers } from './support/quota-api.js'
import { onEveryStore, type Store } from './support/store.js'

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
  let store: Store
  let app: TestApp
  let dataSource: DataSource

  beforeAll(async () => {
    store = await kind.open()
    await begin()
  }, 60_000)

  afterAll(async () => {
    await app.stop()
    await store.drop()
  })

  async function begin(): Promise<void> {
    app = await TestApp.start(store)
    await stopSweepers(app)
    dataSource = app.app.get(DataSource)
  }

  /** As a database is that the release before has made: it is not said yet that none of its instances is left. */
  async function restartBesideTheReleaseBefore(): Promise<void> {
    await app.stop()
    const source = await new DataSource(dataSourceOptions(store.config, ENTITIES, 'migration')).initialize()
    try {
      const later = MIGRATIONS.slice(MIGRATIONS.indexOf(WritePlainConsumes1795400000001))
      for (const _ of later) await source.undoLastMigration({ transaction: 'none' })
    } finally {
      await source.destroy()
    }
    // An instance that starts says nothing of the others.
    await begin()
  }

  async function restartWithoutIt(): Promise<void> {
    await app.stop()
    expect(await migrate(store.config, ENTITIES, { finish: true })).toEqual(FINISHING.map(({ name }) => name))
    await begin()
  }

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

  /** How many rows the operation has: its act, others' acts, operation, allocations. */
  async function rowsOf(api: ChannelApi, id: string): Promise<number[]> {
    const conditions = [`act WHERE id = ?`, `operation WHERE id = ?`, `allocation WHERE operation_id = ?`]
    return Promise.all(
      conditions.map(async (of) => {
        const [row] = await dataSource.query<{ n: number | string }[]>(
          `SELECT COUNT(*) AS n FROM ${api.channel}_${of}`,
          [id],
        )
        return Number(row?.n)
      }),
    )
  }

  it.each(APIS)(
    'tells $name the same before and after the release before is gone, and back',
    async (api) => {
      await restartBesideTheReleaseBefore()
      const owner = fresh()
      const quota = await quotaOf(api, owner)
      const first = await consume(api, owner, 5, `old-${owner}`)
      expect(await rowsOf(api, idOf(first))).toEqual([1, 1, 1])
      const before = await told(api, idOf(first), owner, quota, `old-${owner}`)

      await restartWithoutIt()
      expect(await told(api, idOf(first), owner, quota, `old-${owner}`)).toEqual(before)
      app.clock.pass(1)
      const second = await consume(api, owner, 7, `new-${owner}`)
      expect(await rowsOf(api, idOf(second))).toEqual([1, 0, 0])
      expect(await consume(api, owner, 5, `old-${owner}`)).toBe(first)
      expect(await consume(api, owner, 7, `new-${owner}`)).toBe(second)
      const after = await told(api, idOf(second), owner, quota, `new-${owner}`)
      expect(after.operation).toEqual(JSON.parse(second))
      expect(after.ofOwner).toEqual({ items: [JSON.parse(second), JSON.parse(first)], next_before: null })
      expect(after.ofQuota).toEqual(after.ofOwner)
      expect(after.byKey).toEqual({ items: [JSON.parse(second)], next_before: null })
      expect(after.acts).toMatchObject({ items: [{ kind: 'consume', amount: 7, idempotency_key: `new-${owner}` }] })

      // The release before knows three rows a consume.
      await restartBesideTheReleaseBefore()
      expect(await rowsOf(api, idOf(second))).toEqual([1, 1, 1])
      expect(await told(api, idOf(second), owner, quota, `new-${owner}`)).toEqual(after)
      expect(await consume(api, owner, 7, `new-${owner}`)).toBe(second)
      const other = await app.post(api.consume, { [api.owner]: owner, amount: 8 }, { key: `new-${owner}` })
      expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reused'])
      await restartWithoutIt()
    },
    60_000,
  )

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
})
