import { describe, expect } from '@jest/globals'
import type { Response } from 'supertest'
import { type Body, bodyOf, brokenFields, copyQuota, fresh, refusal, renewCounts, START } from '../quota-api.js'
import { it } from '../scoped.js'
import { DAY, END, type QuotaSuite } from './suite.js'

/** Many quotas: an owner's sums, and lists. */
export function listContract(suite: QuotaSuite): void {
  const {
    api,
    app,
    cycle,
    total,
    create,
    made,
    read,
    update,
    updated,
    remove,
    restore,
    list,
    listed,
    idsOf,
    ofOwner,
    summary,
    consumed,
    sweep,
  } = suite

  describe('a summary', () => {
    it('adds up the quotas that are active now', async () => {
      const owner = fresh()
      await made(cycle(owner, { total: 1000 }))
      const second = await made(total(owner, { total: 50, expire_at: '2026-11-22T00:00:00Z' }))
      const off = await made(total(owner, { total: 7 }))
      await updated(off.id, { status: 'disabled' })
      await remove((await made(total(owner, { total: 9 }))).id)
      await made(cycle(fresh(), { total: 5 }))
      // The one that ends first pays first.
      await consumed(owner, 60)
      const held = { [api.owner]: owner, amount: 5, ttl_seconds: 60 }
      bodyOf(201, await app().post(api.reserve, held, { key: `hold-${owner}` }))
      const sum = {
        [api.owner]: owner,
        group_id: null,
        total: 1050,
        used: 60,
        reserved: 5,
        remaining: 985,
        quota_count: 2,
        caps: [],
      }
      expect(await summary(owner)).toEqual({ ...sum, available: 985 })
      app().clock.pass(60)
      expect(await summary(owner)).toEqual({ ...sum, reserved: 0, remaining: 990, available: 990 })
      app().clock.set('2026-11-22T00:00:00Z')
      expect((await read(second.id)).status).toBe('expired')
      expect(await summary(owner)).toEqual({
        [api.owner]: owner,
        group_id: null,
        total: 1000,
        used: 10,
        reserved: 0,
        remaining: 990,
        quota_count: 1,
        available: 990,
        caps: [],
      })
    })

    it('adds up each quota’s own remaining, so that a lowered total does not affect others', async () => {
      const owner = fresh()
      const first = await made(total(owner, { expire_at: '2026-12-01T00:00:00Z' }))
      await made(total(owner))
      await consumed(owner, 90)
      await updated(first.id, { total: 10 })
      expect(await summary(owner)).toEqual({
        [api.owner]: owner,
        group_id: null,
        total: 110,
        used: 90,
        reserved: 0,
        remaining: 100,
        quota_count: 2,
        available: 100,
        caps: [],
      })
    })

    it('of an unknown owner is all zeros', async () => {
      const owner = fresh()
      const sums = { total: 0, used: 0, reserved: 0, remaining: 0, quota_count: 0, available: 0 }
      const zeros = { [api.owner]: owner, group_id: null, ...sums, caps: [] }
      expect(await summary(owner)).toEqual(zeros)
    })

    it('stays exact at the largest totals', async () => {
      const owner = fresh()
      for (let at = 0; at < 3; at += 1) await made(total(owner, { total: 1e12 }))
      await consumed(owner, 1e12)
      expect(await summary(owner)).toMatchObject({ total: 3e12, used: 1e12, remaining: 2e12 })
    })
  })

  describe('an owner', () => {
    it('has at most 200 live quotas, however many are requested at once', async () => {
      const owner = fresh()
      const passing = await made(total(owner, { expire_at: '2026-11-21T12:00:10Z' }))
      const deleted = await made(cycle(owner))
      await remove(deleted.id)
      app().clock.pass(10)

      const answers: Response[] = []
      for (let round = 0; round < 2; round += 1) {
        answers.push(...(await Promise.all(Array.from({ length: 102 }, () => create(cycle(owner))))))
      }
      const refused = answers.filter(({ status }) => status !== 201)
      expect(refused.map(refusal)).toEqual(Array.from({ length: 4 }, () => [409, 'too_many_quotas']))
      expect(await summary(owner)).toMatchObject({ quota_count: 200, total: 20_000 })
      expect(await listed(ofOwner(owner))).toMatchObject({ total: 201 })
      const ids = answers.filter(({ status }) => status === 201).map(({ body }) => body.id as number)
      const [first, second, third] = ids as [number, number, number]

      expect(refusal(await restore(deleted.id))).toEqual([409, 'too_many_quotas'])
      expect(refusal(await update(passing.id, { expire_at: END }))).toEqual([409, 'too_many_quotas'])
      expect(await read(passing.id)).toMatchObject({ status: 'expired', version: 1 })
      // An expired quota does not count among the 200: it may be edited, deleted and restored.
      expect(await updated(passing.id, { total: 1 })).toMatchObject({ status: 'expired', version: 2 })
      await remove(passing.id)
      expect(bodyOf(200, await restore(passing.id))).toMatchObject({ status: 'expired', version: 4 })
      // A disabled one counts.
      await updated(first, { status: 'disabled' })
      expect(refusal(await create(cycle(owner)))).toEqual([409, 'too_many_quotas'])
      expect(await updated(first, { status: 'active' })).toMatchObject({ status: 'active' })

      // A delete and an end make room.
      await remove(second)
      expect(bodyOf(200, await restore(deleted.id))).toMatchObject({ status: 'active' })
      expect(refusal(await restore(second))).toEqual([409, 'too_many_quotas'])
      expect(await updated(third, { expire_at: START })).toMatchObject({ status: 'expired' })
      expect(await updated(passing.id, { expire_at: END })).toMatchObject({ status: 'active' })
      expect(refusal(await update(third, { expire_at: null }))).toEqual([409, 'too_many_quotas'])
      await remove(first)
      await made(cycle(owner))
      expect(refusal(await create(cycle(owner)))).toEqual([409, 'too_many_quotas'])
      await made(cycle(fresh()))
    })
  })

  describe('a list', () => {
    it('shows the newest first, in pages', async () => {
      const owner = fresh()
      const quotas: Body[] = []
      for (let at = 0; at < 5; at += 1) quotas.unshift(await made(at % 2 === 0 ? cycle(owner) : total(owner)))
      const envelope = { total: 5, total_relation: 'exact' }
      const mine = ofOwner(owner)
      expect(await listed(mine)).toEqual({ items: quotas, page: 1, page_size: 20, ...envelope })
      expect(await listed(`${mine}&page_size=2`)).toEqual({
        items: quotas.slice(0, 2),
        page: 1,
        page_size: 2,
        ...envelope,
      })
      expect(await listed(`page=3&page_size=2&${mine}`)).toEqual({
        items: quotas.slice(4),
        page: 3,
        page_size: 2,
        ...envelope,
      })
      expect(await listed(`${mine}&page=4&page_size=2`)).toEqual({ items: [], page: 4, page_size: 2, ...envelope })
      expect(await listed(`${mine}&page_size=100`)).toMatchObject({ items: quotas, page_size: 100 })
    })

    it('can be paged by before_id, with the total of the whole list', async () => {
      const owner = fresh()
      const ids: number[] = []
      for (let at = 0; at < 5; at += 1) ids.unshift((await made(cycle(owner))).id)
      const walk = `${ofOwner(owner)}&page_size=2&before_id=`
      const page = await listed(`${walk}${ids[1]}`)
      expect(page).toMatchObject({ page: 1, page_size: 2, total: 5, total_relation: 'exact' })
      expect(page.items.map(({ id }: Body) => id)).toEqual(ids.slice(2, 4))
      expect(await idsOf(`${walk}${Number.MAX_SAFE_INTEGER}`)).toEqual(ids.slice(0, 2))
      expect(await listed(`${walk}${ids[4]}`)).toMatchObject({ items: [], total: 5 })
      expect(await listed(`${walk}1`)).toMatchObject({ items: [], total: 5 })
      expect(Object.keys(brokenFields(await list(`${walk}${ids[1]}&page=1`)))).toEqual(['before_id'])
    })

    it('of all owners begins with the latest quota', async () => {
      const quotas = [await made(cycle(fresh())), await made(total(fresh()))].reverse()
      const page = await listed('page_size=2')
      expect(page.items).toEqual(quotas)
      await remove(quotas[0].id)
      const after = await listed('page_size=1')
      expect(after.items).toEqual([quotas[1]])
      expect([page.total_relation, after.total]).toEqual(['exact', page.total - 1])
    })

    for (const field of Object.keys(api.named)) {
      it(`takes ${field} too, alone and with the others`, async () => {
        const [owner, other, person] = [fresh(), fresh(), fresh()]
        const first = await made(cycle(owner, { [field]: person }))
        const second = await made(cycle(other, { [field]: person }))
        const third = await made(total(owner, { [field]: person }))
        await made(cycle(owner))
        await updated(first.id, { status: 'disabled' })
        expect(await idsOf(`${field}=${person}`)).toEqual([third.id, second.id, first.id])
        expect(await idsOf(`${field}=${person}&${ofOwner(owner)}`)).toEqual([third.id, first.id])
        expect(await idsOf(`${field}=${person}&status=active`)).toEqual([third.id, second.id])
        expect(await idsOf(`${field}=${person}&status=disabled&${ofOwner(owner)}`)).toEqual([first.id])
        expect(await listed(`${field}=${person}&${ofOwner(owner)}&status=active`)).toMatchObject({ total: 1 })
        app().clock.set(END)
        expect(await idsOf(`${field}=${person}&status=expired`)).toEqual([third.id])
      })
    }

    // test/wire tests the format of numbers once for all routes.
    it.each([
      ...['page=', 'page=1&page=1', 'page[]=1', 'page_size=101', 'page_size=20&page_size=20', 'before_id=x', 'sort=id'],
      ...['status=Active', 'status=', 'status=deleted', 'status=active&status=active', 'quota_type=1'],
      ...[`${api.owner}=9007199254740992`, `${api.owner}=1&${api.owner}=2`, `${api.owner}[$gt]=1`],
    ])('refuses ?%s', async (query) => {
      expect(Object.keys(brokenFields(await list(query)))).toEqual([query.split('=')[0]])
    })

    it('reports misspelt parameters, all at once', async () => {
      expect(brokenFields(await list('pageSize=2&Status=active&before-id=1&state=x'))).toEqual({
        pageSize: 'did you mean page_size?',
        Status: 'did you mean status?',
        'before-id': 'did you mean before_id?',
        state: 'is not a parameter of this route',
      })
    })

    it('ends its pages at row 100,000 and says how to continue', async () => {
      for (const query of ['page=5000', 'page=1000&page_size=100', 'page=100000&page_size=1']) {
        expect(await listed(`${query}&${ofOwner(fresh())}`)).toMatchObject({ items: [], total: 0 })
      }
      for (const query of [
        'page=5001',
        'page=1001&page_size=100',
        'page=100001&page_size=1',
        'page=9007199254740991',
      ]) {
        const broken = brokenFields(await list(query))
        expect(Object.keys(broken)).toEqual(['page'])
        expect(broken['page']).toMatch(/before_id/)
      }
    })

    it('counts exactly up to 10,000; above, it shares a count that is at most a minute old', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner))
      const mine = `${ofOwner(owner)}&page_size=1`
      const count = async (query = mine) => {
        const page = await listed(query)
        return [page.total, page.total_relation]
      }
      // A request waits only briefly for a missing count, and returns "more than 10,000" until the count is
      // made.
      const soon = async (total: number, query = mine) => {
        let [seen, relation] = await count(query)
        for (let tries = 0; seen !== total && tries < 500; tries += 1) {
          expect([seen, relation]).toEqual([10_001, 'recent'])
          ;[seen, relation] = await count(query)
        }
        expect([seen, relation]).toEqual([total, 'recent'])
      }
      await copyQuota(app(), api, id, 9_999)
      expect(await count()).toEqual([10_000, 'exact'])
      await copyQuota(app(), api, id, 1)
      expect(await count()).toEqual([10_001, 'recent'])
      // Few beyond the limit: each delete below reads all quotas of the owner.
      await copyQuota(app(), api, id, 2)
      expect(await count()).toEqual([10_001, 'recent'])
      await soon(10_003, `${mine}&status=active`)
      expect(await count(`${mine}&status=disabled`)).toEqual([0, 'exact'])
      // The timer renews counts from the age of 30 s on.
      app().clock.pass(29)
      expect(await count()).toEqual([10_001, 'recent'])
      app().clock.pass(32)
      await soon(10_003)
      await copyQuota(app(), api, id, 1)
      app().clock.pass(29)
      expect(await count()).toEqual([10_003, 'recent'])
      app().clock.pass(1)
      await renewCounts(app(), api)
      expect(await count()).toEqual([10_004, 'recent'])

      const last = await listed(`${ofOwner(owner)}&page=101&page_size=100`)
      expect(last.items).toHaveLength(4)
      expect(last.items.at(-1).id).toBe(id)
      expect((await listed(`${ofOwner(owner)}&page=102&page_size=100`)).items).toEqual([])
      // From beyond most of them to the last.
      let walked = 0
      let before = (await idsOf(`${ofOwner(owner)}&page=90&page_size=100`)).at(-1)!
      for (;;) {
        const ids = await idsOf(`${ofOwner(owner)}&page_size=100&before_id=${before}`)
        if (ids.length === 0) break
        expect(ids).toEqual([...new Set(ids)].sort((a, b) => b - a))
        expect(ids[0]).toBeLessThan(before)
        before = ids.at(-1)!
        walked += ids.length
      }
      expect([walked, before]).toEqual([1_004, id])

      // A list that was long a moment ago is counted exactly as soon as it is short.
      for (const one of (await idsOf(`${ofOwner(owner)}&page_size=100`)).slice(0, 4)) {
        expect(await count()).toEqual([10_004, 'recent'])
        await remove(one)
      }
      expect(await count()).toEqual([10_000, 'exact'])
      await remove(id)
      expect(await count()).toEqual([9_999, 'exact'])
    })

    it('of expired quotas above 10,000 is counted by the time of the count', async () => {
      const owner = fresh()
      const { id } = await made(total(owner))
      await copyQuota(app(), api, id, 10_000)
      app().clock.set(END)
      const expired = `${ofOwner(owner)}&status=expired&page_size=1`
      expect(await listed(expired)).toMatchObject({ total: 10_001, total_relation: 'recent' })
      expect(await listed(`${ofOwner(owner)}&status=active`)).toMatchObject({ total: 0, total_relation: 'exact' })
      await sweep()
      app().clock.pass(DAY)
      expect(await listed(expired)).toMatchObject({ total: 10_001, total_relation: 'recent' })
    })
  })
}
