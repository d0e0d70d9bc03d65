/**
 * An edit of a quota that many members' counts follow: decisions follow at once, lists within a minute.
 * `RELIABILITY_SCALE=25` makes 100,000 counts of it. From 2 on, it measures what consumes keep meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createConnection } from 'mysql2/promise'
import { audit } from './support/audit.js'
import { HAS_SERVER, TestDatabase } from './support/database.js'
import { figure, SCALE } from './support/figures.js'
import { Instance } from './support/instance.js'
import { bodyOf, fresh, inParallel, MAIL, owners, resultsOf, times, totalQuota } from './support/wire.js'
import { verified } from './support/verify.js'

const COUNTS = Math.round(4_000 * SCALE)
const AT_ONCE = 200
const PATIENCE_MS = 300_000 * Math.max(1, SCALE)
const SLICE_MS = 4_000

const onServer = HAS_SERVER ? describe : describe.skip

onServer(`an edit of a quota that ${COUNTS} counts follow`, () => {
  let database: TestDatabase
  let instances: [Instance, Instance]
  let group: number
  let followed: number
  let members: readonly number[]

  const post = async (path: string, body: object): Promise<{ id: number }> => {
    const answer = await instances[0].post(`${MAIL.quotas}${path}`, body)
    expect([answer.text, answer.status < 300]).toEqual([expect.anything(), true])
    return bodyOf(answer)
  }
  const behind = async (): Promise<number> =>
    database.number(
      `SELECT COUNT(*) FROM mail_quota c JOIN mail_quota f ON f.id = c.follows WHERE c.copies_version < f.copies_version`,
    )
  const edit = async (total: number): Promise<void> => {
    expect((await instances[0].put(`${MAIL.quotas}/${followed}`, { total })).status).toBe(200)
  }
  const caughtUp = async (): Promise<number> => {
    const began = performance.now()
    while ((await behind()) > 0) await sleep(200)
    return (performance.now() - began) / 1000
  }

  beforeAll(async () => {
    database = await TestDatabase.open()
    instances = await Promise.all([Instance.start(database.url), Instance.start(database.url)])
    group = (await post('/groups', { name: fresh('many') })).id
    const ofGroup = { group_id: group, quota_type: 1, total: 1_000, expire_at: '2999-01-01T00:00:00Z' }
    followed = (await post('', { ...ofGroup, per: 'member' })).id
    // Shared by all: consumes lock the group.
    await post('', { ...ofGroup, cap: 'observe' })
    members = owners(COUNTS)
    const pages = times(Math.ceil(COUNTS / AT_ONCE)).map((n) => members.slice(n * AT_ONCE, (n + 1) * AT_ONCE))
    for (const account_ids of pages) await post(`/groups/${group}/members`, { account_ids })
    await inParallel(4, pages, async (page, n) => {
      const items = page.map((account_id) => ({ account_id, amount: 1, idempotency_key: fresh('first') }))
      for (let tries = 0; ; tries += 1) {
        const answer = await instances[(n + tries) % 2]!.post(`${MAIL.usage}/consume/batch`, { items })
        if (answer.status === 200 && resultsOf(answer).every(({ status }) => status === 200)) break
        if (tries > 200) throw new Error(`no end: ${answer.text.slice(0, 1_000)}`)
      }
    })
  }, PATIENCE_MS)

  afterAll(async () => {
    const codes = await Promise.all(instances.map(async (instance) => instance.terminate()))
    expect(codes).toEqual([0, 0])
  })

  it(
    'decides by it at once, and lists catch up, also where each instance is killed meanwhile',
    async () => {
      expect(await behind()).toBe(0)
      const consume = (n: number, amount: number): Promise<{ status: number }> =>
        instances[n % 2]!.post(MAIL.consume, { account_id: members[n % COUNTS], amount }, fresh('after'))
      await edit(10)
      const statuses = await Promise.all(times(64).map(async (n) => (await consume(n * 61, 10)).status))
      expect(new Set(statuses)).toEqual(new Set([409]))
      const seconds = await caughtUp()
      figure(`${COUNTS} copies caught up`, { seconds })
      const listed = () => database.rows('SELECT DISTINCT total FROM mail_quota WHERE follows = ?', [followed])
      expect(await listed()).toEqual([{ total: 10 }])

      // Until the instances are killed in the midst: they may be faster than the look.
      for (let [left, total] = [0, 20]; left === 0; total += 1) {
        await edit(total)
        while ((await behind()) === COUNTS) await sleep(1)
        await Promise.all(instances.map(async (instance) => instance.kill()))
        left = await behind()
        await Promise.all(instances.map(async (instance) => instance.start()))
        await caughtUp()
        expect(await listed()).toEqual([{ total }])
      }
      expect(await audit(database)).toEqual([])
      expect(await verified(database.url)).toEqual([])
    },
    PATIENCE_MS,
  )

  it(
    'lets lists catch up but for a member that another session keeps locked, and in spite of a locked group',
    async () => {
      const other = await createConnection({ uri: database.url })
      const lock = (owner: number) => other.query('SELECT * FROM mail_owner WHERE owner_id = ? FOR UPDATE', [owner])
      try {
        await other.query('START TRANSACTION')
        await lock(members[0]!)
        await edit(30)
        await lock(-group)
        while ((await behind()) > 1) await sleep(200)
        expect(
          await database.rows('SELECT account_id FROM mail_quota WHERE follows = ? AND total <> 30', [followed]),
        ).toEqual([{ account_id: members[0] }])
      } finally {
        other.destroy()
      }
      await caughtUp()
    },
    PATIENCE_MS,
  )

  const measured = SCALE >= 2 ? it : it.skip
  measured(
    'leaves consumes what they had, nearly',
    async () => {
      const accounts = owners(200)
      for (const account of accounts) await post('', totalQuota(MAIL, account, 1_000_000_000))
      /** Consumes a second, from 64 callers, until told to stop. */
      const rate = async (until: () => Promise<boolean> | boolean): Promise<number> => {
        let done = 0
        let over = false
        const began = performance.now()
        const calling = times(64).map(async (caller) => {
          for (let n = caller; !over; n += 1) {
            const body = { account_id: accounts[n % accounts.length], amount: 1 }
            expect((await instances[n % 2]!.post(MAIL.consume, body, fresh('rate'))).status).toBe(200)
            done += 1
          }
        })
        while (!(await until())) await sleep(100)
        over = true
        await Promise.all(calling)
        return done / ((performance.now() - began) / 1000)
      }
      for (const round of times(4)) {
        const end = performance.now() + SLICE_MS
        const before = await rate(() => performance.now() > end)
        await edit(100 + round)
        const during = await rate(async () => (await behind()) === 0)
        figure(`consumes while ${COUNTS} copies catch up`, { before, during, ratio: during / before })
      }
    },
    PATIENCE_MS,
  )
})
