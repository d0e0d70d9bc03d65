import { beforeAll, describe, expect } from '@jest/globals'
import { DataSource } from 'typeorm'
import { channelToken } from '../src/channel-api/ledger.module.js'
import { type Transaction, TransactionRunner } from '../src/database/transaction-runner.js'
import { QuotaReader } from '../src/ledger/read/quota-reader.js'
import { RecentCounts } from '../src/ledger/read/recent-counts.js'
import { statusAt } from '../src/domain/quota.js'
import { MailQuota } from '../src/mail-quota/mail-quota.entity.js'
import { MAIL } from '../src/mail-quota/mail.channel.js'
import type { SmsQuota } from '../src/sms-quota/sms-quota.entity.js'
import { SMS } from '../src/sms-quota/sms.channel.js'
import { RowCodec } from '../src/database/row-codec.js'
import { TestApp } from './support/app.js'
import { MAIL_API, SMS_API } from './support/channel-api.js'
import { figure } from './support/figures.js'
import { type Body, bodyOf, copyQuota, renewCounts, START, stopSweepers, sweeperOf } from './support/quota-api.js'
import { it } from './support/scoped.js'
import { rowsRead } from './support/rows-read.js'
import { onEveryStore } from './support/store.js'
import { times } from './support/wire.js'

const OWNERS = 200
/** Owners 1 … 200 have 0 … 6 quotas each in turn, these two more than fit on a page. */
const LONG: ReadonlyMap<number, number> = new Map([
  [50, 20],
  [150, 130],
])
/** Lists that one statement reads at most. */
const AT_ONCE = 50
/** So many statements suffice for 200 lists; a page that does not show the end of its list takes one more. */
const MAX_STATEMENTS = 12

/** Every way to ask for a list of one owner. */
const QUERIES = [
  '',
  '&status=active',
  '&status=expired',
  '&status=disabled',
  '&page_size=1',
  '&page_size=2&page=2',
  '&page_size=2&page=9',
  '&page_size=2&before_id=400',
  '&page_size=100',
] as const

type Filter = Parameters<QuotaReader<MailQuota>['list']>[1]
type Page = Awaited<ReturnType<QuotaReader<MailQuota>['list']>>

/** Bear one label: more than are sorted without a look at what is cheaper. */
const OLD = 10_050
/** Bear none: more than are walked for a page of twenty, also of the active ones alone. */
const BETWEEN = 7_000
/** Bear it, and are newer than those without. */
const NEW = 30

/** Below 10,000, so that every total is exact, and enough that the sweeper takes many steps. */
const QUOTAS = 4_000
const ROUNDS = 2
const POLLERS = 4

onEveryStore('lists', (kind) => {
  let app: TestApp

  beforeAll(async () => {
    app = await TestApp.on(kind)
    await stopSweepers(app)
  })

  // Of SMS: the others fill the tables of mail, and count what is there.
  describe('the total', () => {
    it('is exact while the sweeper moves its rows from one source to the other', async () => {
      const reader = app.app.get<QuotaReader<SmsQuota>>(channelToken(SMS, QuotaReader))
      let polls = 0
      const wrong: unknown[] = []
      let rows = 0
      for (const round of times(ROUNDS)) {
        app.clock.set(START)
        const settings = { user_id: 1 + round, quota_type: 1, total: 5, expire_at: app.clock.after(60) }
        const { id } = bodyOf(201, await app.post(SMS_API.quotas, settings))
        const added = Math.floor(QUOTAS / ROUNDS)
        await copyQuota(app, SMS_API, id, added - 1)
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
        await sweeperOf(app, SMS_API).sweep()
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
        app.post(SMS_API.quotas, {
          user_id: owner,
          quota_type: 1,
          total: 5,
          expire_at: app.clock.after(60),
        })
      let made = false
      const seen: { shown: number; total: number }[] = []
      const changes: { shown: number; total: number }[] = []
      const pollers = times(POLLERS).map(async () => {
        while (!made) {
          const page: Body = bodyOf(200, await app.get(`${SMS_API.list}?user_id=${owner}&page_size=100`))
          seen.push({ shown: page.items.length, total: page.total })
          const [newest] = page.items
          if (newest === undefined) continue
          const history: Body = bodyOf(200, await app.get(`${SMS_API.quotas}/${newest.id}/changes`))
          changes.push({ shown: history.items.length, total: history.total })
        }
      })
      for (let n = 0; n < 40; n += 1) await create()
      made = true
      await Promise.all(pollers)
      expect(seen.filter(({ shown, total }) => shown !== total)).toEqual([])
      expect(changes.filter(({ shown, total }) => shown !== total)).toEqual([])
      expect(seen.length).toBeGreaterThan(POLLERS)
    })
  })

  describe('of many owners at once', () => {
    let quotas: MailQuota[]

    beforeAll(async () => {
      app.clock.set(START)
      await fill()
      const codec = RowCodec.of(app.app.get(DataSource), MailQuota)
      const rows: Record<string, unknown>[] = await app.app.get(DataSource).query(`SELECT * FROM ${codec.table}`)
      quotas = rows.map((row) => codec.decode(row)).sort((a, b) => b.id - a.id)
    })

    /** Quotas of every status: active, disabled, marked as expired, over but not yet marked so, and deleted. */
    async function fill(): Promise<void> {
      const { id } = bodyOf(
        201,
        await app.post(MAIL_API.quotas, {
          account_id: 1,
          user_id: 3,
          quota_type: 1,
          total: 5,
          expire_at: app.clock.after(1_000_000),
        }),
      )
      const counts = times(OWNERS).map((n) => LONG.get(n + 1) ?? n % 7)
      await copyQuota(
        app,
        MAIL_API,
        id,
        counts.reduce((sum, count) => sum + count, 0),
      )
      const dataSource = app.app.get(DataSource)
      const rows: { id: unknown }[] = await dataSource.query(`SELECT id FROM mail_quota WHERE id <> ${id} ORDER BY id`)
      const ids = rows.map((row) => Number(row.id))
      // In turn, so that no owner's ids are consecutive.
      const left = [...counts]
      let owner = 0
      for (const [place, one] of ids.entries()) {
        while (left[owner] === 0) owner = (owner + 1) % OWNERS
        left[owner]! -= 1
        const values = [
          `account_id = ${owner + 1}, used = ${place % 5}, user_id = ${place % 4 === 0 ? 'NULL' : 1 + (place % 9)}`,
          ...(place % 5 === 1 ? ["state = 'disabled'"] : []),
          ...(place % 5 === 2 ? ["state = 'expired', expire_at = '2026-01-01 00:00:00.000'"] : []),
          ...(place % 5 === 3 ? ["expire_at = '2026-11-21 11:59:59.999'"] : []),
          ...(place % 11 === 4 ? ["deleted_at = '2026-11-21 11:00:00.000'"] : []),
        ]
        await dataSource.query(`UPDATE mail_quota SET ${values.join(', ')} WHERE id = ${one}`)
        owner = (owner + 1) % OWNERS
      }
      await dataSource.query(`DELETE FROM mail_quota WHERE id = ${id}`)
    }

    /** What the table says a list must answer, found without a statement of the service's. */
    function expected(owner: number, query: string): object {
      const asked = new URLSearchParams(query)
      const status = asked.get('status')
      const [page, size] = [Number(asked.get('page') ?? 1), Number(asked.get('page_size') ?? 20)]
      const before = Number(asked.get('before_id') ?? Infinity)
      const all = quotas.filter(
        (quota) =>
          quota.ownerId === owner &&
          quota.deletedAt === null &&
          (status === null || statusAt(quota, app.clock.now()) === status),
      )
      const shown = all.filter(({ id }) => id < before).slice((page - 1) * size, page * size)
      return {
        ids: shown.map(({ id }) => id),
        used: shown.map(({ used }) => used),
        page,
        page_size: size,
        total: all.length,
        total_relation: 'exact',
      }
    }

    function told({ items, ...rest }: Page) {
      return { ids: items.map(({ id }) => id), used: items.map(({ used }) => used), ...rest }
    }

    const asked = times(OWNERS).map((n) => ({ owner: n + 1, query: QUERIES[n % QUERIES.length]! }))
    const all = asked.map(({ owner, query }) => expected.bind(undefined, owner, query))

    it('answer what each answers alone, byte for byte, and what the table says', async () => {
      expect(quotas.length).toBeGreaterThan(600)
      const alone: string[] = []
      for (const [n, { owner, query }] of asked.entries()) {
        const answer = await app.get(`${MAIL_API.list}?account_id=${owner}${query}`)
        expect({ owner, query, ...told(bodyOf(200, answer)) }).toEqual({ owner, query, ...all[n]!() })
        alone.push(answer.text)
      }
      const together = await Promise.all(
        asked.map(async ({ owner, query }) => (await app.get(`${MAIL_API.list}?account_id=${owner}${query}`)).text),
      )
      expect(together).toEqual(alone)
      // Lists of users are gathered in the same way, by their own index.
      const ofUsers = await Promise.all(
        times(9).map(async (user) => bodyOf(200, await app.get(`${MAIL_API.list}?user_id=${1 + user}&page_size=100`))),
      )
      expect(ofUsers.map(({ total }) => total)).toEqual(
        times(9).map((user) => quotas.filter((one) => one.userId === 1 + user && one.deletedAt === null).length),
      )
    })

    /** A reader whose statements pass by `watch`, which may delay or break them. */
    function watched(watch: (values: readonly unknown[]) => Promise<void>): (n: number) => Promise<Page> {
      const work = app.app.get(TransactionRunner)
      const between = {
        dialect: work.dialect,
        readsOf: () => between,
        read: async <T>(unit: (transaction: Transaction) => Promise<T>): Promise<T> =>
          unit({
            rows: async (sql: string, values: readonly string[] = []) => {
              // Outside of the unit: SQLite has one connection for all.
              await watch(values)
              return work.read((transaction) => transaction.rows(sql, values))
            },
          } as unknown as Transaction),
      }
      const counts = new RecentCounts(work, 'lists', app.clock)
      const reads = between as unknown as TransactionRunner
      const reader = new QuotaReader(MAIL, app.app.get(DataSource), reads, app.clock, counts)
      return async (n) => {
        const { owner, query } = asked[n]!
        const parameters = new URLSearchParams(query)
        const status = parameters.get('status') as Filter['status'] | null
        const before = parameters.get('before_id')
        return reader.list(
          'reader',
          { subjects: { ownerId: owner }, status: status ?? undefined },
          {
            page: Number(parameters.get('page') ?? 1),
            pageSize: Number(parameters.get('page_size') ?? 20),
            ...(before === null ? {} : { beforeId: Number(before) }),
          },
        )
      }
    }

    it('go in few statements, except pages that do not show the end of their list, and the same ones once', async () => {
      let statements = 0
      const read = watched(async () => {
        statements += 1
      })
      const pages = await Promise.all(times(OWNERS).map(async (n) => told(await read(n))))
      expect(pages).toEqual(all.map((one) => one()))
      const counted = pages.filter(
        ({ ids, page, page_size: size, total }, n) =>
          asked[n]!.query.includes('before_id') || (ids.length === 0 && page > 1) || page * size < total,
      )
      figure(`${kind.name}, ${OWNERS} lists at once`, { statements, counted: counted.length })
      expect(statements).toBeLessThanOrEqual(MAX_STATEMENTS + counted.length)

      statements = 0
      const shared = await Promise.all(times(OWNERS).map(async () => read(0)))
      expect(shared.map(told)).toEqual(shared.map(all[0]!))
      expect(statements).toBe(1)
      // One object, and so one text.
      expect(new Set(shared).size).toBe(1)
    })

    it('do not wait for the statement that one of them makes slow', async () => {
      const slow = 8
      let release = (): void => undefined
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      const read = watched(async (values) => (values.includes(slow) ? held : undefined))
      let answered = 0
      const pages = times(OWNERS).map(async (n) => {
        const page = told(await read(n))
        answered += 1
        return page
      })
      // All but those that were asked for in the same statement.
      while (answered < OWNERS - AT_ONCE) await new Promise(setImmediate)
      release()
      expect(await Promise.all(pages)).toEqual(all.map((one) => one()))
    })

    it('leave the one that breaks its statement to itself', async () => {
      const broken = 8
      const read = watched(async (values) => {
        if (values.includes(broken)) throw new Error('broken')
      })
      const pages = await Promise.allSettled(times(OWNERS).map(async (n) => told(await read(n))))
      expect(pages.map((page) => (page.status === 'fulfilled' ? page.value : String(page.reason)))).toEqual(
        all.map((one, n) => (n + 1 === broken ? 'Error: broken' : one())),
      )
    })

    it('show what was written before they were asked for', async () => {
      app.clock.set(START)
      const stale: number[] = []
      await Promise.all(
        times(6).map(async (n) => {
          const owner = 10_000 + n
          for (let made = 1; made <= 22; made += 1) {
            const settings = { account_id: owner, quota_type: 1, total: 5, expire_at: app.clock.after(60) }
            const { id } = bodyOf(201, await app.post(MAIL_API.quotas, settings))
            const { items, total } = bodyOf(200, await app.get(`${MAIL_API.list}?account_id=${owner}`))
            if (items[0].id !== id || total !== made || items.length !== Math.min(made, 20)) stale.push(id)
          }
        }),
      )
      expect(stale).toEqual([])
    })
  })

  it('of members above 10,000 is counted again before its count is a minute old', async () => {
    app.clock.set(START)
    const { id } = bodyOf(201, await app.post(`${MAIL_API.quotas}/groups`, { name: 'many' }))
    const database = app.app.get(DataSource)
    const add = async (first: number, count: number): Promise<void> => {
      const rows = times(count).map((n) => `(${first + n}, ${id}, '2026-11-21 12:00:00.000')`)
      await database.query(`INSERT INTO mail_owner (owner_id, group_id, member_since) VALUES ${rows.join(', ')}`)
    }
    const members = async (): Promise<unknown[]> => {
      const group = bodyOf(200, await app.get(`${MAIL_API.quotas}/groups/${id}/summary`))
      return [group.members, group.members_relation]
    }
    await add(5_000_001, 10_003)
    while ((await members())[0] === 10_001);
    expect(await members()).toEqual([10_003, 'recent'])
    await add(5_100_001, 1)
    app.clock.pass(30)
    await renewCounts(app, MAIL_API)
    expect(await members()).toEqual([10_004, 'recent'])
  })

  it('of owners passes over members without a quota', async () => {
    const owners = [5_000_500, 6_000_000]
    for (const owner of owners) {
      const settings = { account_id: owner, quota_type: 1, total: 5, expire_at: app.clock.after(60) }
      const { id } = bodyOf(201, await app.post(MAIL_API.quotas, settings))
      bodyOf(204, await app.delete(`${MAIL_API.quotas}/${id}`))
    }
    const database = app.app.get(DataSource)
    const before = await rowsRead(kind, database, 'mail_owner', 'mail_quota')
    const page = bodyOf(200, await app.get(`${MAIL_API.quotas}/owners?after=5000000`))
    expect([page.items.map((one: Body) => one.account_id), page.next_after]).toEqual([owners, null])
    expect((await rowsRead(kind, database, 'mail_owner', 'mail_quota')) - before).toBeLessThan(100)
    await database.query('DELETE FROM mail_quota WHERE account_id > 5000000')
    await database.query('DELETE FROM mail_owner WHERE owner_id > 5000000')
  })

  it('of counts that have left shows expired ones of a default group that is deleted', async () => {
    app.clock.set(START)
    const groups = `${MAIL_API.quotas}/groups`
    const { id } = bodyOf(201, await app.post(groups, { name: 'everybody', default: true }))
    const settings = { group_id: id, per: 'member', quota_type: 1, total: 5, expire_at: app.clock.after(60) }
    bodyOf(201, await app.post(MAIL_API.quotas, settings))
    const sent = { as: 'usage', key: 'of-default' } as const
    bodyOf(200, await app.post(MAIL_API.consume, { account_id: 7_000_001, amount: 1 }, sent))
    app.clock.pass(61)
    await sweeperOf(app, MAIL_API).sweep()
    const statuses = async (status: string): Promise<string[]> =>
      bodyOf(200, await app.get(`${MAIL_API.list}?account_id=7000001&status=${status}`)).items.map(
        (one: Body) => one.status,
      )
    expect([await statuses('expired'), await statuses('left')]).toEqual([['expired'], []])
    bodyOf(204, await app.delete(`${groups}/${id}`))
    await sweeperOf(app, MAIL_API).sweep()
    expect([await statuses('expired'), await statuses('left')]).toEqual([[], ['left']])
  })

  describe('by a label that more than 10,000 quotas bear', () => {
    beforeAll(() => app.clock.set(START))

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
})
