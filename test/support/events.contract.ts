import { describe, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { v7 } from 'uuid'
import { channelToken } from '../../src/channel-api/ledger.module.js'
import { EventSequencer } from '../../src/ledger/feed/event-sequencer.js'
import { Upkeep } from '../../src/ledger/upkeep/upkeep.js'
import type { QuotaRow } from '../../src/ledger/rows/quota.entity.js'
import type { TestApp } from './app.js'
import type { ChannelApi } from './channel-api.js'
import { stored } from './ids.js'
import { type Body, bodyOf, brokenFields, fresh, ledgerOf, refusal } from './quota-api.js'

const RESET = '2026-12-01T00:00:00.000Z'
const END = '2027-01-01T00:00:00.000Z'
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const DAY_SECONDS = 86_400

/** The guarantees of thresholds and of the feed of events (contract, §10), for either channel. */
export function eventsContract(api: ChannelApi, app: () => TestApp): void {
  const events = `${api.quotas}/events`
  const quota = (owner: number, more: object = {}) => ({
    [api.owner]: owner,
    quota_type: 2,
    total: 100,
    cycle_unit: 'month',
    cycle_reset_at: RESET,
    thresholds: [50, 80],
    ...more,
  })
  const total = (owner: number, more: object = {}) => ({
    [api.owner]: owner,
    quota_type: 1,
    total: 100,
    expire_at: END,
    thresholds: [50, 80],
    ...more,
  })
  const made = async (body: object): Promise<Body> => bodyOf(201, await app().post(api.quotas, body))
  const edit = async (id: number, body: object): Promise<Body> =>
    bodyOf(200, await app().put(`${api.quotas}/${id}`, body))
  const use = async (verb: 'consume' | 'reserve', owner: number, amount: number): Promise<Body> =>
    bodyOf(
      verb === 'consume' ? 200 : 201,
      await app().post(`${api.usage}/${verb}`, { [api.owner]: owner, amount }, { key: `k-${fresh()}` }),
    )
  const settle = async (id: string, how: string, body: object = {}): Promise<Body> =>
    bodyOf(200, await app().post(`${api.usage}/${id}/${how}`, body, { key: `k-${fresh()}` }))
  const page = async (query = ''): Promise<Body> => bodyOf(200, await app().get(`${events}${query}`))
  const latest = async (): Promise<string> => (await page('?after=latest')).next_after
  /** The events of a quota, all pages. */
  const of = async (id: number, more = ''): Promise<Body[]> =>
    (await page(`?quota_id=${id}&page_size=100${more}`)).items
  const crossings = async (id: number): Promise<number[][]> =>
    (await of(id, '&type=quota.threshold_reached')).map(({ data }) => data.crossed)

  describe('events of settings', () => {
    it('report each change as the list of changes does, and in its order', async () => {
      const owner = fresh()
      const { id } = await made(quota(owner, { label: 'Früh 💣' }))
      await edit(id, { total: 200 })
      await edit(id, { total: 200 })
      await use('consume', owner, 1)
      bodyOf(200, await app().post(`${api.quotas}/${id}/reset`))
      expect((await app().delete(`${api.quotas}/${id}`)).status).toBe(204)
      bodyOf(200, await app().post(`${api.quotas}/${id}/restore`))
      const told = await of(id)
      expect(told.map(({ type }) => type)).toEqual([
        'quota.created',
        'quota.updated',
        'quota.reset',
        'quota.deleted',
        'quota.restored',
      ])
      const changes = bodyOf(200, await app().get(`${api.quotas}/${id}/changes`)).items
      expect(told.map(({ data }) => data)).toEqual(changes.reverse())
      for (const event of told) {
        expect(Object.keys(event)).toEqual(['id', 'type', 'at', api.owner, 'quota_id', 'group_id', 'data'])
        expect(event.id).toMatch(UUID_V7)
        expect(event).toMatchObject({ at: '2026-11-21T12:00:00.000Z', [api.owner]: owner, quota_id: id })
      }
      expect(new Set(told.map((event) => event.id)).size).toBe(5)
    })

    it('are one for each quota of a batch of creates', async () => {
      const owner = fresh()
      const quotas = await Promise.all(Array.from({ length: 20 }, async () => made(total(owner))))
      const told = (await page(`?${api.owner}=${owner}&page_size=100`)).items
      expect(told.map((event: Body) => event.data.quota_id).sort()).toEqual(quotas.map(({ id }) => id).sort())
      for (const event of told) {
        const [change] = bodyOf(200, await app().get(`${api.quotas}/${event.quota_id}/changes`)).items
        expect(event.data).toEqual(change)
      }
    })
  })

  describe('thresholds', () => {
    it('fire once, with all passed ones, and the state of the quota', async () => {
      const owner = fresh()
      const { id } = await made(quota(owner, { label: 'mail' }))
      await use('consume', owner, 49)
      expect(await crossings(id)).toEqual([])
      const operation = await use('consume', owner, 31)
      await use('consume', owner, 1)
      const told = await of(id, '&type=quota.threshold_reached')
      expect(told.map(({ data }) => data)).toEqual([
        {
          threshold: 80,
          crossed: [50, 80],
          total: 100,
          used: 80,
          cycle_reset_at: RESET,
          label: 'mail',
          operation_id: operation.id,
        },
      ])
    })

    it('fire one event for each quota that an amount is split over', async () => {
      const owner = fresh()
      const one = await made(total(owner, { thresholds: [100] }))
      const two = await made(quota(owner, { thresholds: [10] }))
      const operation = await use('consume', owner, 150)
      const told = (await page(`?${api.owner}=${owner}&type=quota.threshold_reached`)).items
      expect(told.map((event: Body) => [event.quota_id, event.data.crossed, event.data.operation_id])).toEqual(
        operation.allocations
          .map(({ quota_id: id }: Body) => [id, id === two.id ? [10] : [], operation.id])
          .filter(([id, crossed]: [number, number[]]) => id !== one.id || crossed.length > 0),
      )
    })

    it('are not armed by a refund, but by a new cycle and by a manual reset', async () => {
      const owner = fresh()
      const { id } = await made(quota(owner))
      const first = await use('consume', owner, 60)
      await settle(first.id, 'refund')
      await use('consume', owner, 60)
      expect(await crossings(id)).toEqual([[50]])
      bodyOf(200, await app().post(`${api.quotas}/${id}/reset`))
      await use('consume', owner, 60)
      expect(await crossings(id)).toEqual([[50], [50]])
      app().clock.set('2026-12-02T00:00:00.000Z')
      await use('consume', owner, 80)
      expect(await crossings(id)).toEqual([[50], [50], [50, 80]])
    })

    it('ignore holds; commits pass them, also of disabled, expired and deleted quotas', async () => {
      for (const end of [{ status: 'disabled' }, { expire_at: '2026-11-21T12:00:00.000Z' }, undefined]) {
        const owner = fresh()
        const { id } = await made(quota(owner))
        const hold = await use('reserve', owner, 90)
        expect(await crossings(id)).toEqual([])
        if (end === undefined) await app().delete(`${api.quotas}/${id}`)
        else await edit(id, end)
        await settle(hold.id, 'commit', { amount: 55 })
        const told = await of(id, '&type=quota.threshold_reached')
        expect(told.map(({ data }) => [data.crossed, data.used, data.operation_id])).toEqual([[[50], 55, hold.id]])
      }
    })

    it('do not fire if a commit belongs to an earlier count', async () => {
      const owner = fresh()
      const { id } = await made(quota(owner))
      const hold = await use('reserve', owner, 90)
      bodyOf(200, await app().post(`${api.quotas}/${id}/reset`))
      await settle(hold.id, 'commit')
      expect(await crossings(id)).toEqual([])
    })

    it('are passed, and armed, by edits of total and of the thresholds', async () => {
      const owner = fresh()
      const { id } = await made(quota(owner))
      await use('consume', owner, 40)
      await edit(id, { total: 80 })
      expect((await of(id)).slice(-2).map(({ type }) => type)).toEqual(['quota.updated', 'quota.threshold_reached'])
      expect((await of(id)).at(-1)?.data).toMatchObject({ threshold: 50, total: 80, used: 40, operation_id: null })
      await edit(id, { total: 100 })
      await use('consume', owner, 10)
      expect(await crossings(id)).toEqual([[50], [50]])
      await edit(id, { thresholds: [] })
      await edit(id, { thresholds: [50, 45] })
      expect(await crossings(id)).toEqual([[50], [50], [45]])
      await edit(id, { total: 0 })
      await edit(id, { total: 10 })
      expect(await crossings(id)).toEqual([[50], [50], [45], [45, 50]])
    })

    it('fire once for a repeated key', async () => {
      const owner = fresh()
      const { id } = await made(quota(owner))
      const sent = { key: `k-${fresh()}` }
      for (let n = 0; n < 3; n += 1)
        bodyOf(200, await app().post(api.consume, { [api.owner]: owner, amount: 60 }, sent))
      expect(await crossings(id)).toEqual([[50]])
    })

    it('fire once each with any number of concurrent consumes', async () => {
      const owner = fresh()
      const { id } = await made(quota(owner, { thresholds: [10, 20, 30, 40, 50, 60, 70, 80, 90, 100] }))
      await Promise.all(Array.from({ length: 100 }, async () => use('consume', owner, 1)))
      const told = await of(id, '&type=quota.threshold_reached')
      expect(told.map(({ data }) => [data.threshold, data.used])).toEqual(
        [10, 20, 30, 40, 50, 60, 70, 80, 90, 100].map((threshold) => [threshold, threshold]),
      )
    })

    it('fire for a cap as for any quota', async () => {
      const { id } = await made(quota(fresh(), { cap: 'observe', thresholds: [1] })).catch(() => ({ id: 0 }))
      if (id !== 0) expect((await of(id)).map(({ type }) => type)).toEqual(['quota.created'])
    })
  })

  describe('the feed', () => {
    it('continues after the last seen event, page by page, and ends for the present', async () => {
      const from = await latest()
      expect(await page(`?after=${from}`)).toEqual({ items: [], next_after: from })
      const quotas = []
      for (let n = 0; n < 5; n += 1) quotas.push((await made(total(fresh()))).id)
      const seen: number[] = []
      let after = from
      for (;;) {
        const { items, next_after: next } = await page(`?after=${after}&page_size=2`)
        expect(items.length).toBeLessThanOrEqual(2)
        if (items.length === 0) break
        for (const { quota_id: id } of items) seen.push(id)
        after = next
      }
      expect(seen).toEqual(quotas)
      expect(await latest()).toBe(after)
    })

    it('begins with the first kept event, and filters by type, owner and quota together', async () => {
      const owner = fresh()
      const { id } = await made(total(owner))
      const other = await made(total(owner))
      await edit(id, { total: 7 })
      const types = async (query: string) => (await page(query)).items.map(({ type }: Body) => type)
      const from = `page_size=100&${api.owner}=${owner}`
      expect(await types(`?${from}`)).toEqual(['quota.created', 'quota.created', 'quota.updated'])
      expect(await types(`?${from}&type=quota.updated`)).toEqual(['quota.updated'])
      expect(await types(`?${from}&quota_id=${other.id}`)).toEqual(['quota.created'])
      expect(await types(`?${from}&quota_id=${other.id}&type=quota.updated`)).toEqual([])
      expect(await types(`?${api.owner}=${fresh()}&quota_id=${id}`)).toEqual([])
      expect((await page('?type=quota.restored&page_size=1')).items.length).toBeLessThanOrEqual(1)
      // Without a cursor, from the beginning.
      expect((await page('?page_size=1')).items).toHaveLength(1)
    })

    it('refuses invalid cursors and filters', async () => {
      const broken = async (query: string) => Object.keys(brokenFields(await app().get(`${events}${query}`)))
      expect(await broken('?type=quota.consumed')).toEqual(['type'])
      expect(await broken('?after=')).toEqual(['after'])
      expect(await broken('?after=12')).toEqual(['after'])
      expect(await broken('?after=e01')).toEqual(['after'])
      expect(await broken('?quota_id=0&page_size=101')).toEqual(['quota_id', 'page_size'])
      expect(await broken('?before=1')).toEqual(['before'])
      expect((await app().get(events, { as: 'usage' })).status).toBe(403)
      expect((await app().put(events, {})).status).toBe(405)
      expect((await app().get(`${events}/7`)).status).toBe(404)
    })

    it('never shows an event before a cursor, whichever of two transactions ends first', async () => {
      const dataSource = app().app.get(DataSource)
      if (dataSource.options.type === 'better-sqlite3') return
      const sequencer = app().app.get<EventSequencer<QuotaRow>>(channelToken({ name: api.channel }, EventSequencer))
      const owner = fresh()
      const { id: quota } = await made(total(owner))
      const table = `${api.channel}_event`
      const [slowId, quickId, laterId] = [v7(), v7(), v7()]
      const insert = (id: string): [string, unknown[]] => [
        `INSERT INTO ${table} (id, type, at, owner_id, quota_id, act_id, data_json) ` +
          `VALUES (?, 'quota.updated', '2026-11-21 12:00:00.000', ${owner}, ${quota}, ?, '{}')`,
        stored([id, id]),
      ]
      const [slow, quick] = [dataSource.createQueryRunner(), dataSource.createQueryRunner()]
      try {
        const from = await latest()
        await slow.startTransaction()
        await slow.query(...insert(slowId))
        await quick.startTransaction()
        await quick.query(...insert(quickId))
        await quick.commitTransaction()
        const first = await page(`?after=${from}`)
        expect(first.items.map((event: Body) => event.id)).toEqual([quickId])
        await quick.query(...insert(laterId))
        const second = await page(`?after=${first.next_after}`)
        expect(second.items.map((event: Body) => event.id)).toEqual([laterId])
        await slow.commitTransaction()
        await sequencer.number()
        const third = await page(`?after=${second.next_after}`)
        expect(third.items.map((event: Body) => event.id)).toEqual([slowId])
        expect((await page(`?after=${from}`)).items.map((event: Body) => event.id)).toEqual([quickId, laterId, slowId])
      } finally {
        await slow.release()
        await quick.release()
      }
    })

    it('removes events older than 31 days, and reports an older cursor as expired', async () => {
      const from = await latest()
      await made(total(fresh(), { expire_at: '2028-01-01T00:00:00Z' }))
      const upkeep = app().app.get<Upkeep<QuotaRow>>(channelToken({ name: api.channel }, Upkeep))
      app().clock.pass(30 * DAY_SECONDS)
      await upkeep.round()
      expect((await page(`?after=${from}`)).items).toHaveLength(1)
      const end = await latest()
      app().clock.pass(3 * DAY_SECONDS)
      app().clock.steadyMs = 120_000
      await upkeep.round()
      expect((await page(`?after=${from}`)).items).toHaveLength(1)
      app().clock.steadyMs = Infinity
      await upkeep.round()
      expect(refusal(await app().get(`${events}?after=${from}`))).toEqual([410, 'cursor_expired'])
      expect(await page(`?after=${end}`)).toEqual({ items: [], next_after: end })
      for (const { at } of (await page('?page_size=100')).items) expect(at > '2026-11-22').toBe(true)
    })

    it('forgets spells of refusals 31 days after they are over', async () => {
      const owner = fresh()
      await made(total(owner, { expire_at: '2028-01-01T00:00:00Z' }))
      expect((await app().post(api.consume, { [api.owner]: owner, amount: 101 }, { key: `k-${fresh()}` })).status).toBe(
        409,
      )
      const { refusals, spells } = ledgerOf(app(), api)
      await refusals.flush()
      app().clock.pass(2 * 3_600)
      await spells.tell()
      const kept = async () => {
        await app()
          .app.get<Upkeep<QuotaRow>>(channelToken({ name: api.channel }, Upkeep))
          .round()
        return (await app().app.get(DataSource).query(`SELECT * FROM ${api.channel}_spell WHERE owner_id = ${owner}`))
          .length
      }
      app().clock.set('2026-12-22T12:00:00.000Z')
      expect(await kept()).toBe(1)
      app().clock.pass(0.001)
      expect(await kept()).toBe(0)
    })

    it('begins behind the last removed event, also where an earlier one has a later time', async () => {
      app().clock.set('2027-03-02T12:00:00.000Z')
      await made(total(fresh(), { expire_at: '2028-01-01T00:00:00Z' }))
      app().clock.set('2027-03-01T12:00:00.000Z')
      await made(total(fresh(), { expire_at: '2028-01-01T00:00:00Z' }))
      app().clock.set('2027-04-02T12:00:00.000Z')
      await app()
        .app.get<Upkeep<QuotaRow>>(channelToken({ name: api.channel }, Upkeep))
        .round()
      const first = await page('?page_size=1')
      expect((await app().get(`${events}?after=${first.next_after}`)).status).toBe(200)
    })
  })
}
