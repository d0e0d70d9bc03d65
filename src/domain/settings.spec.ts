import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { quotaState } from '../../test/support/quota-state.js'
import { formatInstant, type Instant, MAX_INSTANT } from '../common/instant.js'
import { CYCLE_UNITS, resetsOf } from './cycle.js'
import { type QuotaState, type QuotaType, roll, STATUSES, statusAt } from './quota.js'
import {
  type Applied,
  applyPatch,
  timeViolations,
  typeViolations,
  foreignViolations,
  type Violation,
  newQuota,
  type NewSettings,
  type SettingsPatch,
  settingsView,
} from './settings.js'
import { thresholdsOf } from './threshold.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const at = (text: string): Instant => Date.parse(text)
const NOW = at('2026-11-21T12:00:00Z')

const fields = (violations: readonly Violation[]): string[] => violations.map(({ field }) => field).sort()
const brokenFields = (applied: Applied): string[] => fields(applied.violations ?? [])

const TYPE_1: NewSettings = {
  quotaType: 1,
  total: 100,
  used: 0,
  expireAt: NOW + DAY,
  cycleUnit: null,
  cycleResetAt: null,
  cycleTimeZone: null,
  label: null,
  cap: null,
  windowSeconds: null,
  thresholds: [],
}
const TYPE_2: NewSettings = {
  quotaType: 2,
  total: 100,
  used: 0,
  expireAt: null,
  cycleUnit: 'month',
  cycleResetAt: at('2026-12-01T00:00Z'),
  cycleTimeZone: 'UTC',
  label: null,
  cap: null,
  windowSeconds: null,
  thresholds: [],
}

const totalQuota = (given: Partial<QuotaState> = {}): QuotaState => ({
  id: 1,
  ...newQuota(TYPE_1, NOW - DAY),
  used: 40,
  reserved: 5,
  ...given,
})

/** Monthly since August 31, now in the cycle that ends on November 30. */
const cycleQuota = (given: Partial<QuotaState> = {}): QuotaState => ({
  id: 1,
  ...newQuota(TYPE_2, at('2026-08-01T00:00Z')),
  cycleAnchorAt: at('2026-08-31T00:00Z'),
  cycleEndsAt: at('2026-11-30T00:00Z'),
  cycleSeq: 3,
  used: 40,
  reserved: 5,
  holdDueAt: NOW + HOUR,
  ...given,
})

/** What a front end sends back: the settings as the record shows them. */
const shownRecord = (quota: QuotaState, now: Instant): Required<SettingsPatch> => ({
  total: quota.total,
  status: statusAt(quota, now),
  expireAt: quota.expireAt,
  cycleUnit: quota.cycleUnit,
  cycleResetAt: quota.cycleEndsAt,
  cycleTimeZone: quota.cycleTimeZone,
  label: quota.label,
  cap: quota.cap,
  windowSeconds: quota.windowSeconds,
  thresholds: thresholdsOf(quota.thresholds),
})

/** Any quota as it stands rolled at `now`, over or not, disabled or not, marked as expired or not. */
const anyRolled = fc
  .record({
    cyclic: fc.boolean(),
    unit: fc.constantFrom(...CYCLE_UNITS),
    timeZone: fc.constantFrom('UTC', 'America/New_York', 'Europe/Berlin', 'Asia/Kolkata'),
    first: fc.integer({ min: 1, max: 200 * 24 }).map((hours) => hours * HOUR),
    lived: fc.integer({ min: 1, max: 400 * DAY }),
    endless: fc.boolean(),
    disabled: fc.boolean(),
    age: fc.integer({ min: 0, max: 800 * DAY }),
    used: fc.nat(150),
    marked: fc.boolean(),
  })
  .map(({ cyclic, unit, timeZone, first, lived, endless, disabled, age, used, marked }) => {
    const born = at('2024-01-31T06:30Z')
    const now = born + age
    const settings: NewSettings = cyclic
      ? {
          quotaType: 2,
          total: 100,
          used: 0,
          expireAt: endless ? null : born + lived,
          cycleUnit: unit,
          cycleResetAt: born + first,
          cycleTimeZone: timeZone,
          label: null,
          cap: null,
          windowSeconds: null,
          thresholds: [],
        }
      : { ...TYPE_1, expireAt: born + lived }
    const quota: QuotaState = { id: 1, ...newQuota(settings, born), state: disabled ? 'disabled' : 'active' }
    roll(quota, now)
    quota.used = used
    if (marked) quota.state = statusAt(quota, now)
    return { quota, now }
  })

describe('a create', () => {
  it('is valid with what its type requires', () => {
    for (const settings of [
      TYPE_1,
      TYPE_2,
      { ...TYPE_2, cycleTimeZone: null },
      { ...TYPE_2, expireAt: NOW + 1 },
      { ...TYPE_2, expireAt: NOW + 1, cycleResetAt: NOW + 1 },
    ]) {
      expect(typeViolations(settings)).toEqual([])
      expect(timeViolations(settings, NOW)).toEqual([])
    }
  })

  it.each<[string, Partial<NewSettings>, string[]]>([
    ['type 1 without its end', { ...TYPE_1, expireAt: null }, ['expire_at']],
    ['type 1 with a unit', { ...TYPE_1, cycleUnit: 'day' }, ['cycle_unit']],
    ['type 1 with a reset', { ...TYPE_1, cycleResetAt: NOW + 1 }, ['cycle_reset_at']],
    ['type 1 with a zone', { ...TYPE_1, cycleTimeZone: 'UTC' }, ['cycle_time_zone']],
    [
      'type 1 with everything wrong, all named at once',
      { ...TYPE_2, quotaType: 1 },
      ['cycle_reset_at', 'cycle_time_zone', 'cycle_unit', 'expire_at'],
    ],
    ['type 1 of absent fields', { quotaType: 1 }, ['expire_at']],
    ['type 2 without a unit', { ...TYPE_2, cycleUnit: null }, ['cycle_unit']],
    ['type 2 without a reset', { ...TYPE_2, cycleResetAt: null }, ['cycle_reset_at']],
    ['type 2 of absent fields', { quotaType: 2 }, ['cycle_reset_at', 'cycle_unit']],
    ['no type', {}, []],
    [
      'a type that does not exist, whose own field is named elsewhere',
      { quotaType: 9 as QuotaType, windowSeconds: 60, thresholds: null },
      [],
    ],
  ])('names what is wrong with %s', (_, settings, expected) => {
    expect(fields(typeViolations(settings))).toEqual(expected)
  })

  it('takes over at most its total, except as an observe cap, and begins with it', () => {
    const amount = fc.oneof(fc.nat(5), fc.nat(1_000_000_000_000))
    const role = fc.constantFrom(null, 'enforce' as const, 'observe' as const)
    const rolling: NewSettings = { ...TYPE_1, quotaType: 3, expireAt: null, windowSeconds: 3600, thresholds: null }
    fc.assert(
      fc.property(fc.constantFrom(TYPE_1, TYPE_2, rolling), amount, amount, role, (type, total, used, cap) => {
        const settings = { ...type, total, used, cap: cap ?? (type === rolling ? 'enforce' : null) }
        const fits = used <= total || cap === 'observe'
        expect(fields(typeViolations(settings))).toEqual(fits ? [] : ['used'])
        const quota: QuotaState = { id: 1, ...newQuota(settings, NOW) }
        expect([quota.used, quota.reserved]).toEqual([used, 0])
        expect(roll(quota, NOW)).toBe(false)
        // A count that begins has nothing of it.
        roll(quota, NOW + 40 * DAY)
        expect(quota.used).toBe(type === TYPE_1 ? used : 0)
      }),
    )
    expect(fields(typeViolations({ quotaType: 1, used: 7 }))).toEqual(['expire_at'])
  })

  it('has its times in the future, which excludes the present instant', () => {
    const expiring = { ...TYPE_2, expireAt: NOW, cycleResetAt: NOW }
    expect(fields(timeViolations(expiring, NOW))).toEqual(['cycle_reset_at', 'expire_at'])
    expect(timeViolations(expiring, NOW - 1)).toEqual([])
    expect(fields(timeViolations({ ...TYPE_1, expireAt: NOW }, NOW))).toEqual(['expire_at'])
    // A reset foreign to the type is called foreign, not late.
    expect(timeViolations({ ...TYPE_1, cycleResetAt: NOW }, NOW)).toEqual([])
  })

  it('makes an active quota whose first cycle runs until its reset, the anchor', () => {
    expect(newQuota(TYPE_2, NOW)).toEqual({
      quotaType: 2,
      total: 100,
      used: 0,
      reserved: 0,
      state: 'active',
      expireAt: null,
      cycleUnit: 'month',
      cycleTimeZone: 'UTC',
      cycleAnchorAt: TYPE_2.cycleResetAt,
      cycleEndsAt: TYPE_2.cycleResetAt,
      cycleSeq: 0,
      holdDueAt: null,
      createdAt: NOW,
      deletedAt: null,
      label: null,
      cap: null,
      windowSeconds: null,
      thresholds: null,
      passed: null,
      window: null,
      groupId: null,
      per: null,
      follows: null,
      overrides: null,
      countBeganAt: null,
    })
    const far: QuotaState = { id: 1, ...newQuota({ ...TYPE_2, cycleUnit: 'hour' }, NOW), used: 1 }
    expect(roll(far, TYPE_2.cycleResetAt! - 1)).toBe(false)
    expect(roll(far, TYPE_2.cycleResetAt!)).toBe(true)
  })

  it('uses UTC by default, and has no cycle for type 1', () => {
    expect(newQuota({ ...TYPE_2, cycleTimeZone: null }, NOW).cycleTimeZone).toBe('UTC')
    expect(newQuota(TYPE_1, NOW)).toMatchObject({
      expireAt: NOW + DAY,
      cycleUnit: null,
      cycleTimeZone: null,
      cycleAnchorAt: null,
      cycleEndsAt: null,
    })
  })
})

describe('an update, by the type', () => {
  it.each<[string, QuotaState, SettingsPatch, string[]]>([
    ['type 1 must end', totalQuota(), { expireAt: null }, ['expire_at']],
    ['type 2 need not', cycleQuota(), { expireAt: null }, []],
    [
      'fields of a cycle are foreign to type 1',
      totalQuota(),
      { cycleUnit: 'day', cycleResetAt: NOW + 1, cycleTimeZone: 'UTC' },
      ['cycle_reset_at', 'cycle_time_zone', 'cycle_unit'],
    ],
    ['null there means absent', totalQuota(), { cycleUnit: null, cycleResetAt: null, cycleTimeZone: null }, []],
    [
      'they may not be null for type 2',
      cycleQuota(),
      { cycleUnit: null, cycleResetAt: null, cycleTimeZone: null },
      ['cycle_reset_at', 'cycle_time_zone', 'cycle_unit'],
    ],
    ['absent is not null', cycleQuota(), {}, []],
  ])('%s', (_, quota, patch, expected) => {
    expect(fields(foreignViolations(quota, patch))).toEqual(expected)
  })
})

describe('an unchanged value', () => {
  it('of the record as it is shown changes nothing, and so does any part of it', () => {
    fc.assert(
      fc.property(
        anyRolled,
        fc.subarray(['total', 'status', 'expireAt', 'cycleUnit', 'cycleResetAt', 'cycleTimeZone'] as const),
        ({ quota, now }, left) => {
          const record = shownRecord(quota, now)
          const part = Object.fromEntries(left.map((name) => [name, record[name]])) as SettingsPatch
          for (const patch of [record, part]) {
            expect(foreignViolations(quota, patch)).toEqual([])
            const echoed = { ...quota }
            expect(applyPatch(echoed, patch, now)).toEqual({ change: undefined })
            // All that may be written down is that the end has come.
            expect({ ...echoed, state: quota.state }).toEqual(quota)
            expect(statusAt(echoed, now)).toBe(statusAt(quota, now))
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  it('of a record read some cycles ago changes nothing', () => {
    fc.assert(
      fc.property(anyRolled, fc.nat(30), ({ quota, now }, n) => {
        fc.pre(quota.quotaType === 2 && statusAt(quota, now) !== 'expired')
        const rule = { unit: quota.cycleUnit!, timeZone: quota.cycleTimeZone!, anchor: quota.cycleAnchorAt! }
        const reset = resetsOf(rule)(n)
        fc.pre(reset <= now)
        const echoed = { ...quota }
        const patch = { ...shownRecord(quota, now), cycleResetAt: reset }
        expect(applyPatch(echoed, patch, now)).toEqual({ change: undefined })
        expect(echoed).toEqual(quota)
      }),
    )
  })

  it('is only a reset of the same anchor: other changes in the same update keep the next reset', () => {
    const quota = cycleQuota()
    expect(applyPatch(quota, { cycleResetAt: at('2026-09-30T00:00Z'), total: 7 }, NOW)).toEqual({
      change: { before: { total: 100 }, after: { total: 7 } },
    })
    expect(quota).toMatchObject({ cycleAnchorAt: at('2026-08-31T00:00Z'), cycleEndsAt: at('2026-11-30T00:00Z') })
    // Of the anchor before this one it is a date in the past.
    applyPatch(quota, { cycleResetAt: at('2026-12-05T00:00Z') }, NOW)
    expect(brokenFields(applyPatch(quota, { cycleResetAt: at('2026-09-30T00:00Z') }, NOW))).toEqual(['cycle_reset_at'])
  })

  it('of expired is accepted only while the quota is expired', () => {
    const over = totalQuota({ expireAt: NOW })
    expect(applyPatch(over, { status: 'expired' }, NOW)).toEqual({ change: undefined })
    for (const quota of [totalQuota({ expireAt: NOW + 1 }), totalQuota({ state: 'disabled', expireAt: NOW })])
      expect(brokenFields(applyPatch(quota, { status: 'expired' }, NOW))).toEqual(['status'])
  })

  it('of active, read before the end, does not revive', () => {
    const quota = totalQuota({ expireAt: NOW, state: 'expired' })
    expect(applyPatch(quota, { status: 'active' }, NOW)).toEqual({ change: undefined })
    expect(statusAt(quota, NOW)).toBe('expired')
  })
})

describe('the total', () => {
  it('may be set below the used units, which stay', () => {
    const quota = cycleQuota()
    expect(applyPatch(quota, { total: 0 }, NOW)).toEqual({ change: { before: { total: 100 }, after: { total: 0 } } })
    expect(quota).toEqual(cycleQuota({ total: 0 }))
  })
})

describe('the status', () => {
  it('can be disabled and enabled', () => {
    const quota = totalQuota()
    expect(applyPatch(quota, { status: 'disabled' }, NOW)).toEqual({
      change: { before: { status: 'active' }, after: { status: 'disabled' } },
    })
    expect(statusAt(quota, NOW)).toBe('disabled')
    expect(applyPatch(quota, { status: 'active' }, NOW)).toEqual({
      change: { before: { status: 'disabled' }, after: { status: 'active' } },
    })
    expect(quota).toEqual(totalQuota())
  })

  it('stays disabled through every other edit, and can be set on an expired quota', () => {
    const quota = totalQuota({ expireAt: NOW })
    applyPatch(quota, { status: 'disabled' }, NOW)
    applyPatch(quota, { total: 5, expireAt: NOW + DAY }, NOW)
    expect(quota.state).toBe('disabled')
    applyPatch(quota, { expireAt: NOW - DAY }, NOW)
    expect(statusAt(quota, NOW)).toBe('disabled')
    applyPatch(quota, { status: 'active' }, NOW)
    expect(statusAt(quota, NOW)).toBe('expired')
  })
})

describe('the end', () => {
  it('may be in the past: the quota expires at once, with its present used and reset', () => {
    const quota = cycleQuota()
    applyPatch(quota, { expireAt: NOW }, NOW)
    expect(statusAt(quota, NOW)).toBe('expired')
    applyPatch(quota, { expireAt: at('2026-09-01T00:00Z') }, NOW)
    expect(roll(quota, NOW)).toBe(false)
    expect(quota).toEqual(cycleQuota({ expireAt: at('2026-09-01T00:00Z'), state: 'expired' }))
  })

  it('revives the quota when it moves to the future, even together with an unchanged expired', () => {
    for (const status of [undefined, 'active', 'expired'] as const) {
      for (const state of ['active', 'expired'] as const) {
        const quota = cycleQuota({ expireAt: NOW - 1, state })
        applyPatch(quota, { expireAt: NOW + 1, ...(status === undefined ? {} : { status }) }, NOW)
        expect(quota).toEqual(cycleQuota({ expireAt: NOW + 1 }))
      }
    }
  })

  it('revives the quota without an end when it becomes null', () => {
    const quota = cycleQuota({ expireAt: NOW - 1, state: 'expired' })
    expect(applyPatch(quota, { expireAt: null }, NOW)).toEqual({
      change: { before: { expire_at: formatInstant(NOW - 1) }, after: { expire_at: null } },
    })
    expect(statusAt(quota, MAX_INSTANT)).toBe('active')
  })

  it('does not revive the quota when it moves to another past time', () => {
    const quota = totalQuota({ expireAt: NOW - 2, state: 'expired' })
    applyPatch(quota, { expireAt: NOW }, NOW)
    expect(statusAt(quota, NOW)).toBe('expired')
  })
})

describe('a changed reset', () => {
  it('is the new anchor and ends the current cycle at that time, keeping its used', () => {
    const quota = cycleQuota()
    const reset = at('2026-11-25T10:00Z')
    expect(applyPatch(quota, { cycleResetAt: reset }, NOW)).toEqual({
      change: {
        before: { cycle_reset_at: '2026-11-30T00:00:00.000Z' },
        after: { cycle_reset_at: '2026-11-25T10:00:00.000Z' },
      },
    })
    expect(quota).toEqual(cycleQuota({ cycleAnchorAt: reset, cycleEndsAt: reset }))
    roll(quota, reset)
    expect(quota).toMatchObject({ used: 0, cycleSeq: 4, cycleEndsAt: at('2026-12-25T10:00Z') })
  })

  it('may be a later reset of the same anchor, and ends the cycle there', () => {
    const quota = cycleQuota()
    const later = at('2027-01-31T00:00Z')
    applyPatch(quota, { cycleResetAt: later }, NOW)
    expect(quota).toEqual(cycleQuota({ cycleAnchorAt: later, cycleEndsAt: later }))
  })

  it('must be in the future, which excludes the present instant, and otherwise changes nothing', () => {
    for (const past of [NOW, NOW - 1, at('2026-07-31T00:00Z'), at('2026-10-30T00:00Z')]) {
      const quota = cycleQuota()
      expect(brokenFields(applyPatch(quota, { cycleResetAt: past, total: 1, status: 'disabled' }, NOW))).toEqual([
        'cycle_reset_at',
      ])
      expect(quota).toEqual(cycleQuota())
    }
    expect(applyPatch(cycleQuota(), { cycleResetAt: NOW + 1 }, NOW).violations).toBeUndefined()
  })

  it('is reported together with a status that cannot be set', () => {
    const applied = applyPatch(cycleQuota(), { cycleResetAt: NOW, status: 'expired' }, NOW)
    expect(brokenFields(applied)).toEqual(['cycle_reset_at', 'status'])
  })
})

describe('a changed unit or zone', () => {
  it('keeps the next reset, makes it the anchor, and steps by the new rule from there', () => {
    const quota = cycleQuota()
    expect(applyPatch(quota, { cycleUnit: 'week' }, NOW)).toEqual({
      change: { before: { cycle_unit: 'month' }, after: { cycle_unit: 'week' } },
    })
    const reset = at('2026-11-30T00:00Z')
    expect(quota).toEqual(cycleQuota({ cycleUnit: 'week', cycleAnchorAt: reset }))
    roll(quota, reset)
    expect(quota.cycleEndsAt).toBe(at('2026-12-07T00:00Z'))
    // Nothing of the old unit is left: the next month is one of the new anchor.
    applyPatch(quota, { cycleUnit: 'month' }, reset)
    roll(quota, at('2026-12-07T00:00Z'))
    expect(quota.cycleEndsAt).toBe(at('2027-01-07T00:00Z'))
  })

  it('follows the new zone from the next reset on', () => {
    const quota = cycleQuota({
      cycleUnit: 'day',
      cycleAnchorAt: at('2026-03-26T23:00Z'),
      cycleEndsAt: at('2026-03-27T23:00Z'),
    })
    const now = at('2026-03-27T00:00Z')
    expect(applyPatch(quota, { cycleTimeZone: 'Europe/Berlin' }, now)).toEqual({
      change: { before: { cycle_time_zone: 'UTC' }, after: { cycle_time_zone: 'Europe/Berlin' } },
    })
    expect(quota).toMatchObject({ cycleAnchorAt: at('2026-03-27T23:00Z'), cycleEndsAt: at('2026-03-27T23:00Z') })
    roll(quota, at('2026-03-28T23:00Z'))
    // Midnight in Berlin, by then in summer time.
    expect(quota.cycleEndsAt).toBe(at('2026-03-29T22:00Z'))
  })

  it('steps by the new rule from a reset that changes with it', () => {
    const quota = cycleQuota()
    const reset = at('2026-11-22T06:00Z')
    applyPatch(quota, { cycleUnit: 'day', cycleResetAt: reset, cycleTimeZone: 'Europe/Berlin' }, NOW)
    expect(quota).toEqual(
      cycleQuota({ cycleUnit: 'day', cycleTimeZone: 'Europe/Berlin', cycleAnchorAt: reset, cycleEndsAt: reset }),
    )
  })

  it('keeps the next reset even together with an unchanged earlier one of the old anchor', () => {
    const quota = cycleQuota()
    applyPatch(quota, { cycleUnit: 'day', cycleResetAt: at('2026-10-31T00:00Z') }, NOW)
    expect(quota).toEqual(cycleQuota({ cycleUnit: 'day', cycleAnchorAt: at('2026-11-30T00:00Z') }))
  })
})

describe('an update on the edge of a cycle', () => {
  const NOON = Date.parse('2026-11-21T12:00:00Z')
  const hourly = (given: Partial<QuotaState>): QuotaState =>
    quotaState({
      quotaType: 2,
      total: 100,
      used: 100,
      cycleUnit: 'hour',
      cycleTimeZone: 'UTC',
      cycleAnchorAt: NOON,
      cycleEndsAt: NOON + 3_600_000,
      cycleSeq: 1,
      ...given,
    })

  it('rolls a revived quota before it changes the reset', () => {
    const quota = hourly({ state: 'expired', expireAt: NOON + 60_000 })
    const now = NOON + 10 * 3_600_000
    const applied = applyPatch(quota, { expireAt: null, cycleResetAt: now + 7_200_000 }, now)
    expect(applied).toMatchObject({
      change: { after: { expire_at: null, cycle_reset_at: '2026-11-22T00:00:00.000Z' } },
    })
    expect(quota).toMatchObject({ used: 0, cycleEndsAt: now + 7_200_000 })
  })

  it('treats a reset that a faster clock has rolled over as unchanged', () => {
    const quota = hourly({ used: 3 })
    applyPatch(quota, { cycleResetAt: NOON, total: 20 }, NOON - 5)
    roll(quota, NOON)
    expect(quota).toMatchObject({ used: 3, total: 20, cycleEndsAt: NOON + 3_600_000 })
  })
})

describe('any update', () => {
  const anyPatch = fc.record(
    {
      total: fc.nat(200),
      status: fc.constantFrom(...STATUSES),
      expireAt: fc.option(fc.integer({ min: -300 * DAY, max: 300 * DAY }), { nil: null }),
      cycleUnit: fc.constantFrom(...CYCLE_UNITS),
      cycleResetAt: fc.integer({ min: -30 * DAY, max: 300 * DAY }),
      cycleTimeZone: fc.constantFrom('UTC', 'Asia/Kolkata'),
    },
    { requiredKeys: [] },
  )

  it('changes neither used units nor the current cycle, records what it did, and takes effect once', () => {
    fc.assert(
      fc.property(anyRolled, anyPatch, ({ quota, now }, relative) => {
        const patch: SettingsPatch = {
          ...relative,
          ...(relative.expireAt == null ? {} : { expireAt: now + relative.expireAt }),
          ...(relative.cycleResetAt === undefined ? {} : { cycleResetAt: now + relative.cycleResetAt }),
        }
        fc.pre(foreignViolations(quota, patch).length === 0)
        const before = { ...quota }
        const applied = applyPatch(quota, patch, now)
        if (applied.violations !== undefined) {
          expect(quota).toEqual(before)
          return
        }
        // Where the patch revives, the cycle rolls on as it would have without any other change.
        const revived = { ...before, expireAt: quota.expireAt, state: quota.state }
        roll(revived, now)
        const { used, reserved, cycleSeq, holdDueAt } = revived
        expect(quota).toMatchObject({ used, reserved, cycleSeq, holdDueAt })
        const shown = { ...settingsView(before), cycle_reset_at: settingsView(revived).cycle_reset_at }
        expect(settingsView(quota)).toEqual({ ...shown, ...applied.change?.after })
        expect(shown).toEqual({ ...settingsView(quota), ...applied.change?.before })
        for (const name of Object.keys(applied.change?.after ?? {}) as (keyof ReturnType<typeof settingsView>)[])
          expect(applied.change!.after[name]).not.toBe(applied.change!.before[name])
        // The same again finds everything as asked; but `expired` is an echo no more once the quota lives, and a past
        // reset none once the quota steps by another rule.
        const { status: _, cycleResetAt, ...again } = patch
        const isEcho = cycleResetAt != null && cycleResetAt <= now
        const sameRule = (['cycleUnit', 'cycleTimeZone', 'cycleAnchorAt'] as const).every(
          (name) => quota[name] === before[name],
        )
        if (cycleResetAt !== undefined && (!isEcho || sameRule)) Object.assign(again, { cycleResetAt })
        expect(applyPatch(quota, again, now)).toEqual({ change: undefined })
      }),
      { numRuns: 1000 },
    )
  })

  it('treats an earlier reset as unchanged only as long as the rule stays', () => {
    const quota = cycleQuota()
    const patch: SettingsPatch = { cycleUnit: 'year', cycleResetAt: at('2026-10-31T00:00Z') }
    expect(applyPatch(quota, patch, NOW)).toMatchObject({ change: { after: { cycle_unit: 'year' } } })
    expect(applyPatch(quota, patch, NOW)).toMatchObject({ violations: [{ field: 'cycle_reset_at' }] })
  })
})
