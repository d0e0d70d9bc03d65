import { describe, expect } from '@jest/globals'
import { type Body, bodyOf, brokenFields, fresh, refusal } from '../quota-api.js'
import { it } from '../scoped.js'
import { contradictionsOf } from '../verify.js'
import { DAY, END, type QuotaSuite } from './suite.js'

const HOUR = 3_600

/** Opening balances: what a create takes over of a count that began elsewhere (contract, §15). */
export function openingContract(suite: QuotaSuite): void {
  const { api, app, cycle, total, create, made, path, read, updated, remove, restore, changes, summary } = suite
  const { consume, consumed, ofOwner } = suite
  const rolling = (owner: number, more: object = {}) => ({
    [api.owner]: owner,
    quota_type: 3,
    total: 100,
    cap: 'enforce',
    window_seconds: DAY,
    ...more,
  })
  /** Its events: what a create says of `used`, and the data of others. */
  const eventsOf = async (id: number): Promise<[string, unknown][]> => {
    const { items } = bodyOf(200, await app().get(`${api.quotas}/events?quota_id=${id}`))
    return items.map(({ type, data }: Body) => [type, type === 'quota.created' ? data.after.used : data])
  }
  /** What `npm run verify` finds in quotas: other tests leave some of the future. */
  const contradictions = async (...ids: number[]): Promise<string[]> => {
    const found = await contradictionsOf(app(), api.name)
    return found.filter((line) => ids.some((id) => line.includes(`quota ${id} of`)))
  }
  const mistake = async (body: object): Promise<Record<string, string>> => brokenFields(await create(body))

  describe('an opening balance', () => {
    it.each<[string, (owner: number, more?: object) => object]>([
      ['total', total],
      ['cycle', cycle],
      ['rolling', rolling],
    ])('is what a new %s quota has used, and belongs to no operation', async (_name, body) => {
      const owner = fresh()
      const quota = await made(body(owner, { used: 40 }))
      expect(quota).toMatchObject({ total: 100, used: 40, reserved: 0, remaining: 60, version: 1 })
      expect(await read(quota.id)).toEqual(quota)
      const [change] = (await changes(quota.id)).items
      expect(change).toMatchObject({ action: 'create', before: {}, after: { used: 40, total: 100 } })
      expect(await eventsOf(quota.id)).toEqual([['quota.created', 40]])
      if (quota.cap !== null) await made(total(owner, { total: 1_000 }))
      expect(refusal(await consume(owner, 61))).toEqual([409, 'quota_exceeded'])
      await consumed(owner, 60)
      expect((await read(quota.id)).used).toBe(100)
      for (const query of [`quota_id=${quota.id}`, ofOwner(owner)]) {
        expect(bodyOf(200, await app().get(`${api.usage}?${query}`)).items).toMatchObject([{ amount: 60 }])
        const { items } = bodyOf(200, await app().get(`${api.usage}/series?${query}&step=day`))
        expect(items.reduce((sum: number, { charged }: Body) => sum + Number(charged), 0)).toBe(60)
      }
      expect(await contradictions(quota.id)).toEqual([])
    })

    it('is 0 without one, which is the same request, and leaves no trace in the change', async () => {
      for (const used of [undefined, null, 0]) {
        const owner = fresh()
        const key = `k-${owner}`
        const first = await create(total(owner, { used }), { key })
        expect(bodyOf(201, first)).toMatchObject({ used: 0, remaining: 100 })
        expect((await create(total(owner), { key })).text).toBe(first.text)
        const [change] = (await changes(first.body.id)).items
        expect(change.after).not.toHaveProperty('used')
      }
    })

    it('is at most the total, except for an observe cap', async () => {
      const tooMuch = { used: 'may not exceed total, except for an observe cap' }
      for (const body of [total, cycle, rolling]) {
        const owner = fresh()
        expect(await mistake(body(owner, { used: 101 }))).toEqual(tooMuch)
        const full = await made(body(owner, { used: 100 }))
        expect(full).toMatchObject({ used: 100, remaining: 0 })
        const watched = await made(body(owner, { cap: 'observe', used: 1_000_000_000_000 }))
        expect(watched).toMatchObject({ used: 1_000_000_000_000, remaining: 0 })
        expect(await contradictions(full.id, watched.id)).toEqual([])
      }
      expect(await mistake(cycle(1, { cap: 'enforce', used: 101 }))).toEqual(tooMuch)
      expect(await made(total(fresh(), { total: 0, used: 0 }))).toMatchObject({ used: 0 })
    })

    it('is named with every other mistake', async () => {
      const form = 'must be an integer from 0 to 1000000000000'
      for (const used of [-1, 0.5, '7', true, [7], 1_000_000_000_001])
        expect(await mistake(total(1, { cap: 'observe', used }))).toEqual({ used: form })
      expect(await mistake(total(1, { total: '5', used: '7' }))).toEqual({ total: form, used: form })
      const broken = await mistake(cycle(1, { used: 101, cycle_unit: 'never', label: '' }))
      expect(Object.keys(broken).sort()).toEqual(['cycle_unit', 'label', 'used'])
    })

    it('is replayed with its key, and another one is another request', async () => {
      const owner = fresh()
      const key = `k-${owner}`
      const [first, ...others] = await Promise.all(
        Array.from({ length: 5 }, async () => create(total(owner, { used: 40 }), { key })),
      )
      expect(bodyOf(201, first!).used).toBe(40)
      expect(others.map(({ text }) => text)).toEqual(others.map(() => first!.text))
      expect((await summary(owner)).used).toBe(40)
      await consumed(owner, 5)
      expect((await create(total(owner, { used: 40 }), { key })).text).toBe(first!.text)
      for (const used of [41, 0, undefined])
        expect(refusal(await create(total(owner, { used }), { key }))).toEqual([422, 'idempotency_key_reused'])
      expect((await summary(owner)).used).toBe(45)
    })

    it('adds up over concurrent creates, and bounds what consumes take meanwhile', async () => {
      const owner = fresh()
      const creates = Array.from({ length: 8 }, async () => made(total(owner, { total: 10, used: 7 })))
      await Promise.all(Array.from({ length: 20 }, async () => consume(owner, 2)))
      const ids = (await Promise.all(creates)).map(({ id }) => id)
      for (let status = 200; status === 200;) ({ status } = await consume(owner, 1))
      expect(await summary(owner)).toMatchObject({ total: 80, used: 80, remaining: 0 })
      expect(await contradictions(...ids)).toEqual([])
    })

    it('passes thresholds, each once', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner, { used: 80, thresholds: [50, 80, 90] }))
      const passed = { threshold: 80, crossed: [50, 80], total: 100, used: 80, operation_id: null }
      const reached = ['quota.threshold_reached', expect.objectContaining(passed)]
      expect(await eventsOf(id)).toEqual([['quota.created', 80], reached])
      await consumed(owner, 9)
      expect(await eventsOf(id)).toHaveLength(2)
      await consumed(owner, 1)
      const next = expect.objectContaining({ crossed: [90], operation_id: expect.any(String) })
      expect((await eventsOf(id)).at(-1)).toEqual(['quota.threshold_reached', next])
      const below = await made(total(owner, { used: 49, thresholds: [50] }))
      expect(await eventsOf(below.id)).toEqual([['quota.created', 49]])
      expect(await contradictions(id, below.id)).toEqual([])
    })

    it('is no setting: an update ignores `used`', async () => {
      const quota = await made(total(fresh(), { used: 40 }))
      expect(await updated(quota.id, { ...quota, used: 0, total: 100 })).toEqual(quota)
      expect(await updated(quota.id, { used: 1, total: 30 })).toMatchObject({ used: 40, remaining: 0, version: 2 })
      expect(Object.keys(brokenFields(await app().put(path(quota.id), { used: 1 })))).toEqual(['body'])
      expect(await contradictions(quota.id)).toEqual([])
    })

    it('survives a deletion, and ends with a reset by hand', async () => {
      const owner = fresh()
      const { id } = await made(total(owner, { used: 40, thresholds: [30] }))
      await consumed(owner, 5)
      await remove(id)
      expect(bodyOf(200, await restore(id)).used).toBe(45)
      expect(bodyOf(200, await app().post(`${path(id)}/reset`))).toMatchObject({ used: 0, remaining: 100 })
      const [change] = (await changes(id)).items
      expect(change).toMatchObject({ action: 'reset', before: { used: 45 }, after: { used: 0 } })
      await consumed(owner, 30)
      expect((await eventsOf(id)).filter(([type]) => type === 'quota.threshold_reached')).toHaveLength(2)
      expect(await contradictions(id)).toEqual([])
    })

    it('of a cycle counts until its first reset', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner, { cycle_unit: 'day', cycle_reset_at: app().clock.after(HOUR), used: 100 }))
      const { refills_at } = bodyOf(409, await consume(owner, 1))
      expect(refills_at).toBe(app().clock.after(HOUR))
      app().clock.pass(HOUR)
      expect(await read(id)).toMatchObject({ used: 0, remaining: 100 })
      await consumed(owner, 1)
      expect(await contradictions(id)).toEqual([])
    })

    it('of a rolling cap leaves the window by the rule of slots', async () => {
      const owner = fresh()
      await made(total(owner, { total: 1_000 }))
      const { id } = await made(rolling(owner, { used: 70 }))
      // A slot is an hour long, and the clock stands at a boundary.
      app().clock.pass(HOUR / 2)
      const late = await made(rolling(owner, { used: 100 }))
      const { refills_at, caps } = bodyOf(409, await consume(owner, 31))
      expect(caps.map((cap: Body) => [cap.id, cap.refills_at])).toEqual([
        [id, app().clock.after(DAY - HOUR / 2)],
        [late.id, app().clock.after(DAY + HOUR / 2)],
      ])
      expect(refills_at).toBe(app().clock.after(DAY + HOUR / 2))
      app().clock.pass(DAY - HOUR / 2 - 0.001)
      expect([(await read(id)).used, (await read(late.id)).used]).toEqual([70, 100])
      expect(await contradictions(id, late.id)).toEqual([])
      app().clock.pass(0.001)
      expect([(await read(id)).used, (await read(late.id)).used]).toEqual([0, 100])
      app().clock.pass(HOUR)
      await consumed(owner, 31)
      expect([(await read(id)).used, (await read(late.id)).used]).toEqual([31, 31])
      expect(await contradictions(id, late.id)).toEqual([])
    })

    it('of a rolling cap ends with a changed window', async () => {
      const { id } = await made(rolling(fresh(), { used: 70 }))
      expect(await updated(id, { window_seconds: HOUR })).toMatchObject({ used: 0 })
      expect((await changes(id)).items[0]).toMatchObject({ before: { used: 70 }, after: { used: 0 } })
      expect(await contradictions(id)).toEqual([])
    })

    it('of a shared quota counts for all members; a quota with a count for each takes none', async () => {
      const owner = fresh()
      const group = bodyOf(201, await app().post(`${api.quotas}/groups`, { name: `group ${owner}` }))
      bodyOf(200, await app().post(`${api.quotas}/groups/${group.id}/members`, { [`${api.owner}s`]: [owner] }))
      const ofGroup = { [api.owner]: undefined, group_id: group.id }
      const shared = await made(total(owner, { ...ofGroup, used: 40, thresholds: [40] }))
      expect(shared).toMatchObject({ used: 40, per: 'group', group_id: group.id })
      const reached = ['quota.threshold_reached', expect.objectContaining({ crossed: [40], used: 40 })]
      expect(await eventsOf(shared.id)).toEqual([['quota.created', 40], reached])
      const cap = await made(rolling(owner, { ...ofGroup, used: 70 }))
      expect(refusal(await consume(owner, 31))).toEqual([409, 'quota_exceeded'])
      await consumed(owner, 20)
      expect([(await read(shared.id)).used, (await read(cap.id)).used]).toEqual([60, 90])
      const foreign = { used: 'belongs to a quota with a count; leave it out or null' }
      for (const used of [1, 101, 'x'])
        expect(await mistake(total(owner, { ...ofGroup, per: 'member', used }))).toEqual(foreign)
      // What the record of such a quota shows.
      for (const used of [null, 0])
        expect(await made(total(owner, { ...ofGroup, per: 'member', used }))).toMatchObject({ used: 0 })
      await consumed(owner, 1)
      expect(await contradictions(shared.id, cap.id)).toEqual([])
    })

    it('counts as used after the end, which an edit moves', async () => {
      const owner = fresh()
      const { id } = await made(total(owner, { expire_at: app().clock.after(HOUR), used: 40 }))
      app().clock.pass(HOUR)
      expect(await read(id)).toMatchObject({ status: 'expired', used: 40 })
      expect(await updated(id, { expire_at: END })).toMatchObject({ status: 'active', used: 40, remaining: 60 })
    })
  })
}
