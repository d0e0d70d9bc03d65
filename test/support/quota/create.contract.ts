import { describe, expect } from '@jest/globals'
import { CYCLE_UNITS } from '../../../src/domain/cycle.js'
import { bodyOf, brokenFields, fresh, START } from '../quota-api.js'
import { it } from '../scoped.js'
import { END, LATEST, type QuotaSuite, RESET } from './suite.js'

/** Creates, and their refusals. */
export function createContract(suite: QuotaSuite): void {
  const { api, app, cycle, total, create, made, path, listed, ofOwner } = suite

  describe('a create', () => {
    it('creates a cycle quota, with its defaults, and names its location', async () => {
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
        cap: null,
        window_seconds: null,
        thresholds: [],
        group_id: null,
        per: null,
        follows: null,
        overrides: null,
        version: 1,
        created_at: START,
        updated_at: START,
      })
      expect(answer.headers['location']).toBe(path(quota.id))
      expect(answer.headers['content-type']).toMatch(/^application\/json\b/)
      expect((await app().get(answer.headers['location']!)).text).toBe(answer.text)
    })

    it('creates a total quota, with null for the fields of the other type', async () => {
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
        cap: null,
        window_seconds: null,
        thresholds: [],
        group_id: null,
        per: null,
        follows: null,
        overrides: null,
        version: 1,
        created_at: START,
        updated_at: START,
      })
    })

    it('treats null as absent', async () => {
      const nothing = { expire_at: null, cycle_time_zone: null, ...api.unnamed }
      expect(await made(cycle(fresh(), nothing))).toMatchObject({
        expire_at: null,
        cycle_time_zone: 'UTC',
        ...api.unnamed,
      })
      const foreign = { cycle_unit: null, cycle_reset_at: null, cycle_time_zone: null }
      expect(await made(total(fresh(), foreign))).toMatchObject({ ...foreign, cycle_anchor_at: null })
    })

    it('accepts the smallest and the largest values', async () => {
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

    it.each(CYCLE_UNITS)('takes cycles of a %s', async (cycle_unit) => {
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
      ['quota_type', 4],
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
      ['cycle_time_zone', 'PST'],
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

    it('names the required fields', async () => {
      const one = `exactly one of ${api.owner} and group_id must be given`
      expect(brokenFields(await create({}))).toEqual({
        [api.owner]: one,
        group_id: one,
        quota_type: 'is required: must be one of 1 (total), 2 (cycle), 3 (rolling)',
        total: 'is required: must be an integer from 0 to 1000000000000',
      })
      expect(brokenFields(await create(total(1, { [api.owner]: undefined, group_id: null })))).toEqual({
        [api.owner]: one,
        group_id: one,
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

    it('takes null for the fields of a group, as the record shows them', async () => {
      const nothing = { group_id: null, per: null }
      expect(await made(total(fresh(), nothing))).toMatchObject(nothing)
    })

    it('refuses what a total quota excludes', async () => {
      const foreign = 'belongs to quota_type 2 (cycle); leave it out or null for quota_type 1 (total)'
      const body = total(fresh(), { cycle_unit: 'day', cycle_reset_at: RESET, cycle_time_zone: 'UTC' })
      expect(brokenFields(await create(body))).toEqual({
        cycle_unit: foreign,
        cycle_reset_at: foreign,
        cycle_time_zone: foreign,
      })
    })

    it('refuses times that are not in the future, to the millisecond', async () => {
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

    it('names everything wrong at once', async () => {
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
        ['QuotaType', 'cycle_reset_at', 'cycle_unit', 'expire_at', 'group_id', 'nonsense', 'total', api.owner].sort(),
      )
      expect(broken).toMatchObject({ QuotaType: 'did you mean quota_type?', expire_at: 'must lie in the future' })
    })

    it('reports a name that differs only in case or underscores', async () => {
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
        totals: 'is not a field of this request',
      })
    })

    it('refuses fields that the service sets', async () => {
      const kept = { id: 1, reserved: 0, remaining: 0, status: 'active', cycle_anchor_at: RESET, version: 1 }
      const more = { created_at: START, updated_at: START, deleted_at: null }
      const broken = brokenFields(await create(cycle(fresh(), { ...kept, ...more })))
      expect(Object.keys(broken).sort()).toEqual(Object.keys({ ...kept, ...more }).sort())
    })

    it('has no effect if it is refused', async () => {
      const owner = fresh()
      await create(cycle(owner, { total: -1 }))
      await create(cycle(owner, { cycle_reset_at: START }), { key: `refused-${owner}` })
      expect(await listed(ofOwner(owner))).toMatchObject({ items: [], total: 0 })
    })
  })
}
