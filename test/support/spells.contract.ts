import { beforeEach, describe, expect } from '@jest/globals'
import { DataSource } from 'typeorm'
import type { TestApp } from './app.js'
import type { ChannelApi } from './channel-api.js'
import { type Body, bodyOf, fresh, ledgerOf } from './quota-api.js'
import { it } from './scoped.js'
import { contradictionsOf } from './verify.js'

const HOUR = 3_600
const DAY = 24 * HOUR
const START = '2026-11-21T12:00:00.000Z'

/** The events of owners whose requests are refused (contract, §14), for either channel. */
export function spellsContract(api: ChannelApi, app: () => TestApp): void {
  const ledger = () => ledgerOf(app(), api)
  const made = async (owner: number, more: object = {}): Promise<Body> =>
    bodyOf(
      201,
      await app().post(api.quotas, {
        [api.owner]: owner,
        quota_type: 1,
        total: 10,
        expire_at: '2030-01-01T00:00:00Z',
        ...more,
      }),
    )
  const owned = async (): Promise<number> => {
    const owner = fresh()
    await made(owner)
    return owner
  }
  const use = async (owner: number, amount: number): Promise<number> =>
    (await app().post(api.consume, { [api.owner]: owner, amount }, { key: `spell ${fresh()}` })).status
  const refuse = async (owner: number, amount = 100): Promise<void> => expect(await use(owner, amount)).toBe(409)
  /** Lets time pass; then what an instance does by itself every two seconds. */
  const pass = async (seconds: number): Promise<void> => {
    await ledger().refusals.flush()
    app().clock.pass(seconds)
    await ledger().spells.tell()
  }
  const events = async (query: string): Promise<Body[]> =>
    bodyOf(200, await app().get(`${api.quotas}/events?page_size=100&${query}`)).items
  const of = async (owner: number): Promise<Body[]> =>
    (await events(`${api.owner}=${owner}`)).filter(({ type }) => type.startsWith('owner.'))
  const told = async (owner: number): Promise<unknown[]> =>
    (await of(owner)).map(({ type, data }) => [type, data.code, data.since, data.count, data.requested])
  const rows = async (owner: number): Promise<Body[]> =>
    app().app.get(DataSource).query(`SELECT * FROM ${api.channel}_spell WHERE owner_id = ${owner}`)

  beforeEach(() => app().clock.set(START))

  describe('owner.refused', () => {
    it('is told once all instances have written their counts, of the owner and not of a quota', async () => {
      const owner = await owned()
      await refuse(owner)
      app().clock.pass(1.5)
      await refuse(owner, 17)
      await pass(3.499)
      expect(await of(owner)).toEqual([])
      await pass(0.001)
      const [event, ...others] = await of(owner)
      expect(others).toEqual([])
      expect(Object.keys(event)).toEqual(['id', 'type', 'at', api.owner, 'quota_id', 'group_id', 'data'])
      expect(event).toMatchObject({
        type: 'owner.refused',
        at: '2026-11-21T12:00:05.000Z',
        [api.owner]: owner,
        quota_id: null,
        group_id: null,
        data: { code: 'quota_exceeded', since: START, count: 2, requested: 117 },
      })
      expect(JSON.stringify(event.data)).toBe(`{"code":"quota_exceeded","since":"${START}","count":2,"requested":117}`)
      await refuse(owner)
      await pass(HOUR / 2)
      expect(await of(owner)).toEqual([event])
    })

    it('is told again at the first refusal of each further day, with the same beginning', async () => {
      const owner = await owned()
      app().clock.set('2026-11-21T22:50:00Z')
      const since = '2026-11-21T22:50:00.000Z'
      const first = ['owner.refused', 'quota_exceeded', since, 1, 100]
      // Every half an hour for 25 hours; the second refusal on the second day is the 52nd.
      for (let n = 0; n < 51; n += 1) {
        await refuse(owner)
        await pass(HOUR / 2)
        const days = 1 + (n > 2 ? 1 : 0) + (n > 50 ? 1 : 0)
        expect((await told(owner)).length).toBe(days)
      }
      expect(await told(owner)).toEqual([first, ['owner.refused', 'quota_exceeded', since, 4, 400]])
      await refuse(owner)
      await pass(1)
      expect((await told(owner)).slice(2)).toEqual([['owner.refused', 'quota_exceeded', since, 52, 5200]])
    })

    it('is told of each code', async () => {
      const owner = fresh()
      const { id } = await made(owner)
      await made(owner, { total: 1, quota_type: 3, window_seconds: 3600, cap: 'observe', expire_at: null })
      expect(await use(owner, 3)).toBe(200)
      await refuse(owner)
      bodyOf(204, await app().delete(`${api.quotas}/${id}`))
      await pass(60)
      // The quota is gone meanwhile: the owner is still counted.
      await refuse(owner, 5)
      await pass(60)
      const at = '2026-11-21T12:01:00.000Z'
      expect((await told(owner)).sort()).toEqual([
        ['owner.refused', 'no_active_quota', at, 1, 5],
        ['owner.refused', 'quota_exceeded', START, 1, 100],
        ['owner.refused', 'quota_observed', START, 1, 3],
      ])
      await pass(HOUR - 60)
      expect(
        (await of(owner))
          .map(({ type, data }) => [type, data.code])
          .slice(3)
          .sort(),
      ).toEqual([
        ['owner.recovered', 'quota_exceeded'],
        ['owner.recovered', 'quota_observed'],
      ])
    })

    it('is not told of owners that are not counted one by one', async () => {
      const stranger = fresh()
      await refuse(stranger)
      await pass(10)
      expect(await of(stranger)).toEqual([])
      expect(await rows(stranger)).toEqual([])
    })

    it('has the group that the owner belongs to, by name or by default', async () => {
      const group = async (more: object = {}): Promise<number> =>
        bodyOf(201, await app().post(`${api.quotas}/groups`, { name: `spells ${fresh()}`, ...more })).id
      const [one, byDefault, outside] = [await group(), await group({ default: true }), fresh()]
      const member = fresh()
      bodyOf(200, await app().post(`${api.quotas}/groups/${one}/members`, { [`${api.owner}s`]: [member] }))
      await made(outside)
      await refuse(member)
      await refuse(outside)
      await pass(10)
      expect((await of(member)).map(({ group_id: id }) => id)).toEqual([one])
      expect((await of(outside)).map(({ group_id: id }) => id)).toEqual([byDefault])
      expect((await events(`group_id=${one}`)).map((event) => event[api.owner])).toEqual([member])
      bodyOf(200, await app().put(`${api.quotas}/groups/${byDefault}`, { default: false }))
    })
  })

  describe('owner.recovered', () => {
    it('is told after an hour without refusals, by time alone, with all of them', async () => {
      const owner = await owned()
      await refuse(owner)
      await pass(10)
      await refuse(owner, 11)
      await pass(HOUR + 4.999)
      expect((await told(owner)).length).toBe(1)
      await pass(0.001)
      expect((await told(owner)).slice(1)).toEqual([['owner.recovered', 'quota_exceeded', START, 2, 111]])
      await pass(DAY)
      expect((await told(owner)).length).toBe(2)
      await refuse(owner)
      await pass(10)
      expect((await told(owner)).slice(2)).toEqual([
        ['owner.refused', 'quota_exceeded', '2026-11-22T13:00:15.000Z', 1, 100],
      ])
    })

    it('comes before the next beginning', async () => {
      const owner = await owned()
      await refuse(owner)
      await pass(10)
      app().clock.set('2026-11-21T13:00:00Z')
      await refuse(owner)
      await pass(5)
      expect(await told(owner)).toEqual([
        ['owner.refused', 'quota_exceeded', START, 1, 100],
        ['owner.recovered', 'quota_exceeded', START, 1, 100],
        ['owner.refused', 'quota_exceeded', '2026-11-21T13:00:00.000Z', 1, 100],
      ])
    })

    it('waits until the time is steady, and beginnings do not', async () => {
      const [over, begun] = [await owned(), await owned()]
      await refuse(over)
      await pass(10)
      app().clock.pass(2 * HOUR)
      app().clock.steadyMs = 59_999
      try {
        await refuse(begun)
        await pass(10)
        expect([(await told(over)).length, (await told(begun)).length]).toEqual([1, 1])
      } finally {
        app().clock.steadyMs = Infinity
      }
      await pass(0)
      expect((await told(over)).length).toBe(2)
    })
  })

  describe('spells', () => {
    it('are found by type, and not by a quota', async () => {
      const owner = fresh()
      const { id } = await made(owner)
      await refuse(owner)
      await pass(10)
      await pass(HOUR)
      const types = async (query: string) => (await events(`${api.owner}=${owner}&${query}`)).map(({ type }) => type)
      expect(await types('type=owner.refused')).toEqual(['owner.refused'])
      expect(await types('type=owner.recovered')).toEqual(['owner.recovered'])
      expect(await types(`quota_id=${id}`)).toEqual(['quota.created'])
    })

    it('are told once where several instances look at once, however many are due', async () => {
      const owners = Array.from({ length: 1_200 }, fresh)
      const group = bodyOf(201, await app().post(`${api.quotas}/groups`, { name: `many ${fresh()}` })).id
      for (let n = 0; n < owners.length; n += 600) {
        const ids = owners.slice(n, n + 600)
        bodyOf(200, await app().post(`${api.quotas}/groups/${group}/members`, { [`${api.owner}s`]: ids }))
        const items = ids.map((owner) => ({ [api.owner]: owner, amount: 1, idempotency_key: `many ${owner}` }))
        bodyOf(200, await app().post(`${api.consume}/batch`, { items }))
      }
      await ledger().refusals.flush()
      for (const [seconds, type] of [
        [10, 'owner.refused'],
        [HOUR, 'owner.recovered'],
      ] as const) {
        app().clock.pass(seconds)
        await Promise.all([1, 2, 3].map(async () => ledger().spells.tell()))
        const found: number[] = []
        for (let after = ''; ;) {
          const page = bodyOf(
            200,
            await app().get(`${api.quotas}/events?page_size=100&type=${type}&group_id=${group}${after}`),
          )
          if (page.items.length === 0) break
          found.push(...page.items.map((event: Body) => event[api.owner]))
          after = `&after=${page.next_after}`
        }
        expect(found.sort((a, b) => a - b)).toEqual(owners)
      }
    })

    it('change with their events or not at all', async () => {
      const owner = await owned()
      await refuse(owner)
      await ledger().refusals.flush()
      const dataSource = app().app.get(DataSource)
      const sqlite = dataSource.options.type === 'better-sqlite3'
      await dataSource.query(
        `CREATE TRIGGER spell_fails BEFORE UPDATE ON ${api.channel}_spell FOR EACH ROW ` +
          (sqlite ? "BEGIN SELECT RAISE(ABORT, 'no'); END" : "SIGNAL SQLSTATE '45000'"),
      )
      app().clock.pass(10)
      try {
        await expect(ledger().spells.tell()).rejects.toThrow()
        // Before the background tells it.
        expect(await of(owner)).toEqual([])
      } finally {
        await dataSource.query('DROP TRIGGER spell_fails')
      }
      await pass(0)
      await pass(0)
      expect((await told(owner)).length).toBe(1)
    })

    it('leave nothing for verify to find', async () => {
      const owner = await owned()
      await refuse(owner)
      await pass(10)
      expect((await told(owner)).length).toBe(1)
      expect(await contradictionsOf(app())).toEqual([])
    })
  })
}
