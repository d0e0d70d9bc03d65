import { expect, it, describe } from '@jest/globals'
import { type Body, bodyOf, brokenFields, fresh, refusal } from '../quota-api.js'
import { END, type QuotaSuite, RESET } from './suite.js'

/** The settings of caps, and thresholds (contract, §9 and §10), without their effects. */
export function capSettingsContract(suite: QuotaSuite): void {
  const { api, create, made, total, cycle, read, update, updated, remove, restore, changes, idsOf, ofOwner } = suite
  const rolling = (owner: number, more: object = {}) => ({
    [api.owner]: owner,
    quota_type: 3,
    total: 300,
    cap: 'enforce',
    window_seconds: 86_400,
    ...more,
  })

  describe('a cap', () => {
    it('is created with each type, and shown', async () => {
      const owner = fresh()
      expect(await made(total(owner))).toMatchObject({ cap: null, window_seconds: null, thresholds: [] })
      expect(await made(total(owner, { cap: 'enforce' }))).toMatchObject({ quota_type: 1, cap: 'enforce', version: 1 })
      expect(await made(cycle(owner, { cap: 'observe' }))).toMatchObject({
        quota_type: 2,
        cap: 'observe',
        window_seconds: null,
        thresholds: [],
      })
      const cap = await made(rolling(owner))
      expect(cap).toMatchObject({
        quota_type: 3,
        total: 300,
        used: 0,
        reserved: 0,
        remaining: 300,
        status: 'active',
        expire_at: null,
        cycle_unit: null,
        cycle_reset_at: null,
        cycle_anchor_at: null,
        cycle_time_zone: null,
        cap: 'enforce',
        window_seconds: 86_400,
        thresholds: null,
      })
      expect(await read(cap.id)).toEqual(cap)
      const foreign = { cycle_unit: null, cycle_reset_at: null, cycle_time_zone: null, thresholds: null }
      expect(await made(rolling(owner, { ...foreign, expire_at: END, window_seconds: 60 }))).toMatchObject({
        expire_at: END,
        window_seconds: 60,
      })
      await made(rolling(owner, { expire_at: null, window_seconds: 2_678_400 }))
    })

    it('is refused without what its type requires, and with what it excludes', async () => {
      const fieldsOf = async (body: object) => Object.keys(brokenFields(await create(body))).sort()
      expect(await fieldsOf({ [api.owner]: 1, quota_type: 3, total: 1 })).toEqual(['cap', 'window_seconds'])
      expect(await fieldsOf(rolling(1, { cap: null }))).toEqual(['cap'])
      expect(await fieldsOf(rolling(1, { cap: 'forbid', window_seconds: null }))).toEqual(['cap', 'window_seconds'])
      for (const window_seconds of [59, 2_678_401, 60.5, '60'])
        expect(await fieldsOf(rolling(1, { window_seconds }))).toEqual(['window_seconds'])
      const foreign = { cycle_unit: 'day', cycle_reset_at: RESET, cycle_time_zone: 'UTC', thresholds: [] }
      expect(await fieldsOf(rolling(1, foreign))).toEqual(Object.keys(foreign).sort())
      expect(await fieldsOf(total(1, { window_seconds: 60 }))).toEqual(['window_seconds'])
      expect(await fieldsOf(cycle(1, { window_seconds: 60, cap: 'enforce' }))).toEqual(['window_seconds'])
    })

    it('changes between enforce and observe, and never into a payer or back', async () => {
      const owner = fresh()
      const cap = await made(cycle(owner, { cap: 'observe' }))
      expect(await updated(cap.id, { cap: 'enforce' })).toMatchObject({ cap: 'enforce', version: 2 })
      expect(await updated(cap.id, { ...cap, version: 2, cap: 'enforce' })).toMatchObject({ version: 2 })
      expect(Object.keys(brokenFields(await update(cap.id, { cap: null })))).toEqual(['cap'])
      const payer = await made(cycle(owner))
      for (const kind of ['enforce', 'observe'])
        expect(Object.keys(brokenFields(await update(payer.id, { cap: kind })))).toEqual(['cap'])
      expect(await updated(payer.id, payer)).toEqual(payer)
      // Foreign beats form.
      const ofWindow = 'belongs to quota_type 3 (rolling); leave it out or null for quota_type 2 (cycle)'
      for (const window_seconds of [1, 'x'])
        expect(brokenFields(await update(payer.id, { window_seconds }))).toEqual({ window_seconds: ofWindow })
      expect(brokenFields(await create(cycle(fresh(), { window_seconds: 1 })))).toEqual({ window_seconds: ofWindow })
      expect(brokenFields(await create(cycle(fresh(), { window_seconds: 1, total: -1 })))).toEqual({
        window_seconds: ofWindow,
        total: expect.stringContaining('must be an integer'),
      })
      const both = await update(payer.id, { cap: 'observe', total: -1, window_seconds: 60 })
      expect(Object.keys(brokenFields(both)).sort()).toEqual(['cap', 'total', 'window_seconds'])
    })

    it('can get another window, but no cycle', async () => {
      const cap = await made(rolling(fresh()))
      expect(await updated(cap.id, cap)).toEqual(cap)
      expect(await updated(cap.id, { window_seconds: 3600 })).toMatchObject({ window_seconds: 3600, version: 2 })
      expect(Object.keys(brokenFields(await update(cap.id, { window_seconds: null })))).toEqual(['window_seconds'])
      const foreign = { cycle_unit: 'day', cycle_reset_at: RESET, cycle_time_zone: 'UTC', thresholds: [1] }
      expect(Object.keys(brokenFields(await update(cap.id, foreign))).sort()).toEqual(Object.keys(foreign).sort())
      expect(await updated(cap.id, { expire_at: END })).toMatchObject({ expire_at: END, version: 3 })
      expect(await updated(cap.id, { expire_at: null })).toMatchObject({ expire_at: null, version: 4 })
      const { items } = await changes(cap.id)
      expect(items.slice(2).map(({ before, after }: Body) => [before, after])).toEqual([
        [
          { window_seconds: 86_400, used: 0, reserved: 0 },
          { window_seconds: 3600, used: 0, reserved: 0 },
        ],
        [{}, expect.objectContaining({ cap: 'enforce', window_seconds: 86_400, thresholds: null })],
      ])
    })

    it('is one of at most 16 live caps of an owner', async () => {
      const owner = fresh()
      await made(cycle(owner))
      const ids: number[] = []
      for (let n = 0; n < 16; n += 1) ids.push((await made(rolling(owner, { cap: n % 2 ? 'observe' : 'enforce' }))).id)
      expect(refusal(await create(rolling(owner)))).toEqual([409, 'too_many_quotas'])
      await made(cycle(owner))
      await remove(ids[0]!)
      await made(total(owner, { cap: 'enforce' }))
      expect(refusal(await restore(ids[0]!))).toEqual([409, 'too_many_quotas'])
      await updated(ids[1]!, { expire_at: '2026-11-21T11:00:00Z' })
      bodyOf(200, await restore(ids[0]!))
      expect(refusal(await update(ids[1]!, { expire_at: null }))).toEqual([409, 'too_many_quotas'])
    })

    it('is listed together with payers, or by its kind', async () => {
      const owner = fresh()
      const ids: Record<string, number> = {}
      ids['none'] = (await made(cycle(owner, { label: `caps of ${owner}` }))).id
      ids['enforce'] = (await made(rolling(owner, { label: `caps of ${owner}` }))).id
      ids['observe'] = (await made(rolling(owner, { cap: 'observe', label: `caps of ${owner}` }))).id
      expect(await idsOf(ofOwner(owner))).toEqual([ids['observe'], ids['enforce'], ids['none']])
      for (const [cap, id] of Object.entries(ids)) {
        expect(await idsOf(`${ofOwner(owner)}&cap=${cap}`)).toEqual([id])
        expect(await idsOf(`cap=${cap}&label=${encodeURIComponent(`caps of ${owner}`)}`)).toEqual([id])
        for (const status of ['', '&status=active']) expect((await idsOf(`cap=${cap}${status}`))[0]).toBe(id)
        expect(await idsOf(`${ofOwner(owner)}&cap=${cap}&status=disabled`)).toEqual([])
        await remove(id)
        expect((await idsOf(`cap=${cap}&deleted=true`))[0]).toBe(id)
        expect((await idsOf(`cap=${cap}&deleted=true&status=active`))[0]).toBe(id)
        expect(await idsOf(`${ofOwner(owner)}&cap=${cap}&deleted=true`)).toEqual([id])
        expect(await idsOf(`cap=${cap}`)).not.toContain(id)
      }
      const over = await made(rolling(owner, { expire_at: END }))
      await updated(over.id, { expire_at: '2026-11-21T11:00:00Z' })
      expect((await idsOf('cap=enforce&status=expired'))[0]).toBe(over.id)
      expect(Object.keys(brokenFields(await suite.list('cap=all')))).toEqual(['cap'])
    })

    it('is part of the request that a key identifies', async () => {
      const owner = fresh()
      const key = `cap-${owner}`
      const body = rolling(owner, { window_seconds: 60 })
      const first = bodyOf(201, await create(body, { key }))
      expect(bodyOf(201, await create({ ...body, thresholds: null }, { key })).id).toBe(first.id)
      expect(refusal(await create({ ...body, window_seconds: 61 }, { key }))[0]).toBe(422)
      expect(refusal(await create({ ...body, cap: 'observe' }, { key }))[0]).toBe(422)
    })
  })

  describe('thresholds', () => {
    it('are stored in ascending order, for payers and caps', async () => {
      const owner = fresh()
      expect((await made(cycle(owner, { thresholds: [80, 50, 100, 1] }))).thresholds).toEqual([1, 50, 80, 100])
      const { id } = await made(total(owner, { cap: 'enforce' }))
      expect(await updated(id, { thresholds: [90, 10] })).toMatchObject({ thresholds: [10, 90], version: 2 })
      expect(await updated(id, { thresholds: [10, 90] })).toMatchObject({ version: 2 })
      expect(await updated(id, { thresholds: [] })).toMatchObject({ thresholds: [], version: 3 })
      const most = Array.from({ length: 10 }, (_, n) => 91 + n)
      expect((await updated(id, { thresholds: [...most].reverse() })).thresholds).toEqual(most)
      const { items } = await changes(id)
      expect(items[2]).toMatchObject({ before: { thresholds: [] }, after: { thresholds: [10, 90] } })
    })

    it.each([
      [null],
      [[0]],
      [[101]],
      [[50, 50]],
      [[1.5]],
      [['50']],
      [50],
      ['50 80'],
      [{}],
      [Array.from({ length: 11 }, (_, n) => n + 1)],
    ])('are refused as %j', async (thresholds) => {
      expect(Object.keys(brokenFields(await create(cycle(fresh(), { thresholds }))))).toEqual(['thresholds'])
      const { id } = await made(cycle(fresh()))
      expect(Object.keys(brokenFields(await update(id, { thresholds })))).toEqual(['thresholds'])
    })

    it('are part of the request that a key identifies, in any order', async () => {
      const owner = fresh()
      const key = `thresholds-${owner}`
      const body = cycle(owner, { thresholds: [50, 80] })
      const first = bodyOf(201, await create(body, { key }))
      expect(bodyOf(201, await create({ ...body, thresholds: [80, 50] }, { key })).id).toBe(first.id)
      expect(refusal(await create({ ...body, thresholds: [80] }, { key }))[0]).toBe(422)
    })
  })
}
