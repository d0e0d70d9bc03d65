import { describe, expect } from '@jest/globals'
import type { Response } from 'supertest'
import type { As, Sent, TestApp } from './app.js'
import {
  type Body,
  bodyOf,
  brokenFields,
  copyQuota,
  fresh,
  type QuotaApi,
  refusal,
  START,
  sweeperOf,
} from './quota-api.js'
import { it } from './scoped.js'

const RESET = '2026-12-01T00:00:00.000Z'
const END = '2027-01-01T00:00:00.000Z'
const LATEST = '9999-12-31T23:59:59.999Z'
const DAY = 86_400

/** What both channels promise of quotas (contract, §3 and §7), said once. The clock stands at START before each test. */
export function quotaContract(api: QuotaApi, app: () => TestApp): void {
  const cycle = (owner: number, more: object = {}) => ({
    [api.owner]: owner,
    quota_type: 2,
    total: 100,
    cycle_unit: 'month',
    cycle_reset_at: RESET,
    ...more,
  })
  const total = (owner: number, more: object = {}) => ({
    [api.owner]: owner,
    quota_type: 1,
    total: 100,
    expire_at: END,
    ...more,
  })
  const create = (body: object, sent?: Sent) => app().post(api.quotas, body, sent)
  const made = async (body: object): Promise<Body> => bodyOf(201, await create(body))
  const path = (id: number | string) => `${api.quotas}/${id}`
  const read = async (id: number): Promise<Body> => bodyOf(200, await app().get(path(id)))
  const update = (id: number, body: object) => app().put(path(id), body)
  const updated = async (id: number, body: object): Promise<Body> => bodyOf(200, await update(id, body))
  const remove = async (id: number) => bodyOf(204, await app().delete(path(id)))
  const restore = (id: number) => app().post(`${path(id)}/restore`)
  const changes = async (id: number, query = ''): Promise<Body> =>
    bodyOf(200, await app().get(`${path(id)}/changes${query}`))
  const list = (query: string) => app().get(`${api.list}?${query}`)
  const listed = async (query: string): Promise<Body> => bodyOf(200, await list(query))
  const idsOf = async (query: string): Promise<number[]> => (await listed(query)).items.map(({ id }: Body) => id)
  const ofOwner = (owner: number) => `${api.owner}=${owner}`
  const summary = async (owner: number): Promise<Body> => bodyOf(200, await app().get(api.summary(owner)))
  const consume = (owner: number, amount: number) =>
    app().post(api.consume, { [api.owner]: owner, amount }, { key: `use-${fresh()}` })
  const consumed = async (owner: number, amount: number) => bodyOf(200, await consume(owner, amount))
  const sweep = () => sweeperOf(app(), api).sweep()

  describe('a create', () => {
    it('makes a cycle quota, with its defaults, and says where it is', async () => {
      const owner = fresh()
      const answer = await create(cycle(owner))
      const quota = bodyOf(201, answer)
      expect(quota).toEqual({
        id: quota.id,
        [api.owner]: owner,
        ...api.unnamed,
        quota_type: 2,
        total: 100,
        used: 0,
        reserved: 0,
        remaining: 100,
        status: 'active',
        expire_at: null,
        cycle_unit: 'month',
        cycle_reset_at: RESET,
        cycle_anchor_at: RESET,
        cycle_time_zone: 'UTC',
        label: null,
        version: 1,
        created_at: START,
        updated_at: START,
      })
      expect(answer.headers['location']).toBe(path(quota.id))
      expect(answer.headers['content-type']).toMatch(/^application\/json\b/)
      expect((await app().get(answer.headers['location']!)).text).toBe(answer.text)
    })

    it('makes a total quota, the other type being null', async () => {
      const owner = fresh()
      const quota = await made({ ...total(owner), ...api.named })
      expect(quota).toEqual({
        id: quota.id,
        [api.owner]: owner,
        ...api.named,
        quota_type: 1,
        total: 100,
        used: 0,
        reserved: 0,
        remaining: 100,
        status: 'active',
        expire_at: END,
        cycle_unit: null,
        cycle_reset_at: null,
        cycle_anchor_at: null,
        cycle_time_zone: null,
        label: null,
        version: 1,
        created_at: START,
        updated_at: START,
      })
    })

    it('takes null for absent', async () => {
      const nothing = { expire_at: null, cycle_time_zone: null, ...api.unnamed }
      expect(await made(cycle(fresh(), nothing))).toMatchObject({
        expire_at: null,
        cycle_time_zone: 'UTC',
        ...api.unnamed,
      })
      const foreign = { cycle_unit: null, cycle_reset_at: null, cycle_time_zone: null }
      expect(await made(total(fresh(), foreign))).toMatchObject({ ...foreign, cycle_anchor_at: null })
    })

    it('takes the smallest and the largest of everything', async () => {
      expect(await made(total(fresh(), { total: 0 }))).toMatchObject({ total: 0, remaining: 0 })
      const largest = cycle(Number.MAX_SAFE_INTEGER, { total: 1e12, cycle_reset_at: LATEST, expire_at: LATEST })
      expect(await made(largest)).toMatchObject({
        [api.owner]: Number.MAX_SAFE_INTEGER,
        total: 1e12,
        remaining: 1e12,
        cycle_reset_at: LATEST,
        expire_at: LATEST,
      })
    })

    it.each(['hour', 'day', 'week', 'month', 'year'])('takes cycles of a %s', async (cycle_unit) => {
      expect(await made(cycle(fresh(), { cycle_unit }))).toMatchObject({ cycle_unit, cycle_reset_at: RESET })
    })

    it.each(['Europe/Berlin', 'europe/berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5', 'UTC', 'Asia/Calcutta'])(
      'answers the zone %s as given',
      async (cycle_time_zone) => {
        expect(await made(cycle(fresh(), { cycle_time_zone }))).toMatchObject({ cycle_time_zone })
      },
    )

    it.each([
      ['2026-12-01T01:30:00+01:30', RESET],
      ['2026-11-30T19:00:00-05:00', RESET],
      ['2026-12-01t00:00:00z', RESET],
      ['2026-12-01T00:00:00.1Z', '2026-12-01T00:00:00.100Z'],
      ['2026-12-01T00:00:00.123999999Z', '2026-12-01T00:00:00.123Z'],
      ['2026-11-30T23:59:59.9999Z', '2026-11-30T23:59:59.999Z'],
      ['2028-02-29T12:00:00Z', '2028-02-29T12:00:00.000Z'],
    ])('reads the time %s as %s', async (given, shown) => {
      expect(await made(cycle(fresh(), { cycle_reset_at: given, expire_at: given }))).toMatchObject({
        cycle_reset_at: shown,
        cycle_anchor_at: shown,
        expire_at: shown,
      })
    })

    it.each([
      ['total', -1],
      ['total', 1_000_000_000_001],
      ['total', 1.5],
      ['total', '100'],
      ['total', null],
      ['total', true],
      ['total', [100]],
      ['total', {}],
      ['quota_type', 0],
      ['quota_type', 3],
      ['quota_type', '2'],
      ['quota_type', null],
      ['quota_type', [2]],
      ['cycle_unit', 'Month'],
      ['cycle_unit', 'months'],
      ['cycle_unit', ''],
      ['cycle_unit', 1],
      ['cycle_unit', ['month']],
      ['cycle_reset_at', '2026-12-01'],
      ['cycle_reset_at', '2026-12-01T00:00:00'],
      ['cycle_reset_at', '2026-12-01 00:00:00Z'],
      ['cycle_reset_at', '2027-02-29T00:00:00Z'],
      ['cycle_reset_at', '2026-13-01T00:00:00Z'],
      ['cycle_reset_at', '2026-12-01T24:00:00Z'],
      ['cycle_reset_at', '2026-12-01T00:00:60Z'],
      ['cycle_reset_at', '2026-12-01T00:00:00+24:00'],
      ['cycle_reset_at', '9999-12-31T23:59:59-00:01'],
      ['cycle_reset_at', '10000-01-01T00:00:00Z'],
      ['cycle_reset_at', ' 2026-12-01T00:00:00Z'],
      ['cycle_reset_at', 1_796_083_200_000],
      ['cycle_reset_at', ''],
      ['expire_at', 'never'],
      ['expire_at', 0],
      ['expire_at', false],
      ['cycle_time_zone', 'Mars/Olympus'],
      ['cycle_time_zone', '+01:00'],
      ['cycle_time_zone', ''],
      ['cycle_time_zone', 'Zürich'],
      ['cycle_time_zone', 1],
      ['cycle_time_zone', 'A'.repeat(65)],
      [api.owner, 0],
      [api.owner, -7],
      [api.owner, 7.5],
      [api.owner, '7'],
      [api.owner, null],
      [api.owner, Number.MAX_SAFE_INTEGER + 1],
      ...Object.keys(api.named).flatMap((field): [string, unknown][] => [
        [field, 0],
        [field, '3'],
      ]),
    ])('refuses %s %j', async (field, value) => {
      const answer = await create(cycle(fresh(), { [field]: value }))
      expect(Object.keys(brokenFields(answer))).toEqual([field])
    })

    it('says what it needs', async () => {
      const id = 'an integer from 1 to 9007199254740991'
      expect(brokenFields(await create({}))).toEqual({
        [api.owner]: `is required: must be ${id}`,
        quota_type: 'is required: must be one of 1, 2',
        total: 'is required: must be an integer from 0 to 1000000000000',
      })
      expect(brokenFields(await create({ [api.owner]: 1, quota_type: 1, total: 1 }))).toEqual({
        expire_at: 'is required for quota_type 1 (total)',
      })
      expect(brokenFields(await create(total(fresh(), { expire_at: null })))).toEqual({
        expire_at: 'is required for quota_type 1 (total)',
      })
      expect(brokenFields(await create({ [api.owner]: 1, quota_type: 2, total: 1 }))).toEqual({
        cycle_unit: 'is required for quota_type 2 (cycle)',
        cycle_reset_at: 'is required for quota_type 2 (cycle)',
      })
      expect(brokenFields(await create(cycle(fresh(), { cycle_unit: null, cycle_reset_at: null })))).toEqual({
        cycle_unit: 'is required for quota_type 2 (cycle)',
        cycle_reset_at: 'is required for quota_type 2 (cycle)',
      })
    })

    it('refuses what is foreign to a total quota', async () => {
      const foreign = 'belongs to quota_type 2 (cycle); leave it out or null for quota_type 1 (total)'
      const body = total(fresh(), { cycle_unit: 'day', cycle_reset_at: RESET, cycle_time_zone: 'UTC' })
      expect(brokenFields(await create(body))).toEqual({
        cycle_unit: foreign,
        cycle_reset_at: foreign,
        cycle_time_zone: foreign,
      })
    })

    it('refuses times that do not lie in the future, to the millisecond', async () => {
      const past = 'must lie in the future'
      for (const now of [START, '2026-11-21T13:00:00+01:00', '2026-11-21T12:00:00.0009Z', '0000-01-01T00:00:00Z']) {
        expect(brokenFields(await create(total(fresh(), { expire_at: now })))).toEqual({ expire_at: past })
        expect(brokenFields(await create(cycle(fresh(), { cycle_reset_at: now, expire_at: now })))).toEqual({
          expire_at: past,
          cycle_reset_at: past,
        })
      }
      const next = '2026-11-21T12:00:00.001Z'
      expect(await made(total(fresh(), { expire_at: next }))).toMatchObject({ status: 'active', expire_at: next })
      expect(await made(cycle(fresh(), { cycle_reset_at: next }))).toMatchObject({ cycle_reset_at: next })
    })

    it('names everything that is wrong at once', async () => {
      const answer = await create({
        QuotaType: 1,
        quota_type: 1,
        total: -1,
        expire_at: '2020-01-01T00:00:00Z',
        cycle_unit: 'fortnight',
        cycle_reset_at: RESET,
        nonsense: null,
      })
      const broken = brokenFields(answer)
      expect(Object.keys(broken).sort()).toEqual(
        ['QuotaType', 'cycle_reset_at', 'cycle_unit', 'expire_at', 'nonsense', 'total', api.owner].sort(),
      )
      expect(broken).toMatchObject({ QuotaType: 'did you mean quota_type?', expire_at: 'must lie in the future' })
    })

    it('points out a name that differs in case or underscores alone', async () => {
      const answer = await create({
        [api.owner.replace('_i', 'I')]: 7,
        QuotaType: 2,
        TOTAL: 1,
        _cycle_unit_: 'day',
        cycleResetAt: RESET,
        cycle_timezone: 'UTC',
        expireAt: END,
        totals: 1,
      })
      expect(brokenFields(answer)).toMatchObject({
        [api.owner.replace('_i', 'I')]: `did you mean ${api.owner}?`,
        QuotaType: 'did you mean quota_type?',
        TOTAL: 'did you mean total?',
        _cycle_unit_: 'did you mean cycle_unit?',
        cycleResetAt: 'did you mean cycle_reset_at?',
        cycle_timezone: 'did you mean cycle_time_zone?',
        expireAt: 'did you mean expire_at?',
        totals: 'is no field of this request',
      })
    })

    it('takes nothing that the service itself keeps', async () => {
      const kept = { id: 1, used: 0, reserved: 0, remaining: 0, status: 'active', cycle_anchor_at: RESET, version: 1 }
      const more = { created_at: START, updated_at: START, deleted_at: null }
      const broken = brokenFields(await create(cycle(fresh(), { ...kept, ...more })))
      expect(Object.keys(broken).sort()).toEqual(Object.keys({ ...kept, ...more }).sort())
    })

    it('leaves nothing behind where it is refused', async () => {
      const owner = fresh()
      await create(cycle(owner, { total: -1 }))
      await create(cycle(owner, { cycle_reset_at: START }), { key: `refused-${owner}` })
      expect(await listed(ofOwner(owner))).toMatchObject({ items: [], total: 0 })
    })
  })

  describe('a create with a key', () => {
    const keyed = (body: object, key: string, as: As = 'admin') => create(body, { key, as })

    it('answers a retry byte for byte and makes nothing twice', async () => {
      const owner = fresh()
      const first = await keyed(cycle(owner), `k-${owner}`)
      const second = await keyed(cycle(owner), `k-${owner}`)
      expect([first.status, second.status]).toEqual([201, 201])
      expect(second.text).toBe(first.text)
      expect(second.headers['location']).toBe(first.headers['location'])
      expect(second.headers['content-type']).toBe(first.headers['content-type'])
      expect(first.headers['idempotency-replayed']).toBeUndefined()
      expect(second.headers['idempotency-replayed']).toBe('true')
      expect(await idsOf(ofOwner(owner))).toEqual([first.body.id])
      expect(await changes(first.body.id)).toMatchObject({ total: 1 })
    })

    it('compares requests by meaning', async () => {
      const owner = fresh()
      const first = await keyed(cycle(owner, { expire_at: END }), `k-${owner}`)
      const retold = {
        cycle_time_zone: 'UTC',
        cycle_reset_at: '2026-12-01T02:00:00.0004+02:00',
        cycle_unit: 'month',
        expire_at: '2026-12-31T19:00:00-05:00',
        total: 100,
        quota_type: 2,
        [api.owner]: owner,
        ...api.unnamed,
      }
      expect((await keyed(retold, `k-${owner}`)).text).toBe(first.text)
      const other = fresh()
      const plain = await keyed(cycle(other), `k-${other}`)
      const explicit = cycle(other, { expire_at: null, cycle_time_zone: null })
      expect((await keyed(explicit, `k-${other}`)).text).toBe(plain.text)
      const third = fresh()
      const foreign = { cycle_unit: null, cycle_reset_at: null, cycle_time_zone: null }
      const bare = await keyed(total(third), `k-${third}`)
      expect((await keyed(total(third, foreign), `k-${third}`)).text).toBe(bare.text)
    })

    it('answers a retry whatever has become of the quota, also when its times have passed', async () => {
      const owner = fresh()
      const body = cycle(owner, { expire_at: END })
      const first = await keyed(body, `k-${owner}`)
      await updated(first.body.id, { total: 7 })
      await consumed(owner, 3)
      await remove(first.body.id)
      expect((await keyed(body, `k-${owner}`)).text).toBe(first.text)
      app().clock.set('2026-12-20T00:00:00Z')
      expect((await keyed(body, `k-${owner}`)).text).toBe(first.text)
      app().clock.set('2027-03-01T00:00:00Z')
      const late = await keyed(body, `k-${owner}`)
      expect([late.status, late.text, late.headers['idempotency-replayed']]).toEqual([201, first.text, 'true'])
      expect(await listed(ofOwner(owner))).toMatchObject({ total: 0 })
    })

    it.each([
      ['total', { total: 101 }],
      ['type', { quota_type: 1, expire_at: END, cycle_unit: null, cycle_reset_at: null }],
      ['unit', { cycle_unit: 'week' }],
      ['reset', { cycle_reset_at: '2026-12-01T00:00:00.001Z' }],
      ['zone', { cycle_time_zone: 'Europe/Berlin' }],
      ['end', { expire_at: END }],
      ...Object.entries(api.named).map(([field, value]): [string, object] => [field, { [field]: value }]),
    ])('refuses its key for a create of another %s', async (_what, other) => {
      const owner = fresh()
      bodyOf(201, await keyed(cycle(owner), `k-${owner}`))
      expect(refusal(await keyed(cycle(owner, other), `k-${owner}`))).toEqual([422, 'idempotency_key_reused'])
      expect(await listed(ofOwner(owner))).toMatchObject({ total: 1 })
    })

    it('refuses its key for another owner, and for another act', async () => {
      const owner = fresh()
      bodyOf(201, await keyed(cycle(owner), `k-${owner}`))
      expect(refusal(await keyed(cycle(fresh()), `k-${owner}`))).toEqual([422, 'idempotency_key_reused'])
      const spend = await app().post(api.consume, { [api.owner]: owner, amount: 1 }, { key: `k-${owner}` })
      expect(refusal(spend)).toEqual([422, 'idempotency_key_reused'])
      expect(await summary(owner)).toMatchObject({ used: 0 })
    })

    it('tells keys apart by bytes', async () => {
      const owner = fresh()
      const ids = []
      for (const key of [`k-${owner}`, `K-${owner}`, `k-${owner}a`, `k-${owner} a`, `"k-${owner}"`]) {
        ids.push(bodyOf(201, await keyed(cycle(owner), key)).id)
      }
      expect(new Set(ids).size).toBe(5)
    })

    it('gives every one of many parallel retries the one answer', async () => {
      const owner = fresh()
      const answers = await Promise.all(Array.from({ length: 12 }, () => keyed(cycle(owner), `k-${owner}`)))
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
      expect(answers.filter(({ headers }) => headers['idempotency-replayed'] === undefined)).toHaveLength(1)
      expect(await listed(ofOwner(owner))).toMatchObject({ total: 1 })
    })

    it('lets one of two different parallel creates have the key', async () => {
      const owner = fresh()
      const bodies = Array.from({ length: 8 }, (_, at) => cycle(owner, { total: at % 2 }))
      const answers = await Promise.all(bodies.map(async (body) => keyed(body, `k-${owner}`)))
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 422, 422, 422, 422])
      expect(new Set(answers.filter(({ status }) => status === 201).map(({ text }) => text)).size).toBe(1)
      expect(await listed(ofOwner(owner))).toMatchObject({ total: 1 })
    })

    it('remembers no refusal', async () => {
      const owner = fresh()
      brokenFields(await keyed(cycle(owner, { cycle_reset_at: START }), `k-${owner}`))
      const second = await keyed(cycle(owner), `k-${owner}`)
      expect([second.status, second.headers['idempotency-replayed']]).toEqual([201, undefined])
    })

    it('takes a key of 255 characters and spaces within', async () => {
      const owner = fresh()
      const key = `${owner} `.padEnd(255, '~')
      const first = await keyed(cycle(owner), key)
      expect((await keyed(cycle(owner), key)).text).toBe(first.text)
      expect(first.status).toBe(201)
    })

    it.each([
      ['an empty key', ''],
      ['a key of spaces', '   '],
      ['a key of 256 characters', 'k'.repeat(256)],
      ['a key beyond ASCII', 'clé'],
      ['a key with a tab', 'a\tb'],
    ])('refuses %s', async (_what, key) => {
      const owner = fresh()
      expect(refusal(await keyed(cycle(owner), key))).toEqual([400, 'idempotency_key_invalid'])
      expect(await listed(ofOwner(owner))).toMatchObject({ total: 0 })
    })

    it('refuses a repeated key', async () => {
      const answer = await create(cycle(fresh())).set('Idempotency-Key', ['a', 'a'] as unknown as string)
      expect(refusal(answer)).toEqual([400, 'idempotency_key_invalid'])
    })

    it('measures another create under a used key by time before it looks at the key', async () => {
      const owner = fresh()
      bodyOf(201, await keyed(cycle(owner), `k-${owner}`))
      const past = await keyed(cycle(owner, { cycle_reset_at: START }), `k-${owner}`)
      expect(brokenFields(past)).toEqual({ cycle_reset_at: 'must lie in the future' })
    })

    it('looks at the body before the key', async () => {
      expect(refusal(await keyed(cycle(fresh(), { total: -1 }), ''))).toEqual([400, 'validation_failed'])
    })
  })

  describe('a read', () => {
    it('shows what is there', async () => {
      const quota = await made(cycle(fresh()))
      expect(await read(quota.id)).toEqual(quota)
    })

    it('answers 404 to what is not there, and to what was deleted', async () => {
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

  describe('an update', () => {
    it.each([
      ['total', { total: 5 }, { remaining: 5 }],
      ['status', { status: 'disabled' }, {}],
      ['expire_at', { expire_at: END }, {}],
      ['cycle_unit', { cycle_unit: 'week' }, {}],
      ['cycle_reset_at', { cycle_reset_at: END }, { cycle_anchor_at: END }],
      ['cycle_time_zone', { cycle_time_zone: 'Asia/Tokyo' }, {}],
    ])('of %s changes that alone', async (_field, patch, derived) => {
      const quota = await made(cycle(fresh()))
      app().clock.pass(60)
      const expected = { ...quota, ...patch, ...derived, version: 2, updated_at: '2026-11-21T12:01:00.000Z' }
      expect(await updated(quota.id, patch)).toEqual(expected)
      expect(await read(quota.id)).toEqual(expected)
    })

    it('changes several at once and counts as one edit', async () => {
      const quota = await made(total(fresh()))
      const patch = { total: 1, status: 'disabled', expire_at: '2030-01-01T00:00:00.000Z' }
      expect(await updated(quota.id, patch)).toEqual({ ...quota, ...patch, remaining: 1, version: 2 })
      expect(await changes(quota.id)).toMatchObject({ total: 2 })
    })

    it('names everything that is wrong with an update at once', async () => {
      const quota = await made(cycle(fresh()))
      const answer = await update(quota.id, {
        cycle_unit: null,
        cycle_reset_at: '2020-01-01T00:00:00Z',
        status: 'expired',
      })
      const { errors } = answer.body as { errors: { field: string }[] }
      expect([answer.status, errors.map(({ field }) => field).sort()]).toEqual([
        400,
        ['cycle_reset_at', 'cycle_unit', 'status'],
      ])
      expect(await read(quota.id)).toEqual(quota)
    })

    it('takes back a whole record and changes nothing', async () => {
      for (const body of [cycle(fresh(), api.named), total(fresh())]) {
        const quota = await made(body)
        app().clock.pass(60)
        const echo = await update(quota.id, quota)
        expect([echo.status, echo.body]).toEqual([200, quota])
        expect(await read(quota.id)).toEqual(quota)
        expect(await changes(quota.id)).toMatchObject({ total: 1 })
      }
    })

    it('takes back a whole record with one change in it', async () => {
      const quota = await made(cycle(fresh(), { cycle_time_zone: 'Europe/Berlin' }))
      expect(await updated(quota.id, { ...quota, total: 7 })).toEqual({ ...quota, total: 7, remaining: 7, version: 2 })
    })

    it('takes the same time in other words for no change', async () => {
      const quota = await made(cycle(fresh(), { expire_at: END }))
      const same = { cycle_reset_at: '2026-12-01T09:00:00.0009+09:00', expire_at: '2027-01-01T00:00:00Z', total: 100 }
      expect(await updated(quota.id, same)).toEqual(quota)
    })

    it('takes back a record that was read before one or many resets, without re-anchoring', async () => {
      const quota = await made(cycle(fresh(), { cycle_reset_at: '2027-01-31T00:00:00.000Z' }))
      app().clock.set('2027-02-10T00:00:00Z')
      const february = { ...quota, cycle_reset_at: '2027-02-28T00:00:00.000Z' }
      expect(await updated(quota.id, quota)).toEqual(february)
      app().clock.set('2027-07-15T00:00:00Z')
      for (const old of [quota, february]) {
        expect(await updated(quota.id, old)).toEqual({ ...quota, cycle_reset_at: '2027-07-31T00:00:00.000Z' })
      }
      const changed = await updated(quota.id, { ...february, total: 50 })
      expect(changed).toMatchObject({
        total: 50,
        version: 2,
        cycle_anchor_at: quota.cycle_anchor_at,
        cycle_reset_at: '2027-07-31T00:00:00.000Z',
      })
      expect(await changes(quota.id, '?page_size=1')).toMatchObject({
        items: [{ before: { total: 100 }, after: { total: 50 } }],
      })
    })

    it('takes back an old reset together with a change of unit or zone, which steps on from the next one', async () => {
      for (const patch of [{ cycle_unit: 'week' }, { cycle_time_zone: 'Asia/Tokyo' }]) {
        app().clock.set(START)
        const quota = await made(cycle(fresh()))
        app().clock.set('2026-12-15T00:00:00Z')
        expect(await updated(quota.id, { ...quota, ...patch })).toMatchObject({
          ...patch,
          cycle_reset_at: END,
          cycle_anchor_at: END,
          version: 2,
        })
      }
    })

    it('ignores what else stands in a record, whatever it is', async () => {
      const quota = await made(cycle(fresh()))
      const ignored = {
        id: 'x',
        [api.owner]: -1,
        ...api.unnamed,
        quota_type: 1,
        used: 99,
        reserved: null,
        remaining: {},
        cycle_anchor_at: 'never',
        created_at: 0,
        updated_at: [],
      }
      expect(await updated(quota.id, { ...ignored, total: 6 })).toEqual({
        ...quota,
        total: 6,
        remaining: 6,
        version: 2,
      })
    })

    it('needs one of the seven settings', async () => {
      const { id, version, used } = await made(cycle(fresh()))
      const message =
        'must name at least one of total, status, expire_at, cycle_unit, cycle_reset_at, cycle_time_zone, label'
      for (const body of [{}, { version }, { id, used, quota_type: 2 }]) {
        expect(brokenFields(await update(id, body))).toEqual({ body: message })
      }
    })

    it('points out a misspelt name and changes nothing', async () => {
      const quota = await made(cycle(fresh()))
      expect(brokenFields(await update(quota.id, { total: 1, expireAt: null, limit: 3, removed_at: null }))).toEqual({
        expireAt: 'did you mean expire_at?',
        limit: 'is no field of this request',
        removed_at: 'is no field of this request',
      })
      expect(await read(quota.id)).toEqual(quota)
    })

    it.each([
      ['total', -1],
      ['total', null],
      ['total', '5'],
      ['total', 1_000_000_000_001],
      ['status', 'enabled'],
      ['status', null],
      ['expire_at', 'soon'],
      ['cycle_unit', 'decade'],
      ['cycle_reset_at', 'soon'],
      ['cycle_time_zone', 'Nowhere'],
      ['version', 0],
      ['version', '1'],
      ['version', null],
    ])('refuses %s %j', async (field, value) => {
      const { id } = await made(cycle(fresh()))
      expect(Object.keys(brokenFields(await update(id, { total: 1, [field]: value })))).toEqual([field])
    })

    it('answers 404 to what is not there', async () => {
      expect(refusal(await update(Number.MAX_SAFE_INTEGER, { total: 1 }))).toEqual([404, 'quota_not_found'])
    })

    it('checks the version it is given', async () => {
      const quota = await made(cycle(fresh()))
      expect(await updated(quota.id, { total: 1, version: 1 })).toMatchObject({ total: 1, version: 2 })
      const stale = await update(quota.id, { total: 2, version: 1 })
      expect(refusal(stale)).toEqual([409, 'version_mismatch'])
      expect(refusal(await update(quota.id, { total: 2, version: 3 }))).toEqual([409, 'version_mismatch'])
      expect(refusal(await update(quota.id, quota))).toEqual([409, 'version_mismatch'])
      expect(await read(quota.id)).toMatchObject({ total: 1, version: 2 })
      expect(await updated(quota.id, { total: 3 })).toMatchObject({ total: 3, version: 3 })
    })

    it('lets one of many win that edit the same version', async () => {
      const quota = await made(cycle(fresh()))
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, at) => update(quota.id, { total: at, version: 1 })),
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 409)])
      const [winner] = answers.filter(({ status }) => status === 200)
      expect(await read(quota.id)).toEqual(winner!.body)
    })

    it('is judged in order: body, then existence, then the rules of the type, then version, then state', async () => {
      const { id } = await made(total(fresh()))
      const absent = Number.MAX_SAFE_INTEGER
      expect(brokenFields(await update(absent, { total: -1 }))).toHaveProperty('total')
      expect(refusal(await update(absent, { cycle_unit: 'day', version: 9 }))[1]).toBe('quota_not_found')
      expect(brokenFields(await update(id, { cycle_unit: 'day', version: 9 }))).toHaveProperty('cycle_unit')
      expect(refusal(await update(id, { status: 'expired', version: 9 }))[1]).toBe('version_mismatch')
      expect(brokenFields(await update(id, { status: 'expired', version: 1 }))).toHaveProperty('status')
    })

    it('knows what a total quota may not be', async () => {
      const quota = await made(total(fresh()))
      const foreign = 'belongs to quota_type 2 (cycle); leave it out or null for quota_type 1 (total)'
      const answer = await update(quota.id, {
        expire_at: null,
        cycle_unit: 'day',
        cycle_reset_at: RESET,
        cycle_time_zone: 'UTC',
      })
      expect(brokenFields(answer)).toEqual({
        expire_at: 'may not be null for quota_type 1 (total)',
        cycle_unit: foreign,
        cycle_reset_at: foreign,
        cycle_time_zone: foreign,
      })
      const nothing = { cycle_unit: null, cycle_reset_at: null, cycle_time_zone: null }
      expect(await updated(quota.id, nothing)).toEqual(quota)
    })

    it('knows what a cycle quota may not be', async () => {
      const quota = await made(cycle(fresh(), { expire_at: END }))
      const stays = 'may not be null for quota_type 2 (cycle)'
      const answer = await update(quota.id, { cycle_unit: null, cycle_reset_at: null, cycle_time_zone: null })
      expect(brokenFields(answer)).toEqual({ cycle_unit: stays, cycle_reset_at: stays, cycle_time_zone: stays })
      expect(await updated(quota.id, { expire_at: null })).toEqual({ ...quota, expire_at: null, version: 2 })
    })

    it('tells what the body breaks together with what only the record tells', async () => {
      const one = await made(total(fresh()))
      const foreign = 'belongs to quota_type 2 (cycle); leave it out or null for quota_type 1 (total)'
      const body = {
        total: -1,
        label: '',
        expire_at: null,
        cycle_unit: 'day',
        cycle_reset_at: 'soon',
        status: 'expired',
      }
      expect(brokenFields(await update(one.id, body))).toEqual({
        total: expect.any(String),
        label: expect.any(String),
        // What is broken by itself is said once, and in its own words.
        cycle_reset_at: expect.not.stringContaining('belongs'),
        cycle_unit: foreign,
        expire_at: 'may not be null for quota_type 1 (total)',
        status: expect.stringContaining('active or disabled'),
      })
      const two = await made(cycle(fresh(), { expire_at: END }))
      expect(brokenFields(await update(two.id, { total: 1.5, cycle_unit: null, version: 9, nonsense: 1 }))).toEqual({
        total: expect.any(String),
        nonsense: expect.any(String),
        cycle_unit: 'may not be null for quota_type 2 (cycle)',
      })
      // Of a record that is not there, nothing is told.
      await remove(two.id)
      for (const id of [two.id, Number.MAX_SAFE_INTEGER]) {
        expect(Object.keys(brokenFields(await update(id, { total: -1, cycle_unit: null })))).toEqual(['total'])
      }
      expect(await read(one.id)).toEqual(one)
    })

    it('may lower the total below what is used; nothing gets negative', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner))
      await consumed(owner, 60)
      expect(await updated(id, { total: 50 })).toMatchObject({ total: 50, used: 60, remaining: 0 })
      expect(refusal(await consume(owner, 1))).toEqual([409, 'quota_exceeded'])
      expect(await updated(id, { total: 80 })).toMatchObject({ total: 80, used: 60, remaining: 20 })
      await consumed(owner, 20)
      expect(await read(id)).toMatchObject({ used: 80, remaining: 0 })
    })

    it('never loses a concurrent consume, nor the other way round', async () => {
      const owner = fresh()
      const { id } = await made(total(owner, { total: 1000 }))
      const work = Array.from({ length: 20 }, (_, at) => [consumed(owner, 1), updated(id, { total: 1001 + at })])
      await Promise.all(work.flat())
      const { total: last, ...rest } = await read(id)
      expect(rest).toMatchObject({ used: 20, version: 21, remaining: last - 20 })
    })

    it('switches off and on', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner))
      await consumed(owner, 10)
      expect(await updated(id, { status: 'disabled' })).toMatchObject({ status: 'disabled', used: 10, remaining: 90 })
      expect(refusal(await consume(owner, 1))).toEqual([409, 'no_active_quota'])
      expect(await updated(id, { status: 'disabled' })).toMatchObject({ version: 2 })
      expect(await updated(id, { status: 'active' })).toMatchObject({ status: 'active', used: 10, version: 3 })
      await consumed(owner, 1)
    })

    it('cannot set expired, but takes it back from a record that is', async () => {
      const owner = fresh()
      const quota = await made(total(owner))
      expect(brokenFields(await update(quota.id, { status: 'expired' }))).toEqual({
        status: 'can be set to active or disabled; a quota expires by its expire_at',
      })
      app().clock.set(END)
      const over = { ...quota, status: 'expired' }
      expect(await read(quota.id)).toEqual(over)
      expect(await updated(quota.id, over)).toEqual(over)
      expect(await updated(quota.id, quota)).toEqual(over)
      expect(await updated(quota.id, { ...over, total: 5 })).toMatchObject({ status: 'expired', total: 5, version: 2 })
    })

    it.each([START, '2026-11-20T00:00:00.000Z', '0000-01-01T00:00:00.000Z'])(
      'to an end at %s is over at once',
      async (expire_at) => {
        const owner = fresh()
        const { id } = await made(cycle(owner))
        await consumed(owner, 10)
        expect(await updated(id, { expire_at })).toMatchObject({ expire_at, status: 'expired', used: 10, version: 2 })
        expect(refusal(await consume(owner, 1))).toEqual([409, 'no_active_quota'])
        expect(await summary(owner)).toMatchObject({ quota_count: 0, total: 0, used: 0 })
        expect(await idsOf(`${ofOwner(owner)}&status=expired`)).toEqual([id])
      },
    )

    it.each([false, true])('of the end revives, with its used (swept before: %s)', async (swept) => {
      const owner = fresh()
      const { id } = await made(total(owner))
      await consumed(owner, 30)
      app().clock.set('2027-06-01T00:00:00Z')
      if (swept) await sweep()
      const whole = { ...(await read(id)), expire_at: '2028-01-01T00:00:00.000Z' }
      expect(whole.status).toBe('expired')
      expect(await updated(id, whole)).toMatchObject({ status: 'active', used: 30, remaining: 70, version: 2 })
      await consumed(owner, 70)
      expect(await idsOf(`${ofOwner(owner)}&status=active`)).toEqual([id])
    })

    it('to an end that is still past leaves it expired', async () => {
      const { id } = await made(total(fresh()))
      app().clock.set('2027-06-01T00:00:00Z')
      const expire_at = '2027-05-31T23:59:59.999Z'
      expect(await updated(id, { expire_at })).toMatchObject({ status: 'expired', expire_at, version: 2 })
    })

    it('of the switch does not revive', async () => {
      const { id } = await made(total(fresh(), {}))
      app().clock.set(END)
      expect(await updated(id, { status: 'disabled' })).toMatchObject({ status: 'disabled', version: 2 })
      expect(await updated(id, { status: 'active' })).toMatchObject({ status: 'expired', version: 3 })
    })

    it('of the reset anchors anew and ends the running cycle then, keeping its used', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner))
      await consumed(owner, 40)
      const anchor = '2027-01-31T06:00:00.000Z'
      expect(await updated(id, { cycle_reset_at: anchor })).toMatchObject({
        used: 40,
        cycle_reset_at: anchor,
        cycle_anchor_at: anchor,
      })
      app().clock.set('2027-01-31T05:59:59.999Z')
      expect(await read(id)).toMatchObject({ used: 40, cycle_reset_at: anchor })
      app().clock.set(anchor)
      expect(await read(id)).toMatchObject({ used: 0, cycle_reset_at: '2027-02-28T06:00:00.000Z' })
      expect(await updated(id, { cycle_reset_at: '2027-02-01T00:00:00Z' })).toMatchObject({
        cycle_reset_at: '2027-02-01T00:00:00.000Z',
        cycle_anchor_at: '2027-02-01T00:00:00.000Z',
      })
    })

    it('of the reset may bring it nearer', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner))
      await consumed(owner, 40)
      const soon = '2026-11-21T12:00:00.001Z'
      expect(await updated(id, { cycle_reset_at: soon })).toMatchObject({ used: 40, cycle_reset_at: soon })
      app().clock.set(soon)
      expect(await read(id)).toMatchObject({ used: 0, cycle_reset_at: '2026-12-21T12:00:00.001Z' })
    })

    it('of the reset lies in the future, unless it is an echo', async () => {
      const quota = await made(cycle(fresh()))
      for (const cycle_reset_at of [START, '2026-11-01T00:00:00.000Z', '2026-11-21T11:59:59.999Z']) {
        expect(brokenFields(await update(quota.id, { cycle_reset_at }))).toEqual({
          cycle_reset_at: 'must lie in the future',
        })
      }
      app().clock.set('2026-12-15T00:00:00Z')
      expect(brokenFields(await update(quota.id, { cycle_reset_at: '2026-12-01T00:00:00.001Z' }))).toHaveProperty(
        'cycle_reset_at',
      )
      expect(await updated(quota.id, { cycle_reset_at: RESET })).toMatchObject({ version: 1, cycle_reset_at: END })
    })

    it('to a later reset of the same anchor is a change all the same', async () => {
      const { id } = await made(cycle(fresh()))
      expect(await updated(id, { cycle_reset_at: END })).toMatchObject({
        version: 2,
        cycle_reset_at: END,
        cycle_anchor_at: END,
      })
    })

    it('of the unit alone keeps the next reset and steps on from there', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner, { cycle_reset_at: '2027-01-31T00:00:00.000Z' }))
      app().clock.set('2027-02-10T00:00:00Z')
      await consumed(owner, 5)
      const next = '2027-02-28T00:00:00.000Z'
      expect(await updated(id, { cycle_unit: 'week' })).toMatchObject({
        used: 5,
        cycle_reset_at: next,
        cycle_anchor_at: next,
        cycle_unit: 'week',
        version: 2,
      })
      app().clock.set(next)
      expect(await read(id)).toMatchObject({ used: 0, cycle_reset_at: '2027-03-07T00:00:00.000Z' })
    })

    it('of the zone alone keeps the next reset and follows the new clock from there', async () => {
      const reset = '2027-03-01T00:00:00.000Z'
      const { id } = await made(cycle(fresh(), { cycle_reset_at: reset }))
      expect(await updated(id, { cycle_time_zone: 'America/New_York' })).toMatchObject({
        cycle_reset_at: reset,
        cycle_anchor_at: reset,
      })
      app().clock.set('2027-04-01T00:00:00Z')
      // 19:00 on February 28 in New York; a month later summer time has begun.
      expect(await read(id)).toMatchObject({ cycle_reset_at: '2027-04-28T23:00:00.000Z' })
    })

    it('of unit and reset together takes both', async () => {
      const { id } = await made(cycle(fresh()))
      const reset = '2026-11-22T00:00:00.000Z'
      expect(await updated(id, { cycle_unit: 'day', cycle_reset_at: reset })).toMatchObject({
        cycle_unit: 'day',
        cycle_reset_at: reset,
        cycle_anchor_at: reset,
        version: 2,
      })
    })
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

  describe('a cycle', () => {
    const resets = async (id: number, expected: [string, string][]) => {
      const seen: [string, string][] = []
      for (const [now] of expected) {
        app().clock.set(now)
        seen.push([now, (await read(id)).cycle_reset_at])
      }
      expect(seen).toEqual(expected)
    }

    it('of a month counts from its anchor, so that no month end is lost', async () => {
      const { id } = await made(cycle(fresh(), { cycle_reset_at: '2027-01-31T10:00:00Z' }))
      await resets(id, [
        ['2027-01-31T09:59:59.999Z', '2027-01-31T10:00:00.000Z'],
        ['2027-01-31T10:00:00.000Z', '2027-02-28T10:00:00.000Z'],
        ['2027-02-28T10:00:00.000Z', '2027-03-31T10:00:00.000Z'],
        ['2027-03-31T10:00:00.000Z', '2027-04-30T10:00:00.000Z'],
        ['2027-04-30T10:00:00.000Z', '2027-05-31T10:00:00.000Z'],
        ['2028-02-01T00:00:00.000Z', '2028-02-29T10:00:00.000Z'],
        ['2028-02-29T10:00:00.000Z', '2028-03-31T10:00:00.000Z'],
      ])
    })

    it('of a year knows leap days', async () => {
      const { id } = await made(cycle(fresh(), { cycle_unit: 'year', cycle_reset_at: '2028-02-29T00:00:00Z' }))
      await resets(id, [
        ['2028-02-29T00:00:00.000Z', '2029-02-28T00:00:00.000Z'],
        ['2031-03-01T00:00:00.000Z', '2032-02-29T00:00:00.000Z'],
      ])
    })

    it('of a day follows the clocks of its zone: skipped times move on, repeated ones are the first', async () => {
      const zone = { cycle_unit: 'day', cycle_time_zone: 'Europe/Berlin' }
      const spring = await made(cycle(fresh(), { ...zone, cycle_reset_at: '2027-03-27T02:30:00+01:00' }))
      await resets(spring.id, [
        ['2027-03-27T01:30:00.000Z', '2027-03-28T01:30:00.000Z'],
        ['2027-03-28T01:30:00.000Z', '2027-03-29T00:30:00.000Z'],
        ['2027-03-29T00:30:00.000Z', '2027-03-30T00:30:00.000Z'],
      ])
      const autumn = await made(cycle(fresh(), { ...zone, cycle_reset_at: '2027-10-30T02:30:00+02:00' }))
      await resets(autumn.id, [
        ['2027-10-30T00:30:00.000Z', '2027-10-31T00:30:00.000Z'],
        ['2027-10-31T00:30:00.000Z', '2027-11-01T01:30:00.000Z'],
        ['2027-11-01T01:30:00.000Z', '2027-11-02T01:30:00.000Z'],
      ])
    })

    it('of an hour is elapsed time, clock change or not', async () => {
      const body = { cycle_unit: 'hour', cycle_time_zone: 'Europe/Berlin', cycle_reset_at: '2027-03-28T00:30:00Z' }
      const { id } = await made(cycle(fresh(), body))
      await resets(id, [
        ['2027-03-28T00:30:00.000Z', '2027-03-28T01:30:00.000Z'],
        ['2027-03-28T01:30:00.000Z', '2027-03-28T02:30:00.000Z'],
      ])
    })

    it('of a week follows the calendar', async () => {
      const body = { cycle_unit: 'week', cycle_time_zone: 'Europe/Berlin', cycle_reset_at: '2027-03-22T00:00:00+01:00' }
      const { id } = await made(cycle(fresh(), body))
      await resets(id, [
        ['2027-03-21T23:00:00.000Z', '2027-03-28T22:00:00.000Z'],
        ['2027-03-28T22:00:00.000Z', '2027-04-04T22:00:00.000Z'],
      ])
    })

    it('begins at its reset itself, with nothing used', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner))
      await consumed(owner, 100)
      app().clock.set('2026-11-30T23:59:59.999Z')
      expect(await read(id)).toMatchObject({ used: 100, remaining: 0, cycle_reset_at: RESET })
      expect(refusal(await consume(owner, 1))).toEqual([409, 'quota_exceeded'])
      app().clock.set(RESET)
      expect(await read(id)).toMatchObject({ used: 0, remaining: 100, cycle_reset_at: END })
      expect(await summary(owner)).toMatchObject({ used: 0, remaining: 100 })
      await consumed(owner, 1)
      expect(await read(id)).toMatchObject({ used: 1, remaining: 99, cycle_reset_at: END, cycle_anchor_at: RESET })
      expect((await listed(ofOwner(owner))).items).toEqual([await read(id)])
    })

    it('that was missed a thousand times over is jumped to, and allowances do not pile up', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner, { cycle_unit: 'hour', cycle_reset_at: '2026-11-21T12:30:00Z' }))
      await consumed(owner, 5)
      app().clock.pass(1000 * 3600 + 1)
      const quota = await read(id)
      expect(quota).toMatchObject({ used: 0, remaining: 100, cycle_reset_at: '2027-01-02T04:30:00.000Z' })
      expect(quota).toMatchObject({ version: 1, updated_at: START, cycle_anchor_at: '2026-11-21T12:30:00.000Z' })
      expect(refusal(await consume(owner, 101))).toEqual([409, 'quota_exceeded'])
      await consumed(owner, 100)
      expect(await read(id)).toMatchObject({ used: 100, version: 1, updated_at: START })
      app().clock.set('2999-01-01T00:00:00Z')
      expect(await read(id)).toMatchObject({ used: 0, cycle_reset_at: '2999-01-01T00:30:00.000Z' })
    })

    it('may be the first for years', async () => {
      const { id } = await made(cycle(fresh(), { cycle_unit: 'hour', cycle_reset_at: '2036-01-01T00:00:00Z' }))
      await resets(id, [
        ['2035-12-31T23:59:59.999Z', '2036-01-01T00:00:00.000Z'],
        ['2036-01-01T00:00:00.000Z', '2036-01-01T01:00:00.000Z'],
      ])
    })

    it('shows its next reset by the calendar even where the end comes first', async () => {
      const expire_at = '2026-12-05T00:00:00.000Z'
      const { id } = await made(cycle(fresh(), { expire_at }))
      app().clock.set('2026-12-04T00:00:00Z')
      expect(await read(id)).toMatchObject({ status: 'active', expire_at, cycle_reset_at: END })
    })

    it('of an expired quota stands still, and rolls on when it is revived', async () => {
      const owner = fresh()
      const expire_at = '2026-12-05T00:00:00.000Z'
      const { id } = await made(cycle(owner, { expire_at }))
      app().clock.set('2026-12-02T00:00:00Z')
      await consumed(owner, 30)
      app().clock.set('2027-06-15T00:00:00Z')
      const over = { status: 'expired', used: 30, remaining: 70, cycle_reset_at: END }
      expect(await read(id)).toMatchObject(over)
      await sweep()
      expect(await read(id)).toMatchObject(over)
      expect(await updated(id, { total: 90 })).toMatchObject({ ...over, total: 90, remaining: 60 })
      expect(await updated(id, { expire_at: '2028-01-01T00:00:00Z' })).toMatchObject({
        status: 'active',
        used: 0,
        remaining: 90,
        cycle_reset_at: '2027-07-01T00:00:00.000Z',
        cycle_anchor_at: RESET,
      })
    })

    it('of a revived quota goes on where it still runs', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner, { expire_at: '2026-11-22T00:00:00Z' }))
      await consumed(owner, 30)
      app().clock.set('2026-11-25T00:00:00Z')
      expect(await updated(id, { expire_at: null })).toMatchObject({
        status: 'active',
        used: 30,
        cycle_reset_at: RESET,
      })
    })

    it('that ends with the quota itself is its last', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner, { expire_at: RESET }))
      await consumed(owner, 30)
      app().clock.set(RESET)
      expect(await read(id)).toMatchObject({ status: 'expired', used: 30, cycle_reset_at: RESET })
      expect(await updated(id, { expire_at: null })).toMatchObject({ status: 'active', used: 0, cycle_reset_at: END })
    })

    it('of an expired quota can be changed while it stands still', async () => {
      const { id } = await made(cycle(fresh(), { expire_at: '2026-11-25T00:00:00Z' }))
      app().clock.set('2027-06-15T00:00:00Z')
      expect(await updated(id, { cycle_unit: 'day' })).toMatchObject({
        status: 'expired',
        cycle_reset_at: RESET,
        cycle_anchor_at: RESET,
      })
      expect(await updated(id, { expire_at: null })).toMatchObject({
        status: 'active',
        cycle_reset_at: '2027-06-16T00:00:00.000Z',
      })
    })

    it('that nobody spent in before the end shows nothing used', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner, { expire_at: '2026-12-05T00:00:00.000Z' }))
      await consumed(owner, 30)
      app().clock.set('2027-06-15T00:00:00Z')
      expect(await read(id)).toMatchObject({ status: 'expired', used: 0, cycle_reset_at: END })
    })

    it('ends with time itself', async () => {
      const { id } = await made(cycle(fresh(), { cycle_unit: 'year', cycle_reset_at: '9998-06-01T00:00:00Z' }))
      await resets(id, [
        ['9998-06-01T00:00:00.000Z', '9999-06-01T00:00:00.000Z'],
        ['9999-06-01T00:00:00.000Z', LATEST],
        [LATEST, LATEST],
      ])
    })
  })

  describe('a summary', () => {
    it('adds up what is active now', async () => {
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
      const sum = { [api.owner]: owner, total: 1050, used: 60, reserved: 5, remaining: 985, quota_count: 2 }
      expect(await summary(owner)).toEqual(sum)
      app().clock.pass(60)
      expect(await summary(owner)).toEqual({ ...sum, reserved: 0, remaining: 990 })
      app().clock.set('2026-11-22T00:00:00Z')
      expect((await read(second.id)).status).toBe('expired')
      expect(await summary(owner)).toEqual({
        [api.owner]: owner,
        total: 1000,
        used: 10,
        reserved: 0,
        remaining: 990,
        quota_count: 1,
      })
    })

    it('adds the quotas’ own remaining, so that a lowered total hurts no other', async () => {
      const owner = fresh()
      const first = await made(total(owner, { expire_at: '2026-12-01T00:00:00Z' }))
      await made(total(owner))
      await consumed(owner, 90)
      await updated(first.id, { total: 10 })
      expect(await summary(owner)).toEqual({
        [api.owner]: owner,
        total: 110,
        used: 90,
        reserved: 0,
        remaining: 100,
        quota_count: 2,
      })
    })

    it('of nobody is zeros', async () => {
      const owner = fresh()
      const zeros = { [api.owner]: owner, total: 0, used: 0, reserved: 0, remaining: 0, quota_count: 0 }
      expect(await summary(owner)).toEqual(zeros)
    })

    it('stays exact at the largest totals', async () => {
      const owner = fresh()
      for (let at = 0; at < 3; at += 1) await made(total(owner, { total: 1e12 }))
      await consumed(owner, 1e12)
      expect(await summary(owner)).toMatchObject({ total: 3e12, used: 1e12, remaining: 2e12 })
    })

    it.each(['0', '007', 'x', '7.0', '9007199254740992'])('of %s is refused', async (owner) => {
      expect(Object.keys(brokenFields(await app().get(api.summary(owner))))).toHaveLength(1)
    })
  })

  describe('a delete', () => {
    it('takes a quota out of everything but its history', async () => {
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

    it('checks the version it is given, after existence', async () => {
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

    it('keeps its first time when it is tried again', async () => {
      const { id } = await made(cycle(fresh()))
      await remove(id)
      app().clock.pass(60)
      expect(refusal(await app().delete(path(id)))).toEqual([404, 'quota_not_found'])
      bodyOf(200, await restore(id))
      const [{ before, after }] = (await changes(id)).items
      expect([before, after]).toEqual([{ deleted_at: START }, { deleted_at: null }])
    })

    it('happens once, however many try', async () => {
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

    it('of what never was is 404', async () => {
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

    it('keeps the switch', async () => {
      const { id } = await made(cycle(fresh()))
      await updated(id, { status: 'disabled' })
      await remove(id)
      expect(bodyOf(200, await restore(id))).toMatchObject({ status: 'disabled', version: 4 })
    })
  })

  describe('the changes', () => {
    it('say who did what to the settings, and when, newest first', async () => {
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

    it('show a re-anchoring, and no usage', async () => {
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

    it('of a total quota begin with all seven settings', async () => {
      const { id } = await made(total(fresh()))
      expect((await changes(id)).items[0].after).toEqual({
        total: 100,
        status: 'active',
        expire_at: END,
        cycle_unit: null,
        cycle_reset_at: null,
        cycle_time_zone: null,
        label: null,
      })
    })

    it('come in pages like a list, without before_id', async () => {
      const { id } = await made(cycle(fresh()))
      for (const value of [1, 2, 3, 4]) await updated(id, { total: value })
      const { items } = await changes(id)
      expect(items.map(({ after }: Body) => after.total)).toEqual([4, 3, 2, 1, 100])
      const envelope = { page_size: 2, total: 5, total_relation: 'exact' }
      expect(await changes(id, '?page_size=2')).toEqual({ ...envelope, items: items.slice(0, 2), page: 1 })
      expect(await changes(id, '?page_size=2&page=3')).toEqual({ ...envelope, items: items.slice(4), page: 3 })
      expect(await changes(id, '?page_size=2&page=4')).toEqual({ ...envelope, items: [], page: 4 })
      const refused = async (query: string) => brokenFields(await app().get(`${path(id)}/changes?${query}`))
      expect(await refused('before_id=3')).toEqual({ before_id: 'is no parameter of this route' })
      expect(await refused('page=0&page_size=101')).toEqual({
        page: 'must be an integer from 1 to 9007199254740991',
        page_size: 'must be an integer from 1 to 100',
      })
      const deep = await refused('page=1001&page_size=100')
      expect(Object.keys(deep)).toEqual(['page'])
      expect(deep['page']).not.toContain('before_id')
    })

    it('of what never was are 404', async () => {
      expect(refusal(await app().get(`${path(Number.MAX_SAFE_INTEGER)}/changes`))).toEqual([404, 'quota_not_found'])
    })

    it('of a refused update are none', async () => {
      const { id } = await made(cycle(fresh()))
      await update(id, { total: 1, version: 7 })
      await update(id, { total: 1, cycle_reset_at: START })
      expect(await changes(id)).toMatchObject({ total: 1 })
    })
  })

  describe('an owner', () => {
    it('holds at most 200 live quotas, however many are asked for at once', async () => {
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
      // An expired quota is none of the 200: it may be edited, deleted and restored.
      expect(await updated(passing.id, { total: 1 })).toMatchObject({ status: 'expired', version: 2 })
      await remove(passing.id)
      expect(bodyOf(200, await restore(passing.id))).toMatchObject({ status: 'expired', version: 4 })
      // A disabled one is one of them.
      await updated(first, { status: 'disabled' })
      expect(refusal(await create(cycle(owner)))).toEqual([409, 'too_many_quotas'])
      expect(await updated(first, { status: 'active' })).toMatchObject({ status: 'active' })

      // Room is made by a delete and by an end.
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

    it('can be walked by before_id, its total staying the whole', async () => {
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

    it('of everything begins with what was made last', async () => {
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

    it.each([
      ['page=0', 'page'],
      ['page=01', 'page'],
      ['page=1.0', 'page'],
      ['page=1e1', 'page'],
      ['page=-1', 'page'],
      ['page=+1', 'page'],
      ['page=', 'page'],
      ['page=%201', 'page'],
      ['page=1&page=1', 'page'],
      ['page[]=1', 'page[]'],
      ['page_size=0', 'page_size'],
      ['page_size=101', 'page_size'],
      ['page_size=20&page_size=20', 'page_size'],
      ['before_id=0', 'before_id'],
      ['before_id=x', 'before_id'],
      ['before_id=9007199254740992', 'before_id'],
      ['status=Active', 'status'],
      ['status=', 'status'],
      ['status=deleted', 'status'],
      ['status=active&status=active', 'status'],
      [`${api.owner}=0`, api.owner],
      [`${api.owner}=007`, api.owner],
      [`${api.owner}=7.0`, api.owner],
      [`${api.owner}=9007199254740992`, api.owner],
      [`${api.owner}=1&${api.owner}=2`, api.owner],
      [`${api.owner}[$gt]=1`, `${api.owner}[$gt]`],
      ['quota_type=1', 'quota_type'],
      ['sort=id', 'sort'],
      ['__proto__=1', '__proto__'],
      ['constructor=1', 'constructor'],
    ])('refuses ?%s', async (query, field) => {
      expect(Object.keys(brokenFields(await list(query)))).toEqual([field])
    })

    it('points out misspelt parameters, all at once', async () => {
      expect(brokenFields(await list('pageSize=2&Status=active&before-id=1&state=x'))).toEqual({
        pageSize: 'did you mean page_size?',
        Status: 'did you mean status?',
        'before-id': 'did you mean before_id?',
        state: 'is no parameter of this route',
      })
    })

    it('ends its pages at row 100,000 and says how to go on', async () => {
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
      // A request waits but shortly for a count that nobody has made yet, and says that there are more than 10,000 until it is made.
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
      await copyQuota(app(), api, id, 49)
      expect(await count()).toEqual([10_001, 'recent'])
      await soon(10_050, `${mine}&status=active`)
      expect(await count(`${mine}&status=disabled`)).toEqual([0, 'exact'])
      app().clock.pass(60)
      expect(await count()).toEqual([10_001, 'recent'])
      app().clock.pass(1)
      await soon(10_050)
      await copyQuota(app(), api, id, 1)
      app().clock.pass(30)
      expect(await count()).toEqual([10_050, 'recent'])
      await sweep()
      expect(await count()).toEqual([10_051, 'recent'])

      const last = await listed(`${ofOwner(owner)}&page=101&page_size=100`)
      expect(last.items).toHaveLength(51)
      expect(last.items.at(-1).id).toBe(id)
      expect((await listed(`${ofOwner(owner)}&page=102&page_size=100`)).items).toEqual([])
      let walked = 0
      let before = Number.MAX_SAFE_INTEGER
      for (;;) {
        const ids = await idsOf(`${ofOwner(owner)}&page_size=100&before_id=${before}`)
        if (ids.length === 0) break
        expect(ids).toEqual([...new Set(ids)].sort((a, b) => b - a))
        expect(ids[0]).toBeLessThan(before)
        before = ids.at(-1)!
        walked += ids.length
      }
      expect([walked, before]).toEqual([10_051, id])

      // What was long a moment ago is counted exactly as soon as it is not.
      for (const one of (await idsOf(`${ofOwner(owner)}&page_size=100`)).slice(0, 51)) {
        expect(await count()).toEqual([10_051, 'recent'])
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
