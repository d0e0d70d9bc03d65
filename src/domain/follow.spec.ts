import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Instant } from '../common/instant.js'
import { countIn } from './cap.js'
import { CYCLE_UNITS } from './cycle.js'
import { editCount, follow, isFollowed, shownId, shownOverrides, unbornCounts } from './follow.js'
import { beginCount, type QuotaState, type QuotaType, remaining, roll, type Status, statusAt } from './quota.js'
import {
  applyPatch,
  changedPart,
  newQuota,
  type NewSettings,
  type SettingName,
  type SettingsPatch,
} from './settings.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const NOW = Date.parse('2026-11-21T12:00:00Z')
const GROUP = 5

const settings = (quotaType: QuotaType): NewSettings => ({
  quotaType,
  total: 100,
  used: 0,
  expireAt: quotaType === 1 ? NOW + 20 * DAY : null,
  cycleUnit: quotaType === 2 ? 'day' : null,
  cycleResetAt: quotaType === 2 ? NOW + 6 * HOUR : null,
  cycleTimeZone: quotaType === 2 ? 'UTC' : null,
  label: null,
  cap: quotaType === 3 ? 'enforce' : null,
  windowSeconds: quotaType === 3 ? 7200 : null,
  thresholds: quotaType === 3 ? null : [50],
})

const followedQuota = (quotaType: QuotaType): QuotaState => ({
  id: 1,
  ...newQuota(settings(quotaType), NOW, { groupId: GROUP, per: 'member' }),
})

const newCount = (followed: QuotaState): QuotaState => {
  const [count] = unbornCounts([], [[followed]], NOW)
  if (count === undefined) throw new Error('no count')
  return count
}

/** The settings of the API by their property, for those that a patch here may have. */
const NAMES = {
  total: 'total',
  status: 'status',
  expireAt: 'expire_at',
  cycleUnit: 'cycle_unit',
  cycleResetAt: 'cycle_reset_at',
  cycleTimeZone: 'cycle_time_zone',
  label: 'label',
  windowSeconds: 'window_seconds',
  cap: 'cap',
} as const satisfies Readonly<Record<Exclude<keyof SettingsPatch, 'thresholds'>, SettingName>>
const CYCLE: readonly SettingName[] = ['cycle_reset_at', 'cycle_time_zone', 'cycle_unit']

type Step =
  | { readonly kind: 'tick'; readonly ms: number }
  | { readonly kind: 'edit' | 'own'; readonly patch: SettingsPatch }
  | { readonly kind: 'back'; readonly nth: number }
  | { readonly kind: 'use'; readonly amount: number }

const patchOf = (quotaType: QuotaType): fc.Arbitrary<SettingsPatch> =>
  fc.record(
    {
      total: fc.integer({ min: 0, max: 150 }),
      label: fc.constantFrom(null, 'a', 'b'),
      status: fc.constantFrom('active' as const, 'disabled' as const),
      ...(quotaType === 1 ? { expireAt: fc.integer({ min: NOW, max: NOW + 30 * DAY }) } : {}),
      ...(quotaType === 2
        ? {
            cycleUnit: fc.constantFrom(...CYCLE_UNITS),
            // From the present, when it is applied.
            cycleResetAt: fc.integer({ min: HOUR, max: 5 * DAY }),
            cycleTimeZone: fc.constantFrom('UTC', 'Asia/Kolkata'),
          }
        : {}),
      ...(quotaType === 3
        ? {
            windowSeconds: fc.constantFrom(60, 3600, 7200),
            cap: fc.constantFrom('enforce' as const, 'observe' as const),
          }
        : {}),
    },
    { requiredKeys: [] },
  )

/** An end of a count's own. A followed quota of type 2 has none here: its counts would stand still with it. */
const endOf = (quotaType: QuotaType): fc.Arbitrary<SettingsPatch> =>
  quotaType === 2
    ? fc.record({ expireAt: fc.option(fc.integer({ min: NOW, max: NOW + 30 * DAY }), { nil: null }) })
    : fc.constant<SettingsPatch>({})

const stepsOf = (quotaType: QuotaType): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('tick' as const), ms: fc.integer({ min: 1, max: 2 * DAY }) }),
      fc.record({ kind: fc.constantFrom('edit' as const, 'own' as const), patch: patchOf(quotaType) }),
      fc.record({ kind: fc.constant('own' as const), patch: endOf(quotaType) }),
      fc.record({ kind: fc.constant('back' as const), nth: fc.nat(5) }),
      fc.record({ kind: fc.constant('use' as const), amount: fc.integer({ min: 1, max: 60 }) }),
    ),
    { maxLength: 30 },
  )

/**
 * What a count has to be, kept at once and without `follow`: an ordinary quota that gets each edit of the followed one
 * as an edit of its own, but for what it overrides.
 */
class Model {
  readonly quota: QuotaState
  readonly own = new Set<SettingName>()
  private isDisabled = false

  constructor(quotaType: QuotaType) {
    this.quota = { id: 2, ...newQuota(settings(quotaType), NOW) }
  }

  edited(patch: SettingsPatch, now: Instant): void {
    const rest = Object.entries(patch).filter(([name]) => !this.own.has(NAMES[name as keyof typeof NAMES]))
    const { status: _, ...taken } = Object.fromEntries(rest) as SettingsPatch
    applyPatch(this.quota, taken, now)
  }

  /** @param before the status that was shown */
  overridden(patch: SettingsPatch, names: readonly SettingName[], before: string, now: Instant): void {
    const { status, ...taken } = patch
    applyPatch(this.quota, taken, now)
    for (const name of names) this.own.add(name)
    if (status !== undefined && status !== before) this.isDisabled = status === 'disabled'
  }

  givenBack(name: SettingName, followed: QuotaState): void {
    const { quota } = this
    for (const one of CYCLE.includes(name) ? CYCLE : [name]) this.own.delete(one)
    if (name === 'window_seconds') {
      if (quota.windowSeconds !== followed.windowSeconds) beginCount(quota)
      quota.windowSeconds = followed.windowSeconds
    } else if (CYCLE.includes(name)) {
      const { cycleUnit, cycleTimeZone, cycleAnchorAt, cycleEndsAt } = followed
      Object.assign(quota, { cycleUnit, cycleTimeZone, cycleAnchorAt, cycleEndsAt })
    } else if (name === 'total') quota.total = followed.total
    else if (name === 'label') quota.label = followed.label
    else if (name === 'expire_at') quota.expireAt = followed.expireAt
    else if (name === 'cap') quota.cap = followed.cap
  }

  statusIn(followed: QuotaState, isInChain: boolean, now: Instant): string {
    if (!isInChain || followed.deletedAt !== null) return 'left'
    const status = statusAt(followed, now)
    if (status !== 'active') return status
    if (this.own.has('status') && this.isDisabled) return 'disabled'
    return this.quota.expireAt !== null && this.quota.expireAt <= now ? 'expired' : 'active'
  }
}

function use(quota: QuotaState, amount: number, now: Instant): void {
  if (quota.cap === null) quota.used += amount
  else countIn(quota, now, { used: amount })
}

const shown = ({
  total,
  used,
  label,
  cap,
  expireAt,
  cycleUnit,
  cycleEndsAt,
  cycleAnchorAt,
  windowSeconds,
}: QuotaState) => ({
  ...{ total, used, label, cap, expireAt, cycleUnit, cycleEndsAt, cycleAnchorAt, windowSeconds },
})

/** Plays a history, in which the count is brought to the present only where it is used or edited, or always. */
function play(quotaType: QuotaType, steps: readonly Step[], lazily: boolean): void {
  const followed = followedQuota(quotaType)
  const count = newCount(followed)
  const model = new Model(quotaType)
  let now = NOW
  const bring = (): void => {
    roll(followed, now)
    roll(model.quota, now)
    follow(count, followed, true, now)
  }
  for (const step of steps) {
    if (step.kind === 'tick') now += step.ms
    roll(followed, now)
    roll(model.quota, now)
    if (!lazily || step.kind !== 'edit') follow(count, followed, true, now)
    if (step.kind === 'edit' || step.kind === 'own') {
      const { cycleResetAt } = step.patch
      const patch = cycleResetAt == null ? step.patch : { ...step.patch, cycleResetAt: now + cycleResetAt }
      if (step.kind === 'edit') {
        // A changed rule keeps the next reset of the followed quota, also for a count that stands still before it.
        const { cycleUnit: _unit, cycleResetAt: _at, cycleTimeZone: _zone, ...others } = patch
        const edit = model.own.has('expire_at') ? others : patch
        applyPatch(followed, edit, now)
        model.edited(edit, now)
      } else {
        const before = statusAt(count, now)
        const [whole, part] = [{ ...count }, { ...count }]
        const applied = editCount(count, followed, true, { patch }, now)
        expect(applied.violations).toBeUndefined()
        const change = 'change' in applied ? applied.change : undefined
        // A change set asks only for what made the change that it showed.
        const asked = change === undefined ? {} : changedPart(patch, change)
        expect(editCount(part, followed, true, { patch: asked }, now)).toEqual({ change })
        expect(part).toEqual(change === undefined ? whole : count)
        model.overridden(patch, shownOverrides(count.overrides) ?? [], before, now)
      }
    } else if (step.kind === 'back' && model.own.size > 0) {
      const name = [...model.own].sort()[step.nth % model.own.size] ?? 'total'
      const overrides = [...model.own].filter((one) => one !== name)
      expect(editCount(count, followed, true, { patch: {}, overrides }, now).violations).toBeUndefined()
      model.givenBack(name, followed)
    } else if (step.kind === 'use' && count.state === 'active' && remaining(count) >= step.amount) {
      use(count, step.amount, now)
      use(model.quota, step.amount, now)
    }
  }
  bring()
  expect(shownOverrides(count.overrides)).toEqual([...model.own].sort())
  expect(statusAt(count, now)).toBe(model.statusIn(followed, true, now))
  expect(shown(count)).toEqual(shown(model.quota))
  const again = { ...count }
  follow(again, followed, true, now)
  expect(again).toEqual(count)
}

describe('a count', () => {
  for (const quotaType of [1, 2, 3] as const) {
    it(`of type ${quotaType} is what an ordinary quota with the same edits is, whenever it is brought to the present`, () => {
      fc.assert(
        fc.property(stepsOf(quotaType), fc.boolean(), (steps, lazily) => {
          play(quotaType, steps, lazily)
        }),
        { numRuns: 2_000 },
      )
    })
  }

  it('has left with its group and with what it follows, before every other status', () => {
    const followed = followedQuota(1)
    const count = newCount(followed)
    const statusOf = (isInChain: boolean): string => {
      follow(count, followed, isInChain, NOW)
      return count.state
    }
    expect([statusOf(true), statusOf(false)]).toEqual(['active', 'left'])
    followed.state = 'disabled'
    expect([statusOf(true), statusOf(false)]).toEqual(['disabled', 'left'])
    followed.deletedAt = NOW
    expect(statusOf(true)).toBe('left')
    Object.assign(followed, { state: 'active', deletedAt: null })
    expect(editCount(count, followed, true, { patch: { status: 'disabled' } }, NOW)).toEqual({
      change: {
        before: { status: 'active', overrides: [] },
        after: { status: 'disabled', overrides: ['status'] },
      },
    })
    expect(statusOf(false)).toBe('left')
    expect(statusOf(true)).toBe('disabled')
  })

  it('changes its own status while what is shown hides it', () => {
    const hide = [
      { isInChain: false },
      { isInChain: true, state: 'disabled' as const },
      { isInChain: true, state: 'expired' as const },
    ]
    for (const { isInChain, state = 'active' as const } of hide) {
      const followed = followedQuota(2)
      const count = newCount(followed)
      editCount(count, followed, true, { patch: { status: 'disabled' } }, NOW)
      followed.state = state
      follow(count, followed, isInChain, NOW)
      const { state: shownState } = count
      const edited = (status: Status) => editCount(count, followed, isInChain, { patch: { status } }, NOW)
      expect(edited(shownState)).toEqual({ change: undefined })
      expect(edited('active')).toEqual({ change: { before: { status: 'disabled' }, after: { status: 'active' } } })
      expect([count.state, shownOverrides(count.overrides)]).toEqual([shownState, ['status']])
      followed.state = 'active'
      follow(count, followed, true, NOW)
      expect(count.state).toBe('active')
    }
  })

  it('tells its own status when it is given back or edited beside others, while what is shown hides it', () => {
    const edits = [
      [
        { patch: {}, overrides: [] },
        { overrides: [], status: 'active' },
      ],
      [{ patch: { status: 'active', total: 5 } }, { overrides: ['status', 'total'], status: 'active', total: 5 }],
    ] as const
    for (const [edit, after] of edits) {
      const followed = followedQuota(1)
      const count = newCount(followed)
      editCount(count, followed, true, { patch: { status: 'disabled' } }, NOW)
      follow(count, followed, false, NOW)
      const { total } = count
      const before = { overrides: ['status'], status: 'disabled', ...('total' in after ? { total } : {}) }
      expect(editCount(count, followed, false, edit, NOW)).toEqual({ change: { before, after } })
    }
  })

  it('regains overrides whose values are those of the quota that it follows', () => {
    const followed = followedQuota(2)
    const count = newCount(followed)
    editCount(count, followed, true, { patch: { status: 'disabled', total: 50, cycleUnit: 'week' } }, NOW)
    const own = ['cycle_reset_at', 'cycle_time_zone', 'cycle_unit', 'status', 'total']
    applyPatch(followed, { status: 'disabled', total: 50, cycleUnit: 'week' }, NOW)
    follow(count, followed, true, NOW)
    const overridden = { ...count }
    expect(editCount(count, followed, true, { patch: {}, overrides: [] }, NOW)).toEqual({
      change: { before: { overrides: own }, after: { overrides: [] } },
    })
    expect(editCount(count, followed, true, { patch: {}, overrides: [], regained: own }, NOW)).toEqual({
      change: { before: { overrides: [] }, after: { overrides: own } },
    })
    expect(count).toEqual(overridden)
    applyPatch(followed, { status: 'active', total: 100 }, NOW)
    follow(count, followed, true, NOW)
    expect([count.state, count.total]).toEqual(['disabled', 50])
  })

  it('arms thresholds again that an edited total no longer reaches', () => {
    const followed = followedQuota(1)
    const count = newCount(followed)
    Object.assign(count, { used: 60, passed: '0:50' })
    applyPatch(followed, { total: 200 }, NOW)
    follow(count, followed, true, NOW)
    expect(count.passed).toBeNull()
  })

  it('stays in a cycle that has begun by a clock which is ahead, and goes on in it when the others arrive there', () => {
    const stored = followedQuota(2)
    const count = newCount(stored)
    use(count, 30, NOW)
    const reset = NOW + 6 * HOUR
    const follows = (now: Instant): void => {
      // Nothing writes the followed quota: each instance rolls it by its own clock.
      const followed = { ...stored }
      roll(followed, now)
      follow(count, followed, true, now)
    }
    follows(reset + 1)
    use(count, 60, reset + 1)
    const begun = { used: 60, cycleSeq: 1, cycleEndsAt: reset + DAY, countBeganAt: reset }
    for (const now of [reset - 1, reset, reset + 1, reset - 5_000, reset + DAY - 1]) {
      follows(now)
      expect(count).toMatchObject(begun)
    }
    // An edit by a clock that is behind does not end that cycle either, but it says when it ends.
    applyPatch(stored, { cycleResetAt: reset + 2 * DAY }, reset - 1)
    follows(reset - 1)
    expect(count).toMatchObject({ ...begun, cycleEndsAt: reset + 2 * DAY })
    follows(reset + 2 * DAY)
    expect(count).toMatchObject({ used: 0, cycleSeq: 2, countBeganAt: reset + 2 * DAY })
  })

  it('does not exist before the first consume, nor again after it was deleted', () => {
    const followed = followedQuota(2)
    const shared = { ...followedQuota(1), id: 3, per: 'group' as const, countBeganAt: null }
    const count = newCount(followed)
    expect([shownId(count.id), shownId(1), isFollowed(count), isFollowed(followed)]).toEqual([null, 1, false, true])
    const other = { ...followedQuota(1), id: 4 }
    const deleted = { ...count, id: 9, deletedAt: NOW }
    expect(unbornCounts([deleted], [[followed, shared], [other]], NOW).map(({ follows }) => follows)).toEqual([4])
    expect(unbornCounts([], [[other]], NOW + DAY)[0]?.createdAt).toBe(NOW + DAY)
    for (const over of [{ state: 'disabled' as const }, { deletedAt: NOW }, { expireAt: NOW }])
      expect(unbornCounts([], [[{ ...followed, ...over }]], NOW)).toEqual([])
  })

  it('keeps what it has used when it is edited while the followed quota is over, and may pay on once that is revived', () => {
    const followed = { ...followedQuota(2), expireAt: NOW + HOUR }
    const count = newCount(followed)
    use(count, 60, NOW)
    const later = NOW + 3 * DAY
    roll(followed, later)
    follow(count, followed, true, later)
    const { cycleSeq, cycleEndsAt } = count
    expect(editCount(count, followed, true, { patch: { expireAt: null } }, later)).toMatchObject({
      change: { after: { expire_at: null, overrides: ['expire_at'] } },
    })
    expect(count).toMatchObject({ state: 'expired', used: 60, cycleSeq, cycleEndsAt })
    // Moving the reset of the quota that is over keeps the count that it has.
    applyPatch(followed, { cycleResetAt: later + DAY }, later)
    applyPatch(followed, { expireAt: null }, later)
    follow(count, followed, true, later)
    expect([count.state, count.used, remaining(count)]).toEqual(['active', 60, 40])
  })

  it('stands still at an end of its own, and rolls again once it is revived', () => {
    const end = NOW + 2 * DAY
    const ended = (brought: readonly Instant[]): { count: QuotaState; followed: QuotaState } => {
      const followed = followedQuota(2)
      const count = newCount(followed)
      count.used = 30
      editCount(count, followed, true, { patch: { expireAt: end } }, NOW)
      for (const now of brought) {
        roll(followed, now)
        follow(count, followed, true, now)
        if (now === NOW + DAY) count.used = 20
      }
      return { count, followed }
    }
    const late = NOW + 9 * DAY
    // Its cycles end six hours after each noon; the one of its end has begun unused, or with what was used in it.
    const reset = NOW + 2 * DAY + 6 * HOUR
    expect(ended([late]).count).toMatchObject({ used: 0, cycleSeq: 1, cycleEndsAt: reset, state: 'expired' })
    expect(ended([NOW + DAY, end - 1, late, late + DAY]).count).toMatchObject({
      used: 0,
      cycleSeq: 2,
      cycleEndsAt: reset,
    })
    const { count, followed } = ended([end - 1])
    count.used = 7
    for (const now of [end, late]) {
      roll(followed, now)
      follow(count, followed, true, now)
      expect(count).toMatchObject({ used: 7, cycleEndsAt: reset, state: 'expired' })
    }
    expect(editCount(count, followed, true, { patch: { expireAt: null } }, late)).toEqual({
      change: { before: { expire_at: new Date(end).toISOString() }, after: { expire_at: null } },
    })
    expect(count).toMatchObject({ used: 0, cycleEndsAt: followed.cycleEndsAt, state: 'active' })
    // An end in the past is that of the present cycle.
    count.used = 4
    editCount(count, followed, true, { patch: { expireAt: NOW } }, late)
    roll(followed, late + 3 * DAY)
    const { cycleEndsAt } = count
    follow(count, followed, true, late + 3 * DAY)
    expect(count).toMatchObject({ used: 4, cycleEndsAt, state: 'expired' })
  })

  it('stays in the cycle in which what it follows ends, whatever cycle and end of its own it has', () => {
    const end = NOW + 2 * DAY
    const followed = followedQuota(2)
    const count = newCount(followed)
    const own = { cycleUnit: 'hour', cycleResetAt: NOW + HOUR / 2, expireAt: NOW + 20 * DAY } as const
    editCount(count, followed, true, { patch: own }, NOW)
    applyPatch(followed, { expireAt: end }, NOW)
    follow(count, followed, true, end - 1)
    count.used = 7
    for (const now of [end, NOW + 9 * DAY, NOW + 30 * DAY]) {
      roll(followed, now)
      follow(count, followed, true, now)
      expect(count).toMatchObject({ used: 7, cycleEndsAt: end + HOUR / 2, state: 'expired' })
    }
    applyPatch(followed, { expireAt: null }, NOW + 9 * DAY)
    follow(count, followed, true, NOW + 9 * DAY)
    expect(count).toMatchObject({ used: 0, cycleEndsAt: NOW + 9 * DAY + HOUR / 2, state: 'active' })
  })

  it('refuses to give back what it does not have', () => {
    const followed = followedQuota(1)
    const count = newCount(followed)
    const before = { ...count }
    const { violations } = editCount(count, followed, true, { patch: { total: 3 }, overrides: ['total'] }, NOW)
    expect(violations?.map(({ field }) => field)).toEqual(['overrides'])
    expect(count).toEqual(before)
  })
})
