import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { partOf } from '../src/channel-api/ledger.module.js'
import { QuotaReader } from '../src/ledger/read/quota-reader.js'
import type { MailQuota } from '../src/mail-quota/mail-quota.entity.js'
import { MAIL } from '../src/mail-quota/mail.channel.js'
import { TestApp } from './support/app.js'
import { figure } from './support/figures.js'
import { MAIL_API } from './support/channel-api.js'
import { type Body, bodyOf, copyQuota, START, stopSweepers, sweeperOf } from './support/quota-api.js'
import { onEveryStore, type Store } from './support/store.js'
import { times } from './support/wire.js'

/** Below 10,000, so that every total is exact, and enough that the sweeper takes many steps. */
const QUOTAS = 4_000
const ROUNDS = 2
const POLLERS = 4

onEveryStore('the total of a list', (kind) => {
  let store: Store
  let app: TestApp
  let reader: QuotaReader<MailQuota>

  beforeAll(async () => {
    store = await kind.open()
    app = await TestApp.start(store)
    await stopSweepers(app)
    reader = app.app.get<QuotaReader<MailQuota>>(partOf(MAIL, QuotaReader))
  })

  afterAll(async () => {
    await app.stop()
    await store.drop()
  })

  it('is exact while the sweeper moves its rows from one source to the other', async () => {
    let polls = 0
    const wrong: unknown[] = []
    let rows = 0
    for (const round of times(ROUNDS)) {
      app.clock.set(START)
      const settings = { account_id: 1 + round, quota_type: 1, total: 5, expire_at: app.clock.after(60) }
      const { id } = bodyOf(201, await app.post(MAIL_API.quotas, settings))
      const added = Math.floor(QUOTAS / ROUNDS)
      await copyQuota(app, MAIL_API, id, added - 1)
      rows += added
      app.clock.pass(60)

      let swept = false
      const pollers = times(POLLERS).map(async () => {
        while (!swept) {
          const page = await reader.list('reader', { subjects: {}, status: 'expired' }, { page: 1, pageSize: 5 })
          polls += 1
          const { items, total, total_relation: relation } = page
          if (total !== rows || relation !== 'exact' || items.length !== 5) wrong.push({ total, relation, rows })
        }
      })
      await sweeperOf(app, MAIL_API).sweep()
      swept = true
      await Promise.all(pollers)
    }
    figure(`${kind.name}, totals while the sweeper works`, { polls, wrong: wrong.length })
    expect(wrong).toEqual([])
    // Otherwise nothing was polled while rows moved.
    expect(polls).toBeGreaterThan(2 * POLLERS)
  })

  it('is never smaller than what the page shows while quotas are made', async () => {
    app.clock.set(START)
    const owner = 77
    const create = (): PromiseLike<unknown> =>
      app.post(MAIL_API.quotas, {
        account_id: owner,
        quota_type: 1,
        total: 5,
        expire_at: app.clock.after(60),
      })
    let made = false
    const seen: { shown: number; total: number }[] = []
    const changes: { shown: number; total: number }[] = []
    const pollers = times(POLLERS).map(async () => {
      while (!made) {
        const page: Body = bodyOf(200, await app.get(`${MAIL_API.list}?account_id=${owner}&page_size=100`))
        seen.push({ shown: page.items.length, total: page.total })
        const [newest] = page.items
        if (newest === undefined) continue
        const history: Body = bodyOf(200, await app.get(`${MAIL_API.quotas}/${newest.id}/changes`))
        changes.push({ shown: history.items.length, total: history.total })
      }
    })
    for (let n = 0; n < 90; n += 1) await create()
    made = true
    await Promise.all(pollers)
    expect(seen.filter(({ shown, total }) => shown !== total)).toEqual([])
    expect(changes.filter(({ shown, total }) => shown !== total)).toEqual([])
    expect(seen.length).toBeGreaterThan(POLLERS)
  })
})
