import { describe, expect, it } from '@jest/globals'
import { TransactionRunner } from '../../src/database/transaction-runner.js'
import { MAX_LIVE_CAPS } from '../../src/domain/cap.js'
import { GroupStore } from '../../src/ledger/store/group-store.js'
import type { TestApp } from './app.js'
import type { ChannelApi } from './channel-api.js'
import { changeSetSuite } from './change-set/suite.js'
import { type Body, bodyOf, brokenFields, fresh, ledgerOf, refusal, START, sweeperOf } from './quota-api.js'
import { contradictionsOf } from './verify.js'

const DAY = 86_400_000

const plus = (ms: number): string => new Date(Date.parse(START) + ms).toISOString()

/** Quotas of a group of which each member has a count of its own (contract, §13), for either channel. */
export function countContract(api: ChannelApi, app: () => TestApp): void {
  const groups = `${api.quotas}/groups`
  const sets = changeSetSuite(api, app)
  const read = async (at: string): Promise<Body> => bodyOf(200, await app().get(at))
  const get = (id: number) => read(`${api.quotas}/${id}`)
  const made = async (more: object = {}): Promise<number> =>
    bodyOf(201, await app().post(groups, { name: `group ${fresh()}`, ...more })).id
  const join = async (group: number, ...owners: number[]): Promise<Body> =>
    bodyOf(200, await app().post(`${groups}/${group}/members`, { [`${api.owner}s`]: owners }))
  const leave = async (group: number, owner: number): Promise<Body> =>
    bodyOf(204, await app().delete(`${groups}/${group}/members/${owner}`))
  const member = async (group: number): Promise<number> => {
    const owner = fresh()
    await join(group, owner)
    return owner
  }
  const quota = async (more: object): Promise<Body> =>
    bodyOf(
      201,
      await app().post(api.quotas, { quota_type: 1, total: 100, expire_at: '2099-01-01T00:00:00.000Z', ...more }),
    )
  const each = (group_id: number, more: object = {}): Promise<Body> => quota({ group_id, per: 'member', ...more })
  const daily = (group_id: number, more: object = {}): Promise<Body> =>
    each(group_id, { quota_type: 2, expire_at: null, cycle_unit: 'day', cycle_reset_at: plus(DAY), ...more })
  const put = (id: number, body: object) => app().put(`${api.quotas}/${id}`, body)
  const edit = async (id: number, body: object): Promise<Body> => bodyOf(200, await put(id, body))
  const use = (owner: number, amount: number) =>
    app().post(api.consume, { [api.owner]: owner, amount }, { key: `use-${fresh()}` })
  const used = async (owner: number, amount: number): Promise<Body> => bodyOf(200, await use(owner, amount))
  const check = (owner: number, amount: number) => read(`${api.usage}/check?${api.owner}=${owner}&amount=${amount}`)
  const summary = (owner: number) => read(api.summary(owner))
  const countsOf = async (followed: number): Promise<Body[]> => (await read(`${api.list}?follows=${followed}`)).items
  /** The only count of a quota. */
  const countOf = async (followed: number): Promise<Body> => {
    const counts = await countsOf(followed)
    expect(counts).toHaveLength(1)
    return get(counts[0].id)
  }

  describe('a count', () => {
    it('exists from the first consume, and is shown before as it would be', async () => {
      const group = await made()
      const followed = await each(group, { label: 'each' })
      expect(followed).toMatchObject({ per: 'member', [api.owner]: null, used: 0, follows: null, overrides: null })
      const owner = await member(group)
      expect(await check(owner, 100)).toMatchObject({ allowed: true, remaining: 100, payable: 100 })
      expect(await summary(owner)).toMatchObject({ total: 100, used: 0, quota_count: 1, available: 100, caps: [] })
      expect(await countsOf(followed.id)).toEqual([])
      const refused = await use(owner, 101)
      expect(refusal(refused)).toEqual([409, 'quota_exceeded'])
      expect(refused.body.quotas).toMatchObject([{ id: null, group_id: group, total: 100, used: 0 }])
      expect(await countsOf(followed.id)).toEqual([])

      const operation = await used(owner, 30)
      const count = await countOf(followed.id)
      expect(operation.allocations).toEqual([{ quota_id: count.id, amount: 30 }])
      expect(operation.owner_remaining).toBe(70)
      expect(count).toEqual({
        ...followed,
        id: count.id,
        [api.owner]: owner,
        used: 30,
        remaining: 70,
        follows: followed.id,
        overrides: [],
        created_at: START,
      })
      expect(await get(followed.id)).toMatchObject({ used: 0, reserved: 0, remaining: 100 })
      expect(await summary(owner)).toMatchObject({ total: 100, used: 30, quota_count: 1, available: 70 })
      expect((await use(owner, 71)).body.quotas).toMatchObject([{ id: count.id, group_id: group, used: 30 }])
    })

    it('is each member’s own; parallel first consumes make one', async () => {
      const group = await made()
      const followed = await each(group, { total: 10 })
      const [first, second] = [await member(group), await member(group)]
      const answers = await Promise.all(Array.from({ length: 24 }, () => use(first, 1)))
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
      await used(second, 10)
      expect((await countsOf(followed.id)).map((one) => [one[api.owner], one.used])).toEqual([
        [second, 10],
        [first, 10],
      ])
    })

    it('comes to be by whoever pays, with a reserve too, and as a cap', async () => {
      const group = await made()
      const [payer, cap] = [await each(group), await each(group, { cap: 'enforce', total: 7 })]
      const owner = await member(group)
      const own = await quota({ [api.owner]: owner, total: 5, expire_at: '2030-01-01T00:00:00.000Z' })
      const refused = await use(owner, 8)
      expect(refused.body.caps).toMatchObject([{ id: null, group_id: group, total: 7 }])
      const held = bodyOf(
        201,
        await app().post(api.reserve, { [api.owner]: owner, amount: 5, ttl_seconds: 60 }, { key: `r-${fresh()}` }),
      )
      expect(held.allocations).toEqual([{ quota_id: own.id, amount: 5 }])
      const [ofPayer, ofCap] = [await countOf(payer.id), await countOf(cap.id)]
      expect(held.caps).toEqual([ofCap.id])
      expect([ofPayer.reserved, ofCap.reserved]).toEqual([0, 5])
      bodyOf(200, await app().post(`${api.usage}/${held.id}/commit`, { amount: 3 }))
      expect((await get(ofCap.id)).used).toBe(3)
      expect((await summary(owner)).caps).toMatchObject([{ id: ofCap.id, group_id: group, used: 3 }])
    })

    it('pays with the owner’s quotas in their order, before shared ones', async () => {
      const parent = await made()
      const group = await made({ parent_id: parent })
      const shared = await quota({ group_id: group, expire_at: '2027-01-01T00:00:00.000Z' })
      const far = await each(parent, { total: 5, expire_at: '2031-01-01T00:00:00.000Z' })
      const near = await each(group, { total: 5, expire_at: '2029-01-01T00:00:00.000Z' })
      const owner = await member(group)
      const own = await quota({ [api.owner]: owner, total: 5, expire_at: '2030-01-01T00:00:00.000Z' })
      const { allocations } = await used(owner, 16)
      expect(allocations).toEqual([
        { quota_id: (await countOf(near.id)).id, amount: 5 },
        { quota_id: own.id, amount: 5 },
        { quota_id: (await countOf(far.id)).id, amount: 5 },
        { quota_id: shared.id, amount: 1 },
      ])
    })

    it('is read together with its owner’s quotas and shared ones, beside acts that draw on all', async () => {
      const group = await made()
      await each(group, { total: 300 })
      await quota({ group_id: group, total: 300 })
      const owner = await member(group)
      await quota({ [api.owner]: owner, total: 400 })
      let isOver = false
      const acts = async (): Promise<void> => {
        while (!isOver) {
          const { id } = await used(owner, 1_000)
          bodyOf(200, await app().post(`${api.usage}/${id}/refund`, { amount: 1_000 }, { key: `back-${fresh()}` }))
        }
      }
      const acting = acts()
      const seen = new Set<number>()
      try {
        for (let times = 0; times < 150; times += 1) {
          seen.add((await check(owner, 1)).remaining)
          seen.add((await summary(owner)).available)
        }
      } finally {
        isOver = true
        await acting
      }
      expect([...seen].filter((left) => left !== 0 && left !== 1_000)).toEqual([])
    })

    it('follows an edit at once, by decisions and reads of it', async () => {
      const group = await made()
      const followed = await each(group, { thresholds: [50] })
      const owner = await member(group)
      await used(owner, 40)
      const count = await countOf(followed.id)
      await edit(followed.id, { total: 60, label: 'lower', thresholds: [80] })
      expect(await get(count.id)).toMatchObject({
        total: 60,
        remaining: 20,
        label: 'lower',
        thresholds: [80],
        version: 1,
        overrides: [],
        updated_at: count.updated_at,
      })
      expect(refusal(await use(owner, 21))).toEqual([409, 'quota_exceeded'])
      expect(await check(owner, 20)).toMatchObject({ allowed: true, remaining: 20 })
      await used(owner, 20)
      for (const [change, status] of [
        [{ status: 'disabled' }, 'disabled'],
        [{ status: 'active' }, 'active'],
        [{ expire_at: '2026-01-01T00:00:00Z' }, 'expired'],
      ] as const) {
        await edit(followed.id, { total: 80, ...change })
        expect((await get(count.id)).status).toBe(status)
        expect((await check(owner, 20)).allowed).toBe(status === 'active')
      }
      expect(refusal(await use(owner, 1))).toEqual([409, 'no_active_quota'])
    })

    it('keeps what is edited, and gives it back', async () => {
      const group = await made()
      const followed = await each(group)
      const owner = await member(group)
      await used(owner, 40)
      const { id } = await countOf(followed.id)
      const changed = await edit(id, { total: 50, label: 'mine' })
      expect(changed).toMatchObject({ total: 50, label: 'mine', overrides: ['label', 'total'], version: 2 })
      await edit(followed.id, { total: 200, label: 'theirs', thresholds: [10] })
      expect(await get(id)).toMatchObject({ total: 50, label: 'mine', thresholds: [10] })
      expect(refusal(await use(owner, 11))).toEqual([409, 'quota_exceeded'])
      // The whole record, as a front end sends it back.
      const echo = await get(id)
      expect(await edit(id, echo)).toEqual(echo)
      const back = await edit(id, { ...echo, overrides: ['label'] })
      expect(back).toMatchObject({ total: 200, label: 'mine', overrides: ['label'], version: 3 })
      for (const overrides of [['total'], ['label', 'status'], ['colour'], 'label', ['label', 'label']])
        expect(Object.keys(brokenFields(await put(id, { overrides })))).toEqual(['overrides'])
      expect(Object.keys(brokenFields(await put(followed.id, { overrides: ['label'] })))).toEqual(['overrides'])
      // Whatever else is wrong is told beside it.
      for (const one of [id, followed.id, (await quota({ [api.owner]: owner })).id])
        for (const [field, mistake] of Object.entries({ total: -1, status: 'left', cycle_unit: 'day' }))
          expect(Object.keys(brokenFields(await put(one, { [field]: mistake, overrides: ['cap'] }))).sort()).toEqual(
            ['overrides', field].sort(),
          )
      expect(await edit(id, { overrides: [] })).toMatchObject({
        total: 200,
        label: 'theirs',
        overrides: [],
        version: 4,
      })
      const changes = await read(`${api.quotas}/${id}/changes`)
      expect(changes.items.map(({ before, after }: Body) => [before, after])).toEqual([
        [
          { label: 'mine', overrides: ['label'] },
          { label: 'theirs', overrides: [] },
        ],
        [
          { total: 50, overrides: ['label', 'total'] },
          { total: 200, overrides: ['label'] },
        ],
        [
          { total: 100, label: null, overrides: [] },
          { total: 50, label: 'mine', overrides: ['label', 'total'] },
        ],
      ])
      expect(changes.items[0]).toMatchObject({ [api.owner]: owner, group_id: group, quota_id: id })
    })

    it('has a disabled state of its own, which the followed one beats', async () => {
      const group = await made()
      const followed = await each(group)
      const owner = await member(group)
      await used(owner, 1)
      const { id } = await countOf(followed.id)
      expect(await edit(id, { status: 'disabled' })).toMatchObject({ status: 'disabled', overrides: ['status'] })
      expect(refusal(await use(owner, 1))).toEqual([409, 'no_active_quota'])
      expect(await edit(id, { status: 'active' })).toMatchObject({ status: 'active', overrides: ['status'] })
      await edit(followed.id, { status: 'disabled' })
      expect(await get(id)).toMatchObject({ status: 'disabled', overrides: ['status'] })
      await edit(followed.id, { status: 'active' })
      expect((await get(id)).status).toBe('active')
      expect(Object.keys(brokenFields(await put(id, { status: 'left' })))).toEqual(['status'])
    })

    /** A count that was disabled itself, and whose owner then moved to another group. */
    const disabledAndLeft = async () => {
      const [group, elsewhere] = [await made(), await made()]
      const followed = await each(group)
      const owner = await member(group)
      await used(owner, 1)
      const { id } = await countOf(followed.id)
      await edit(id, { status: 'disabled' })
      await join(elsewhere, owner)
      return { group, followed, owner, id }
    }

    it('changes its own status even while another one is shown', async () => {
      const { group, followed, owner, id } = await disabledAndLeft()
      expect(await edit(id, { status: 'active' })).toMatchObject({ status: 'left', overrides: ['status'], version: 3 })
      await join(group, owner)
      await used(owner, 1)
      await edit(id, { status: 'disabled' })
      await edit(followed.id, { status: 'disabled' })
      expect(await edit(id, { status: 'active' })).toMatchObject({ status: 'disabled', version: 5 })
      await edit(followed.id, { status: 'active' })
      await used(owner, 1)
      const { items } = await read(`${api.quotas}/${id}/changes`)
      expect(items.slice(0, 3).map(({ before, after }: Body) => [before, after])).toEqual([
        [{ status: 'disabled' }, { status: 'active' }],
        [{ status: 'active' }, { status: 'disabled' }],
        [{ status: 'disabled' }, { status: 'active' }],
      ])
    })

    it('begins anew with the cycle of what it follows, by whatever rule was in force', async () => {
      const group = await made()
      const followed = await daily(group)
      const [owner, late] = [await member(group), await member(group)]
      await used(owner, 60)
      await used(late, 60)
      const [second, first] = await countsOf(followed.id)
      expect(first.cycle_reset_at).toBe(plus(DAY))
      app().clock.set(plus(DAY / 2))
      // The cycle now ends a day later; nobody has touched the counts.
      await edit(followed.id, { cycle_reset_at: plus(2 * DAY) })
      app().clock.set(plus(DAY + 1))
      expect(await get(first.id)).toMatchObject({ used: 60, cycle_reset_at: plus(2 * DAY) })
      await used(owner, 1)
      expect((await get(first.id)).used).toBe(61)
      app().clock.set(plus(2 * DAY))
      // Both counts begin anew, and the next edit is after that.
      await edit(followed.id, { cycle_unit: 'week' })
      expect(await get(second.id)).toMatchObject({ used: 0, cycle_unit: 'week', cycle_reset_at: plus(3 * DAY) })
      await used(owner, 5)
      expect(await get(first.id)).toMatchObject({ used: 5, cycle_reset_at: plus(3 * DAY) })
      app().clock.set(plus(3 * DAY))
      expect(await get(first.id)).toMatchObject({ used: 0, cycle_reset_at: plus(10 * DAY) })
    })

    it('goes on in its own cycle, and in the other one when that is given back', async () => {
      const group = await made()
      const followed = await daily(group)
      const owner = await member(group)
      await used(owner, 10)
      const { id } = await countOf(followed.id)
      const own = await edit(id, { cycle_unit: 'week' })
      const trio = ['cycle_reset_at', 'cycle_time_zone', 'cycle_unit']
      expect(own).toMatchObject({ overrides: trio, used: 10, cycle_reset_at: plus(DAY) })
      app().clock.set(plus(DAY))
      await used(owner, 20)
      app().clock.set(plus(3 * DAY))
      expect(await get(id)).toMatchObject({ used: 20, cycle_unit: 'week', cycle_reset_at: plus(8 * DAY) })
      const back = await edit(id, { overrides: ['cycle_unit'] })
      expect(back).toMatchObject({ overrides: [], used: 20, cycle_unit: 'day', cycle_reset_at: plus(4 * DAY) })
      app().clock.set(plus(4 * DAY))
      expect((await get(id)).used).toBe(0)
    })

    it('is exported as it is read after what it follows was over and deleted, while its own end is later', async () => {
      const followed = await daily(await made(), { expire_at: plus(2 * DAY) })
      const owner = await member(followed.group_id)
      await used(owner, 10)
      const { id } = await countOf(followed.id)
      await edit(id, { cycle_unit: 'week', expire_at: null })
      app().clock.set(plus(2 * DAY))
      bodyOf(204, await app().delete(`${api.quotas}/${followed.id}`))
      app().clock.set(plus(20 * DAY))
      const { text } = await app().get(`${api.quotas}/export.csv?${api.owner}=${owner}`)
      const [header, line] = text.split('\r\n').map((one) => one.split(','))
      expect(line?.[header?.indexOf('cycle_reset_at') ?? -1]).toBe((await get(id)).cycle_reset_at)
    })

    it('has changes that no verification takes for damage, whatever cycle it had', async () => {
      const followed = await daily(await made(), { thresholds: [50] })
      const owner = await member(followed.group_id)
      await used(owner, 10)
      const { id } = await countOf(followed.id)
      await edit(id, { cycle_unit: 'week' })
      app().clock.set(plus(DAY))
      await used(owner, 60)
      app().clock.set(plus(3 * DAY))
      // Its count goes on, and what it follows began later than its event.
      expect(await edit(id, { overrides: [] })).toMatchObject({ used: 60, cycle_unit: 'day' })
      expect(await contradictionsOf(app())).toEqual([])
      await edit(followed.id, { cycle_unit: 'month' })
      expect(await edit(id, { cycle_time_zone: 'Europe/Berlin' })).toMatchObject({ cycle_unit: 'month' })
      expect(await contradictionsOf(app())).toEqual([])
    })

    it('of a rolling cap begins anew with its window', async () => {
      const group = await made()
      const rolling = { quota_type: 3, expire_at: null, cap: 'enforce', window_seconds: 3600, total: 10 }
      const followed = await each(group, rolling)
      await each(group, { total: 1000 })
      const owner = await member(group)
      await used(owner, 10)
      const { id } = await countOf(followed.id)
      await edit(followed.id, { window_seconds: 60 })
      await edit(followed.id, { window_seconds: 3600 })
      expect((await get(id)).used).toBe(0)
      await used(owner, 9)
      expect((await get(id)).used).toBe(9)
      expect(await edit(id, { window_seconds: 60 })).toMatchObject({ used: 0, overrides: ['window_seconds'] })
      await used(owner, 4)
      await edit(followed.id, { window_seconds: 7200 })
      expect((await get(id)).used).toBe(4)
      expect(await edit(id, { overrides: [] })).toMatchObject({ used: 0, window_seconds: 7200 })
      await edit(followed.id, { window_seconds: 3600 })
      await used(owner, 4)
      expect(await contradictionsOf(app())).toEqual([])
    })

    it('is left with its group, takes returns, and goes on when the group comes back', async () => {
      const group = await made()
      const followed = await each(group)
      const owner = await member(group)
      const first = await used(owner, 30)
      const { id } = await countOf(followed.id)
      await leave(group, owner)
      expect(await get(id)).toMatchObject({ status: 'left', used: 30 })
      expect(refusal(await use(owner, 1))).toEqual([409, 'no_active_quota'])
      expect(await summary(owner)).toMatchObject({ total: 0, quota_count: 0, group_id: null })
      const refund = await app().post(`${api.usage}/${first.id}/refund`, { amount: 10 }, { key: `f-${fresh()}` })
      bodyOf(200, refund)
      expect((await get(id)).used).toBe(20)
      // An echo of the status changes nothing.
      expect(await edit(id, { status: 'left', total: 90 })).toMatchObject({ status: 'left', overrides: ['total'] })
      const other = await made()
      const elsewhere = await each(other, { total: 3 })
      await join(other, owner)
      await used(owner, 3)
      expect(await get((await countOf(elsewhere.id)).id)).toMatchObject({ used: 3, status: 'active' })
      await join(group, owner)
      expect(await get(id)).toMatchObject({ status: 'active', used: 20, total: 90 })
      await used(owner, 70)
      expect(refusal(await use(owner, 1))).toEqual([409, 'quota_exceeded'])
      expect((await get((await countOf(elsewhere.id)).id)).status).toBe('left')
    })

    it('is left when what it follows is deleted, or its group is no longer above', async () => {
      const [top, group] = [await made(), await made()]
      const followed = await each(top)
      await app().put(`${groups}/${group}`, { parent_id: top })
      const owner = await member(group)
      await used(owner, 10)
      const { id } = await countOf(followed.id)
      bodyOf(204, await app().delete(`${api.quotas}/${followed.id}`))
      expect((await get(id)).status).toBe('left')
      expect(refusal(await use(owner, 1))).toEqual([409, 'no_active_quota'])
      bodyOf(200, await app().post(`${api.quotas}/${followed.id}/restore`))
      expect(await get(id)).toMatchObject({ status: 'active', used: 10 })
      bodyOf(200, await app().put(`${groups}/${group}`, { parent_id: null }))
      expect((await get(id)).status).toBe('left')
      bodyOf(200, await app().put(`${groups}/${group}`, { parent_id: top }))
      await used(owner, 90)
      expect((await get(id)).used).toBe(100)
    })

    it('frees its owner when it is deleted, until it is restored, beside as many caps as an owner may have', async () => {
      const group = await made()
      const cap = await each(group, { cap: 'enforce', total: 5 })
      await each(group, { total: 100 })
      const owner = await member(group)
      await used(owner, 5)
      const { id } = await countOf(cap.id)
      bodyOf(204, await app().delete(`${api.quotas}/${id}`))
      await used(owner, 20)
      expect(await countsOf(cap.id)).toEqual([])
      expect((await summary(owner)).caps).toEqual([])
      for (let n = 0; n < MAX_LIVE_CAPS; n += 1) await quota({ [api.owner]: owner, cap: 'observe' })
      bodyOf(200, await app().post(`${api.quotas}/${id}/restore`))
      expect(refusal(await use(owner, 1))).toEqual([409, 'quota_exceeded'])
      expect((await get(id)).used).toBe(5)
    })

    it('is reset alone; what it follows has nothing to reset', async () => {
      const group = await made()
      const followed = await each(group)
      const owner = await member(group)
      await used(owner, 10)
      const { id } = await countOf(followed.id)
      expect(refusal(await app().post(`${api.quotas}/${followed.id}/reset`, {}))).toEqual([409, 'nothing_to_reset'])
      expect(bodyOf(200, await app().post(`${api.quotas}/${id}/reset`, {}))).toMatchObject({ used: 0, version: 1 })
      await used(owner, 100)
    })

    it('is shown by lists as it is now, once they have caught up', async () => {
      const group = await made()
      const followed = await each(group, { label: `before ${fresh()}` })
      const owners = [await member(group), await member(group), await member(group)]
      for (const owner of owners) await used(owner, 10)
      const counts = await countsOf(followed.id)
      const label = `after ${fresh()}`
      const kept = await edit(counts[0].id, { total: 70 })
      await edit(followed.id, { total: 50, label, status: 'disabled' })
      await sweeperOf(app(), api).sweep()
      const listed = await countsOf(followed.id)
      expect(listed.map(({ total, label: shown, status }) => [total, shown, status])).toEqual([
        [70, label, 'disabled'],
        [50, label, 'disabled'],
        [50, label, 'disabled'],
      ])
      expect(listed.map(({ version, updated_at }) => [version, updated_at])).toEqual([
        [kept.version, kept.updated_at],
        [1, counts[1].updated_at],
        [1, counts[2].updated_at],
      ])
      const found = async (more: string): Promise<number[]> =>
        (await read(`${api.list}?label=${encodeURIComponent(label)}&${more}`)).items.map((one: Body) => one.id)
      expect(await found('status=disabled')).toEqual([...counts.map(({ id }) => id), followed.id])
      await edit(followed.id, { status: 'active' })
      const [last = 0, second = 0, first = 0] = [...owners].reverse()
      await leave(group, last)
      await sweeperOf(app(), api).sweep()
      expect(await found(`follows=${followed.id}&status=left`)).toEqual([counts[0].id])
      expect(await found(`follows=${followed.id}&status=active`)).toEqual([counts[1].id, counts[2].id])
      expect(await found(`follows=${followed.id}&${api.owner}=${second}`)).toEqual([counts[1].id])
      const above = await made()
      bodyOf(200, await app().put(`${groups}/${group}`, { parent_id: above }))
      const ofAbove = await each(above)
      await used(first, 45)
      bodyOf(200, await app().put(`${groups}/${group}`, { parent_id: null }))
      await sweeperOf(app(), api).sweep()
      expect((await countsOf(ofAbove.id)).map(({ status, used: taken }) => [status, taken])).toEqual([['left', 5]])
    })

    it('is over with what it follows, whatever it overrides, in lists too', async () => {
      const group = await made()
      const followed = await each(group, { expire_at: plus(DAY) })
      for (const owner of [await member(group), await member(group), await member(group)]) await used(owner, 1)
      const ids = (await countsOf(followed.id)).map(({ id }) => id)
      await edit(ids[0], { expire_at: plus(5 * DAY) })
      await edit(ids[1], { status: 'disabled' })
      app().clock.pass(DAY)
      expect(await contradictionsOf(app())).toEqual([])
      await sweeperOf(app(), api).sweep()
      expect((await countsOf(followed.id)).map(({ status }) => status)).toEqual(['expired', 'expired', 'expired'])
      const found = await read(`${api.list}?follows=${followed.id}&status=expired`)
      expect(found.items.map(({ id }: Body) => id)).toEqual(ids)
      expect(await contradictionsOf(app())).toEqual([])
    })

    it('stands still at an end of its own, in lists as by itself', async () => {
      const group = await made()
      const followed = await daily(group)
      const owner = await member(group)
      const operation = await used(owner, 30)
      const { id } = await countOf(followed.id)
      await edit(id, { expire_at: plus(DAY / 2) })
      app().clock.set(plus(3 * DAY))
      const shown = await get(id)
      expect(shown).toMatchObject({ status: 'expired', used: 30, cycle_reset_at: plus(DAY) })
      expect(await countsOf(followed.id)).toEqual([shown])
      // It takes returns, as any quota that is over.
      bodyOf(200, await app().post(`${api.usage}/${operation.id}/refund`, { amount: 10 }, { key: `f-${fresh()}` }))
      expect(await get(id)).toMatchObject({ used: 20, cycle_reset_at: plus(DAY) })
      expect(await contradictionsOf(app())).toEqual([])
      expect(await edit(id, { expire_at: null })).toMatchObject({
        status: 'active',
        used: 0,
        cycle_reset_at: plus(4 * DAY),
      })
      const { items } = await read(`${api.quotas}/${id}/changes?page_size=1`)
      expect(Object.keys(items[0].after)).toEqual(['expire_at'])
      await used(owner, 5)
      expect(await get(id)).toMatchObject({ used: 5 })
    })

    it.each([
      ['without an end', { expire_at: null }],
      ['with a later end', { expire_at: plus(50 * DAY) }],
      ['with a cycle', { expire_at: null, cycle_unit: 'hour', cycle_reset_at: plus(DAY / 24) }],
    ])('stands still in lists once what it follows is over, also %s of its own', async (_what, own) => {
      const group = await made()
      const followed = await daily(group, { expire_at: plus(3.5 * DAY) })
      const [early, late] = [await member(group), await member(group)]
      await used(early, 30)
      await used(late, 30)
      for (const { id } of await countsOf(followed.id)) await edit(id, own)
      app().clock.set(plus(3.4 * DAY))
      await used(late, 20)
      app().clock.set(plus(5 * DAY))
      const alike = async (): Promise<void> => {
        await sweeperOf(app(), api).sweep()
        const listed = await countsOf(followed.id)
        expect(listed).toHaveLength(2)
        for (const count of listed) {
          expect(count).toEqual(await get(count.id))
          expect((await read(`${api.list}?${api.owner}=${count[api.owner]}`)).items).toEqual([count])
        }
      }
      await alike()
      await join(await made(), late)
      await alike()
      await edit(followed.id, { status: 'disabled' })
      await alike()
    })

    it('refills no more once what it follows is over, whatever end it has itself', async () => {
      const group = await made()
      const [payer, cap] = [
        await daily(group, { expire_at: plus(DAY / 2) }),
        await each(group, { cap: 'enforce', total: 60, expire_at: plus(DAY / 4) }),
      ]
      const owner = await member(group)
      await used(owner, 50)
      for (const { id } of [payer, cap]) await edit((await countOf(id)).id, { expire_at: plus(5 * DAY) })
      // The cap ends before the payer.
      expect((await check(owner, 50)).refills_at).toBe(plus(DAY / 4))
      const refused = bodyOf(409, await use(owner, 60))
      expect([refused.refills_at, refused.quotas[0].refills_at]).toEqual([null, null])
    })

    it('passes thresholds by an edit of what it follows, told once when lists catch up', async () => {
      const group = await made()
      const followed = await each(group, { thresholds: [50, 90] })
      const [first, second, third] = [await member(group), await member(group), await member(group)]
      for (const [owner, amount] of [
        [first, 55],
        [second, 30],
        [third, 10],
      ] as const)
        await used(owner, amount)
      await edit(followed.id, { total: 40 })
      await sweeperOf(app(), api).sweep()
      await sweeperOf(app(), api).sweep()
      const told = async (owner: number): Promise<unknown> =>
        (await read(`${api.quotas}/events?${api.owner}=${owner}&type=quota.threshold_reached`)).items.map(
          ({ data }: Body) => [data.crossed, data.total, data.used, data.operation_id === null],
        )
      expect(await told(first)).toEqual([
        [[50], 100, 55, false],
        [[90], 40, 55, true],
      ])
      expect(await told(second)).toEqual([[[50], 40, 30, true]])
      expect(await told(third)).toEqual([])
      await used(second, 6)
      expect(await told(second)).toEqual([
        [[50], 40, 30, true],
        [[90], 40, 36, false],
      ])
      expect((await countsOf(followed.id)).map(({ total }) => total)).toEqual([40, 40, 40])
    })

    it('passes a threshold once after an edit of what it follows, whatever is refunded before lists catch up', async () => {
      const group = await made()
      const followed = await each(group, { thresholds: [100], cap: 'observe' })
      await quota({ group_id: group })
      const owner = await member(group)
      await used(owner, 1)
      await edit(followed.id, { total: 50 })
      const { id } = await used(owner, 49)
      bodyOf(200, await app().post(`${api.usage}/${id}/refund`, { amount: 4 }, { key: `f-${fresh()}` }))
      await used(owner, 8)
      await sweeperOf(app(), api).sweep()
      const told = await read(`${api.quotas}/events?${api.owner}=${owner}&type=quota.threshold_reached`)
      expect(told.items.map(({ data }: Body) => [data.crossed, data.total, data.used])).toEqual([[[100], 50, 50]])
    })

    it('follows later where another session keeps its owner locked', async () => {
      const group = await made()
      const followed = await each(group)
      const owner = await member(group)
      await used(owner, 1)
      await edit(followed.id, { total: 50 })
      const transactions = app().app.get(TransactionRunner)
      const { store } = ledgerOf(app(), api)
      const copied = (): Promise<number> =>
        transactions.write((transaction) => new GroupStore(store).copySettings(transaction, Date.parse(START), 500, 0))
      // A file has one lock for all.
      if (transactions.dialect === 'mysql')
        await transactions.write(async (transaction) => {
          await store.lockOwners(transaction, [owner])
          expect(await copied()).toBe(0)
        })
      expect(await copied()).toBe(1)
    })

    it('begins anew together with others, with an edit after a reset', async () => {
      const group = await made()
      const followed = await daily(group)
      for (const amount of [10, 20]) await used(await member(group), amount)
      app().clock.pass(2 * DAY)
      await edit(followed.id, { total: 50 })
      const { store } = ledgerOf(app(), api)
      const written = await app()
        .app.get(TransactionRunner)
        .write((transaction) => new GroupStore(store).copySettings(transaction, app().clock.now(), 500, 0))
      expect(written).toBe(2)
      const listed = await countsOf(followed.id)
      expect(listed.map(({ used, total }) => [used, total])).toEqual([
        [0, 50],
        [0, 50],
      ])
      expect(listed).toEqual(await Promise.all(listed.map(({ id }) => get(id))))
    })

    it('is listed as it is read, after every edit of what it follows', async () => {
      const group = await made()
      const cap = { quota_type: 3, expire_at: null, window_seconds: 3600, cap: 'enforce' }
      const edits: [Body, object[]][] = [
        [
          await each(group, { thresholds: [10] }),
          [{ total: 90, label: 'ends' }, { expire_at: plus(DAY) }, { thresholds: [] }],
        ],
        [await daily(group), [{ cycle_unit: 'week' }, { cycle_reset_at: plus(2 * DAY) }, { status: 'disabled' }]],
        [await each(group, cap), [{ cap: 'observe' }, { window_seconds: 7200 }, { total: 5 }]],
      ]
      for (const amount of [1, 20, 30]) await used(await member(group), amount)
      for (const [{ id }, patches] of edits) {
        const ids = (await countsOf(id)).map((one) => one.id)
        expect(ids).toHaveLength(3)
        // One has a total of its own, so that it does not follow as the others do.
        await edit(ids[1], { total: 99 })
        for (const patch of patches) {
          await edit(id, patch)
          await sweeperOf(app(), api).sweep()
          expect(await countsOf(id)).toEqual(await Promise.all(ids.map(get)))
        }
      }
    })

    it('gets its own status back by a revert, even while it has left', async () => {
      const { group, owner, id } = await disabledAndLeft()
      const set = await sets.applied(await sets.madeSet({ [api.owner]: owner }, { update: { overrides: [] } }))
      expect(await get(id)).toMatchObject({ status: 'left', overrides: [] })
      expect((await sets.reverted(set)).counts).toMatchObject({ reverted: 1 })
      await join(group, owner)
      expect(await get(id)).toMatchObject({ status: 'disabled', overrides: ['status'] })
    })

    it('gets back by a revert what it gave back, with its own values, though they did not differ then', async () => {
      const followed = await daily(await made(), { label: 'theirs' })
      const owner = await member(followed.group_id)
      await used(owner, 10)
      const { id } = await countOf(followed.id)
      await edit(id, { total: 30, label: 'mine', status: 'disabled', cycle_unit: 'week' })
      await edit(id, { status: 'active' })
      const own = { total: 30, label: 'mine', status: 'active', cycle_unit: 'week', cycle_reset_at: plus(DAY) }
      const overrides = ['cycle_reset_at', 'cycle_time_zone', 'cycle_unit', 'label', 'status', 'total']
      expect(await get(id)).toMatchObject({ ...own, overrides })
      await edit(followed.id, { total: 30, label: 'mine', cycle_unit: 'week' })
      const set = await sets.applied(await sets.madeSet({ [api.owner]: owner }, { update: { overrides: [] } }))
      expect((await sets.rows(set.id)).map((row) => [row.before, row.after])).toEqual([
        [{ overrides }, { overrides: [] }],
      ])
      await edit(followed.id, { total: 50, label: 'theirs', status: 'disabled', cycle_unit: 'month' })
      expect((await sets.reverted(set)).counts).toMatchObject({ reverted: 1 })
      await edit(followed.id, { status: 'active' })
      expect(await get(id)).toMatchObject({ ...own, overrides, used: 10 })
      expect(await contradictionsOf(app())).toEqual([])
    })

    it('is changed by sets that name what it follows, or its owner, and is given back by a revert', async () => {
      const group = await made()
      const label = `plan ${fresh()}`
      const followed = await each(group, { label })
      const owners = [await member(group), await member(group)]
      for (const owner of owners) await used(owner, 10)
      const ids = (await countsOf(followed.id)).map(({ id }) => id)
      await sweeperOf(app(), api).sweep()
      const named = await sets.madeSet({ label }, { update: { total: 30 } })
      expect((await sets.rows(named.id)).map(({ quota_id }) => quota_id)).toEqual([followed.id])
      const set = await sets.madeSet({ follows: followed.id }, { update: { total: 30 } })
      expect((await sets.rows(set.id)).map((row) => [row.quota_id, row.before, row.after])).toEqual(
        [...ids].reverse().map((id) => [id, { total: 100, overrides: [] }, { total: 30, overrides: ['total'] }]),
      )
      await sets.applied(set)
      expect(await get(ids[0])).toMatchObject({ total: 30, overrides: ['total'] })
      const back = await sets.madeSet({ [api.owner]: owners[0] }, { update: { total: 40, label: 'x' } })
      const applied = await sets.applied(back)
      expect(applied.counts).toMatchObject({ applied: 1 })
      await sets.reverted(applied)
      expect(await get(ids[1])).toMatchObject({ total: 30, label, overrides: ['total'] })
      await sets.reverted(await sets.setOf(set.id))
      expect(await get(ids[1])).toMatchObject({ total: 100, overrides: [], version: 5 })
      expect(await get(ids[0])).toMatchObject({ total: 100, overrides: [] })
      await edit(ids[0], { total: 30, label: 'mine' })
      const given = await sets.applied(
        await sets.madeSet({ follows: followed.id }, { update: { overrides: ['label'] } }),
      )
      expect((await sets.rows(given.id)).map(({ quota_id, outcome }) => [quota_id, outcome])).toEqual([
        [ids[1], 'invalid'],
        [ids[0], 'applied'],
      ])
      expect(await get(ids[0])).toMatchObject({ total: 100, label: 'mine', overrides: ['label'] })
      await sets.reverted(given)
      expect(await get(ids[0])).toMatchObject({ total: 30, label: 'mine', overrides: ['label', 'total'] })
      await edit(ids[0], { overrides: [] })
      const reset = await sets.madeSet({ group_id: group }, { reset: true })
      expect(await sets.outcomes(reset.id)).toEqual([[1, 'invalid', 'nothing_to_reset']])
      // An export that is imported at once changes nothing, although lists have not caught up.
      await edit(followed.id, { total: 60 })
      const text = await sets.exported(`follows=${followed.id}`)
      expect(
        text
          .split('\r\n')
          .slice(1, 3)
          .every((line) => line.includes(',60,')),
      ).toBe(true)
      expect((await sets.ready(await sets.upload(text))).counts).toMatchObject({ unchanged: 2, planned: 0, invalid: 0 })
    })

    it('has operations and a series that what it follows shows for all members', async () => {
      const group = await made()
      const [payer, cap] = [await each(group), await each(group, { cap: 'enforce' })]
      const shared = await quota({ group_id: group, total: 1000 })
      const owners = [await member(group), await member(group)]
      const ids: string[] = []
      for (const owner of [...owners, ...owners]) ids.push((await used(owner, 40)).id)
      const beyond = await used(owners[0] ?? 0, 20)
      expect(beyond.allocations).toHaveLength(1)
      const refund = await app().post(`${api.usage}/${ids[3]}/refund`, { amount: 5 }, { key: `f-${fresh()}` })
      bodyOf(200, refund)
      const idsOf = async (id: number, more = ''): Promise<string[]> =>
        (await read(`${api.usage}?quota_id=${id}${more}`)).items.map((one: Body) => one.id)
      const newest = [beyond.id, ...[...ids].reverse()]
      expect(await idsOf(payer.id)).toEqual(newest)
      expect(await idsOf(cap.id)).toEqual(newest)
      expect(await idsOf(cap.id, '&page_size=2')).toEqual(newest.slice(0, 2))
      expect(await idsOf(cap.id, `&before=${newest[1]}`)).toEqual(newest.slice(2))
      expect(await idsOf(shared.id)).toEqual([])
      const seriesOf = async (query: string): Promise<number[][]> =>
        (
          await read(`${api.usage}/series?${query}&step=day&from=${START.slice(0, 10)}T00:00:00Z&to=${plus(1)}`)
        ).items.map((one: Body) => [one.charged, one.refunded])
      expect(await seriesOf(`quota_id=${payer.id}`)).toEqual([[180, 5]])
      expect(await seriesOf(`quota_id=${cap.id}`)).toEqual([[180, 5]])
      expect(await seriesOf(`${api.owner}=${owners[1]}`)).toEqual([[80, 5]])
    })

    it('is not one of the owner’s 200 quotas and 16 caps', async () => {
      const group = await made()
      for (let n = 0; n < 16; n += 1) await each(group, { cap: 'observe' })
      expect(refusal(await app().post(api.quotas, { ...(await each(group)), cap: 'enforce' }))[0]).toBe(400)
      const one = { quota_type: 1, total: 1, expire_at: '2099-01-01T00:00:00Z', group_id: group, per: 'member' }
      expect(refusal(await app().post(api.quotas, { ...one, cap: 'observe' }))).toEqual([409, 'too_many_quotas'])
      const owner = await member(group)
      await used(owner, 1)
      await quota({ [api.owner]: owner, cap: 'enforce' })
      expect((await summary(owner)).caps).toHaveLength(17)
    })

    it('of the default group is for whoever is in none, seen or not', async () => {
      const group = await made({ default: true })
      try {
        const followed = await each(group, { total: 50 })
        const owner = fresh()
        expect(await check(owner, 50)).toMatchObject({ allowed: true, remaining: 50 })
        expect(refusal(await use(owner, 51))).toEqual([409, 'quota_exceeded'])
        const answers = await Promise.all(Array.from({ length: 24 }, () => use(owner, 5)))
        expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
        expect((await countOf(followed.id))[api.owner]).toBe(owner)
        expect((await read(`${groups}/${group}/summary`)).available).toBe(50)
      } finally {
        bodyOf(200, await app().put(`${groups}/${group}`, { default: false }))
      }
    })
  })
}
