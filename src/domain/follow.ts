import type { Instant } from '../common/instant.js'
import { cycleAt } from './cycle.js'
import {
  beginCount,
  CYCLE_QUOTA,
  firstReset,
  isActive,
  type QuotaState,
  roll,
  ROLLING_QUOTA,
  type Status,
  statusAt,
} from './quota.js'
import {
  type Applied,
  applyPatch,
  CYCLE_NAMES,
  difference,
  putBack,
  SETTING_NAMES,
  type SettingName,
  type SettingsChange,
  type SettingsPatch,
  settingsView,
  takeSettings,
  type Violation,
} from './settings.js'
import { EMPTY_WINDOW } from './rolling-window.js'
import { armUnreached } from './threshold.js'

/** Is this a quota of a group of which each member has a count of its own? It has none itself, and pays nothing. */
export function isFollowed({ per, follows }: QuotaState): boolean {
  return per === 'member' && follows === null
}

/** The settings of a count that are its own, instead of those of the quota that it follows. */
interface Overrides {
  readonly names: ReadonlySet<SettingName>
  /** The count's own status, if `status` is among them: the stored `state` may be that of the followed quota. */
  readonly isDisabled: boolean
}

const NO_OVERRIDES: Overrides = { names: new Set(), isDisabled: false }

/** Formats overrides for storage: names, ascending, separated by blanks; `status` with its value. */
function overridesText({ names, isDisabled }: Overrides): string {
  const status = `status:${isDisabled ? 'disabled' : 'active'}`
  return [...names]
    .sort()
    .map((name) => (name === 'status' ? status : name))
    .join(' ')
}

function overridesIn(text: string | null): Overrides {
  if (text === null || text === '') return NO_OVERRIDES
  const words = text.split(' ').map((word) => word.split(':'))
  const names = new Set(words.map(([name]) => name as SettingName))
  return { names, isDisabled: words.some(([, status]) => status === 'disabled') }
}

/** The names of the settings that a count overrides, ascending; null for a quota that follows nothing. */
export function shownOverrides(text: string | null): SettingName[] | null {
  return text === null ? null : [...overridesIn(text).names]
}

/** The settings that a count overrides, with their values as answered; its own status, which the shown one may hide. */
export function ownSettings(count: QuotaState): Partial<Record<SettingName, unknown>> {
  const shown = { ...settingsView(count), status: ownStatus(count) }
  return Object.fromEntries([...overridesIn(count.overrides).names].map((name) => [name, shown[name]]))
}

/**
 * A member's count of a followed quota as it begins. It is created by the member's first consume or reserve (contract,
 * §13); until then, `shownId` of its id is null.
 * @param followed rolled to `now`
 */
function newCount<Q extends QuotaState>(followed: Q, now: Instant): Q {
  return {
    ...followed,
    id: FIRST_UNBORN_ID + followed.id,
    used: 0,
    reserved: 0,
    cycleSeq: 0,
    holdDueAt: null,
    passed: null,
    window: followed.quotaType === ROLLING_QUOTA ? EMPTY_WINDOW : null,
    follows: followed.id,
    overrides: '',
    createdAt: now,
    deletedAt: null,
  }
}

/** Added to the id of the followed quota, it is the id of a count that does not exist yet: larger than any real one. */
const FIRST_UNBORN_ID = 2 ** 52

/** The id in answers: null for a count that does not exist yet. */
export function shownId(id: number): number | null {
  return id < FIRST_UNBORN_ID ? id : null
}

/**
 * The counts that an owner does not have yet, of the active quotas that its counts would follow, as they would be.
 * @param counts the owner's counts, deleted ones included: a deleted count is not made again
 * @param groups the rolled quotas of the groups of its chain
 */
export function unbornCounts<Q extends QuotaState>(
  counts: Iterable<Q>,
  groups: readonly Iterable<Q>[],
  now: Instant,
): Q[] {
  const unborn: Q[] = []
  let known: Set<number | null> | undefined
  for (const quotas of groups) {
    for (const quota of quotas) {
      if (!isFollowed(quota) || !isActive(quota, now)) continue
      known ??= new Set([...counts].map(({ follows }) => follows))
      if (!known.has(quota.id)) unborn.push(newCount(quota, now))
    }
  }
  return unborn
}

/**
 * Brings a count to the present: it has the settings of the quota that it follows, except for its overrides, and a new
 * count begins where that quota's cycle or window began anew meanwhile, by whatever rule was in force then.
 * @param followed rolled to `now`
 * @param isInChain is the group of both in the chain of the count's owner?
 */
export function follow(count: QuotaState, followed: QuotaState, isInChain: boolean, now: Instant): void {
  const { names, isDisabled } = overridesIn(count.overrides)
  const { total } = count
  takeSettings(count, followed, names)
  count.followedEndsAt = followed.expireAt
  if (followsPeriod(count, names)) followPeriod(count, followed, names.has('expire_at') && followsCycle(count, names))
  // Its own cycle, or the slots that have left a window.
  if (names.has('cycle_unit') || count.window !== null) roll(count, now)
  if (count.total !== total) armUnreached(count)
  count.state = stateOf(count, followed, isInChain, isDisabled, now)
}

/**
 * Begins a new count if that of the followed quota began later. An earlier one is that of a clock which is behind the
 * one by which the count has rolled: the count stays in its cycle, since cycles never roll back.
 * @param standsStill does it follow a cycle, up to an end of its own?
 */
function followPeriod(count: QuotaState, { countBeganAt }: QuotaState, standsStill: boolean): void {
  const [began, followedBegan] = [count.countBeganAt ?? 0, countBeganAt ?? 0]
  const { expireAt } = count
  if (began < followedBegan && standsStill && expireAt !== null && expireAt <= followedBegan) {
    standStill(count, Math.max(expireAt - 1, began))
  } else if (began < followedBegan) {
    beginCount(count)
    count.countBeganAt = countBeganAt
  } else if (began > followedBegan) count.cycleEndsAt = firstReset(count, began)
}

/** Keeps a count in the cycle that contains its last instant, by the rule that it follows. */
function standStill(count: QuotaState, last: Instant): void {
  const { cycleUnit: unit, cycleTimeZone: timeZone, cycleAnchorAt: anchor, countBeganAt } = count
  if (unit === null || timeZone === null || anchor === null || countBeganAt === null) return
  const { start, end } = cycleAt({ unit, timeZone, anchor }, last)
  count.cycleEndsAt = end
  if (start === null || start <= countBeganAt) return
  beginCount(count)
  count.countBeganAt = start
}

/** Does a new count begin when that of the followed quota does? */
function followsPeriod({ quotaType }: Pick<QuotaState, 'quotaType'>, overrides: ReadonlySet<SettingName>): boolean {
  return followsCycle({ quotaType }, overrides) || (quotaType === ROLLING_QUOTA && !overrides.has('window_seconds'))
}

function followsCycle({ quotaType }: Pick<QuotaState, 'quotaType'>, overrides: ReadonlySet<SettingName>): boolean {
  return quotaType === CYCLE_QUOTA && !overrides.has('cycle_unit')
}

function stateOf(
  count: QuotaState,
  followed: QuotaState,
  isInChain: boolean,
  isDisabled: boolean,
  now: Instant,
): Status {
  if (!isInChain || followed.deletedAt !== null) return 'left'
  const status = statusAt(followed, now)
  if (status !== 'active') return status
  if (isDisabled) return 'disabled'
  // By its time alone: it may have been extended, or follow again.
  return count.expireAt !== null && count.expireAt <= now ? 'expired' : 'active'
}

/** An edit of a count. */
export interface CountEdit {
  readonly patch: SettingsPatch
  /** The settings that stay its own; those of its overrides that are missing are given back. Undefined: all. */
  readonly overrides?: readonly string[] | undefined
  /** The settings that become its own again by a revert, also with the values that are shown. */
  readonly regained?: readonly string[] | undefined
  /** As for `putBack`. */
  readonly anchorAt?: Instant | undefined
}

/** The mistake of an update that names overrides which the quota does not have. @param kept undefined: none */
export function overridesViolations(
  { follows, overrides }: Pick<QuotaState, 'follows' | 'overrides'>,
  kept: readonly string[] = [],
): Violation[] {
  const { names } = overridesIn(overrides)
  const foreign = kept.filter((name) => !names.has(name as SettingName))
  if (foreign.length === 0) return []
  const message =
    follows === null
      ? "belongs to a member's count; leave it out or null"
      : `names ${foreign.join(', ')}, which this count does not have`
  return [{ field: 'overrides', message }]
}

/**
 * Applies an edit to a count (contract, §13): a changed setting becomes an override; overrides that are not named any
 * more are given back. A field that equals the shown value changes nothing. The count changes only if no rule is
 * violated.
 * @param count as `follow` left it
 */
export function editCount(
  count: QuotaState,
  followed: QuotaState,
  isInChain: boolean,
  { patch, overrides: kept, regained = [], anchorAt }: CountEdit,
  now: Instant,
): Applied {
  const before = { ...count }
  const own = overridesIn(count.overrides)
  const wrong = overridesViolations(count, kept)
  if (wrong.length > 0) return { violations: [...wrong, ...(applyPatch({ ...count }, patch, now).violations ?? [])] }
  const applied = anchorAt === undefined ? applyPatch(count, patch, now) : putBack(count, patch, anchorAt, now)
  if (applied.violations !== undefined) return applied
  const changed = [...Object.keys(applied.change?.after ?? {}), ...regained].filter(
    (name): name is SettingName => name !== 'status' && SETTING_NAMES.includes(name as SettingName),
  )
  const wasDisabled = own.names.has('status') ? own.isDisabled : followed.state === 'disabled'
  const isDisabled = regained.includes('status')
    ? (patch.status ?? settingsView(before).status) === 'disabled'
    : changedStatus(patch.status, statusAt(before, now), wasDisabled)
  if (isDisabled !== undefined) changed.push('status')
  const names = new Set([...own.names].filter((name) => kept === undefined || isKept(name, kept)))
  for (const name of changed) for (const one of together(name)) names.add(one)
  count.overrides = overridesText({ names, isDisabled: isDisabled ?? own.isDisabled })
  // The count of a followed cycle begins anew with that of the followed quota, which may be over and stand still.
  const goesOn = followsCycle(before, own.names) && followsCycle(count, names)
  if (goesOn) {
    const { used, reserved, holdDueAt, cycleSeq, countBeganAt } = before
    Object.assign(count, { used, reserved, holdDueAt, cycleSeq, countBeganAt })
  }
  giveBack(count, followed, own.names, names)
  follow(count, followed, isInChain, now)
  // A reset that comes with a revival is no edit.
  const shownBefore = goesOn ? { ...before, cycleEndsAt: count.cycleEndsAt } : before
  return { change: changeOf(shownBefore, count, applied.change) }
}

/**
 * Is a count disabled itself after an edit? Undefined if the edit does not change this. What is shown may hide it: the
 * count has left, or the followed quota is disabled or over. So the sent status is compared with both.
 * @param wasDisabled its own status before; that of the followed quota if it has none
 */
function changedStatus(sent: Status | undefined, shown: Status, wasDisabled: boolean): boolean | undefined {
  if (sent === undefined || sent === shown) return undefined
  const isDisabled = sent === 'disabled'
  return isDisabled === wasDisabled ? undefined : isDisabled
}

/** The settings that are overridden with this one. */
function together(name: SettingName): readonly SettingName[] {
  return CYCLE_NAMES.includes(name) ? CYCLE_NAMES : [name]
}

function isKept(name: SettingName, kept: readonly string[]): boolean {
  return together(name).every((one) => kept.includes(one))
}

/** A cycle or a window that is given back changes as by an edit: the cycle goes on, a changed window begins anew. */
function giveBack(
  count: QuotaState,
  followed: QuotaState,
  before: ReadonlySet<SettingName>,
  after: ReadonlySet<SettingName>,
): void {
  const isBack = (name: SettingName): boolean => before.has(name) && !after.has(name)
  if (isBack('window_seconds') && count.windowSeconds !== followed.windowSeconds) beginCount(count)
  if (isBack('window_seconds') || isBack('cycle_unit')) count.countBeganAt = followed.countBeganAt
}

function changeOf(
  before: QuotaState,
  after: QuotaState,
  applied: SettingsChange | undefined,
): SettingsChange | undefined {
  // A reset that came with a roll is no edit; `applyPatch` knows it.
  const from = { ...settingsView(before), ...applied?.before }
  const found: SettingsChange = difference(from, settingsView(after)) ?? { before: {}, after: {} }
  if (before.windowSeconds !== after.windowSeconds) {
    Object.assign(found.before, { used: before.used, reserved: before.reserved })
    Object.assign(found.after, { used: 0, reserved: 0 })
  }
  if (before.overrides !== after.overrides) {
    const [was, is] = [shownOverrides(before.overrides) ?? [], shownOverrides(after.overrides) ?? []]
    if (was.join() !== is.join()) {
      found.before.overrides = was
      found.after.overrides = is
    }
    // Its own status may differ though the shown one does not.
    const [from, to] = [ownStatus(before), ownStatus(after)]
    if (from !== to) {
      found.before.status = from
      found.after.status = to
    }
  }
  return Object.keys(found.after).length === 0 ? undefined : found
}

/** The status that a count overrides; the shown one if it overrides none. */
function ownStatus(count: QuotaState): 'active' | 'disabled' {
  const { names, isDisabled } = overridesIn(count.overrides)
  if (!names.has('status')) return settingsView(count).status
  return isDisabled ? 'disabled' : 'active'
}
