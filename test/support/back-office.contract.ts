import { beforeAll, describe, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { TransactionRunner } from '../../src/database/transaction-runner.js'
import type { Sent, TestApp } from './app.js'
import type { ChannelApi } from './channel-api.js'
import { type Body, bodyOf, brokenFields, fresh, ledgerOf, refusal, sweeperOf } from './quota-api.js'

const END = '2027-01-01T00:00:00.000Z'
const RESET = '2026-12-01T00:00:00.000Z'

/** The guarantees of the back office (contract, §8), for either channel. */
export function backOfficeContract(api: ChannelApi, app: () => TestApp): void {
  const path = (id: number, more = ''): string => `${api.quotas}/${id}${more}`
  const total = (owner: number, more: object = {}) => ({
    [api.owner]: owner,
    quota_type: 1,
    total: 100,
    expire_at: END,
    ...more,
  })
  const cycle = (owner: number, more: object = {}) => ({
    [api.owner]: owner,
    quota_type: 2,
    total: 100,
    cycle_unit: 'month',
    cycle_reset_at: RESET,
    ...more,
  })
  const create = (body: object, sent: Sent = {}) => app().post(api.quotas, body, sent)
  const made = async (body: object): Promise<Body> => bodyOf(201, await create(body))
  const update = (id: number, body: object) => app().put(path(id), body)
  const read = async (at: string, sent?: Sent): Promise<Body> => bodyOf(200, await app().get(at, sent))
  const query = (parameters: Record<string, string | number>): string =>
    `?${Object.entries(parameters)
      .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
      .join('&')}`
  const consumed = async (owner: number, amount: number): Promise<Body> =>
    bodyOf(200, await app().post(api.consume, { [api.owner]: owner, amount }, { key: `consume-${fresh()}` }))
  const idsOf = (page: Body): number[] => page.items.map(({ id }: Body) => id)

  describe('a list', () => {
    const ids = `${api.owner}=0 quota_id=0 quota_id=-1 quota_id=1.0`
    const sizes = 'page_size=0 page_size=101 page_size=x page=1'
    const times = 'from=yesterday from=2026-01-01 from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z'
    const hours = 'from=2020-01-01T00:00:00Z from=2026-11-20T00:00:00Z&to=2026-11-19T00:00:00Z'
    const mine = `${api.owner}=1`
    const act = '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d'
    /** The same queries, each with one more parameter. */
    const of = (queries: string, each: string) => queries.replaceAll(/^| /g, ` ${each}&`).trim()
    const refused: Record<string, string[]> = {
      [api.list]: ['deleted=false deleted=1 deleted= deleted=TRUE deleted=yes'],
      [`${api.quotas}/owners`]: ['after=0 after=-1 after=x after=01 after=1&after=2', sizes],
      [`${api.quotas}/changes`]: [
        ...[ids, sizes, times, 'before=0 before=x before_id=7 action=edit action= actor= actor=a&actor=b request_id='],
        api.name === 'mail' ? 'owner=7 user_id=7' : 'owner=7 account_id=7',
      ],
      [`${api.quotas}/expiring`]: [
        ...[sizes, 'days=0 days=91 days=1.5 days=07 cursor= cursor=x cursor=1 cursor=1. cursor=1.0 cursor=-1.5'],
        'cursor=1.5.5 cursor=999999999999999.1 cursor=1.9007199254740992',
      ],
      [`${api.quotas}/refusals`]: [
        `${api.owner}=0 hours=1`,
        of(`page_size=5 hours=5 all=true ${hours}`, mine),
        of(`amounts=true all=true ${hours}`, 'all=true'),
        'all=false',
      ],
      [`${api.quotas}/refusals/top`]: ['hours=0 hours=169 hours=x', sizes],
      [api.usage]: [
        ...[ids, `state=consumed caller=admin before=${act}`],
        of('quota_id=1 idempotency_key=a caller=admin state=open kind=refund made_by=false status=expired', mine),
        of(`before=5 before= before=${act.replace('-7', '-4')} ${mine} ${sizes} ${times}`, mine),
        'idempotency_key= idempotency_key=a%20 idempotency_key=%C3%A9 quota_id=1&idempotency_key=a',
        `idempotency_key=${'a'.repeat(256)}`,
        of(`caller= state=consumed kind=consume before=${act} ${times} idempotency_key=a`, 'idempotency_key=a'),
        of('from=2026-01-01T00:00:00Z to=2026-01-01T00:00:00Z', 'idempotency_key=a'),
        of('state=consumed kind=consume caller=admin quota_id=1 idempotency_key=a', 'all=true'),
        of(`from=2026-01-01T00:00:00Z to=2026-01-01T00:00:00Z ${mine}`, 'all=true'),
        'all=false all=',
      ],
      [`${api.usage}/check`]: [
        ...['amount=5', mine, of('amount=0 amount=1.5 amount=1&ttl_seconds=3 amount=1&amount=1', mine)],
        of(`${api.owner}=07 ${api.owner}=x`, 'amount=1'),
      ],
    }
    it.each(Object.entries(refused))('%s refuses queries that are not valid', async (path, queries) => {
      for (const one of queries.join(' ').split(' ')) {
        expect([one, ...refusal(await app().get(`${path}?${one}`))]).toEqual([one, 400, 'validation_failed'])
      }
    })

    it.each([`${api.quotas}/refusals`, api.usage, `${api.usage}/check`])('%s requires a parameter', async (path) => {
      expect(refusal(await app().get(path))).toEqual([400, 'validation_failed'])
    })
  })

  describe('a label', () => {
    it('is stored as sent, neither trimmed nor normalised; null if absent', async () => {
      for (const label of ['  Fru\u0308hjahr  ', '💣'.repeat(120), '%_\\\'"`', ' ', '\u{10ffff}', '\ufeff']) {
        const quota = await made(total(fresh(), { label }))
        expect(quota.label).toBe(label)
        expect((await read(path(quota.id))).label).toBe(label)
        expect((await read(path(quota.id, '/changes'))).items[0].after.label).toBe(label)
      }
      expect((await made(cycle(fresh(), { label: null }))).label).toBeNull()
      expect((await made(cycle(fresh()))).label).toBeNull()
    })

    it.each([
      ['empty', ''],
      ['of 121 code points', 'a'.repeat(121)],
      ['of 121 astral ones', '💣'.repeat(121)],
      ['with a line break', 'a\nb'],
      ['with DEL', 'a\u007f'],
      ['with a C1 control', 'a\u0085'],
      ['with a lone surrogate', 'a\ud800'],
      ['that is a number', 7],
      ['that is a list', ['a']],
    ])('%s is refused, at create and update', async (_what, label) => {
      expect(Object.keys(brokenFields(await create(total(fresh(), { label }))))).toEqual(['label'])
      const { id } = await made(cycle(fresh()))
      expect(Object.keys(brokenFields(await update(id, { label })))).toEqual(['label'])
    })

    it('is sufficient for an update, counts as an edit, and is removed by null', async () => {
      const { id } = await made(cycle(fresh(), { label: 'one' }))
      app().clock.pass(1)
      expect(bodyOf(200, await update(id, { label: 'two' }))).toMatchObject({
        label: 'two',
        version: 2,
        updated_at: '2026-11-21T12:00:01.000Z',
      })
      app().clock.pass(1)
      expect(bodyOf(200, await update(id, { label: 'two' }))).toMatchObject({
        version: 2,
        updated_at: '2026-11-21T12:00:01.000Z',
      })
      expect(bodyOf(200, await update(id, { label: null }))).toMatchObject({ label: null, version: 3 })
      expect(bodyOf(200, await update(id, { total: 5 }))).toMatchObject({ label: null, version: 4 })
      const { items } = await read(path(id, '/changes'))
      expect(items.map(({ before, after }: Body) => [before, after])).toEqual([
        [{ total: 100 }, { total: 5 }],
        [{ label: 'two' }, { label: null }],
        [{ label: 'one' }, { label: 'two' }],
        [{}, expect.objectContaining({ label: 'one' })],
      ])
    })

    it('differs if only its normal form differs', async () => {
      const { id } = await made(total(fresh(), { label: 'é' }))
      expect(bodyOf(200, await update(id, { label: 'e\u0301' }))).toMatchObject({ label: 'e\u0301', version: 2 })
    })

    it('is part of an idempotent create; absent means null', async () => {
      const owner = fresh()
      const key = `label-${owner}`
      const first = bodyOf(201, await create(total(owner, { label: 'a' }), { key }))
      expect(bodyOf(201, await create(total(owner, { label: 'a' }), { key })).id).toBe(first.id)
      expect(refusal(await create(total(owner, { label: 'b' }), { key }))).toEqual([422, 'idempotency_key_reused'])
      expect(refusal(await create(total(owner), { key }))).toEqual([422, 'idempotency_key_reused'])
      const bare = bodyOf(201, await create(total(owner), { key: `${key}-bare` }))
      expect(bodyOf(201, await create(total(owner, { label: null }), { key: `${key}-bare` })).id).toBe(bare.id)
    })

    it('is reported together with other mistakes', async () => {
      const { id } = await made(total(fresh()))
      expect(Object.keys(brokenFields(await update(id, { label: '', cycle_unit: 'moon' }))).sort()).toEqual([
        'cycle_unit',
        'label',
      ])
    })
  })

  describe('the list by label', () => {
    const byLabel = async (owner: number, label: string, more: Record<string, string> = {}): Promise<string[]> => {
      const page = await read(`${api.list}${query({ [api.owner]: owner, label, page_size: 100, ...more })}`)
      expect(page.total).toBe(page.items.length)
      return page.items.map((quota: Body) => quota.label)
    }

    const LABELS = [
      ...['Spring 2', 'spring', 'SPRINGTIME', 'A b', 'a  ', 'a', 'a%b', 'a_b', 'a\\b', "a'b", 'Éclair', 'Straße'],
      ...['e\u0301t\u00e9', 'STRASSE', 'ΣΑΣ', 'σας', 'İstanbul', 'ıslak', '💣💣', '\u{10ffff}x', '\u{10fffe}y', 'ﬁn'],
    ]
    let labelled = 0
    beforeAll(async () => {
      labelled = fresh()
      for (const label of [...LABELS, null]) await made(total(labelled, { label }))
    })

    it.each([
      ['spring', ['Spring 2', 'spring', 'SPRINGTIME']],
      ['SPRING', ['Spring 2', 'spring', 'SPRINGTIME']],
      ['spring ', ['Spring 2']],
      ['springs', []],
      ['a', ['A b', 'a  ', 'a', 'a%b', 'a_b', 'a\\b', "a'b"]],
      ['a ', ['A b', 'a  ']],
      ['a  ', ['a  ']],
      ['a%', ['a%b']],
      ['a_', ['a_b']],
      ['a\\', ['a\\b']],
      ["a'", ["a'b"]],
      ['é', ['Éclair', 'e\u0301t\u00e9']],
      ['e\u0301', ['Éclair', 'e\u0301t\u00e9']],
      ['e', []],
      ['straß', ['Straße']],
      ['stras', ['STRASSE']],
      ['σας', ['σας']],
      ['ΣΑΣ', ['ΣΑΣ']],
      ['σασ', ['ΣΑΣ']],
      ['i', ['İstanbul']],
      ['i\u0307s', ['İstanbul']],
      ['İ', ['İstanbul']],
      ['ı', ['ıslak']],
      ['💣', ['💣💣']],
      ['\u{10ffff}', ['\u{10ffff}x']],
      ['ﬁ', ['ﬁn']],
      ['fi', []],
    ])('finds by %j what begins so', async (prefix, expected) => {
      expect((await byLabel(labelled, prefix)).sort()).toEqual([...expected].sort())
    })

    it('of all owners is newest first, in pages, with its total, and skips others', async () => {
      const mark = `all-${fresh()}`
      const ids = []
      for (const n of [1, 2, 3, 4, 5]) ids.unshift((await made(total(fresh(), { label: `${mark} ${n % 2}` }))).id)
      await made(total(fresh(), { label: `no ${mark}` }))
      const page = async (more: Record<string, string | number>) =>
        read(`${api.list}${query({ label: mark.toUpperCase(), page_size: 2, ...more })}`)
      expect(await page({})).toMatchObject({ page: 1, page_size: 2, total: 5, total_relation: 'exact' })
      expect(idsOf(await page({}))).toEqual(ids.slice(0, 2))
      expect(idsOf(await page({ page: 3 }))).toEqual(ids.slice(4))
      expect(idsOf(await page({ before_id: ids[1]! }))).toEqual(ids.slice(2, 4))
      expect(idsOf(await read(`${api.list}${query({ label: `${mark} 1` })}`))).toEqual([ids[0], ids[2], ids[4]])
    })

    it('can be combined with status and deleted', async () => {
      const mark = `both-${fresh()}`
      const [off, gone, on, over] = [
        await made(total(fresh(), { label: mark })),
        await made(total(fresh(), { label: mark })),
        await made(total(fresh(), { label: mark })),
        await made(total(fresh(), { label: mark, expire_at: '2026-11-21T12:00:05Z' })),
      ]
      await update(off.id, { status: 'disabled' })
      bodyOf(204, await app().delete(path(gone.id)))
      app().clock.pass(5)
      const found = async (more: object) => idsOf(await read(`${api.list}${query({ label: mark, ...more })}`))
      expect(await found({})).toEqual([over.id, on.id, off.id])
      expect(await found({ status: 'active' })).toEqual([on.id])
      expect(await found({ status: 'expired' })).toEqual([over.id])
      expect(await found({ status: 'disabled' })).toEqual([off.id])
      expect(await found({ deleted: 'true' })).toEqual([gone.id])
      expect(await found({ deleted: 'true', status: 'disabled' })).toEqual([])
    })

    it.each([
      ['empty', 'label='],
      ['of 121 code points', `label=${'a'.repeat(121)}`],
      ['of 121 astral ones', `label=${encodeURIComponent('💣').repeat(121)}`],
      ['with a control character', 'label=a%00'],
      ['with DEL', 'label=%7F'],
      ['with half a surrogate pair', 'label=%ED%A0%80'],
      ['that is no UTF-8', 'label=%FF'],
      ['twice', 'label=a&label=a'],
    ])('is refused with a label %s', async (_what, parameter) => {
      expect(Object.keys(brokenFields(await app().get(`${api.list}?${parameter}`)))).toEqual(['label'])
    })

    it('accepts a label of 120 code points, and the replacement character as such', async () => {
      expect((await read(`${api.list}?label=${encodeURIComponent('🧨').repeat(120)}`)).items).toEqual([])
      const label = `\ufffd${fresh()}`
      const { id } = await made(total(fresh(), { label }))
      expect(idsOf(await read(`${api.list}${query({ label })}`))).toEqual([id])
    })
  })

  describe('the list of deleted quotas', () => {
    it('contains only deleted quotas, each with deleted_at, newest first, with the other filters', async () => {
      const owner = fresh()
      const ids = []
      for (const n of [0, 1, 2, 3]) ids.push((await made(total(owner, { total: n }))).id)
      const kept = await made(cycle(owner))
      await update(ids[1], { status: 'disabled' })
      // Not in the order of their creation.
      for (const n of [2, 0, 3, 1]) {
        app().clock.pass(1)
        bodyOf(204, await app().delete(path(ids[n])))
      }
      const deleted = async (more: Record<string, string | number> = {}) =>
        read(`${api.list}${query({ deleted: 'true', [api.owner]: owner, ...more })}`)
      const page = await deleted()
      expect(idsOf(page)).toEqual([...ids].reverse())
      expect(page.total).toBe(4)
      expect(page.items[0]).toEqual({
        ...(await made(total(owner))),
        id: ids[3],
        total: 3,
        remaining: 3,
        version: 2,
        created_at: '2026-11-21T12:00:00.000Z',
        updated_at: '2026-11-21T12:00:03.000Z',
        deleted_at: '2026-11-21T12:00:03.000Z',
      })
      expect(idsOf(await deleted({ status: 'disabled' }))).toEqual([ids[1]])
      expect(idsOf(await deleted({ status: 'active' }))).toEqual([ids[3], ids[2], ids[0]])
      expect(idsOf(await deleted({ page: 2, page_size: 3 }))).toEqual([ids[0]])
      expect(idsOf(await deleted({ before_id: ids[2]! }))).toEqual([ids[1], ids[0]])
      app().clock.set(END)
      expect(idsOf(await deleted({ status: 'expired' }))).toEqual([ids[3], ids[2], ids[0]])
      expect(idsOf(await deleted({ status: 'active' }))).toEqual([])
      const live = await read(`${api.list}${query({ [api.owner]: owner })}`)
      expect(idsOf(live)).toContain(kept.id)
      expect(live.items.every((quota: Body) => !('deleted_at' in quota))).toBe(true)
    })

    it('contains those of all owners without a filter, and no restored ones', async () => {
      const [one, two] = [await made(total(fresh())), await made(total(fresh()))]
      for (const { id } of [one, two]) bodyOf(204, await app().delete(path(id)))
      expect(idsOf(await read(`${api.list}?deleted=true&page_size=2`))).toEqual([two.id, one.id])
      const [record] = (await read(`${api.list}?deleted=true&page_size=1`)).items
      bodyOf(200, await app().post(path(two.id, '/restore')))
      expect(idsOf(await read(`${api.list}?deleted=true&page_size=1`))).toEqual([one.id])
      // The record as listed may be sent back.
      expect(bodyOf(200, await update(two.id, { ...record, version: undefined, total: 7 }))).toMatchObject({ total: 7 })
    })
  })

  describe('the owners', () => {
    const owners = async (parameters: Record<string, string | number> = {}) =>
      read(`${api.quotas}/owners${query(parameters)}`)

    it('are all that ever had a quota, ids ascending, each with its summary', async () => {
      const [rich, poor, none, last] = [fresh(), fresh(), fresh(), fresh()]
      for (const owner of [last, rich, rich, poor]) await made(total(owner))
      await consumed(rich, 7)
      bodyOf(204, await app().delete(path((await made(cycle(none))).id)))
      const page = await owners({ after: rich - 1, page_size: 4 })
      expect(page.items).toHaveLength(4)
      expect(page.items[0]).toEqual({
        [api.owner]: rich,
        group_id: null,
        total: 200,
        used: 7,
        reserved: 0,
        remaining: 193,
        quota_count: 2,
        available: 193,
      })
      for (const item of page.items) expect({ ...item, caps: [] }).toEqual(await read(api.summary(item[api.owner])))
      expect(page.items.map((item: Body) => item[api.owner])).toEqual([rich, poor, none, last])
      expect(page.next_after).toBeNull()
    })

    it('are paged by next_after, which is null on the last page, full or not', async () => {
      const first = fresh()
      for (const owner of [first, fresh(), fresh(), fresh()]) await made(total(owner))
      const one = await owners({ after: first - 1, page_size: 2 })
      expect([one.items.length, one.next_after]).toEqual([2, first + 1])
      const two = await owners({ after: one.next_after, page_size: 2 })
      expect([two.items.length, two.next_after]).toEqual([2, null])
      expect(await owners({ after: first + 3 })).toEqual({ items: [], next_after: null })
      expect(await owners({ after: Number.MAX_SAFE_INTEGER })).toEqual({ items: [], next_after: null })
    })

    it('exclude owners whose first quota was refused', async () => {
      const [never, really] = [fresh(), fresh()]
      expect(refusal(await create(total(never, { expire_at: '2020-01-01T00:00:00Z' })))[0]).toBe(400)
      await made(total(really))
      expect((await owners({ after: never - 1 })).items.map((item: Body) => item[api.owner])).toEqual([really])
    })
  })

  describe('the changes of all quotas', () => {
    const changes = async (parameters: Record<string, string | number> = {}) =>
      read(`${api.quotas}/changes${query(parameters)}`)
    const by = (requestId: string): Sent => ({ headers: { 'X-Request-Id': requestId } })

    it('name their owner, also in the list of a quota, including deleted ones, newest first', async () => {
      const owner = fresh()
      const { id } = bodyOf(201, await create(total(owner, api.named), by(`make-${owner}`)))
      app().clock.pass(1)
      bodyOf(204, await app().delete(path(id), by(`drop-${owner}`)))
      const page = await changes({ [api.owner]: owner })
      expect(page).toEqual({
        items: [
          {
            id: expect.any(Number),
            quota_id: id,
            [api.owner]: owner,
            group_id: null,
            action: 'delete',
            actor: 'admin',
            request_id: `drop-${owner}`,
            at: '2026-11-21T12:00:01.000Z',
            before: { deleted_at: null },
            after: { deleted_at: '2026-11-21T12:00:01.000Z' },
          },
          {
            id: expect.any(Number),
            quota_id: id,
            [api.owner]: owner,
            group_id: null,
            action: 'create',
            actor: 'admin',
            request_id: `make-${owner}`,
            at: '2026-11-21T12:00:00.000Z',
            before: {},
            after: {
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
            },
          },
        ],
        next_before: null,
      })
      expect((await read(path(id, '/changes'))).items).toEqual(page.items)
    })

    it('are found by each condition, and by all of them together', async () => {
      const [owner, other] = [fresh(), fresh()]
      const a = bodyOf(201, await create(total(owner), { ...by(`a-${owner}`), as: 'admin' }))
      const b = bodyOf(201, await create(total(owner), by(`b-${owner}`)))
      const c = bodyOf(201, await create(total(other), by(`c-${owner}`)))
      app().clock.pass(10)
      bodyOf(200, await app().put(path(a.id), { total: 1 }, by(`d-${owner}`)))
      bodyOf(200, await app().put(path(c.id), { total: 1 }, by(`e-${owner}`)))
      const found = async (parameters: Record<string, string | number>) =>
        (await changes(parameters)).items.map((change: Body) => [change.quota_id, change.action])
      const ofOwner = [
        [a.id, 'update'],
        [b.id, 'create'],
        [a.id, 'create'],
      ]
      expect(await found({ [api.owner]: owner })).toEqual(ofOwner)
      expect(await found({ quota_id: a.id })).toEqual([ofOwner[0], ofOwner[2]])
      expect(await found({ request_id: `b-${owner}` })).toEqual([ofOwner[1]])
      expect(await found({ request_id: `B-${owner}` })).toEqual([])
      expect(await found({ request_id: `b-${owner} ` })).toEqual([])
      expect(await found({ [api.owner]: owner, action: 'create' })).toEqual(ofOwner.slice(1))
      expect(await found({ [api.owner]: owner, actor: 'admin' })).toEqual(ofOwner)
      expect(await found({ [api.owner]: owner, actor: 'Admin' })).toEqual([])
      expect(await found({ [api.owner]: owner, actor: 'admin ' })).toEqual([])
      expect(await found({ [api.owner]: owner, actor: 'ädmin' })).toEqual([])
      const edge = '2026-11-21T12:00:10Z'
      expect(await found({ [api.owner]: owner, from: edge })).toEqual([ofOwner[0]])
      expect(await found({ [api.owner]: owner, to: edge })).toEqual(ofOwner.slice(1))
      expect(await found({ [api.owner]: owner, from: edge, to: edge })).toEqual([])
      expect(await found({ [api.owner]: owner, from: edge, action: 'create' })).toEqual([])
      expect(await found({ quota_id: a.id, [api.owner]: other })).toEqual([])
      const all = { quota_id: c.id, [api.owner]: other, actor: 'admin', action: 'update', request_id: `e-${owner}` }
      expect(await found({ ...all, from: edge, to: END })).toEqual([[c.id, 'update']])
      expect(await found({ from: '2030-01-01T00:00:00Z' })).toEqual([])
      expect(await found({ actor: 'nobody' })).toEqual([])
      expect(await found({ actor: 'x'.repeat(300) })).toEqual([])
    })

    it('are found by their time, even if ids and times are in different orders', async () => {
      const owner = fresh()
      const ids: number[] = []
      for (const second of [3, 1, 2, 0]) {
        app().clock.set(`2025-01-01T00:00:0${second}Z`)
        ids.push((await made(total(owner))).id)
      }
      const found = async (from: number, to: number) =>
        (
          await changes({ from: `2025-01-01T00:00:0${from}Z`, to: `2025-01-01T00:00:0${to}Z`, [api.owner]: owner })
        ).items.map((change: Body) => change.quota_id)
      expect(await found(0, 4)).toEqual([...ids].reverse())
      expect(await found(1, 3)).toEqual([ids[2], ids[1]])
    })

    it('are paged by next_before', async () => {
      const owner = fresh()
      for (const label of ['a', 'b', 'c', 'd']) await made(total(owner, { label }))
      const labels = (page: Body) => page.items.map(({ after }: Body) => after.label)
      const one = await changes({ [api.owner]: owner, page_size: 2 })
      expect([labels(one), one.next_before]).toEqual([['d', 'c'], one.items[1].id])
      const two = await changes({ [api.owner]: owner, page_size: 2, before: one.next_before })
      expect([labels(two), two.next_before]).toEqual([['b', 'a'], null])
      const timed = await changes({ [api.owner]: owner, to: END, before: one.next_before, page_size: 1 })
      expect([labels(timed), timed.next_before]).toEqual([['b'], two.items[0].id])
      expect(labels(await changes({ page_size: 4 }))).toEqual(['d', 'c', 'b', 'a'])
    })
  })

  describe('the quotas that expire soon', () => {
    const expiring = async (parameters: Record<string, string | number> = {}) =>
      read(`${api.quotas}/expiring${query(parameters)}`)
    // Each test uses its own period, so that it sees only its own quotas.
    const at = (year: number) => app().clock.set(`${year}-03-01T00:00:00Z`)

    it('are the active ones of both types, soonest first, then by id', async () => {
      at(2031)
      const end = (time: string) => ({ expire_at: `2031-03-${time}Z` })
      const owner = fresh()
      const late = await made(total(owner, end('08T00:00:00')))
      const tooLate = await made(total(owner, end('08T00:00:00.001')))
      const soon = await made(cycle(owner, { ...end('02T00:00:00'), cycle_reset_at: '2031-04-01T00:00:00Z' }))
      const twin = await made(total(fresh(), end('02T00:00:00')))
      const off = await made(total(owner, end('03T00:00:00')))
      const gone = await made(total(owner, end('04T00:00:00')))
      await made(cycle(owner, { cycle_reset_at: '2031-03-02T00:00:00Z' }))
      await update(off.id, { status: 'disabled' })
      bodyOf(204, await app().delete(path(gone.id)))
      await consumed(owner, 5)
      expect(idsOf(await expiring())).toEqual([soon.id, twin.id, late.id])
      expect((await expiring()).items[0]).toEqual(await read(path(soon.id)))
      expect((await expiring()).items[0].used).toBe(5)
      expect(idsOf(await expiring({ days: 8 }))).toEqual([soon.id, twin.id, late.id, tooLate.id])
      expect(idsOf(await expiring({ days: 1 }))).toEqual([soon.id, twin.id])
      app().clock.set('2031-03-02T00:00:00Z')
      // At its end a quota is expired, and no longer about to expire.
      expect(idsOf(await expiring())).toEqual([late.id, tooLate.id])
    })

    it('are paged by next_cursor, from the time of each page', async () => {
      at(2032)
      const ids = []
      for (const day of [2, 2, 3, 4])
        ids.push((await made(total(fresh(), { expire_at: `2032-03-0${day}T00:00:00Z` }))).id)
      const one = await expiring({ page_size: 1 })
      expect(idsOf(one)).toEqual(ids.slice(0, 1))
      expect(one.next_cursor).toMatch(/^[A-Za-z0-9._~-]+$/)
      const two = await read(`${api.quotas}/expiring?page_size=1&cursor=${one.next_cursor}`)
      expect(idsOf(two)).toEqual(ids.slice(1, 2))
      const rest = await expiring({ page_size: 2, cursor: two.next_cursor })
      expect([idsOf(rest), rest.next_cursor]).toEqual([ids.slice(2), null])
      expect(idsOf(await expiring({ days: 2, cursor: two.next_cursor }))).toEqual([ids[2]])
      app().clock.set('2032-03-03T00:00:00Z')
      expect(idsOf(await expiring({ cursor: one.next_cursor }))).toEqual(ids.slice(3))
    })

    it('exclude the units of due holds', async () => {
      at(2033)
      const owner = fresh()
      const { id } = await made(total(owner, { expire_at: '2033-03-02T00:00:00Z' }))
      bodyOf(
        201,
        await app().post(api.reserve, { [api.owner]: owner, amount: 9, ttl_seconds: 5 }, { key: `h${owner}` }),
      )
      expect((await expiring()).items).toMatchObject([{ id, reserved: 9, remaining: 91 }])
      app().clock.pass(5)
      expect((await expiring()).items).toMatchObject([{ id, reserved: 0, remaining: 100 }])
    })

    it('accept 1 and 90 days, and the latest time', async () => {
      await expiring({ days: 1 })
      await expiring({ days: 90 })
      app().clock.set('9999-12-31T00:00:00Z')
      await expiring({ days: 90 })
    })
  })

  describe('a reset', () => {
    const reset = (id: number, body?: unknown, sent: Sent = {}) => app().post(path(id, '/reset'), body, sent)
    const reserve = async (owner: number, amount: number, more: object = {}): Promise<Body> =>
      bodyOf(201, await app().post(api.reserve, { [api.owner]: owner, amount, ...more }, { key: `hold-${fresh()}` }))
    const usage = (id: string, more = '') => `${api.usage}/${id}${more}`
    const actions = async (id: number) =>
      (await read(path(id, '/changes'))).items.map(({ action, before, after }: Body) => [action, before, after])

    it.each([
      ['type 1', total],
      ['type 2', cycle],
    ])('of %s begins a new count, moves updated_at and leaves all else', async (_type, body) => {
      const owner = fresh()
      const made1 = await made(body(owner, { label: 'x' }))
      await consumed(owner, 30)
      await reserve(owner, 20)
      app().clock.pass(1)
      const answer = await reset(made1.id, undefined, { headers: { 'X-Request-Id': `reset-${owner}` } })
      const now = { ...made1, used: 0, reserved: 0, remaining: 100, updated_at: '2026-11-21T12:00:01.000Z' }
      expect(bodyOf(200, answer)).toEqual(now)
      expect(answer.headers['content-type']).toMatch(/^application\/json\b/)
      expect(await read(path(made1.id))).toEqual(now)
      expect((await read(path(made1.id, '/changes'))).items[0]).toEqual({
        id: expect.any(Number),
        quota_id: made1.id,
        [api.owner]: owner,
        group_id: null,
        action: 'reset',
        actor: 'admin',
        request_id: `reset-${owner}`,
        at: '2026-11-21T12:00:01.000Z',
        before: { used: 30, reserved: 20 },
        after: { used: 0, reserved: 0 },
      })
      const found = await read(`${api.quotas}/changes${query({ action: 'reset', [api.owner]: owner })}`)
      expect(found.items).toHaveLength(1)
      expect(await consumed(owner, 100)).toMatchObject({ owner_remaining: 0 })
    })

    it('attributes earlier payments and holds to the old count', async () => {
      for (const body of [total, cycle]) {
        const owner = fresh()
        const { id } = await made(body(owner))
        const spent = await consumed(owner, 10)
        const [commits, releases, expires] = [
          await reserve(owner, 11),
          await reserve(owner, 12),
          await reserve(owner, 13, { ttl_seconds: 5 }),
        ]
        bodyOf(200, await reset(id))
        expect((await read(usage(commits.id))).state).toBe('reserved')
        await consumed(owner, 1)
        const held = await reserve(owner, 2)
        const refunded = await app().post(usage(spent.id, '/refund'), { amount: 4 }, { key: `refund-${fresh()}` })
        expect(bodyOf(200, refunded)).toMatchObject({ charged: 10, refunded: 4, owner_remaining: 97 })
        expect(bodyOf(200, await app().post(usage(commits.id, '/commit'), { amount: 5 }))).toMatchObject({
          state: 'committed',
          charged: 5,
          owner_remaining: 97,
        })
        expect(bodyOf(200, await app().post(usage(releases.id, '/release')))).toMatchObject({ state: 'released' })
        app().clock.pass(5)
        expect((await read(usage(expires.id))).state).toBe('expired')
        await sweeperOf(app(), api).sweep()
        expect(await read(path(id))).toMatchObject({ used: 1, reserved: 2, remaining: 97, version: 1 })
        expect(bodyOf(200, await app().post(usage(held.id, '/commit'), {}))).toMatchObject({ owner_remaining: 97 })
        expect(await read(path(id))).toMatchObject({ used: 3, reserved: 0 })
        app().clock.set('2026-11-21T12:00:00.000Z')
      }
    })

    it('does not change the next reset, at which another count begins', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner))
      await consumed(owner, 40)
      bodyOf(200, await reset(id))
      await consumed(owner, 50)
      expect(await read(path(id))).toMatchObject({ used: 50, cycle_reset_at: RESET, cycle_anchor_at: RESET })
      app().clock.set(RESET)
      expect(await read(path(id))).toMatchObject({ used: 0, cycle_reset_at: '2027-01-01T00:00:00.000Z' })
    })

    it('changes nothing at 0 and 0: no record, the same updated_at', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner))
      app().clock.pass(1)
      expect(bodyOf(200, await reset(id))).toMatchObject({ updated_at: '2026-11-21T12:00:00.000Z', version: 1 })
      await reserve(owner, 5, { ttl_seconds: 1 })
      await consumed(owner, 5)
      // A hold that is due, and a cycle that is over, do not count any more.
      app().clock.set(RESET)
      expect(bodyOf(200, await reset(id))).toMatchObject({ updated_at: '2026-11-21T12:00:00.000Z' })
      expect((await actions(id)).map(([action]: Body) => action)).toEqual(['create'])
    })

    it('subtracts the units of due holds first', async () => {
      const owner = fresh()
      const { id } = await made(total(owner))
      await reserve(owner, 5, { ttl_seconds: 1 })
      await reserve(owner, 6, { ttl_seconds: 100 })
      app().clock.pass(1)
      bodyOf(200, await reset(id))
      expect((await actions(id))[0]).toEqual(['reset', { used: 0, reserved: 6 }, { used: 0, reserved: 0 }])
    })

    it('applies to active, disabled and expired quotas, and not to deleted ones', async () => {
      const owner = fresh()
      const [off, over, gone] = [
        await made(total(owner, { total: 10 })),
        await made(cycle(owner, { total: 10, expire_at: '2026-11-21T12:00:05Z' })),
        await made(total(owner, { total: 10 })),
      ]
      await consumed(owner, 30)
      await update(off.id, { status: 'disabled' })
      bodyOf(204, await app().delete(path(gone.id)))
      app().clock.pass(5)
      expect(bodyOf(200, await reset(off.id))).toMatchObject({ status: 'disabled', used: 0, version: 2 })
      expect(bodyOf(200, await reset(over.id))).toMatchObject({ status: 'expired', used: 0, version: 1 })
      expect(bodyOf(200, await update(over.id, { expire_at: END }))).toMatchObject({ status: 'active', used: 0 })
      expect(refusal(await reset(gone.id))).toEqual([404, 'quota_not_found'])
      expect(refusal(await reset(Number.MAX_SAFE_INTEGER))).toEqual([404, 'quota_not_found'])
      bodyOf(200, await app().post(path(gone.id, '/restore')))
      expect(await read(path(gone.id))).toMatchObject({ used: 10 })
    })

    it('checks the version, if it is sent', async () => {
      const owner = fresh()
      const { id } = await made(total(owner))
      await consumed(owner, 3)
      await update(id, { total: 50 })
      const stale = await reset(id, { version: 1 })
      expect(refusal(stale)).toEqual([409, 'version_mismatch'])
      expect(stale.body.version).toBe(2)
      expect(await read(path(id))).toMatchObject({ used: 3 })
      expect(bodyOf(200, await reset(id, { version: 2 }))).toMatchObject({ used: 0, version: 2 })
      expect(refusal(await reset(id, { version: 1 }))).toEqual([409, 'version_mismatch'])
    })

    it.each([
      ['version 0', { version: 0 }],
      ['a null version', { version: null }],
      ['a textual version', { version: '1' }],
      ['another field', { used: 0 }],
      ['a list', []],
      ['text', '"x"'],
    ])('is refused with %s', async (_what, body) => {
      const { id } = await made(total(fresh()))
      const headers = { 'Content-Type': 'application/json' }
      expect(refusal(await reset(id, body, { headers }))).toEqual([400, 'validation_failed'])
    })

    it('with a key takes effect once, and is replayed byte for byte, whatever happened in between', async () => {
      const owner = fresh()
      const { id } = await made(total(owner))
      const key = `reset-${owner}`
      await consumed(owner, 30)
      const first = await reset(id, {}, { key })
      await consumed(owner, 5)
      const again = await reset(id, undefined, { key })
      expect([again.status, again.headers['idempotency-replayed'], again.text]).toEqual([200, 'true', first.text])
      expect(first.headers['idempotency-replayed']).toBeUndefined()
      expect(await read(path(id))).toMatchObject({ used: 5 })
      expect(refusal(await reset(id, { version: 1 }, { key }))).toEqual([422, 'idempotency_key_reused'])
      const other = await made(total(owner))
      expect(refusal(await reset(other.id, {}, { key }))).toEqual([422, 'idempotency_key_reused'])
      expect(refusal(await reset(Number.MAX_SAFE_INTEGER, {}, { key }))).toEqual([422, 'idempotency_key_reused'])
      expect(refusal(await app().post(api.consume, { [api.owner]: owner, amount: 1 }, { key }))[0]).toBe(422)
      expect(bodyOf(200, await reset(id, {}, { key, as: api.name === 'mail' ? 'other' : 'admin' })).id).toBe(id)
      bodyOf(204, await app().delete(path(id)))
      expect((await reset(id, {}, { key })).text).toBe(first.text)
    })

    it('remembers its key also if nothing changed, and no refusal', async () => {
      const owner = fresh()
      const { id } = await made(total(owner))
      const key = `nothing-${owner}`
      expect(refusal(await reset(id, { version: 2 }, { key }))).toEqual([409, 'version_mismatch'])
      const first = await reset(id, {}, { key })
      await consumed(owner, 5)
      const again = await reset(id, {}, { key })
      expect([again.status, again.headers['idempotency-replayed'], again.text]).toEqual([200, 'true', first.text])
      expect(await read(path(id))).toMatchObject({ used: 5 })
    })

    it('needs no key, but a valid one if it is sent', async () => {
      const { id } = await made(total(fresh()))
      expect(refusal(await reset(id, {}, { headers: { 'Idempotency-Key': '' } }))).toEqual([
        400,
        'idempotency_key_invalid',
      ])
    })
  })

  describe('the ledger', () => {
    const { usage } = api
    const spend = async (kind: 'consume' | 'reserve', owner: number, key: string, more: object = {}): Promise<Body> =>
      bodyOf(
        kind === 'consume' ? 200 : 201,
        await app().post(`${usage}/${kind}`, { [api.owner]: owner, amount: 5, ...more }, { key }),
      )
    const ledger = async (parameters: Record<string, string | number>, sent?: Sent) =>
      read(`${usage}${query(parameters)}`, sent)

    it('finds the one operation that a key created or refunded, and none for any other', async () => {
      const owner = fresh()
      const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => `${name} ${owner}`) as [string, string, string, string]
      const { id } = bodyOf(201, await create(total(owner), { key: c }))
      const spent = await spend('consume', owner, a)
      bodyOf(200, await app().post(`${usage}/${spent.id}/refund`, { amount: 2 }, { key: b }))
      bodyOf(200, await app().post(path(id, '/reset'), {}, { key: d }))
      const now = { ...spent, refunded: 2, owner_remaining: 97 }
      const found = { items: [now], next_before: null }
      expect(await ledger({ idempotency_key: a })).toEqual(found)
      expect(await ledger({ idempotency_key: b })).toEqual(found)
      expect(await ledger({ idempotency_key: a, page_size: 1 })).toEqual(found)
      const none = { items: [], next_before: null }
      for (const key of [c, d, a.toUpperCase(), 'nothing']) expect(await ledger({ idempotency_key: key })).toEqual(none)
      // A key belongs to its caller.
      expect(await ledger({ idempotency_key: a }, { as: 'other' })).toEqual(none)
      expect(await ledger({ idempotency_key: a, caller: 'other' })).toEqual(none)
      expect(await ledger({ idempotency_key: a, caller: 'nobody' })).toEqual(none)
      expect(await ledger({ idempotency_key: a, caller: 'admin' })).toEqual(found)
    })

    it('shows operations of another caller to those who may see the quotas', async () => {
      const owner = fresh()
      const key = `others ${owner}`
      await made(total(owner))
      const spent = bodyOf(200, await app().post(api.consume, { [api.owner]: owner, amount: 5 }, { key, as: 'usage' }))
      const asked = async (as: Sent['as'], parameters: Record<string, string>) => {
        const answer = await app().get(`${usage}${query({ idempotency_key: key, ...parameters })}`, { as })
        return answer.status === 200 ? idsOf(answer.body) : refusal(answer)
      }
      expect(await asked('usage', {})).toEqual([spent.id])
      expect(await asked('usage', { caller: 'usage' })).toEqual([spent.id])
      expect(await asked('usage', { caller: 'admin' })).toEqual([403, 'forbidden'])
      expect(await asked('usage', { caller: 'Usage' })).toEqual([403, 'forbidden'])
      expect(await asked('admin', { caller: 'usage' })).toEqual([spent.id])
      expect(await asked('admin', {})).toEqual([])
      const service = await asked('service', { caller: 'usage' })
      expect(service).toEqual(api.name === 'mail' ? [spent.id] : [403, 'forbidden'])
      expect(await asked('service', { caller: 'service' })).toEqual([])
    })

    it('searches a key under every recent caller', async () => {
      const owner = fresh()
      const key = `everybody's ${owner}`
      await made(total(owner))
      const spent: string[] = []
      for (const as of ['usage', 'admin', 'other'] as const) {
        app().clock.pass(0.001)
        const answer = await app().post(api.consume, { [api.owner]: owner, amount: 5 }, { key, as })
        spent.unshift(bodyOf(200, answer).id)
      }
      const refund = `refund ${owner}`
      bodyOf(200, await app().post(`${usage}/${spent[2]}/refund`, { amount: 1 }, { key: refund, as: 'usage' }))
      const asked = async (as: Sent['as'], name: string) => {
        const answer = await app().get(`${usage}${query({ idempotency_key: name, caller: '*' })}`, { as })
        return answer.status === 200 ? [idsOf(answer.body), answer.body.next_before] : refusal(answer)
      }
      expect(await asked('admin', key)).toEqual([spent, null])
      expect(await asked('admin', refund)).toEqual([spent.slice(2), null])
      expect(await asked('admin', `nobody's ${owner}`)).toEqual([[], null])
      expect(await asked('service', key)).toEqual(api.name === 'mail' ? [spent, null] : [403, 'forbidden'])
      expect(await asked('usage', key)).toEqual([403, 'forbidden'])
      // They are forgotten by now, until they spend again.
      app().clock.pass(33 * 86_400)
      expect(await asked('admin', key)).toEqual([[], null])
      await app().post(api.consume, { [api.owner]: owner, amount: 5 }, { key, as: 'usage' })
      expect(await asked('admin', key)).toEqual([spent.slice(2), null])
    })

    it('shows the maker and the key of each operation on request', async () => {
      const owner = fresh()
      await made(total(owner))
      const key = `made ${owner}`
      const spent = await spend('consume', owner, key)
      const held = await spend('reserve', owner, `held ${owner}`)
      bodyOf(200, await app().post(`${usage}/${held.id}/commit`, { amount: 2 }))
      const now = await ledger({ [api.owner]: owner })
      expect(now.items.every((item: Body) => !('made_by' in item))).toBe(true)
      const withMakers = await ledger({ [api.owner]: owner, made_by: 'true' })
      expect(withMakers).toEqual({
        ...now,
        items: now.items.map((item: Body) => ({
          ...item,
          made_by: { actor: 'admin', idempotency_key: item.id === spent.id ? key : `held ${owner}` },
        })),
      })
      expect((await ledger({ idempotency_key: key, made_by: 'true' })).items).toMatchObject([
        { id: spent.id, made_by: { actor: 'admin', idempotency_key: key } },
      ])
    })

    it.each([
      'caller=*',
      'caller=admin',
      'caller=admin&nonsense=1',
      `caller=admin&${api.owner}=0`,
      'caller=usage&caller=admin',
      'idempotency_key=&caller=admin',
    ])('tells a usage token that it may not, before anything else: %s', async (parameters) => {
      expect(refusal(await app().get(`${usage}?${parameters}`, { as: 'usage' }))).toEqual([403, 'forbidden'])
    })

    it.each([
      ['another media type', 'text/plain', 'x'],
      ['no JSON', 'application/json', '{'],
      ['a field', 'application/json', '{"a":1}'],
      ['more than a body may have', 'application/json', ' '.repeat(200_000)],
    ])('tells a usage token that it may not, before it looks at a body: %s', async (_what, type, body) => {
      const headers = { 'Content-Type': type }
      const asked = app().send('get', `${usage}?idempotency_key=x&caller=admin`, { as: 'usage', headers })
      expect(refusal(await asked.serialize(String).send(body))).toEqual([403, 'forbidden'])
    })

    it('is filtered by state, kind and creation time, for an owner and for a quota', async () => {
      const owner = fresh()
      const { id } = await made(total(owner))
      await made(cycle(owner))
      const key = () => `filter ${fresh()}`
      const consumedOne = await spend('consume', owner, key())
      app().clock.pass(1)
      const [open, due, committed, released] = [
        await spend('reserve', owner, key()),
        await spend('reserve', owner, key(), { ttl_seconds: 1 }),
        await spend('reserve', owner, key()),
        await spend('reserve', owner, key()),
      ]
      bodyOf(200, await app().post(`${usage}/${committed.id}/commit`, {}))
      bodyOf(200, await app().post(`${usage}/${released.id}/release`))
      app().clock.pass(1)
      const last = await spend('consume', owner, key())
      const states = {
        consumed: [last.id, consumedOne.id],
        reserved: [open.id],
        committed: [committed.id],
        released: [released.id],
        expired: [due.id],
      }
      for (const swept of [false, true]) {
        if (swept) await sweeperOf(app(), api).sweep()
        for (const [state, ids] of Object.entries(states)) {
          expect([state, idsOf(await ledger({ [api.owner]: owner, state }))]).toEqual([state, ids])
        }
      }
      const reserves = [released.id, committed.id, due.id, open.id]
      expect(idsOf(await ledger({ [api.owner]: owner, kind: 'reserve' }))).toEqual(reserves)
      expect(idsOf(await ledger({ [api.owner]: owner, kind: 'consume', state: 'reserved' }))).toEqual([])
      const [from, to] = ['2026-11-21T12:00:01Z', '2026-11-21T12:00:02Z']
      expect(idsOf(await ledger({ [api.owner]: owner, from, to }))).toEqual(reserves)
      expect(idsOf(await ledger({ [api.owner]: owner, from: to }))).toEqual([last.id])
      expect(idsOf(await ledger({ [api.owner]: owner, to: from }))).toEqual([consumedOne.id])
      expect(await ledger({ [api.owner]: owner, from, to: from })).toEqual({ items: [], next_before: null })
      expect(await ledger({ [api.owner]: owner, from: '2030-01-01T00:00:00Z' })).toEqual({
        items: [],
        next_before: null,
      })
      const one = await ledger({ [api.owner]: owner, kind: 'reserve', page_size: 3 })
      expect([idsOf(one), one.next_before]).toEqual([reserves.slice(0, 3), due.id])
      const two = await ledger({ [api.owner]: owner, kind: 'reserve', page_size: 1, before: one.next_before })
      expect([idsOf(two), two.next_before]).toEqual([reserves.slice(3), null])
      // The cycle quota pays first; the other one pays the rest.
      const big = await spend('consume', owner, key(), { amount: 100 })
      expect(idsOf(await ledger({ quota_id: id }))).toEqual([big.id])
      expect(idsOf(await ledger({ quota_id: id, state: 'consumed', kind: 'consume', from }))).toEqual([big.id])
      expect(idsOf(await ledger({ quota_id: id, state: 'reserved' }))).toEqual([])
      expect(idsOf(await ledger({ quota_id: id, to }))).toEqual([])
      const hold = await spend('reserve', owner, key())
      expect(idsOf(await ledger({ quota_id: id, state: 'reserved' }))).toEqual([hold.id])
    })

    it('lists the operations of all, newest first', async () => {
      const owners = [fresh(), fresh()] as const
      for (const owner of owners) await made(total(owner))
      // A time of day at which no other test spends.
      app().clock.pass(12_345.678)
      const ids: string[] = []
      for (const kind of ['consume', 'reserve', 'consume', 'reserve', 'consume'] as const) {
        app().clock.pass(0.001)
        ids.unshift((await spend(kind, owners[ids.length % 2]!, `latest ${fresh()}`)).id)
      }
      const [newest, , refunded, committed, oldest] = ids
      bodyOf(200, await app().post(`${usage}/${refunded}/refund`, { amount: 1 }, { key: `latest ${fresh()}` }))
      bodyOf(200, await app().post(`${usage}/${committed}/commit`, {}))
      const page = await ledger({ all: 'true', before: newest!, page_size: 2 })
      expect([idsOf(page), page.next_before]).toEqual([ids.slice(1, 3), refunded])
      const next = await ledger({ all: 'true', before: page.next_before, page_size: 2 })
      expect(next.items).toMatchObject([
        { id: committed, [api.owner]: owners[1], state: 'committed' },
        { id: oldest, [api.owner]: owners[0], state: 'consumed' },
      ])
    })

    it('lists the acts on an operation, oldest first', async () => {
      const owner = fresh()
      await made(total(owner))
      const by = (name: string): Sent => ({ headers: { 'X-Request-Id': `${name}-${owner}` } })
      const keyed = (name: string): Sent => ({ ...by(name), key: `${name} ${owner}` })
      const acts = async (id: string) => (await read(`${usage}/${id}/acts`)).items
      const act = (kind: string, name: string, second: number, amount: number, key = true, actor = 'admin') => ({
        kind,
        actor,
        amount,
        idempotency_key: key ? `${name} ${owner}` : null,
        request_id: `${name}-${owner}`,
        at: `2026-11-21T12:00:0${second}.000Z`,
      })
      const body = { [api.owner]: owner, amount: 8 }
      const { id } = bodyOf(201, await app().post(api.reserve, body, { ...keyed('hold'), as: 'usage' }))
      app().clock.pass(1)
      bodyOf(200, await app().post(`${usage}/${id}/commit`, { amount: 6 }, by('commit')))
      bodyOf(200, await app().post(`${usage}/${id}/commit`, { amount: 6 }, by('again')))
      bodyOf(200, await app().post(`${usage}/${id}/refund`, { amount: 1 }, keyed('back')))
      bodyOf(200, await app().post(`${usage}/${id}/refund`, { amount: 1 }, keyed('back')))
      app().clock.pass(1)
      bodyOf(200, await app().post(`${usage}/${id}/refund`, {}, keyed('rest')))
      expect(await acts(id)).toEqual([
        act('reserve', 'hold', 0, 8, true, 'usage'),
        act('commit', 'commit', 1, 6, false),
        act('refund', 'back', 1, 1),
        act('refund', 'rest', 2, 5),
      ])
      const returned = bodyOf(201, await app().post(api.reserve, body, keyed('second')))
      bodyOf(200, await app().post(`${usage}/${returned.id}/release`, undefined, by('release')))
      expect(await acts(returned.id)).toEqual([act('reserve', 'second', 2, 8), act('release', 'release', 2, 8, false)])
      const due = bodyOf(201, await app().post(api.reserve, { ...body, ttl_seconds: 1 }, keyed('due')))
      app().clock.pass(1)
      await sweeperOf(app(), api).sweep()
      expect(await acts(due.id)).toEqual([act('reserve', 'due', 2, 8)])
      const spent = bodyOf(200, await app().post(api.consume, body, keyed('spend')))
      expect(await acts(spent.id.toUpperCase())).toEqual([act('consume', 'spend', 3, 8)])
    })

    it('has no acts for an unknown operation', async () => {
      const unknown = '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d'
      expect(refusal(await app().get(`${usage}/${unknown}/acts`))).toEqual([404, 'operation_not_found'])
      expect(refusal(await app().get(`${usage}/7/acts`))).toEqual([400, 'validation_failed'])
      expect(refusal(await app().get(`${usage}/consume/acts`))).toEqual([404, 'route_not_found'])
      expect(refusal(await app().post(`${usage}/${unknown}/acts`, {}))).toEqual([405, 'method_not_allowed'])
    })
  })

  describe('the refusals', () => {
    const counter = () => ledgerOf(app(), api).refusals
    // Counts are written when a test says so, and not during one; test/shutdown and test/console test the automatic
    // write.
    beforeAll(() => counter().close())
    const refused = async (route: string, owner: number, amount: number, key = `refused ${fresh()}`): Promise<void> => {
      expect((await app().post(route, { [api.owner]: owner, amount }, { key })).status).toBe(409)
    }
    const top = async (parameters: Record<string, string | number> = {}) => {
      await counter().flush()
      return (await read(`${api.quotas}/refusals/top${query(parameters)}`)).items
    }
    const of = async (owner: number, parameters: Record<string, string | number> = {}) => {
      await counter().flush()
      return (await read(`${api.quotas}/refusals${query({ [api.owner]: owner, ...parameters })}`)).items
    }

    it('are counted by owner, hour and reason, each attempt', async () => {
      app().clock.set('2027-05-01T10:59:59.999Z')
      const owner = fresh()
      const { id } = await made(total(owner, { expire_at: END.replace('2027', '2028') }))
      const key = `again ${owner}`
      await refused(api.consume, owner, 101, key)
      await refused(api.consume, owner, 101, key)
      await refused(api.reserve, owner, 200)
      await consumed(owner, 1)
      app().clock.pass(0.001)
      const items = [1, 300, 301].map((amount) => ({ [api.owner]: owner, amount, idempotency_key: `b ${fresh()}` }))
      bodyOf(200, await app().post(`${api.consume}/batch`, { items: [...items, { nonsense: 1 }] }))
      app().clock.pass(5)
      await update(id, { status: 'disabled' })
      await refused(api.consume, owner, 7)
      // Neither a check nor another refusal counts.
      await app().get(`${api.usage}/check${query({ [api.owner]: owner, amount: 9 })}`)
      expect((await app().post(api.consume, { [api.owner]: owner, amount: 0 }, { key: 'x' })).status).toBe(400)
      expect(await of(owner)).toEqual([
        {
          hour: '2027-05-01T11:00:00.000Z',
          code: 'no_active_quota',
          count: 1,
          requested: 7,
          last_at: '2027-05-01T11:00:05.000Z',
        },
        {
          hour: '2027-05-01T11:00:00.000Z',
          code: 'quota_exceeded',
          count: 2,
          requested: 601,
          last_at: '2027-05-01T11:00:00.000Z',
        },
        {
          hour: '2027-05-01T10:00:00.000Z',
          code: 'quota_exceeded',
          count: 3,
          requested: 402,
          last_at: '2027-05-01T10:59:59.999Z',
        },
      ])
      // The amounts, if requested.
      expect(await of(owner, { amounts: 'true' })).toMatchObject([
        { smallest: 7, largest: 7, last: 7 },
        { smallest: 300, largest: 301, last: 301 },
        { smallest: 101, largest: 200, last: 200 },
      ])
      expect(await top({ hours: 1 })).toEqual([
        { [api.owner]: owner, code: 'quota_exceeded', count: 2, requested: 601, last_at: '2027-05-01T11:00:00.000Z' },
        { [api.owner]: owner, code: 'no_active_quota', count: 1, requested: 7, last_at: '2027-05-01T11:00:05.000Z' },
      ])
      expect(await top({ hours: 2 })).toMatchObject([{ count: 5, requested: 1003 }, { count: 1 }])
      await refused(api.consume, owner, 3)
      expect(await of(owner, { from: '2027-05-01T11:00:00Z' })).toMatchObject([
        { count: 2, requested: 10 },
        { count: 2 },
      ])
      expect(await of(owner, { from: '2027-05-01T11:00:00Z', amounts: 'true' })).toMatchObject([
        { smallest: 3, largest: 7, last: 3 },
        { smallest: 300 },
      ])
    })

    it('of all owners are added up by hour and reason, at most 7 days back', async () => {
      app().clock.set('2027-05-11T10:30:00Z')
      const [one, two] = [fresh(), fresh()]
      for (const owner of [one, two]) await made(total(owner, { expire_at: END.replace('2027', '2028') }))
      for (const [owner, amount] of [
        [one, 500],
        [two, 700],
        [two, 800],
      ] as const)
        await refused(api.consume, owner, amount)
      app().clock.set('2027-05-11T11:00:00Z')
      await refused(api.reserve, one, 600)
      await counter().flush()
      const all = async (parameters: Record<string, string> = {}) =>
        (await read(`${api.quotas}/refusals${query({ all: 'true', ...parameters })}`)).items
      const [later, earlier] = [
        {
          hour: '2027-05-11T11:00:00.000Z',
          code: 'quota_exceeded',
          count: 1,
          requested: 600,
          last_at: '2027-05-11T11:00:00.000Z',
        },
        {
          hour: '2027-05-11T10:00:00.000Z',
          code: 'quota_exceeded',
          count: 3,
          requested: 2000,
          last_at: '2027-05-11T10:30:00.000Z',
        },
      ]
      expect(await all({ from: '2027-05-11T10:00:00Z' })).toEqual([later, earlier])
      expect(await all({ from: '2027-05-11T10:00:00.001Z' })).toEqual([later])
      expect(await all({ from: '2027-05-11T10:00:00Z', to: '2027-05-11T11:00:00Z' })).toEqual([earlier])
      expect(await all({ from: '2030-01-01T00:00:00Z' })).toEqual([])
      app().clock.set('2027-05-18T10:30:00Z')
      expect(await all()).toEqual([later])
      const early = await app().get(`${api.quotas}/refusals${query({ all: 'true', from: '2027-05-11T10:00:00Z' })}`)
      expect(Object.keys(brokenFields(early))).toEqual(['from'])
    })

    it('stop at the largest exact number, however many owners were refused', async () => {
      app().clock.set('2027-05-25T10:00:00Z')
      const { refusal: counts } = ledgerOf(app(), api).store
      const [at, amount] = [app().clock.now(), Number.MAX_SAFE_INTEGER]
      const amounts = { requested: amount, smallest: amount, largest: amount, lastAmount: amount }
      const rows = Array.from({ length: 1_100 }, () => ({ ownerId: fresh(), code: 'quota_exceeded' as const }))
      await app()
        .app.get(TransactionRunner)
        .write(async (transaction) => {
          const counted = rows.map((row) => ({ ...row, ...amounts, hour: at, lastAt: at, count: 1 }))
          for (const { sql, values } of counts.inserts(counted, transaction)) await transaction.execute(sql, values)
        })
      const { items } = await read(`${api.quotas}/refusals?all=true`)
      expect(items).toMatchObject([{ count: 1_100, requested: amount }])
    })

    it('are ordered by count, then owner, then code, as many as requested', async () => {
      app().clock.set('2027-06-01T10:00:00Z')
      const [one, two, three] = [fresh(), fresh(), fresh()]
      for (const owner of [one, two, three])
        bodyOf(204, await app().delete(path((await made(total(owner, { expire_at: END.replace('2027', '2028') }))).id)))
      for (const owner of [three, two, two, one]) await refused(api.consume, owner, 1)
      const live = await made(total(one, { expire_at: END.replace('2027', '2028') }))
      await refused(api.consume, one, 500)
      bodyOf(204, await app().delete(path(live.id)))
      const shown = (items: Body[]) => items.map((item) => [item[api.owner], item.code, item.count])
      const expected = [
        [two, 'no_active_quota', 2],
        [one, 'no_active_quota', 1],
        [one, 'quota_exceeded', 1],
        [three, 'no_active_quota', 1],
      ]
      expect(shown(await top())).toEqual(expected)
      expect(shown(await top({ page_size: 2 }))).toEqual(expected.slice(0, 2))
      app().clock.set('2027-06-02T09:59:59Z')
      expect(shown(await top())).toEqual(expected)
      app().clock.set('2027-06-02T10:00:00Z')
      expect(shown(await top())).toEqual([])
      expect(shown(await top({ hours: 168 }))).toEqual(expected)
    })

    it('of owners that never had a quota are counted only by a metric', async () => {
      const name = `quota_refusals_unknown_owner_total{channel="${api.name.toLowerCase()}"}`
      const metric = async () => {
        const line = (await app().get('/metrics')).text.split('\n').find((text) => text.startsWith(name))
        return Number(line?.split(' ').at(-1))
      }
      await counter().flush()
      const before = await metric()
      const [stranger, late] = [fresh(), fresh()]
      await refused(api.consume, stranger, 1)
      await refused(api.consume, stranger, 1)
      await refused(api.consume, late, 1)
      await made(total(late))
      expect(await of(stranger)).toEqual([])
      // The counts include what is known when they are written.
      expect(await of(late)).toMatchObject([{ count: 1 }])
      expect((await metric()) - before).toBe(2)
    })

    it('are kept for 31 days, compared by the beginning of their hour', async () => {
      app().clock.set('2027-08-01T10:30:00Z')
      const owner = fresh()
      bodyOf(204, await app().delete(path((await made(total(owner, { expire_at: END.replace('2027', '2028') }))).id)))
      await refused(api.consume, owner, 1)
      const hour = '2027-08-01T10:00:00Z'
      expect(await of(owner, { from: hour })).toHaveLength(1)
      expect(await of(owner, { from: '2027-08-01T10:00:00.001Z' })).toHaveLength(0)
      expect(await of(owner, { to: hour })).toHaveLength(0)
      expect(await of(owner, { to: '2027-08-01T10:00:00.001Z' })).toHaveLength(1)
      expect(await of(owner, { from: hour, to: hour })).toHaveLength(0)
      expect(await of(owner, { from: '2030-01-01T00:00:00Z' })).toHaveLength(0)
      app().clock.set('2027-09-01T10:00:00Z')
      await sweeperOf(app(), api).sweep()
      expect(await of(owner)).toHaveLength(1)
      expect(await of(owner, { from: hour })).toHaveLength(1)
      app().clock.pass(0.001)
      expect(await of(owner)).toHaveLength(0)
      const answer = await app().get(`${api.quotas}/refusals${query({ [api.owner]: owner, from: hour, extra: 1 })}`)
      expect(Object.keys(brokenFields(answer)).sort()).toEqual(['extra', 'from'])
      const alone = await app().get(`${api.quotas}/refusals${query({ [api.owner]: owner, from: hour })}`)
      expect(Object.keys(brokenFields(alone))).toEqual(['from'])
      expect(await of(owner, { to: hour })).toHaveLength(0)
      app().clock.set('2027-09-01T11:00:00Z')
      await sweeperOf(app(), api).sweep()
      const table = `${api.name.toLowerCase()}_refusal`
      expect(await app().app.get(DataSource).query(`SELECT * FROM ${table} WHERE owner_id = ${owner}`)).toEqual([])
    })

    it('add up to at most the largest exact number', async () => {
      app().clock.set('2027-10-01T10:30:00Z')
      const owner = fresh()
      bodyOf(204, await app().delete(path((await made(total(owner, { expire_at: END.replace('2027', '2028') }))).id)))
      for (let n = 0; n < 3; n += 1) {
        counter().count(owner, 'no_active_quota', Number.MAX_SAFE_INTEGER - 1)
        await counter().flush()
      }
      expect(await of(owner)).toMatchObject([{ count: 3, requested: Number.MAX_SAFE_INTEGER }])
      expect(await top({ hours: 1 })).toMatchObject([{ count: 3, requested: Number.MAX_SAFE_INTEGER }])
    })
  })
}
