import { describe, expect, it } from '@jest/globals'
import type { Sent, TestApp } from './app.js'
import type { ChannelApi } from './channel-api.js'
import { unlikeAnswer, unlikeRefusal } from './document.js'
import { type Body, bodyOf, brokenFields, fresh, ledgerOf, refusal, START } from './quota-api.js'

const ABSENT = Number.MAX_SAFE_INTEGER

/** Groups and their members (contract, §13), for either channel. */
export function groupContract(api: ChannelApi, app: () => TestApp): void {
  const groups = `${api.quotas}/groups`
  const path = (id: number, more = ''): string => `${groups}/${id}${more}`
  const create = (body: object, sent?: Sent) => app().post(groups, body, sent)
  const made = async (more: object = {}): Promise<Body> =>
    bodyOf(201, await create({ name: `group ${fresh()}`, ...more }))
  const read = async (at: string): Promise<Body> => bodyOf(200, await app().get(at))
  const add = (id: number, owners: number[], sent?: Sent) =>
    app().post(path(id, '/members'), { [`${api.owner}s`]: owners }, sent)
  const added = async (id: number, ...owners: number[]): Promise<Body> => bodyOf(200, await add(id, owners))
  const leave = (id: number, owner: number) => app().delete(path(id, `/members/${owner}`))
  const members = async (id: number): Promise<number[]> =>
    (await read(path(id, '/members?page_size=100'))).items.map((item: Body) => item[api.owner])
  const changes = async (id: number): Promise<Body[]> => (await read(path(id, '/changes'))).items

  describe('a group', () => {
    it('is created, read and listed', async () => {
      const name = `example ${fresh()}.org`
      const answer = await create({ name })
      const group = bodyOf(201, answer)
      expect(answer.headers['location']).toBe(path(group.id))
      expect(Object.keys(group)).toEqual(['id', 'name', 'parent_id', 'default', 'version', 'created_at', 'updated_at'])
      expect(group).toEqual({
        id: group.id,
        name,
        parent_id: null,
        default: false,
        version: 1,
        created_at: START,
        updated_at: START,
      })
      expect(await read(path(group.id))).toEqual(group)
      expect((await read(`${groups}?page_size=1`)).items).toEqual([group])
      const child = await made({ parent_id: group.id })
      expect(await read(`${groups}?parent_id=${group.id}`)).toEqual({
        items: [child],
        page: 1,
        page_size: 20,
        total: 1,
        total_relation: 'exact',
      })
      expect((await read(`${groups}?before_id=${child.id}&page_size=1`)).items).toEqual([group])
      expect((await read(`${groups}?name=${name.toUpperCase().replace(' ', '%20')}`)).items).toEqual([group])
      expect((await read(`${groups}?name=${encodeURIComponent(`${name}x`)}`)).items).toEqual([])
    })

    it('is created once with a key', async () => {
      const body = { name: `group ${fresh()}` }
      const key = `k-${fresh()}`
      const [first, second] = [await create(body, { key }), await create({ ...body, parent_id: null }, { key })]
      expect([first.status, second.status, second.text]).toEqual([201, 201, first.text])
      expect([second.headers['location'], second.headers['idempotency-replayed']]).toEqual([
        path(first.body.id),
        'true',
      ])
      expect(refusal(await create({ name: `group ${fresh()}` }, { key }))).toEqual([422, 'idempotency_key_reused'])
    })

    it('names every mistake at once, and changes nothing', async () => {
      expect(Object.keys(brokenFields(await create({ parent_id: 0, default: 1, colour: 'red' })))).toEqual(
        expect.arrayContaining(['name', 'parent_id', 'default', 'colour']),
      )
      for (const name of ['', null, 7, 'a\u0000b', 'x'.repeat(121)])
        expect(Object.keys(brokenFields(await create({ name })))).toEqual(['name'])
      const { id, name } = await made()
      expect(Object.keys(brokenFields(await app().put(path(id), {})))).toEqual(['body'])
      expect(Object.keys(brokenFields(await app().put(path(id), { name: null, default: null })))).toEqual([
        'name',
        'default',
      ])
      // Also what only the groups tell.
      const third = await made({ parent_id: (await made({ parent_id: id })).id })
      for (const answer of [
        await create({ name: '', parent_id: third.id, default: 'x' }),
        await app().put(path(id), { name: '', parent_id: third.id, default: 'x' }),
      ])
        expect(Object.keys(brokenFields(answer)).sort()).toEqual(['default', 'name', 'parent_id'])
      for (const other of [ABSENT, id])
        expect(Object.keys(brokenFields(await app().put(path(other), { name: '', parent_id: ABSENT })))).toEqual([
          'name',
        ])
      expect(Object.keys(brokenFields(await app().get(`${groups}?status=active`)))).toEqual(['status'])
      expect(await read(path(id))).toMatchObject({ name, version: 1 })
    })

    it('has a name that no other live group has, compared as labels are', async () => {
      const { id, name } = await made({ name: `Straße ${fresh()}` })
      expect(refusal(await create({ name: name.toUpperCase().replace('STRASSE', 'STRAßE') }))).toEqual([
        409,
        'group_name_taken',
      ])
      const other = await made()
      expect(refusal(await app().put(path(other.id), { name }))).toEqual([409, 'group_name_taken'])
      bodyOf(200, await app().put(path(id), { name: name.toLowerCase() }))
      bodyOf(204, await app().delete(path(id)))
      const again = bodyOf(201, await create({ name }))
      expect(refusal(await app().post(path(id, '/restore')))).toEqual([409, 'group_name_taken'])
      bodyOf(204, await app().delete(path(again.id)))
      bodyOf(200, await app().post(path(id, '/restore')))
    })

    it('takes one of parallel creates with one name', async () => {
      const name = `group ${fresh()}`
      const answers = await Promise.all(Array.from({ length: 6 }, () => create({ name })))
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409])
    })

    it('changes in part, with its version, and not by an echo', async () => {
      const group = await made()
      const name = `group ${fresh()}`
      expect(bodyOf(200, await app().put(path(group.id), { ...group }))).toEqual(group)
      const changed = bodyOf(200, await app().put(path(group.id), { ...group, name }))
      expect(changed).toEqual({ ...group, name, version: 2 })
      const stale = await app().put(path(group.id), { name: 'x', version: 1 })
      expect([...refusal(stale), stale.body.version]).toEqual([409, 'version_mismatch', 2])
      expect(refusal(await app().delete(`${path(group.id)}?version=1`))).toEqual([409, 'version_mismatch'])
      expect(await changes(group.id)).toEqual([
        expect.objectContaining({ action: 'update', before: { name: group.name }, after: { name } }),
        expect.objectContaining({
          action: 'create',
          before: {},
          after: { name: group.name, parent_id: null, default: false },
        }),
      ])
    })

    it('is deleted softly and restored', async () => {
      const group = await made()
      bodyOf(204, await app().delete(path(group.id)))
      for (const answer of [
        await app().get(path(group.id)),
        await app().put(path(group.id), { name: 'x' }),
        await app().delete(path(group.id)),
        await app().get(path(group.id, '/members')),
        await add(group.id, [fresh()]),
        await create({ name: `group ${fresh()}`, parent_id: group.id }),
        await app().get(path(ABSENT)),
        await app().post(path(ABSENT, '/restore')),
        await app().get(path(ABSENT, '/changes')),
      ])
        expect(refusal(answer)).toEqual([404, 'group_not_found'])
      const restored = bodyOf(200, await app().post(path(group.id, '/restore')))
      expect(restored).toEqual({ ...group, version: 3 })
      expect(bodyOf(200, await app().post(path(group.id, '/restore')))).toEqual(restored)
      expect((await changes(group.id)).map(({ action }) => action)).toEqual(['restore', 'delete', 'create'])
    })

    it('is not deleted while it has members, child groups or live quotas', async () => {
      const group = await made()
      const owner = fresh()
      await added(group.id, owner)
      expect(refusal(await app().delete(path(group.id)))).toEqual([409, 'group_not_empty'])
      bodyOf(204, await leave(group.id, owner))
      const child = await made({ parent_id: group.id })
      expect(refusal(await app().delete(path(group.id)))).toEqual([409, 'group_not_empty'])
      bodyOf(204, await app().delete(path(child.id)))
      bodyOf(204, await app().delete(path(group.id)))
      expect(refusal(await app().post(path(child.id, '/restore')))).toEqual([404, 'group_not_found'])
    })

    it('has a parent: no circle, and no chain of more than three', async () => {
      const [one, two, three] = [await made(), await made(), await made()]
      const move = (id: number, parent_id: number | null) => app().put(path(id), { parent_id })
      bodyOf(200, await move(two.id, one.id))
      bodyOf(200, await move(three.id, two.id))
      const tooDeep = await create({ name: `group ${fresh()}`, parent_id: three.id })
      expect(Object.keys(brokenFields(tooDeep))).toEqual(['parent_id'])
      const alone = await made()
      for (const [id, parent] of [
        [alone.id, alone.id],
        [one.id, one.id],
        [one.id, three.id],
        [two.id, three.id],
      ] as const)
        expect(brokenFields(await move(id, parent))).toEqual({ parent_id: 'is the group itself or below it' })
      // From its lower end, too: the group that moves has two levels below.
      const top = await made()
      expect(Object.keys(brokenFields(await move(one.id, top.id)))).toEqual(['parent_id'])
      expect(refusal(await move(one.id, ABSENT))).toEqual([404, 'group_not_found'])
      expect((await read(path(three.id))).parent_id).toBe(two.id)
      bodyOf(200, await move(two.id, null))
      bodyOf(200, await move(one.id, three.id))
    })

    it('moves two groups towards each other only once', async () => {
      const [one, two] = [await made(), await made()]
      const answers = await Promise.all([
        app().put(path(one.id), { parent_id: two.id }),
        app().put(path(two.id), { parent_id: one.id }),
      ])
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 400])
    })

    it('is the default of the channel once', async () => {
      const answers = await Promise.all(
        Array.from({ length: 3 }, () => create({ name: `group ${fresh()}`, default: true })),
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409])
      expect(answers.filter(({ status }) => status === 409).map(({ body }) => body.code)).toEqual([
        'default_group_taken',
        'default_group_taken',
      ])
      const first = answers.find(({ status }) => status === 201)?.body
      const other = await made()
      expect(refusal(await app().put(path(other.id), { default: true }))).toEqual([409, 'default_group_taken'])
      bodyOf(200, await app().put(path(first.id), { default: false }))
      bodyOf(200, await app().put(path(other.id), { default: true }))
      bodyOf(204, await app().delete(path(other.id)))
      bodyOf(200, await app().put(path(first.id), { default: true }))
      expect(refusal(await app().post(path(other.id, '/restore')))).toEqual([409, 'default_group_taken'])
      bodyOf(200, await app().put(path(first.id), { default: false }))
    })

    it('is of one channel', async () => {
      const { id } = await made()
      const elsewhere = api.channel === 'mail' ? '/api/sms/admin/quota/groups' : '/api/v1/quotas/groups'
      const answer = await app().get(`${elsewhere}/${id}`)
      if (answer.status !== 200) expect(refusal(answer)).toEqual([404, 'group_not_found'])
      else expect(answer.body.name).not.toBe((await read(path(id))).name)
    })

    it('is a fixed word', async () => {
      expect(refusal(await app().delete(groups))).toEqual([405, 'method_not_allowed'])
      expect(refusal(await app().get(`${api.quotas}/groups/5/nothing`))).toEqual([404, 'route_not_found'])
      expect(Object.keys(brokenFields(await app().get(`${groups}/x`)))).toEqual(['id'])
    })
  })

  describe('members', () => {
    it('are added, listed and removed', async () => {
      const { id, version } = await made()
      const owners = [fresh(), fresh(), fresh()]
      expect(await added(id, ...owners)).toEqual({ added: 3, moved: 0, unchanged: 0 })
      const [first, second, third] = owners
      expect(await read(path(id, '/members?page_size=2'))).toEqual({
        items: [
          { [api.owner]: first, since: START },
          { [api.owner]: second, since: START },
        ],
        next_after: second,
      })
      expect(await read(path(id, `/members?page_size=2&after=${second}`))).toEqual({
        items: [{ [api.owner]: third, since: START }],
        next_after: null,
      })
      bodyOf(204, await leave(id, second as number))
      expect(refusal(await leave(id, second as number))).toEqual([404, 'member_not_found'])
      const { id: other } = await made()
      expect(refusal(await leave(other, first as number))).toEqual([404, 'member_not_found'])
      expect(refusal(await leave(ABSENT, first as number))).toEqual([404, 'group_not_found'])
      expect(await members(id)).toEqual([first, third])
      expect((await read(path(id))).version).toBe(version)
      expect((await changes(id)).map(({ action, before, after }) => [action, before, after])).toEqual([
        ['members', {}, { removed: [second] }],
        ['members', {}, { added: owners }],
        ['create', {}, expect.anything()],
      ])
    })

    it('move from one group to another, recorded where they go to', async () => {
      const [from, to] = [await made(), await made()]
      const owners = [fresh(), fresh(), fresh(), fresh()]
      const [one, two, three, four] = owners as [number, number, number, number]
      await added(from.id, one, two)
      await added(to.id, three)
      const before = await changes(from.id)
      expect(await added(to.id, four, three, two)).toEqual({ added: 1, moved: 1, unchanged: 1 })
      expect([await members(from.id), await members(to.id)]).toEqual([[one], [two, three, four]])
      expect((await changes(to.id))[0]).toEqual({
        id: expect.any(Number),
        group_id: to.id,
        action: 'members',
        actor: 'admin',
        request_id: expect.any(String),
        at: START,
        before: {},
        after: { added: [four], moved: [[two, from.id]] },
      })
      expect(await changes(from.id)).toEqual(before)
      expect(await added(to.id, four, three, two)).toEqual({ added: 0, moved: 0, unchanged: 3 })
      expect(await changes(to.id)).toHaveLength(3)
    })

    it('are added once with a key', async () => {
      const { id } = await made()
      const owners = [fresh(), fresh()]
      const key = `k-${fresh()}`
      const first = await add(id, owners, { key })
      bodyOf(204, await leave(id, owners[0] as number))
      const second = await add(id, [...owners].reverse(), { key })
      expect([second.text, second.headers['idempotency-replayed']]).toEqual([first.text, 'true'])
      expect(await members(id)).toEqual([owners[1]])
      expect(refusal(await add(id, [fresh()], { key }))).toEqual([422, 'idempotency_key_reused'])
    })

    it('are 1 to 1000 different owners', async () => {
      const { id } = await made()
      const field = `${api.owner}s`
      for (const owners of [[], [7, 7], [0], ['7'], 7, null, undefined, Array.from({ length: 1001 }, (_, n) => n + 1)])
        expect(Object.keys(brokenFields(await app().post(path(id, '/members'), { [field]: owners })))).toEqual([field])
      const first = 1_000_000_000 + 2000 * fresh()
      const thousand = Array.from({ length: 1000 }, (_, n) => first + n)
      expect(await added(id, ...thousand)).toEqual({ added: 1000, moved: 0, unchanged: 0 })
      const other = await made()
      expect(await added(other.id, ...thousand)).toEqual({ added: 0, moved: 1000, unchanged: 0 })
      expect((await read(path(other.id, '/members?page_size=100'))).next_after).toBe(first + 99)
    })

    it('end in one of two groups that take them at once', async () => {
      const [one, two] = [await made(), await made()]
      const owners = Array.from({ length: 20 }, () => fresh())
      await Promise.all([add(one.id, owners), add(two.id, [...owners].reverse()), add(one.id, owners)])
      const [inOne, inTwo] = [await members(one.id), await members(two.id)]
      expect([...inOne, ...inTwo].sort((a, b) => a - b)).toEqual(owners)
      expect([inOne.length, inTwo.length].sort((a, b) => a - b)).toEqual([0, 20])
    })

    it('do not come into a group that is being deleted', async () => {
      const { id } = await made()
      const owner = fresh()
      const [joined, deleted] = await Promise.all([add(id, [owner]), app().delete(path(id))])
      expect([
        [200, 409],
        [404, 204],
      ]).toContainEqual([joined.status, deleted.status])
    })
  })

  it('shows changes of groups among all changes', async () => {
    const { id } = await made()
    const owner = fresh()
    await added(id, owner)
    const found = await read(`${api.quotas}/changes?group_id=${id}`)
    expect(found.items.map(({ action, group_id }: Body) => [action, group_id])).toEqual([
      ['members', id],
      ['create', id],
    ])
    expect((await read(`${api.quotas}/changes?group_id=${id}&action=members`)).items).toHaveLength(1)
    bodyOf(
      201,
      await app().post(api.quotas, { [api.owner]: owner, quota_type: 1, total: 1, expire_at: '2027-01-01T00:00:00Z' }),
    )
    expect((await read(`${api.quotas}/changes?${api.owner}=${owner}`)).items).toEqual([
      expect.objectContaining({ action: 'create', group_id: null, [api.owner]: owner }),
    ])
  })

  const END = '2027-01-01T00:00:00.000Z'
  const RESET = '2026-12-01T00:00:00.000Z'
  const quota = (more: object) => ({ quota_type: 1, total: 100, expire_at: END, ...more })
  const cycle = (more: object) => ({ quota_type: 2, total: 100, cycle_unit: 'month', cycle_reset_at: RESET, ...more })
  const rolling = (more: object) => ({ quota_type: 3, window_seconds: 3600, cap: 'enforce', total: 100, ...more })
  const create$ = async (body: object): Promise<Body> => bodyOf(201, await app().post(api.quotas, body))
  const shared = async (group_id: number, more: object = {}): Promise<Body> => create$(quota({ group_id, ...more }))
  const own = async (owner: number, more: object = {}): Promise<Body> => create$(quota({ [api.owner]: owner, ...more }))
  const get = async (id: number): Promise<Body> => read(`${api.quotas}/${id}`)
  const use = (owner: number, amount: number, key = `use-${fresh()}`) =>
    app().post(api.consume, { [api.owner]: owner, amount }, { key })
  const used = async (owner: number, amount: number): Promise<Body> => bodyOf(200, await use(owner, amount))
  const hold = async (owner: number, amount: number, ttl_seconds = 600): Promise<Body> =>
    bodyOf(201, await app().post(api.reserve, { [api.owner]: owner, amount, ttl_seconds }, { key: `r-${fresh()}` }))
  const settle = (id: string, verb: string, body: object = {}) =>
    app().post(`${api.usage}/${id}/${verb}`, body, verb === 'refund' ? { key: `f-${fresh()}` } : {})
  const check = (owner: number, amount: number) => read(`${api.usage}/check?${api.owner}=${owner}&amount=${amount}`)
  const summary = (owner: number) => read(api.summary(owner))
  const member = async (group: number): Promise<number> => {
    const owner = fresh()
    await added(group, owner)
    return owner
  }
  const usedOf = async (...ids: number[]): Promise<number[]> => {
    const found: number[] = []
    for (const id of ids) found.push((await get(id)).used as number)
    return found
  }
  const paidBy = ({ allocations }: Body): number[][] =>
    allocations.map(({ quota_id, amount }: Body) => [quota_id, amount])

  describe('a quota of a group', () => {
    it('is a record like any, with its group', async () => {
      const { id: group_id } = await made()
      const record = await shared(group_id, { label: 'all' })
      const last = ['thresholds', 'group_id', 'per', 'follows', 'overrides', 'version', 'created_at', 'updated_at']
      expect(Object.keys(record).slice(-8)).toEqual(last)
      expect(record).toMatchObject({ [api.owner]: null, group_id, per: 'group', follows: null, overrides: null })
      if (api.channel === 'mail') expect(record.user_id).toBeNull()
      expect(await get(record.id)).toEqual(record)
      expect((await read(`${api.list}?group_id=${group_id}`)).items).toEqual([record])
      expect((await read(`${api.list}?group_id=${group_id}&${api.owner}=7`)).items).toEqual([])
      expect((await read(`${api.list}?group_id=${group_id}&status=active&cap=none&label=al`)).items).toEqual([record])
      const mine = await own(fresh())
      expect(mine).toMatchObject({ group_id: null, per: null, follows: null, overrides: null })
      const changed = bodyOf(200, await app().put(`${api.quotas}/${record.id}`, { ...record, total: 7 }))
      expect(changed).toMatchObject({ total: 7, version: 2, group_id })
      bodyOf(204, await app().delete(`${api.quotas}/${record.id}`))
      expect(bodyOf(200, await app().post(`${api.quotas}/${record.id}/restore`)).version).toBe(4)
      const found = await read(`${api.quotas}/changes?group_id=${group_id}&quota_id=${record.id}`)
      expect(found.items.map((one: Body) => [one.action, one.group_id, one[api.owner]])).toEqual([
        ['restore', group_id, null],
        ['delete', group_id, null],
        ['update', group_id, null],
        ['create', group_id, null],
      ])
      const events = await read(`${api.quotas}/events?group_id=${group_id}`)
      expect(events.items.map((one: Body) => [one.type, one.quota_id, one.group_id, one[api.owner]])).toEqual([
        ['quota.created', record.id, group_id, null],
        ['quota.updated', record.id, group_id, null],
        ['quota.deleted', record.id, group_id, null],
        ['quota.restored', record.id, group_id, null],
      ])
      expect(refusal(await app().delete(path(group_id)))).toEqual([409, 'group_not_empty'])
    })

    it('is of an owner or of a group, not of both or none', async () => {
      const { id: group_id } = await made()
      const create = (more: object) => app().post(api.quotas, quota(more))
      const both = [api.owner, 'group_id'].sort()
      expect(Object.keys(brokenFields(await create({}))).sort()).toEqual(both)
      expect(Object.keys(brokenFields(await create({ group_id, [api.owner]: 7 }))).sort()).toEqual(both)
      bodyOf(201, await create({ group_id: null, [api.owner]: fresh() }))
      expect(Object.keys(brokenFields(await create({ group_id, [api.owner]: null })))).toEqual([api.owner])
      expect(Object.keys(brokenFields(await create({ [api.owner]: 7, per: 'group' })))).toEqual(['per'])
      expect(Object.keys(brokenFields(await create({ group_id, per: 'owner' })))).toEqual(['per'])
      if (api.channel === 'mail')
        expect(Object.keys(brokenFields(await create({ group_id, user_id: 3 })))).toEqual(['user_id'])
      expect(refusal(await create({ group_id: ABSENT }))).toEqual([404, 'group_not_found'])
      const record = await shared(group_id)
      const over = await shared(group_id)
      bodyOf(200, await app().put(`${api.quotas}/${over.id}`, { expire_at: START }))
      bodyOf(204, await app().delete(`${api.quotas}/${record.id}`))
      bodyOf(204, await app().delete(path(group_id)))
      for (const [method, route, answer] of [
        ['post', api.quotas, await create({ group_id })],
        ['post', `${api.quotas}/{id}/restore`, await app().post(`${api.quotas}/${record.id}/restore`)],
        [
          'put',
          `${api.quotas}/{id}`,
          await app().put(`${api.quotas}/${over.id}`, { expire_at: '2099-01-01T00:00:00Z' }),
        ],
        [
          'put',
          `${api.quotas}/{id}`,
          await app().put(`${api.quotas}/${over.id}`, { expire_at: '2099-01-01T00:00:00Z', version: 99 }),
        ],
      ] as const) {
        expect(refusal(answer)).toEqual([404, 'group_not_found'])
        expect(unlikeRefusal(method, route, answer)).toBeUndefined()
      }
    })

    it('pays for members after their own: nearest group first', async () => {
      const top = await made()
      const middle = await made({ parent_id: top.id })
      const low = await made({ parent_id: middle.id })
      const ofTop = await shared(top.id, { total: 10, expire_at: '2026-11-22T00:00:00Z' })
      const ofMiddle = await shared(middle.id, { total: 10, expire_at: '2026-11-23T00:00:00Z' })
      const later = await shared(low.id, { total: 10 })
      const sooner = await create$(cycle({ group_id: low.id, total: 10 }))
      const owner = await member(low.id)
      const mine = await own(owner, { total: 5 })
      const first = await used(owner, 1)
      expect([paidBy(first), first.owner_remaining]).toEqual([[[mine.id, 1]], 44])
      const second = await used(owner, 30)
      expect(paidBy(second)).toEqual([
        [mine.id, 4],
        [sooner.id, 10],
        [later.id, 10],
        [ofMiddle.id, 6],
      ])
      expect(second.owner_remaining).toBe(14)
      const refused = await use(owner, 15)
      expect(refusal(refused)).toEqual([409, 'quota_exceeded'])
      expect(refused.body).toMatchObject({ requested: 15, remaining: 14, payable: 14, caps: [] })
      expect(refused.body.quotas.map(({ id, group_id }: Body) => [id, group_id])).toEqual([
        [mine.id, null],
        [sooner.id, low.id],
        [later.id, low.id],
        [ofMiddle.id, middle.id],
        [ofTop.id, top.id],
      ])
      expect(Object.keys(refused.body.quotas[0]).slice(0, 2)).toEqual(['id', 'group_id'])
      expect(await check(owner, 14)).toMatchObject({ allowed: true, remaining: 14, payable: 14 })
      expect(await summary(owner)).toMatchObject({
        [api.owner]: owner,
        group_id: low.id,
        total: 5,
        used: 5,
        remaining: 0,
        quota_count: 1,
        available: 14,
        caps: [],
      })
      const stranger = fresh()
      expect(refusal(await use(stranger, 1))).toEqual([409, 'no_active_quota'])
      expect(await summary(stranger)).toMatchObject({ group_id: null, available: 0 })
    })

    it('is shared by its members, and never overdrawn', async () => {
      const group = await made()
      const record = await shared(group.id, { total: 40 })
      const owners = [await member(group.id), await member(group.id), await member(group.id)]
      const answers = await Promise.all(
        Array.from({ length: 60 }, (_, n) => use(owners[n % owners.length] as number, 1)),
      )
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(40)
      expect(await get(record.id)).toMatchObject({ used: 40, remaining: 0 })
      const [first = 0] = owners
      expect(await summary(first)).toMatchObject({ total: 0, quota_count: 0, available: 0, group_id: group.id })
    })

    it('bounds members by every enforce cap of the chain, counted once each', async () => {
      const top = await made()
      const low = await made({ parent_id: top.id })
      const owner = await member(low.id)
      const other = await member(low.id)
      const mine = await own(owner)
      await own(other)
      const ofLow = await create$(rolling({ group_id: low.id, total: 20 }))
      const ofTop = await create$(cycle({ group_id: top.id, total: 30, cap: 'enforce' }))
      const seen = await create$(cycle({ group_id: top.id, total: 5, cap: 'observe' }))
      const first = await used(owner, 7)
      expect(first).toMatchObject({ caps: [ofLow.id, ofTop.id, seen.id], would_refuse: [seen.id], owner_remaining: 13 })
      expect(paidBy(first)).toEqual([[mine.id, 7]])
      await used(other, 10)
      const refused = await use(owner, 4)
      expect(refused.body).toMatchObject({ code: 'quota_exceeded', remaining: 3, payable: 93 })
      expect(refused.body.caps.map(({ id, group_id }: Body) => [id, group_id])).toEqual([[ofLow.id, low.id]])
      expect((await check(owner, 14)).caps.map(({ id }: Body) => id)).toEqual([ofLow.id, ofTop.id])
      expect((await summary(owner)).caps.map(({ id, used: units }: Body) => [id, units])).toEqual([
        [ofLow.id, 17],
        [ofTop.id, 17],
        [seen.id, 17],
      ])
      expect(await usedOf(ofLow.id, ofTop.id, seen.id)).toEqual([17, 17, 17])
      bodyOf(200, await settle(first.id, 'refund', { amount: 5 }))
      expect(await usedOf(ofLow.id, ofTop.id, seen.id, mine.id)).toEqual([12, 12, 12, 2])
      bodyOf(200, await app().put(`${api.quotas}/${ofLow.id}`, { status: 'disabled' }))
      expect(await summary(owner)).toMatchObject({ available: 18 })
    })

    it('gets back what a hold or a refund returns, wherever the owner is by then', async () => {
      const [one, two] = [await made(), await made()]
      const payer = await shared(one.id, { total: 50 })
      const cap = await create$(rolling({ group_id: one.id, total: 60 }))
      const next = await shared(two.id, { total: 9 })
      const owner = await member(one.id)
      const consumed = await used(owner, 10)
      const [committed, released, expired] = [await hold(owner, 5), await hold(owner, 6), await hold(owner, 7)]
      expect(await get(payer.id)).toMatchObject({ used: 10, reserved: 18 })
      await added(two.id, owner)
      expect(await summary(owner)).toMatchObject({ group_id: two.id, available: 9 })
      expect(paidBy(await used(owner, 1))).toEqual([[next.id, 1]])
      expect(bodyOf(200, await settle(committed.id, 'commit', { amount: 2 }))).toMatchObject({
        state: 'committed',
        charged: 2,
        owner_remaining: 8,
      })
      bodyOf(200, await settle(released.id, 'release'))
      bodyOf(200, await settle(consumed.id, 'refund', { amount: 4 }))
      expect(await get(payer.id)).toMatchObject({ used: 8, reserved: 7 })
      expect(await get(cap.id)).toMatchObject({ used: 8, reserved: 7 })
      app().clock.set(Date.parse(START) + 700_000)
      expect(await get(payer.id)).toMatchObject({ used: 8, reserved: 0 })
      expect(refusal(await settle(expired.id, 'commit'))).toEqual([409, 'operation_already_settled'])
      bodyOf(204, await leave(two.id, owner))
      expect(refusal(await use(owner, 1))).toEqual([409, 'no_active_quota'])
      bodyOf(200, await settle(consumed.id, 'refund'))
      expect(await get(payer.id)).toMatchObject({ used: 2, reserved: 0 })
    })

    it('lends units of a due hold of one member to another', async () => {
      const group = await made()
      const payer = await shared(group.id, { total: 10 })
      const [one, two, three] = [await member(group.id), await member(group.id), await member(group.id)]
      const held = await hold(one, 8, 60)
      const later = await hold(three, 1, 3600)
      const refused = await use(two, 9)
      expect(refused.body).toMatchObject({ remaining: 1, refills_at: held.expires_at })
      expect(await check(two, 8)).toMatchObject({ allowed: false, refills_at: held.expires_at })
      app().clock.set(Date.parse(START) + 60_000)
      expect(await check(two, 9)).toMatchObject({ allowed: true, remaining: 9 })
      expect(await get(payer.id)).toMatchObject({ used: 0, reserved: 1 })
      await used(two, 9)
      expect(await get(payer.id)).toMatchObject({ used: 9, reserved: 1, remaining: 0 })
      expect(refusal(await settle(held.id, 'commit'))).toEqual([409, 'operation_already_settled'])
      expect(await read(`${api.usage}/${held.id}`)).toMatchObject({ state: 'expired' })
      expect(await get(payer.id)).toMatchObject({ used: 9, reserved: 1 })
      bodyOf(200, await settle(later.id, 'commit'))
      expect(await get(payer.id)).toMatchObject({ used: 10, reserved: 0 })
    })

    it('ends a due hold of a member in its counts, too, when another one takes its units', async () => {
      const group = await made()
      await shared(group.id, { total: 100 })
      await shared(group.id, { total: 8, cap: 'enforce' })
      const rule = await shared(group.id, { total: 10, per: 'member', cap: 'enforce' })
      const window = await create$(rolling({ group_id: group.id, total: 10, per: 'member', window_seconds: 86_400 }))
      const [one, two] = [await member(group.id), await member(group.id)]
      await hold(one, 7, 60)
      await hold(one, 1, 120)
      app().clock.set(Date.parse(START) + 60_000)
      await used(two, 7)
      const reserved = async ({ id }: Body): Promise<number[]> =>
        (await read(`${api.list}?${api.owner}=${one}&follows=${id}`)).items.map((count: Body) => count.reserved)
      expect([await reserved(rule), await reserved(window)]).toEqual([[1], [1]])
      app().clock.set(Date.parse(START) + 120_000)
      expect([await reserved(rule), await reserved(window)]).toEqual([[0], [0]])
    })

    it('is in force for whoever is in no group by default', async () => {
      const group = await made({ default: true })
      const payer = await shared(group.id, { total: 3 })
      const owner = fresh()
      expect(await summary(owner)).toMatchObject({ group_id: group.id, available: 3 })
      expect(await check(owner, 3)).toMatchObject({ allowed: true })
      expect(refusal(await use(owner, 4))).toEqual([409, 'quota_exceeded'])
      expect(paidBy(await used(owner, 2))).toEqual([[payer.id, 2]])
      expect((await read(path(group.id, '/summary'))).members).toBe(0)
      expect(await members(group.id)).toEqual([])
      const elsewhere = await member((await made()).id)
      expect(refusal(await use(elsewhere, 1))).toEqual([409, 'no_active_quota'])
      bodyOf(200, await app().put(path(group.id), { default: false }))
      expect(refusal(await use(owner, 1))).toEqual([409, 'no_active_quota'])
    })

    it('follows a changed parent at once', async () => {
      const [top, other] = [await made(), await made()]
      const low = await made({ parent_id: top.id })
      const owner = await member(low.id)
      const [a, b] = [await shared(top.id, { total: 5 }), await shared(other.id, { total: 7 })]
      expect(paidBy(await used(owner, 1))).toEqual([[a.id, 1]])
      bodyOf(200, await app().put(path(low.id), { parent_id: other.id }))
      expect(paidBy(await used(owner, 1))).toEqual([[b.id, 1]])
      expect(await summary(owner)).toMatchObject({ available: 6 })
      bodyOf(200, await app().put(path(low.id), { parent_id: null }))
      expect(refusal(await use(owner, 1))).toEqual([409, 'no_active_quota'])
    })

    it('has the bounds of an owner', async () => {
      const { id: group_id } = await made()
      for (let n = 0; n < 16; n += 1) await shared(group_id, { cap: 'observe' })
      expect(refusal(await app().post(api.quotas, quota({ group_id, cap: 'enforce' })))).toEqual([
        409,
        'too_many_quotas',
      ])
      await shared(group_id)
    })

    it('is reset, and passes thresholds, which name the operation', async () => {
      const group = await made()
      const owner = await member(group.id)
      const record = await shared(group.id, { total: 10, thresholds: [50] })
      const operation = await used(owner, 6)
      const { items } = await read(`${api.quotas}/events?group_id=${group.id}&type=quota.threshold_reached`)
      expect(items).toEqual([
        expect.objectContaining({
          group_id: group.id,
          [api.owner]: null,
          quota_id: record.id,
          data: expect.objectContaining({ threshold: 50, operation_id: operation.id }),
        }),
      ])
      expect(bodyOf(200, await app().post(`${api.quotas}/${record.id}/reset`))).toMatchObject({ used: 0 })
      bodyOf(200, await settle(operation.id, 'refund'))
      expect(await get(record.id)).toMatchObject({ used: 0 })
    })
  })

  describe('what is seen of a group', () => {
    it('is its summary', async () => {
      const top = await made()
      const group = await made({ parent_id: top.id })
      const owner = await member(group.id)
      await shared(group.id, { total: 50 })
      const cap = await create$(rolling({ group_id: group.id, total: 40 }))
      await shared(top.id, { total: 5 })
      await create$(rolling({ group_id: top.id, total: 30 }))
      await used(owner, 4)
      const view = await read(path(group.id, '/summary'))
      expect(Object.keys(view)).toEqual([
        ...['group_id', 'total', 'used', 'reserved', 'remaining', 'quota_count', 'available', 'caps', 'members'],
        'members_relation',
      ])
      expect(view).toMatchObject({
        group_id: group.id,
        total: 50,
        used: 4,
        reserved: 0,
        remaining: 46,
        quota_count: 1,
        available: 26,
        members: 1,
        members_relation: 'exact',
      })
      expect(view.caps.map(({ id }: Body) => id)).toEqual([cap.id])
      // The most that an owner may have: 200 of its own, and a count of each of 200 quotas of three groups.
      const [route = ''] = api.summary('{accountID}').split('?')
      expect(unlikeAnswer(route, { ...(await summary(owner)), quota_count: 800 })).toBeUndefined()
      expect(refusal(await app().get(path(ABSENT, '/summary')))).toEqual([404, 'group_not_found'])
    })

    it('is the usage of all members by quota, and each operation once by owner', async () => {
      const group = await made()
      const [one, two] = [await member(group.id), await member(group.id)]
      const payer = await shared(group.id)
      const cap = await create$(rolling({ group_id: group.id, total: 60 }))
      const mine = await own(one, { total: 3 })
      const [a, b] = [await used(one, 5), await used(two, 7)]
      const h = await hold(two, 2)
      bodyOf(200, await settle(h.id, 'commit'))
      bodyOf(200, await settle(a.id, 'refund', { amount: 1 }))
      const ids = async (query: string): Promise<string[]> =>
        (await read(`${api.usage}?${query}`)).items.map(({ id }: Body) => id)
      for (const { id } of [payer, cap]) {
        expect(await ids(`quota_id=${id}`)).toEqual([h.id, b.id, a.id])
        expect(await ids(`quota_id=${id}&state=consumed`)).toEqual([b.id, a.id])
        expect(await ids(`quota_id=${id}&kind=reserve`)).toEqual([h.id])
        expect(await ids(`quota_id=${id}&before=${b.id}&kind=consume`)).toEqual([a.id])
      }
      expect(await ids(`${api.owner}=${one}`)).toEqual([a.id])
      expect(await ids(`${api.owner}=${two}`)).toEqual([h.id, b.id])
      const series = async (query: string): Promise<number[]> => {
        const { items } = await read(`${api.usage}/series?${query}&step=day`)
        const last = items.at(-1)
        return [last.charged, last.refunded]
      }
      expect(await series(`quota_id=${payer.id}`)).toEqual([11, 1])
      expect(await series(`quota_id=${cap.id}`)).toEqual([14, 1])
      expect(await series(`quota_id=${mine.id}`)).toEqual([3, 0])
      expect(await series(`${api.owner}=${one}`)).toEqual([5, 1])
      expect(await series(`${api.owner}=${two}`)).toEqual([9, 0])
      // Nobody has a count of it yet.
      expect(await series(`quota_id=${(await shared(group.id, { per: 'member' })).id}`)).toEqual([0, 0])
    })

    it('is who its members are, and who of them was refused', async () => {
      const top = await made()
      const group = await made({ parent_id: top.id })
      const [one, two] = [await member(group.id), await member(top.id)]
      await own(one, { total: 3 })
      expect(await read(`${api.quotas}/owners?group_id=${group.id}`)).toEqual({
        items: [expect.objectContaining({ [api.owner]: one, group_id: group.id, total: 3, available: 3 })],
        next_after: null,
      })
      expect((await read(`${api.quotas}/owners?group_id=${top.id}`)).items).toEqual([
        expect.objectContaining({ [api.owner]: two, group_id: top.id, quota_count: 0, available: 0 }),
      ])
      expect(refusal(await use(one, 4))).toEqual([409, 'quota_exceeded'])
      expect(refusal(await use(two, 1))).toEqual([409, 'no_active_quota'])
      await ledgerOf(app(), api).refusals.flush()
      const refused = async (id: number): Promise<Body[]> =>
        (await read(`${api.quotas}/refusals/top?group_id=${id}`)).items
      expect(await refused(group.id)).toEqual([expect.objectContaining({ [api.owner]: one, count: 1 })])
      expect((await refused(top.id)).map((item) => item[api.owner])).toEqual([one, two])
      bodyOf(204, await leave(group.id, one))
      expect(await refused(group.id)).toEqual([])
    })

    it('is exported and imported', async () => {
      const group = await made()
      const record = await shared(group.id, { label: 'a, b' })
      const csv = (await app().get(`${api.quotas}/export.csv?group_id=${group.id}`)).text
      const [header = '', line = ''] = csv.split('\r\n')
      expect(header).toContain('thresholds,group_id,per,follows,overrides,version')
      expect(line).toContain(`none,${group.id},group,,,1`)
      const settled = async (sent: object | string): Promise<Body> => {
        const answer =
          typeof sent === 'string'
            ? await app().send('post', `${api.quotas}/import`, { headers: { 'Content-Type': 'text/csv' }, body: sent })
            : await app().post(`${api.quotas}/change-sets`, sent)
        const { id } = bodyOf(202, answer)
        for (;;) {
          const set = await read(`${api.quotas}/change-sets/${id}`)
          if (!['preparing', 'applying'].includes(set.state)) return set
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
      }
      expect((await settled(csv)).counts).toMatchObject({ rows: 1, unchanged: 1 })
      const ownerless = `id,${api.owner},quota_type\n${record.id},null,1\n`
      expect((await settled(ownerless)).counts).toMatchObject({ rows: 1, unchanged: 1 })
      const created = await settled(`group_id,per,quota_type,total,expire_at\n${group.id},group,1,9,${END}\n`)
      expect(created.counts).toMatchObject({ rows: 1, planned: 1 })
      const planned = (await app().get(`${api.quotas}/change-sets/${created.id}/rows.csv`)).text
      const again = await settled(planned)
      expect(again.counts).toMatchObject({ rows: 1, planned: 1 })
      expect((await app().get(`${api.quotas}/change-sets/${again.id}/rows.csv`)).text).toBe(planned)
      // In either order, what a count follows becomes no setting of its own.
      const rule = await shared(group.id, { per: 'member', total: 20 })
      const one = await member(group.id)
      await used(one, 1)
      const [count] = (await read(`${api.list}?${api.owner}=${one}&follows=${rule.id}`)).items
      const lines = [`${rule.id},40\n`, `${count.id},20\n`]
      for (const edited of [lines, lines.toReversed()])
        expect((await settled(`id,total\n${edited.join('')}`)).counts).toMatchObject({ planned: 1, unchanged: 1 })
      const apply = async ({ id, version }: Body): Promise<void> => {
        bodyOf(202, await app().post(`${api.quotas}/change-sets/${id}/apply`, { version, rows: 1 }))
        while ((await read(`${api.quotas}/change-sets/${id}`)).state !== 'applied')
          await new Promise((resolve) => setTimeout(resolve, 10))
      }
      // Nor does what it followed at the preview, if that is edited before the set is applied.
      const labelled = await settled(`id,total,status,label\n${count.id},20,active,vip\n`)
      bodyOf(200, await app().put(`${api.quotas}/${rule.id}`, { total: 30, status: 'disabled' }))
      await apply(labelled)
      expect(await get(count.id)).toMatchObject({ total: 30, label: 'vip', status: 'disabled', overrides: ['label'] })
      bodyOf(204, await app().delete(`${api.quotas}/${rule.id}`))
      const set = await settled({ filter: { group_id: group.id }, change: { update: { total: { add: 5 } } } })
      expect(set.counts).toMatchObject({ rows: 1, planned: 1 })
      const rows = await read(`${api.quotas}/change-sets/${set.id}/rows`)
      expect(rows.items).toEqual([expect.objectContaining({ quota_id: record.id, [api.owner]: null })])
      await apply(set)
      expect(await get(record.id)).toMatchObject({ total: 105 })
    })
  })
}
