import { describe, expect } from '@jest/globals'
import { brokenFields, fresh, refusal, START } from '../quota-api.js'
import { it } from '../scoped.js'
import { END, type QuotaSuite, RESET } from './suite.js'

/** Updates, and their refusals. */
export function updateContract(suite: QuotaSuite): void {
  const {
    api,
    app,
    cycle,
    total,
    made,
    read,
    update,
    updated,
    remove,
    changes,
    idsOf,
    ofOwner,
    summary,
    consume,
    consumed,
    sweep,
  } = suite

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

    it('names everything wrong with an update at once', async () => {
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

    it('accepts a whole record and changes nothing', async () => {
      for (const body of [cycle(fresh(), api.named), total(fresh())]) {
        const quota = await made(body)
        app().clock.pass(60)
        const echo = await update(quota.id, quota)
        expect([echo.status, echo.body]).toEqual([200, quota])
        expect(await read(quota.id)).toEqual(quota)
        expect(await changes(quota.id)).toMatchObject({ total: 1 })
      }
    })

    it('accepts a whole record with one change', async () => {
      const quota = await made(cycle(fresh(), { cycle_time_zone: 'Europe/Berlin' }))
      expect(await updated(quota.id, { ...quota, total: 7 })).toEqual({ ...quota, total: 7, remaining: 7, version: 2 })
    })

    it('treats the same time in another form as unchanged', async () => {
      const quota = await made(cycle(fresh(), { expire_at: END }))
      const same = { cycle_reset_at: '2026-12-01T09:00:00.0009+09:00', expire_at: '2027-01-01T00:00:00Z', total: 100 }
      expect(await updated(quota.id, same)).toEqual(quota)
    })

    it('accepts a record that was read before one or many resets, without changing the anchor', async () => {
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

    it('accepts an old reset together with a change of unit or zone, which applies from the next reset', async () => {
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

    it('ignores the other fields of a record, whatever their values', async () => {
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

    it('requires one of the settings', async () => {
      const { id, version, used } = await made(cycle(fresh()))
      const message =
        'must name at least one of total, status, expire_at, cycle_unit, cycle_reset_at, cycle_time_zone, label, ' +
        'cap, window_seconds, thresholds'
      for (const body of [{}, { version }, { id, used, quota_type: 2 }]) {
        expect(brokenFields(await update(id, body))).toEqual({ body: message })
      }
    })

    it('reports a misspelt name and changes nothing', async () => {
      const quota = await made(cycle(fresh()))
      expect(brokenFields(await update(quota.id, { total: 1, expireAt: null, limit: 3, removed_at: null }))).toEqual({
        expireAt: 'did you mean expire_at?',
        limit: 'is not a field of this request',
        removed_at: 'is not a field of this request',
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

    it('answers 404 if there is no such quota', async () => {
      expect(refusal(await update(Number.MAX_SAFE_INTEGER, { total: 1 }))).toEqual([404, 'quota_not_found'])
    })

    it('checks the given version', async () => {
      const quota = await made(cycle(fresh()))
      expect(await updated(quota.id, { total: 1, version: 1 })).toMatchObject({ total: 1, version: 2 })
      const stale = await update(quota.id, { total: 2, version: 1 })
      expect(refusal(stale)).toEqual([409, 'version_mismatch'])
      expect(refusal(await update(quota.id, { total: 2, version: 3 }))).toEqual([409, 'version_mismatch'])
      expect(refusal(await update(quota.id, quota))).toEqual([409, 'version_mismatch'])
      expect(await read(quota.id)).toMatchObject({ total: 1, version: 2 })
      expect(await updated(quota.id, { total: 3 })).toMatchObject({ total: 3, version: 3 })
    })

    it('lets one of many edits of the same version succeed', async () => {
      const quota = await made(cycle(fresh()))
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, at) => update(quota.id, { total: at, version: 1 })),
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 409)])
      const [winner] = answers.filter(({ status }) => status === 200)
      expect(await read(quota.id)).toEqual(winner!.body)
    })

    it('is checked in order: body, then existence, then the rules of the type, then version, then state', async () => {
      const { id } = await made(total(fresh()))
      const absent = Number.MAX_SAFE_INTEGER
      expect(brokenFields(await update(absent, { total: -1 }))).toHaveProperty('total')
      expect(refusal(await update(absent, { cycle_unit: 'day', version: 9 }))[1]).toBe('quota_not_found')
      expect(brokenFields(await update(id, { cycle_unit: 'day', version: 9 }))).toHaveProperty('cycle_unit')
      expect(refusal(await update(id, { status: 'expired', version: 9 }))[1]).toBe('version_mismatch')
      expect(brokenFields(await update(id, { status: 'expired', version: 1 }))).toHaveProperty('status')
    })

    it('refuses what a total quota excludes', async () => {
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

    it('refuses what a cycle quota excludes', async () => {
      const quota = await made(cycle(fresh(), { expire_at: END }))
      const stays = 'may not be null for quota_type 2 (cycle)'
      const answer = await update(quota.id, { cycle_unit: null, cycle_reset_at: null, cycle_time_zone: null })
      expect(brokenFields(answer)).toEqual({ cycle_unit: stays, cycle_reset_at: stays, cycle_time_zone: stays })
      expect(await updated(quota.id, { expire_at: null })).toEqual({ ...quota, expire_at: null, version: 2 })
    })

    it('reports mistakes of the body together with mistakes that depend on the record', async () => {
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
        // A field is reported once: that it is foreign counts more than its form.
        cycle_reset_at: foreign,
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
      // For a deleted record, no details are given.
      await remove(two.id)
      for (const id of [two.id, Number.MAX_SAFE_INTEGER]) {
        expect(Object.keys(brokenFields(await update(id, { total: -1, cycle_unit: null })))).toEqual(['total'])
      }
      expect(await read(one.id)).toEqual(one)
    })

    it('can lower the total below used; nothing becomes negative', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner))
      await consumed(owner, 60)
      expect(await updated(id, { total: 50 })).toMatchObject({ total: 50, used: 60, remaining: 0 })
      expect(refusal(await consume(owner, 1))).toEqual([409, 'quota_exceeded'])
      expect(await updated(id, { total: 80 })).toMatchObject({ total: 80, used: 60, remaining: 20 })
      await consumed(owner, 20)
      expect(await read(id)).toMatchObject({ used: 80, remaining: 0 })
    })

    it('never loses a concurrent consume, nor the reverse', async () => {
      const owner = fresh()
      const { id } = await made(total(owner, { total: 1000 }))
      const work = Array.from({ length: 20 }, (_, at) => [consumed(owner, 1), updated(id, { total: 1001 + at })])
      await Promise.all(work.flat())
      const { total: last, ...rest } = await read(id)
      expect(rest).toMatchObject({ used: 20, version: 21, remaining: last - 20 })
    })

    it('disables and enables', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner))
      await consumed(owner, 10)
      expect(await updated(id, { status: 'disabled' })).toMatchObject({ status: 'disabled', used: 10, remaining: 90 })
      expect(refusal(await consume(owner, 1))).toEqual([409, 'no_active_quota'])
      expect(await updated(id, { status: 'disabled' })).toMatchObject({ version: 2 })
      expect(await updated(id, { status: 'active' })).toMatchObject({ status: 'active', used: 10, version: 3 })
      await consumed(owner, 1)
    })

    it('cannot set expired, but accepts it from an expired record', async () => {
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

    it('to another end in the past keeps it expired', async () => {
      const { id } = await made(total(fresh()))
      app().clock.set('2027-06-01T00:00:00Z')
      const expire_at = '2027-05-31T23:59:59.999Z'
      expect(await updated(id, { expire_at })).toMatchObject({ status: 'expired', expire_at, version: 2 })
    })

    it('of the status does not revive', async () => {
      const { id } = await made(total(fresh(), {}))
      app().clock.set(END)
      expect(await updated(id, { status: 'disabled' })).toMatchObject({ status: 'disabled', version: 2 })
      expect(await updated(id, { status: 'active' })).toMatchObject({ status: 'expired', version: 3 })
    })

    it('of the reset sets a new anchor and ends the current cycle at that time, keeping its used', async () => {
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

    it('of the reset can make it earlier', async () => {
      const owner = fresh()
      const { id } = await made(cycle(owner))
      await consumed(owner, 40)
      const soon = '2026-11-21T12:00:00.001Z'
      expect(await updated(id, { cycle_reset_at: soon })).toMatchObject({ used: 40, cycle_reset_at: soon })
      app().clock.set(soon)
      expect(await read(id)).toMatchObject({ used: 0, cycle_reset_at: '2026-12-21T12:00:00.001Z' })
    })

    it('of the reset must be in the future, unless it is unchanged', async () => {
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

    it('to a later reset of the same anchor is a change', async () => {
      const { id } = await made(cycle(fresh()))
      expect(await updated(id, { cycle_reset_at: END })).toMatchObject({
        version: 2,
        cycle_reset_at: END,
        cycle_anchor_at: END,
      })
    })

    it('of the unit alone keeps the next reset and applies from there', async () => {
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

    it('of the zone alone keeps the next reset and applies from there', async () => {
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

    it('of unit and reset together applies both', async () => {
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
}
