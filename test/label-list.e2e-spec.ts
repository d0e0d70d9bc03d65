import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { TestApp } from './support/app.js'
import { MAIL_API } from './support/channel-api.js'
import { type Body, bodyOf, copyQuota, START, stopSweepers } from './support/quota-api.js'
import { onEveryStore, type Store } from './support/store.js'

/** More than are sorted without a look at what is cheaper. */
const OLD = 10_050
/** More than are walked for a page of twenty, also of the active ones alone. */
const BETWEEN = 7_000
const NEW = 30

onEveryStore('a label that more than 10,000 quotas bear', (kind) => {
  let store: Store
  let app: TestApp

  beforeAll(async () => {
    store = await kind.open()
    app = await TestApp.start(store)
    await stopSweepers(app)
    app.clock.set(START)
  })

  afterAll(async () => {
    await app.stop()
    await store.drop()
  })

  async function make(label: string | null, count: number): Promise<void> {
    const settings = { account_id: 7, quota_type: 1, total: 5, expire_at: app.clock.after(3600), label }
    const { id } = bodyOf(201, await app.post(MAIL_API.quotas, settings))
    await copyQuota(app, MAIL_API, id, count - 1)
    // Copies need not belong to one owner, who may not have so many.
    await sql('UPDATE mail_quota SET account_id = id')
  }

  const sql = async (statement: string): Promise<{ id: number }[]> => app.app.get(DataSource).query(statement)

  /** The ids in the order of the list, as the table alone tells them. */
  async function expected(condition: string): Promise<number[]> {
    const rows = await sql(`SELECT id FROM mail_quota WHERE label = 'Fleet' AND ${condition} ORDER BY id DESC`)
    return rows.map(({ id }) => id)
  }

  async function page(query: string): Promise<{ ids: number[]; total: number; relation: string }> {
    const {
      items,
      total,
      total_relation: relation,
    }: Body = bodyOf(200, await app.get(`${MAIL_API.list}?label=fleet&page_size=20${query}`))
    return { ids: items.map(({ id }: { id: number }) => id), total, relation }
  }

  /** Pages as the list has them, where the first is met soon and where it is not. */
  async function pagesAreRight(condition: string, filter: string): Promise<void> {
    const ids = await expected(condition)
    const long = ids.length > 10_000
    for (const number of [1, 2, 3, 100]) {
      const one = await page(`&page=${number}${filter}`)
      expect([filter, number, one.ids]).toEqual([filter, number, ids.slice((number - 1) * 20, number * 20)])
      expect(one.relation).toBe(long ? 'recent' : 'exact')
      expect(one.total).toBeLessThanOrEqual(ids.length)
      // A long list is counted aside, and nobody waits long for that.
      expect(one.total).toBeGreaterThanOrEqual(long ? 10_001 : ids.length)
    }
    const [middle] = ids.slice(ids.length / 2)
    expect((await page(`&before_id=${middle}${filter}`)).ids).toEqual(ids.filter((id) => id < middle!).slice(0, 20))
  }

  it('is found newest first, old as they all are', async () => {
    await make('Fleet', OLD)
    await make(null, BETWEEN)
    await sql("UPDATE mail_quota SET state = 'disabled' WHERE id % 7 = 0")
    await pagesAreRight('1 = 1', '')
    await pagesAreRight('id % 7 <> 0', '&status=active')
    await pagesAreRight('id % 7 = 0', '&status=disabled')
  })

  it('is found newest first where some are new', async () => {
    await make('Fleet', NEW)
    await sql("UPDATE mail_quota SET state = 'disabled' WHERE id % 7 = 0")
    await pagesAreRight('id % 7 <> 0', '&status=active')
    await pagesAreRight('id % 7 = 0', '&status=disabled')
    const ids = await expected('1 = 1')
    for (const number of [1, 2])
      expect((await page(`&page=${number}`)).ids).toEqual(ids.slice((number - 1) * 20, number * 20))
  })
})
