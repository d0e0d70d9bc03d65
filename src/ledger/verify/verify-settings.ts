import { cycleAt, CYCLE_UNITS, isReset, isTimeZone } from '../../domain/cycle.js'
import { shownOverrides } from '../../domain/follow.js'
import { CAP_MODES, CYCLE_QUOTA, MAX_AMOUNT, ROLLING_QUOTA, STATUSES, TOTAL_QUOTA } from '../../domain/quota.js'
import { MAX_WINDOW_SECONDS, MIN_WINDOW_SECONDS, type RollingWindow } from '../../domain/rolling-window.js'
import { settingsView } from '../../domain/settings.js'
import { passedOf, reachedAt, thresholdsOf, thresholdsText } from '../../domain/threshold.js'
import { formatInstant, type Instant, MAX_INSTANT, timeOrNull } from '../../common/instant.js'
import type { ChangeRow } from '../rows/change.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'

/** A stored quota. Its window is undefined if it is unreadable, and null for other types than rolling caps. */
export type StoredQuota = Omit<QuotaRow, 'window' | 'labelSearch' | 'deleted'> & {
  readonly window: RollingWindow | null | undefined
}

/** A mistake in a quota's row. */
export interface Mistake {
  readonly rule: 'settings' | 'version' | 'passed' | 'event'
  readonly expected: string
  readonly found: string
}

/** The actor of repairs in the changes. */
export const VERIFY = 'verify'
/** The tolerance for differences between clocks, in milliseconds. */
export const MAX_SKEW_MS = 10 * 60_000
/** The tolerance for a zone whose rules have changed since a reset was computed. */
const ZONE_CHANGE_MS = 3 * 3_600_000

/** The members of a change that may change the rule by which a quota's cycles begin. */
const RULE_NAMES = ['cycle_unit', 'cycle_time_zone', 'cycle_reset_at', 'overrides']

/** What the changes of a quota say. */
export class RecordedChanges {
  /** The number of changes that make the version. */
  edits = 0
  created = false
  /** May more be used than `total`? The total was lowered, an observe cap enforced, or a repair raised `used`. */
  mayExceed = false
  /** The last recorded value of each setting, by its name in the API, and the opening balance of the create. */
  readonly values = new Map<string, unknown>()
  /** The number of changes since `from`, each with an event. */
  recent = 0
  /** The time of the last manual reset, and of the last change of the cycle's rule, or of what a count overrides. */
  private resetAt = 0
  private ruleChangedAt = 0

  /** @param from the time from which all changes and events exist */
  constructor(private readonly from: Instant) {}

  /** Adds a change; the oldest first. */
  add({ action, actor, at, before, after }: Pick<ChangeRow, 'action' | 'actor' | 'at' | 'before' | 'after'>): void {
    const [was, is] = [parsed(before), parsed(after)]
    const grew = (name: string): boolean => Number(is[name]) > Number(was[name])
    const isRepair = is['used'] !== 0 || is['reserved'] !== 0 || 'mended' in was
    const repair = action === 'reset' && actor === VERIFY && isRepair
    if (action === 'create') this.values.set('deleted_at', null).set('opening_used', amountIn(is['used']))
    this.created ||= action === 'create'
    if (action !== 'reset') this.edits += 1
    else if (!repair) this.resetAt = at
    if (!repair && at >= this.from) this.recent += 1
    if (repair) this.mayExceed ||= grew('used') || grew('reserved')
    else if (action === 'update')
      this.mayExceed ||=
        Number(is['total']) < Number(was['total']) || (was['cap'] === 'observe' && is['cap'] === 'enforce')
    if (RULE_NAMES.some((name) => name in is)) this.ruleChangedAt = at
    // A record lacks the value of a setting that became an override, if it did not differ. The value of one that was
    // given back is the followed quota's, whose later edits are not recorded here.
    const moved = namesInOne(was['overrides'], is['overrides'])
    const isOwn = (name: string): boolean => (is['overrides'] as string[]).includes(name)
    for (const name of moved) this.values.delete(name)
    for (const [name, value] of Object.entries(is))
      if (!moved.includes(name) || isOwn(name)) this.values.set(name, value)
  }

  /** Returns a time at or before the beginning of the quota's current count, as late as it is known. */
  countBegan({
    createdAt,
    cycleUnit: unit,
    cycleTimeZone: timeZone,
    cycleAnchorAt: anchor,
    cycleEndsAt: end,
    follows,
    countBeganAt,
  }: StoredQuota): Instant {
    const known = Math.max(createdAt, this.resetAt)
    const isCycle = unit !== null && timeZone !== null && anchor !== null && end !== null
    const ofCycle = isCycle ? cycleAt({ unit, timeZone, anchor }, end - 1).start : null
    const began = (follows === null ? ofCycle : countBeganAt) ?? 0
    // A changed rule moves resets, but does not begin a count.
    return (this.ruleChangedAt + MAX_SKEW_MS >= began ? known : Math.max(known, began)) - MAX_SKEW_MS
  }
}

/** Finds settings that no request can have set. */
export function contradictions(quota: StoredQuota): Mistake[] {
  const { total, state, expireAt, cycleUnit, cycleTimeZone, cycleAnchorAt, cycleEndsAt, cycleSeq, follows } = quota
  const { cap, windowSeconds, thresholds, openingUsed } = quota
  const type = quota.quotaType as number
  const [isTotal, isCycle, isRolling] = [type === TOTAL_QUOTA, type === CYCLE_QUOTA, type === ROLLING_QUOTA]
  const cycle = [cycleUnit, cycleTimeZone, cycleAnchorAt, cycleEndsAt]
  const isWhole = cycle.every((part) => part !== null)
  const mostOpening = quota.per === 'member' ? 0 : MAX_AMOUNT
  const isWindow = windowSeconds !== null && windowSeconds >= MIN_WINDOW_SECONDS && windowSeconds <= MAX_WINDOW_SECONDS
  const areThresholds = thresholds === null || thresholdsText(thresholdsOf(thresholds)) === thresholds
  const wrong: readonly [isWrong: boolean, expected: string, found: unknown][] = [
    [!STATUSES.includes(state), `one of ${STATUSES.join(', ')}`, state],
    [state === 'left' && follows === null, 'another state, since it is no count of a member', state],
    [state === 'expired' && expireAt === null && follows === null, 'an expiry, since it is expired', 'none'],
    [total < 0 || total > MAX_AMOUNT, `a total from 0 to ${MAX_AMOUNT}`, total],
    [openingUsed < 0 || openingUsed > mostOpening, `an opening balance from 0 to ${mostOpening}`, openingUsed],
    [cycleSeq < 0, 'a cycle_seq from 0', cycleSeq],
    [cap !== null && !CAP_MODES.includes(cap), `no cap, or one of ${CAP_MODES.join(', ')}`, cap],
    [isRolling && cap === null, 'a cap, since it is of type 3', 'none'],
    [isRolling && !isWindow, 'a window, since it is of type 3', windowSeconds],
    [!isRolling && windowSeconds !== null, `no window, since it is of type ${type}`, windowSeconds],
    [!areThresholds || (isRolling && thresholds !== null), 'ascending thresholds, or none', thresholds],
    [isCycle && !isWhole, 'a complete cycle, since it is of type 2', cycle.join(', ')],
    [isCycle && isWhole && !isOnItsRule(quota), 'a reset by its rule', formatInstant(cycleEndsAt ?? 0)],
    [isTotal && expireAt === null, 'an expiry, since it is of type 1', 'none'],
    [
      (isTotal || isRolling) && cycle.some((part) => part !== null),
      `no cycle, since it is of type ${type}`,
      cycle.join(', '),
    ],
    [!isTotal && !isCycle && !isRolling, 'type 1, 2 or 3', type],
  ]
  return wrong
    .filter(([isWrong]) => isWrong)
    .map(([, expected, found]) => ({ rule: 'settings', expected, found: String(found) }))
}

/** Is the end of the cycle a reset of the rule? */
function isOnItsRule({
  cycleUnit: unit,
  cycleTimeZone: timeZone,
  cycleAnchorAt: anchor,
  cycleEndsAt: end,
}: StoredQuota): boolean {
  if (unit === null || timeZone === null || anchor === null || end === null) return false
  if (!CYCLE_UNITS.includes(unit) || !isTimeZone(timeZone) || end < anchor) return false
  const rule = { unit, timeZone, anchor }
  if (end === MAX_INSTANT || isReset(rule, end)) return true
  const { start, end: next } = cycleAt(rule, end)
  return timeZone !== 'UTC' && unit !== 'hour' && Math.min(end - (start ?? end), next - end) <= ZONE_CHANGE_MS
}

/** Finds settings that differ from the last change that holds them. */
export function unrecorded(quota: StoredQuota, { values }: RecordedChanges): Mistake[] {
  const { cycle_reset_at: _, ...settings } = settingsView({ ...quota, window: quota.window ?? null })
  const deletedAt = timeOrNull(quota.deletedAt)
  // The others of a count are those of the quota that it follows.
  const own: readonly string[] | undefined = shownOverrides(quota.overrides)?.filter((name) => name !== 'status')
  return Object.entries({ ...settings, deleted_at: deletedAt, opening_used: quota.openingUsed })
    .filter(([name]) => own === undefined || name === 'deleted_at' || own.includes(name))
    .map(([name, is]) => [name, JSON.stringify(values.get(name)) as string | undefined, JSON.stringify(is)] as const)
    .filter(([, last, is]) => last !== undefined && last !== is)
    .map(([name, last, is]) => ({
      rule: 'settings',
      expected: `${name} ${last}, as its last change says`,
      found: is,
    }))
}

/** Compares the version with the number of edits. Each edit has a change; the oldest may have been removed. */
export function wrongVersion(
  quota: StoredQuota,
  { edits, created }: RecordedChanges,
  oldestChange: Instant,
): Mistake[] {
  // The create of a count is no change.
  const made = edits + (quota.follows === null ? 0 : 1)
  const complete = created || quota.createdAt > oldestChange + MAX_SKEW_MS
  if (complete ? quota.version === made : quota.version > edits) return []
  const expected = `${edits} changes make version ${made}${complete ? '' : ' at least, and its create is gone'}`
  return [{ rule: 'version', expected, found: `version ${quota.version}` }]
}

/**
 * Compares the thresholds that are no longer armed with `used`, and with the events of the current count.
 * @param told the thresholds of these events; undefined if some may have been removed
 */
export function wrongPassed(quota: StoredQuota, told: ReadonlySet<number> | undefined): Mistake[] {
  const { passed, cycleSeq, used, total } = quota
  const found = passed ?? 'none'
  if (passed !== null && (!/^\d+:\d+( \d+)*$/.test(passed) || Number.parseInt(passed, 10) > cycleSeq))
    return [{ rule: 'passed', expected: `thresholds of a count up to ${cycleSeq}`, found }]
  const known = passedOf(quota)
  const isReached = (threshold: number): boolean => used >= reachedAt(threshold, total)
  // What an edit of the followed quota makes a count pass is told at the count's next act, or when lists catch up.
  const reached = quota.follows === null ? thresholdsOf(quota.thresholds).filter(isReached) : []
  const untold = told === undefined ? [] : [...known].filter((threshold) => !told.has(threshold))
  const right = new Set([...known, ...reached].filter((one) => !untold.includes(one) || isReached(one)))
  const mistakes: Mistake[] = untold.filter(isReached).map((threshold) => ({
    rule: 'event',
    expected: `an event of threshold ${threshold}`,
    found: 'none in this count',
  }))
  if (right.size === known.size && reached.every((one) => known.has(one))) return mistakes
  const text = thresholdsText([...right])
  return [...mistakes, { rule: 'passed', expected: text === null ? 'none' : `${cycleSeq}:${text}`, found }]
}

/** The names that are in one of two lists only; none if one of them is no list. */
function namesInOne(was: unknown, is: unknown): string[] {
  if (!Array.isArray(was) || !Array.isArray(is)) return []
  const both = [...(was as string[]), ...(is as string[])]
  return both.filter((name) => was.includes(name) !== is.includes(name))
}

function amountIn(value: unknown): number {
  return Number.isSafeInteger(value) ? Number(value) : 0
}

/** Parses an object; one that is unreadable, which `ChangeCheck` reports of changes, is empty. */
export function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}
