import { describe, expect } from '@jest/globals'
import type { Sent } from '../app.js'
import { type Body, bodyOf, brokenFields, fresh, refusal, START } from '../quota-api.js'
import { it } from '../scoped.js'
import { END, type QuotaSuite, RESET } from './suite.js'

/** The life of a quota: its status, its end, its restore, and its history. */
export function lifeContract(suite: QuotaSuite): void {
  const {
    api,
    app,
    cycle,
    total,
    create,
    made,
    path,
    read,
    update,
    updated,
    remove,
    restore,
    changes,
    listed,
    idsOf,
    ofOwner,
    summary,
    consume,
    consumed,
    sweep,
  } = suite

  describe('a read', () => {
    it('shows the quota', async () => {
      const quota = await made(cycle(fresh()))
      expect(await read(quota.id)).toEqual(quota)
    })

    it('answers 404 to unknown and deleted quotas', async () => {
      const { id } = await made(cycle(fresh()))
      await remove(id)
      for (const absent of [id, Number.MAX_SAFE_INTEGER]) {
        expect(refusal(await app().get(path(absent)))).toEqual([404, 'quota_not_found'])
      }
    })

    it.each(['0', '007', '-1', '+1', '1.0', '1e2', '9007199254740992', '1x', '0x1', '%20', '٣', 'null'])(
      'takes no %s for an identifier, whatever is asked',
      async (id) => {
        const refusals = [
          await app().get(path(id)),
          await update(id as unknown as number, { total: 1 }),
          await app().delete(path(id)),
          await app().post(`${path(id)}/restore`),
          await app().get(`${path(id)}/changes`),
        ]
        for (const answer of refusals) expect(Object.keys(brokenFields(answer))).toEqual(['id'])
      },
    )
  })

  describe('the status', () => {
    const filtered = async (owner: number) => {
      const found: Record<string, unknown> = {}
      for (const status of ['active', 'disabled', 'expired']) {
        const { items, total: count } = await listed(`${ofOwner(owner)}&status=${status}`)
        expect(items.map((item: Body) => item.status)).toEqual(items.map(() => status))
        expect(count).toBe(items.length)
        found[status] = items.map(({ id }: Body) => id)
      }
      return found
    }

    it.each([false, true])('turns at the instant itself, in every list too (swept: %s)', async (swept) => {
      const owner = fresh()
      const end = '2026-11-21T13:00:00.000Z'
      const { id: short } = await made(total(owner, { expire_at: end }))
      const { id: ending } = await made(cycle(owner, { expire_at: end }))
      const { id: endless } = await made(cycle(owner))
      const { id: off } = await made(cycle(owner, { expire_at: end }))
      await updated(off, { status: 'disabled' })
      const { id: gone } = await made(total(owner, { expire_at: end }))
      await remove(gone)

      app().clock.set('2026-11-21T12:59:59.999Z')
      if (swept) await sweep()
      expect(await filtered(owner)).toEqual({ active: [endless, ending, short], disabled: [off], expired: [] })
      expect((await read(short)).status).toBe('active')
      expect(await summary(owner)).toMatchObject({ quota_count: 3 })

      app().clock.set(end)
      if (swept) await sweep()
      expect(await filtered(owner)).toEqual({ active: [endless], disabled: [off], expired: [ending, short] })
      expect((await read(short)).status).toBe('expired')
      expect((await read(off)).status).toBe('disabled')
      expect(await summary(owner)).toMatchObject({ quota_count: 1 })
      expect((await idsOf('status=expired&page_size=2')).slice(0, 2)).toEqual([ending, short])
      expect((await idsOf('status=active&page_size=1')).slice(0, 1)).toEqual([endless])
      expect((await idsOf('status=disabled&page_size=1')).slice(0, 1)).toEqual([off])
      expect(await idsOf(ofOwner(owner))).toEqual([off, endless, ending, short])
    })

    it('pages through expired quotas in order, swept or not', async () => {
      const owner = fresh()
      const ids: number[] = []
      for (let at = 0; at < 6; at += 1) {
        // Every second one is stored as expired before the others are due.
        const expire_at = at % 2 === 0 ? '2026-11-21T13:00:00.000Z' : '2026-11-21T14:00:00.000Z'
        ids.unshift((await made(total(owner, { expire_at }))).id)
      }
      app().clock.set('2026-11-21T13:30:00Z')
      await sweep()
      app().clock.set('2026-11-21T14:00:00Z')
      const expired = `${ofOwner(owner)}&status=expired&page_size=4`
      expect(await listed(`${expired}&page=1`)).toMatchObject({ total: 6, total_relation: 'exact' })
      expect(await idsOf(`${expired}&page=1`)).toEqual(ids.slice(0, 4))
      expect(await idsOf(`${expired}&page=2`)).toEqual(ids.slice(4))
      expect(await idsOf(`${expired}&page=3`)).toEqual([])
      expect(await idsOf(`${expired}&before_id=${ids[2]}`)).toEqual(ids.slice(3))
    })
  })

  describe('a delete', () => {
    it('removes a quota from everything except its history', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner))
      const answer = await app().delete(path(id))
      expect([answer.status, answer.text]).toEqual([204, ''])
      for (const gone of [await app().get(path(id)), await update(id, { total: 1 }), await app().delete(path(id))]) {
        expect(refusal(gone)).toEqual([404, 'quota_not_found'])
      }
      expect(await listed(ofOwner(owner))).toMatchObject({ items: [], total: 0 })
      for (const status of ['active', 'disabled', 'expired']) {
        expect(await listed(`${ofOwner(owner)}&status=${status}`)).toMatchObject({ items: [], total: 0 })
      }
      expect(await summary(owner)).toMatchObject({ quota_count: 0, total: 0 })
      expect(refusal(await consume(owner, 1))).toEqual([409, 'no_active_quota'])
      expect(await changes(id)).toMatchObject({ total: 2 })
    })

    it('checks the given version, after existence', async () => {
      const { id } = await made(cycle(fresh()))
      await updated(id, { total: 1 })
      expect(refusal(await app().delete(`${path(id)}?version=1`))).toEqual([409, 'version_mismatch'])
      expect(await read(id)).toMatchObject({ version: 2 })
      for (const version of ['02', '0', 'x', '2.0', '', '2&version=2']) {
        expect(brokenFields(await app().delete(`${path(id)}?version=${version}`))).toHaveProperty('version')
      }
      expect(brokenFields(await app().delete(`${path(id)}?Version=2`))).toEqual({ Version: 'did you mean version?' })
      bodyOf(204, await app().delete(`${path(id)}?version=2`))
      expect(refusal(await app().delete(`${path(id)}?version=9`))).toEqual([404, 'quota_not_found'])
    })

    it('is undone by a restore, which counts as an edit too', async () => {
      const owner = fresh()
      const quota = await made(cycle(owner))
      await consumed(owner, 30)
      app().clock.pass(10)
      await remove(quota.id)
      app().clock.pass(10)
      const answer = await restore(quota.id)
      const back = { ...quota, used: 30, remaining: 70, version: 3, updated_at: '2026-11-21T12:00:20.000Z' }
      expect(bodyOf(200, answer)).toEqual(back)
      expect(await read(quota.id)).toEqual(back)
      expect(await summary(owner)).toMatchObject({ quota_count: 1, used: 30 })
      await consumed(owner, 70)
    })

    it('keeps its first time when it is repeated', async () => {
      const { id } = await made(cycle(fresh()))
      await remove(id)
      app().clock.pass(60)
      expect(refusal(await app().delete(path(id)))).toEqual([404, 'quota_not_found'])
      bodyOf(200, await restore(id))
      const [{ before, after }] = (await changes(id)).items
      expect([before, after]).toEqual([{ deleted_at: START }, { deleted_at: null }])
    })

    it('takes effect once with any number of requests', async () => {
      const { id } = await made(cycle(fresh()))
      const answers = await Promise.all(Array.from({ length: 8 }, () => app().delete(path(id))))
      expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array.from({ length: 7 }, () => 404)])
      expect(await changes(id)).toMatchObject({ total: 2 })
    })
  })

  describe('a restore', () => {
    it('of a live quota changes nothing', async () => {
      const quota = await made(cycle(fresh()))
      app().clock.pass(60)
      expect(bodyOf(200, await restore(quota.id))).toEqual(quota)
      expect(await read(quota.id)).toEqual(quota)
      expect(await changes(quota.id)).toMatchObject({ total: 1 })
    })

    it('of an unknown quota is 404', async () => {
      expect(refusal(await restore(Number.MAX_SAFE_INTEGER))).toEqual([404, 'quota_not_found'])
    })

    it.each([false, true])('shows what time has done meanwhile (swept: %s)', async (swept) => {
      const owner = fresh()
      const rolling = await made(cycle(owner))
      const ending = await made(total(owner))
      await consumed(owner, 30)
      await remove(rolling.id)
      await remove(ending.id)
      app().clock.set('2027-01-15T00:00:00Z')
      if (swept) await sweep()
      expect(bodyOf(200, await restore(rolling.id))).toMatchObject({
        status: 'active',
        used: 0,
        cycle_reset_at: '2027-02-01T00:00:00.000Z',
      })
      expect(bodyOf(200, await restore(ending.id))).toMatchObject({ status: 'expired' })
      expect(await idsOf(`${ofOwner(owner)}&status=expired`)).toEqual([ending.id])
      expect(await idsOf(`${ofOwner(owner)}&status=active`)).toEqual([rolling.id])
    })

    it('keeps the quota disabled', async () => {
      const { id } = await made(cycle(fresh()))
      await updated(id, { status: 'disabled' })
      await remove(id)
      expect(bodyOf(200, await restore(id))).toMatchObject({ status: 'disabled', version: 4 })
    })
  })

  describe('the changes', () => {
    it('show who changed which settings, and when, newest first', async () => {
      const owner = fresh()
      const by = (name: string): Sent => ({ headers: { 'X-Request-Id': `${name}-${owner}` } })
      const { id } = bodyOf(201, await create(cycle(owner), by('make')))
      app().clock.pass(1)
      const patch = { total: 9, status: 'disabled', cycle_unit: 'week', expire_at: END }
      bodyOf(200, await app().put(path(id), patch, by('edit')))
      app().clock.pass(1)
      bodyOf(204, await app().delete(path(id), by('drop')))
      app().clock.pass(1)
      bodyOf(200, await app().post(`${path(id)}/restore`, undefined, by('undo')))
      const page = await changes(id)
      const one = (action: string, name: string, second: number, before: object, after: object) => ({
        id: expect.any(Number),
        quota_id: id,
        [api.owner]: owner,
        group_id: null,
        action,
        actor: 'admin',
        request_id: `${name}-${owner}`,
        at: `2026-11-21T12:00:0${second}.000Z`,
        before,
        after,
      })
      const settings = {
        total: 100,
        status: 'active',
        expire_at: null,
        cycle_unit: 'month',
        cycle_reset_at: RESET,
        cycle_time_zone: 'UTC',
        label: null,
        cap: null,
        window_seconds: null,
        thresholds: [],
      }
      const deleted = '2026-11-21T12:00:02.000Z'
      expect(page).toEqual({
        items: [
          one('restore', 'undo', 3, { deleted_at: deleted }, { deleted_at: null }),
          one('delete', 'drop', 2, { deleted_at: null }, { deleted_at: deleted }),
          one('update', 'edit', 1, { total: 100, status: 'active', cycle_unit: 'month', expire_at: null }, patch),
          one('create', 'make', 0, {}, settings),
        ],
        page: 1,
        page_size: 20,
        total: 4,
        total_relation: 'exact',
      })
      const ids = page.items.map((change: Body) => change.id)
      expect(ids).toEqual([...ids].sort((a, b) => b - a))
    })

    it('show a changed anchor, and no usage', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner))
      await consumed(owner, 1)
      await updated(id, { cycle_reset_at: END })
      const { items } = await changes(id)
      expect(items.map(({ action, before, after }: Body) => [action, before, after])).toEqual([
        ['update', { cycle_reset_at: RESET }, { cycle_reset_at: END }],
        ['create', {}, expect.anything()],
      ])
    })

    it('of a total quota begin with all settings', async () => {
      const { id } = await made(total(fresh()))
      expect((await changes(id)).items[0].after).toEqual({
        total: 100,
        status: 'active',
        expire_at: END,
        cycle_unit: null,
        cycle_reset_at: null,
        cycle_time_zone: null,
        label: null,
        cap: null,
        window_seconds: null,
        thresholds: [],
      })
    })

    it('are paged like a list, without before_id', async () => {
      const { id } = await made(cycle(fresh()))
      for (const value of [1, 2, 3, 4]) await updated(id, { total: value })
      const { items } = await changes(id)
      expect(items.map(({ after }: Body) => after.total)).toEqual([4, 3, 2, 1, 100])
      const envelope = { page_size: 2, total: 5, total_relation: 'exact' }
      expect(await changes(id, '?page_size=2')).toEqual({ ...envelope, items: items.slice(0, 2), page: 1 })
      expect(await changes(id, '?page_size=2&page=3')).toEqual({ ...envelope, items: items.slice(4), page: 3 })
      expect(await changes(id, '?page_size=2&page=4')).toEqual({ ...envelope, items: [], page: 4 })
      const refused = async (query: string) => brokenFields(await app().get(`${path(id)}/changes?${query}`))
      expect(await refused('before_id=3')).toEqual({ before_id: 'is not a parameter of this route' })
      expect(await refused('page=0&page_size=101')).toEqual({
        page: 'must be an integer from 1 to 9007199254740991',
        page_size: 'must be an integer from 1 to 100',
      })
      const deep = await refused('page=1001&page_size=100')
      expect(Object.keys(deep)).toEqual(['page'])
      expect(deep['page']).not.toContain('before_id')
    })

    it('of an unknown quota are 404', async () => {
      expect(refusal(await app().get(`${path(Number.MAX_SAFE_INTEGER)}/changes`))).toEqual([404, 'quota_not_found'])
    })

    it('do not contain a refused update', async () => {
      const { id } = await made(cycle(fresh()))
      await update(id, { total: 1, version: 7 })
      await update(id, { total: 1, cycle_reset_at: START })
      expect(await changes(id)).toMatchObject({ total: 1 })
    })
  })
}
