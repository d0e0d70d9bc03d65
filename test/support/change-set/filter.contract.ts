import { describe, expect, it } from '@jest/globals'
import { type Body, bodyOf, brokenFields, fresh, refusal } from '../quota-api.js'
import type { ChangeSetSuite } from './suite.js'

/** Change sets from a filter, for one channel. */
export function filterContract(suite: ChangeSetSuite): void {
  const { api, made, total, cycle, read, updated, remove, ofOwner, consumed } = suite
  const { madeSet, createSet, apply, applied, reverted, revert, rows, outcomes, at, app, changes } = suite
  const owned = (owner: number) => ({ [api.owner]: owner })
  const three = async (more: object = {}): Promise<[number, Body[]]> => {
    const owner = fresh()
    const quotas = []
    for (let n = 0; n < 3; n += 1) quotas.push(await made(total(owner, { total: 100 + n, ...more })))
    return [owner, quotas]
  }

  describe('created from a filter', () => {
    it('are prepared, read, applied and reverted', async () => {
      const [owner, quotas] = await three()
      const first = await createSet({ filter: owned(owner), change: { update: { total: { percent: 10 } } } })
      const preparing = bodyOf(202, first)
      expect(preparing).toEqual({
        id: preparing.id,
        state: 'preparing',
        source: 'filter',
        filter: owned(owner),
        change: { update: { total: { percent: 10 } } },
        actor: 'admin',
        version: 1,
        created_at: preparing.created_at,
        applied_at: null,
        reverted_at: null,
        counts: { rows: 0, planned: 0, unchanged: 0, invalid: 0, applied: 0, conflict: 0, reverted: 0, kept: 0 },
      })
      const set = await suite.ready(first)
      expect(set).toMatchObject({ state: 'ready', version: 2, counts: { rows: 3, planned: 3 } })
      expect(await rows(set.id)).toEqual(
        quotas.map(({ id }, place) => ({
          row: place + 1,
          line: null,
          quota_id: id,
          ...owned(owner),
          action: 'update',
          outcome: 'planned',
          before: { total: 100 + place },
          // Rounded half up.
          after: { total: [110, 111, 112][place] },
          problem: null,
        })),
      )
      // Nothing is applied yet.
      expect((await read(quotas[0].id)).total).toBe(100)
      const done = await applied(set)
      expect(done).toMatchObject({ state: 'applied', version: 4, counts: { rows: 3, planned: 0, applied: 3 } })
      expect(done.applied_at).not.toBeNull()
      expect((await read(quotas[2].id)).total).toBe(112)
      const [change] = (await changes(quotas[2].id)).items
      expect(change).toMatchObject({ action: 'update', actor: 'admin', change_set_id: set.id, after: { total: 112 } })
      const back = await reverted(done)
      expect(back).toMatchObject({ state: 'reverted', version: 6, counts: { rows: 3, applied: 0, reverted: 3 } })
      expect(await read(quotas[2].id)).toMatchObject({ total: 102, version: 3 })
      const [undoing] = (await changes(quotas[2].id)).items
      expect(undoing).toMatchObject({ change_set_id: set.id, before: { total: 112 }, after: { total: 102 } })
    })

    it('of quotas named one by one, with the label of each', async () => {
      const [owner, quotas] = await three({ label: 'Spring' })
      const [first, second, third] = quotas.map(({ id }) => Number(id)) as [number, number, number]
      await updated(third, { label: null })
      await remove(second)
      const filter = { ids: [third, first, second, 2 ** 53 - 1] }
      const set = await madeSet(filter, { update: { total: 7 } })
      expect(set).toMatchObject({ filter, counts: { rows: 2, planned: 2 } })
      const labels = async () => (await rows(set.id, 'labels=true')).map(({ quota_id: id, label }: Body) => [id, label])
      expect(await labels()).toEqual([
        [first, 'Spring'],
        [third, null],
      ])
      // The present label, also of a quota that is deleted by now.
      await updated(third, { label: 'Late' })
      await remove(third)
      expect(await labels()).toEqual([
        [first, 'Spring'],
        [third, 'Late'],
      ])
      expect((await reverted(await applied(set))).counts).toMatchObject({ reverted: 1, conflict: 1 })
      // With the other conditions.
      const both = await madeSet({ ...filter, ...owned(owner), label: 'Winter' }, { delete: true })
      expect(both.counts.rows).toBe(0)
      const thousand = Array.from({ length: 1000 }, (_, place) => first + place)
      expect((await madeSet({ ids: thousand, ...owned(owner) }, { delete: true })).counts.rows).toBe(1)
      for (const ids of [[], [first, first], [0], 'all', [...thousand, first - 1]])
        expect(brokenFields(await createSet({ filter: { ids }, change: { delete: true } }))).toHaveProperty([
          'filter.ids',
        ])
    })

    it('apply only to the versions on which they were decided', async () => {
      const [owner, quotas] = await three()
      const set = await madeSet(owned(owner), { update: { total: { add: 5 } } })
      await updated(quotas[0].id, { total: 7 })
      await remove(quotas[1].id)
      const late = await made(total(owner))
      const done = await applied(set)
      expect(done.counts).toMatchObject({ rows: 3, applied: 1, conflict: 2 })
      expect(await outcomes(set.id)).toEqual([
        [1, 'conflict', 'version_mismatch'],
        [2, 'conflict', 'quota_not_found'],
        [3, 'applied', undefined],
      ])
      expect((await read(quotas[0].id)).total).toBe(7)
      expect((await read(late.id)).total).toBe(100)
    })

    it('show which rows change nothing, and which are not allowed', async () => {
      const [owner, quotas] = await three()
      const monthly = await made(cycle(owner, { total: 3 }))
      const set = await madeSet(owned(owner), { update: { total: { add: -101 } } })
      expect(await outcomes(set.id)).toEqual([
        [1, 'invalid', 'validation_failed'],
        [2, 'planned', undefined],
        [3, 'planned', undefined],
        [4, 'invalid', 'validation_failed'],
      ])
      const unit = await madeSet(owned(owner), { update: { cycle_unit: 'month' } })
      expect(await outcomes(unit.id)).toEqual([
        [1, 'invalid', 'validation_failed'],
        [2, 'invalid', 'validation_failed'],
        [3, 'invalid', 'validation_failed'],
        [4, 'unchanged', undefined],
      ])
      const [row] = await rows(unit.id)
      expect([row.before, row.after]).toEqual([{}, {}])
      expect((await rows(unit.id)).at(-1)).toMatchObject({ before: {}, after: {} })
      expect(row.problem.errors).toEqual([expect.objectContaining({ field: 'cycle_unit' })])
      expect(unit.counts).toMatchObject({ rows: 4, invalid: 3, unchanged: 1 })
      expect([quotas.length, monthly.total]).toEqual([3, 3])
    })

    it('delete, and restore what they deleted', async () => {
      const [owner, quotas] = await three()
      const set = await applied(await madeSet(owned(owner), { delete: true }))
      expect(set.counts.applied).toBe(3)
      expect((await app().get(suite.path(quotas[1].id))).status).toBe(404)
      const [row] = await rows(set.id)
      expect(row).toMatchObject({ action: 'delete', before: { deleted_at: null } })
      const back = await reverted(set)
      expect(back.counts).toMatchObject({ reverted: 3 })
      expect((await read(quotas[1].id)).version).toBe(3)
    })

    it('reset, which cannot be reverted', async () => {
      const [owner, quotas] = await three()
      await consumed(owner, 40)
      const set = await madeSet(owned(owner), { reset: true })
      expect(set.counts).toMatchObject({ planned: 1, unchanged: 2 })
      const [row] = await rows(set.id, 'outcome=planned')
      expect(row).toMatchObject({ action: 'reset', before: { used: 40, reserved: 0 }, after: { used: 0, reserved: 0 } })
      const done = await applied(set)
      expect((await read(quotas[0].id)).used).toBe(0)
      const back = await reverted(done)
      expect(back.counts).toMatchObject({ kept: 1, unchanged: 2, applied: 0 })
    })

    it('leave unchanged what a count reset by hand already has', async () => {
      const [owner, quotas] = await three()
      await consumed(owner, 40)
      const set = await madeSet(owned(owner), { reset: true })
      expect((await app().post(`${suite.path(quotas[0].id)}/reset`, {})).status).toBe(200)
      const done = await applied(set)
      expect(done.counts).toMatchObject({ applied: 0, unchanged: 3 })
      expect((await rows(set.id)).map(({ before, after }: Body) => [before, after])).toEqual([
        [{}, {}],
        [{}, {}],
        [{}, {}],
      ])
    })

    it('keep what was edited since, or cannot be restored', async () => {
      const [owner, quotas] = await three()
      const set = await applied(await madeSet(owned(owner), { update: { total: 7 } }))
      await updated(quotas[0].id, { total: 8 })
      await remove(quotas[1].id)
      const back = await reverted(set)
      expect(back.counts).toMatchObject({ kept: 2, reverted: 1 })
      expect(await outcomes(set.id)).toEqual([
        [1, 'kept', 'version_mismatch'],
        [2, 'kept', 'quota_not_found'],
        [3, 'reverted', undefined],
      ])
      expect((await read(quotas[0].id)).total).toBe(8)
    })

    it('are reverted regardless of reverted sets in between', async () => {
      const [owner, quotas] = await three()
      const first = await applied(await madeSet(owned(owner), { update: { total: 7 } }))
      const second = await applied(await madeSet(owned(owner), { update: { total: 8 } }))
      expect((await reverted(second)).counts.reverted).toBe(3)
      expect((await reverted(first)).counts.reverted).toBe(3)
      expect((await read(quotas[1].id)).total).toBe(101)
    })

    it('are reverted after a set that changed nothing when it was applied', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner, { cycle_reset_at: '2026-12-01T00:00:00.000Z' }))
      const first = await applied(await madeSet(owned(owner), { update: { total: 7 } }))
      // By the time of its application, the cycle has reached what it asks for.
      const next = await madeSet(owned(owner), { update: { cycle_reset_at: '2027-01-01T00:00:00.000Z' } })
      expect(next.counts).toMatchObject({ planned: 1 })
      app().clock.set('2026-12-02T00:00:00.000Z')
      const second = await applied(next)
      expect(second.counts).toMatchObject({ applied: 0, unchanged: 1 })
      expect(await rows(second.id)).toEqual([
        expect.objectContaining({ outcome: 'unchanged', before: {}, after: {}, problem: null }),
      ])
      expect((await reverted(second)).counts).toMatchObject({ unchanged: 1, reverted: 0 })
      expect((await reverted(first)).counts).toMatchObject({ reverted: 1 })
      expect(await read(id)).toMatchObject({ total: 100, version: 3 })
    })

    it('are worked on in the order of the requests', async () => {
      const [owner, quotas] = await three()
      const first = await applied(await madeSet(owned(owner), { update: { total: 7 } }))
      const second = await applied(await madeSet(owned(owner), { update: { total: 8 } }))
      bodyOf(202, await revert(second))
      app().clock.pass(0.001)
      expect((await reverted(first)).counts).toMatchObject({ reverted: 3 })
      expect((await read(quotas[2].id)).total).toBe(102)
    })

    it('restore the anchor of a cycle', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner, { cycle_reset_at: '2026-12-31T00:00:00.000Z' }))
      const before = await read(id)
      const set = await applied(await madeSet(owned(owner), { update: { cycle_unit: 'week' } }))
      app().clock.set('2027-01-20T00:00:00.000Z')
      expect((await read(id)).cycle_reset_at).toBe('2027-01-21T00:00:00.000Z')
      expect((await reverted(set)).counts.reverted).toBe(1)
      expect(await read(id)).toMatchObject({
        cycle_unit: 'month',
        cycle_anchor_at: before.cycle_anchor_at,
        cycle_reset_at: '2027-01-31T00:00:00.000Z',
      })
    })

    it('keep a time that has passed', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner))
      const set = await applied(await madeSet(owned(owner), { update: { cycle_reset_at: '2026-12-24T00:00:00.000Z' } }))
      app().clock.set('2026-12-02T00:00:00.000Z')
      expect((await reverted(set)).counts.kept).toBe(1)
      expect((await read(id)).cycle_reset_at).toBe('2026-12-24T00:00:00.000Z')
    })

    it('apply once, with the version and the number that the caller read', async () => {
      const [owner] = await three()
      const set = await madeSet(owned(owner), { update: { total: 7 } })
      expect(refusal(await apply(set, { version: 1 }))).toEqual([409, 'version_mismatch'])
      expect(refusal(await apply(set, { rows: 2 }))).toEqual([409, 'change_set_differs'])
      expect(refusal(await revert(set))).toEqual([409, 'change_set_state'])
      expect(brokenFields(await app().post(at(set.id, '/apply'), {}))).toEqual({
        rows: expect.any(String),
        version: expect.any(String),
      })
      const done = await applied(set)
      expect(refusal(await apply(set))).toEqual([409, 'version_mismatch'])
      expect(refusal(await apply(done))).toEqual([409, 'change_set_state'])
      expect(refusal(await app().delete(at(set.id)))).toEqual([409, 'change_set_state'])
      expect(refusal(await app().post(at(9_007_199_254_740_991, '/revert'), { version: 1 }))).toEqual([
        404,
        'change_set_not_found',
      ])
    })

    it('can be dropped before they are applied', async () => {
      const [owner] = await three()
      const set = await madeSet(owned(owner), { delete: true })
      expect((await app().delete(at(set.id))).status).toBe(204)
      expect(refusal(await app().get(at(set.id)))).toEqual([404, 'change_set_not_found'])
      expect(refusal(await apply(set))).toEqual([404, 'change_set_not_found'])
      expect(refusal(await app().get(at(set.id, '/rows')))).toEqual([404, 'change_set_not_found'])
      expect(refusal(await app().delete(at(set.id)))).toEqual([404, 'change_set_not_found'])
    })

    it('are created once for a key', async () => {
      const [owner] = await three()
      const body = { filter: owned(owner), change: { update: { total: 7, label: null } } }
      const key = `set-${fresh()}`
      const first = await createSet(body, key)
      const set = await suite.ready(first)
      const again = await createSet({ change: { update: { label: null, total: 7 } }, filter: owned(owner) }, key)
      expect([again.status, again.text, again.headers['idempotency-replayed']]).toEqual([202, first.text, 'true'])
      expect(refusal(await createSet({ ...body, change: { delete: true } }, key))).toEqual([
        422,
        'idempotency_key_reused',
      ])
      expect((await suite.setOf(set.id)).version).toBe(2)
    })

    it('refuse the key of an act', async () => {
      const [owner] = await three()
      const key = `act-${fresh()}`
      bodyOf(201, await app().post(api.quotas, total(owner), { key }))
      expect(refusal(await createSet({ filter: owned(owner), change: { delete: true } }, key))).toEqual([
        422,
        'idempotency_key_reused',
      ])
    })

    it('have their key to themselves', async () => {
      const [owner] = await three()
      const key = `set-${fresh()}`
      await suite.ready(await createSet({ filter: owned(owner), change: { update: { label: 'x' } } }, key))
      const amount = { [api.owner]: owner, amount: 1 }
      const reused = [422, 'idempotency_key_reused']
      for (const [path, body] of [
        [api.consume, amount],
        [api.reserve, amount],
        [`${api.usage}/00000000-0000-7000-8000-000000000000/refund`, {}],
        [api.quotas, total(owner)],
        [`${api.quotas}/groups`, { name: key }],
      ] as const)
        expect([path, ...refusal(await app().post(path, body, { key, as: 'admin' }))]).toEqual([path, ...reused])
      const items = [{ ...amount, idempotency_key: key }]
      const { results } = bodyOf(200, await app().post(`${api.consume}/batch`, { items }, { as: 'admin' }))
      expect(results).toMatchObject([{ status: 422, problem: { code: 'idempotency_key_reused' } }])
      expect((await app().post(api.consume, amount, { key, as: 'usage' })).status).toBe(200)
    })

    it('compare the requests of a key by meaning', async () => {
      const [owner] = await three()
      const key = `set-${fresh()}`
      const create = async (update: object) => createSet({ filter: owned(owner), change: { update } }, key)
      const first = await create({ expire_at: '2039-01-01T00:00:00Z', thresholds: [1, 2] })
      for (const expire_at of ['2039-01-01T01:00:00+01:00', '2039-01-01T00:00:00.0004Z']) {
        const again = await create({ thresholds: [2, 1], expire_at })
        expect([again.status, again.text]).toEqual([202, first.text])
      }
      for (const update of [
        { expire_at: '2039-01-01T00:00:00.001Z', thresholds: [1, 2] },
        { expire_at: '2039-01-01T00:00:00Z', thresholds: [1, 3] },
        { expire_at: '2039-01-01T00:00:00Z' },
      ]) {
        expect(refusal(await create(update))).toEqual([422, 'idempotency_key_reused'])
      }
    })

    it.each<[string, object, string[]]>([
      ['nothing', {}, ['filter', 'change']],
      ['an empty filter', { filter: {}, change: { delete: true } }, ['filter']],
      ['all and a condition', { filter: { all: true, label: 'a' }, change: { delete: true } }, ['filter.all']],
      ['a deleted filter', { filter: { deleted: 'true', label: 'a' }, change: { delete: true } }, ['filter.deleted']],
      ['no change', { filter: { all: true }, change: {} }, ['change']],
      ['two changes', { filter: { all: true }, change: { delete: true, reset: true } }, ['change']],
      ['false', { filter: { all: true }, change: { delete: false } }, ['change.delete']],
      [
        'an unknown setting',
        { filter: { all: true }, change: { update: { totl: 1, total: 1 } } },
        ['change.update.totl'],
      ],
      ['a version', { filter: { all: true }, change: { update: { version: 1, total: 1 } } }, ['change.update.version']],
      ['no setting', { filter: { all: true }, change: { update: {} } }, ['change.update']],
      [
        'half a per cent',
        { filter: { all: true }, change: { update: { total: { percent: 0.5 } } } },
        ['change.update.total'],
      ],
      [
        'too many per cent',
        { filter: { all: true }, change: { update: { total: { percent: 10_001 } } } },
        ['change.update.total'],
      ],
      [
        'both',
        { filter: { all: true }, change: { update: { total: { percent: 1, add: 1 } } } },
        ['change.update.total'],
      ],
      ['a broken label', { filter: { label: '' }, change: { reset: true } }, ['filter.label']],
      ['a list', { filter: [], change: { reset: true } }, ['filter']],
    ])('refuse %s', async (_what, body, fields) => {
      const broken = Object.keys(brokenFields(await createSet(body)))
      expect(broken).toEqual(expect.arrayContaining(fields))
      expect(broken.every((name) => fields.some((field) => name.startsWith(field)))).toBe(true)
    })

    it('are listed, newest first, by their state', async () => {
      const [owner] = await three()
      const sets = []
      for (let n = 0; n < 3; n += 1) sets.push(await madeSet(owned(owner), { update: { total: n } }))
      await applied(sets[1])
      const page = bodyOf(200, await app().get(`${api.quotas}/change-sets?page_size=2`))
      expect(page.items.map(({ id }: Body) => id)).toEqual([sets[2].id, sets[1].id])
      expect(page.next_before).toBe(sets[1].id)
      const next = bodyOf(200, await app().get(`${api.quotas}/change-sets?page_size=1&before=${page.next_before}`))
      expect(next.items[0].id).toBe(sets[0].id)
      const done = bodyOf(200, await app().get(`${api.quotas}/change-sets?state=applied&page_size=1`))
      expect(done.items[0].id).toBe(sets[1].id)
    })

    it('show their rows page by page, by outcome', async () => {
      const [owner] = await three()
      const set = await madeSet(owned(owner), { update: { total: 101 } })
      expect(await outcomes(set.id)).toEqual([
        [1, 'planned', undefined],
        [2, 'unchanged', undefined],
        [3, 'planned', undefined],
      ])
      const first = bodyOf(200, await app().get(at(set.id, '/rows?outcome=planned&page_size=1')))
      expect([first.items[0].row, first.next_after]).toEqual([1, 1])
      const second = bodyOf(200, await app().get(at(set.id, `/rows?outcome=planned&page_size=1&after=1`)))
      expect([second.items[0].row, second.next_after]).toEqual([3, null])
    })

    it('find all quotas, and those of a filter of the list', async () => {
      const [owner, quotas] = await three({ label: `many ${fresh()}` })
      await updated(quotas[2].id, { status: 'disabled' })
      const label = quotas[0].label.toUpperCase()
      const found = await madeSet({ label, status: 'active' }, { delete: true })
      expect((await rows(found.id)).map(({ quota_id: id }: Body) => id)).toEqual([quotas[0].id, quotas[1].id])
      const all = await madeSet({ all: true }, { reset: true })
      const listed = bodyOf(200, await app().get(`${api.list}?page_size=1`))
      expect(all.counts.rows).toBe(listed.total)
      expect(ofOwner(owner)).toContain(String(owner))
    })
  })
}
