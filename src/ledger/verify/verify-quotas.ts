import type { Clock } from '../../common/clock.js'
import { TimeSlice } from '../../common/time-slice.js'
import { type Dialect, placeholders } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import { ROLLING_QUOTA } from '../../domain/quota.js'
import {
  EMPTY_WINDOW,
  formatWindow,
  parseWindow,
  type RollingWindow,
  sumOf,
  withoutPast,
} from '../../domain/rolling-window.js'
import { passedOf } from '../../domain/threshold.js'
import { formatInstant, type Instant } from '../../common/instant.js'
import type { LedgerStateRow } from '../rows/ledger-state.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { LIVE_OF_OWNER, type LedgerStore } from '../store/ledger-store.js'
import { dayText, type OwnedQuota, TotalsRebuild, type UnequalDay, wholeFrom } from '../totals/totals-rebuild.js'
import { TotalsStore } from '../totals/totals-store.js'
import { everyPage, LedgerSums, type LedgerSum, type Running } from './ledger-sums.js'
import {
  type Check,
  type Finding,
  idsAfter,
  type Mend,
  type Page,
  rowsBy,
  showing,
  type Subject,
} from './verify-check.js'
import { eventsCompleteFrom, oldestChange } from './verify-events.js'
import {
  contradictions,
  MAX_SKEW_MS,
  type Mistake,
  RecordedChanges,
  type StoredQuota,
  unrecorded,
  wrongPassed,
  wrongVersion,
} from './verify-settings.js'
import { CopyCheck } from './verify-copies.js'
import { windowDifference } from './verify-windows.js'

/** The number of owners on a page. */
const OWNERS = 50
/** The maximum number of quota ids in one statement. */
const QUOTAS = 500
/** The number of changes that one statement reads. */
const CHANGES: Readonly<Record<Dialect, number>> = { mysql: 5_000, sqlite: 500 }
/** Slots that leave a window within this time are not compared, in milliseconds. */
const LEAVING_MS = 5_000

/** The right usage of a quota's current count. */
interface ShouldBe {
  /** By the remaining rows and the totals of removed ones. */
  readonly used: number
  /** Has certainly nothing of the quota been removed? */
  readonly whole: boolean
}

/** Checks owners: their lock row, and each quota's counters against the ledger, settings and thresholds. */
export class QuotaCheck<Q extends QuotaRow> implements Check {
  readonly what = 'owners'
  private readonly sums: LedgerSums<Q>
  private readonly totals: TotalsStore<Q>
  private readonly rebuild: TotalsRebuild<Q>
  private readonly copies: CopyCheck<Q>

  constructor(
    private readonly store: LedgerStore<Q>,
    private readonly clock: Clock,
  ) {
    this.sums = new LedgerSums(store)
    this.totals = new TotalsStore(store)
    this.rebuild = new TotalsRebuild(store)
    this.copies = new CopyCheck(store)
  }

  /** Groups come first, since their ids are negative. A page has owners of one kind, whose totals do not overlap. */
  async page(transaction: Transaction, after: Subject = Number.MIN_SAFE_INTEGER): Promise<Page> {
    const { quota } = this.store
    const from = quota.readBy(transaction.dialect, LIVE_OF_OWNER)
    const rows = await transaction.rows(idsAfter(quota, from, 'ownerId', OWNERS), [after])
    const found = rows.map((row) => Number(row['id']))
    const [first = 0] = found
    const ownerIds = found.filter((ownerId) => ownerId < 0 === first < 0)
    if (ownerIds.length === 0) return { count: 0, last: undefined, findings: [] }
    const last = found.length < OWNERS && ownerIds.length === found.length ? undefined : ownerIds.at(-1)
    return { count: ownerIds.length, last, findings: await this.examine(transaction, ownerIds) }
  }

  /**
   * Examines owners: in a snapshot, or one owner under its lock.
   * @param ownerIds ascending
   */
  async examine(transaction: Transaction, ownerIds: readonly number[]): Promise<Finding[]> {
    const now = this.clock.now()
    const quotas = await this.quotas(transaction, ownerIds)
    const findings = await this.owners(transaction, ownersToLock(ownerIds, quotas))
    const mayExceed = await this.settings(transaction, ownerIds, quotas, findings)
    const running = new Map(quotas.map((one) => [one.id, runningOf(one)]))
    const sums = await this.sums.of(transaction, ownerIds, running, now)
    const state = await this.totals.state(transaction)
    const unequal = new Map<number, UnequalDay>()
    for (const day of (await this.rebuild.unequalDays(transaction, ownerIds, now)).reverse())
      unequal.set(day.quotaId, day)
    const slice = new TimeSlice()
    for (const quota of quotas) {
      if (slice.spent) await slice.next()
      const sum = sums.get(quota.id)
      if (sum === undefined) continue
      const should = await this.shouldBe(transaction, quota, sum, state)
      findings.push(...this.totalsOf(quota, sum, should, state, unequal.get(quota.id)))
      const wrong =
        quota.quotaType === ROLLING_QUOTA
          ? this.windowCounters(quota, sum.window, state)
          : this.counters(quota, sum, should.used)
      const counted = [...wrong, ...this.holdDue(quota, sum)]
      findings.push(...counted)
      if (counted.length === 0 && this.exceedsTotal(quota))
        findings.push(this.overdrawn(quota, mayExceed.has(quota.id)))
    }
    return findings
  }

  private async quotas(transaction: Transaction, ownerIds: readonly number[]): Promise<StoredQuota[]> {
    const { quota } = this.store
    const parts = ['id', 'ownerId', ...quota.inserted.filter((name) => name !== 'window' && name !== 'labelSearch')]
    const rows = (await rowsBy(transaction, quota, parts as never[], 'ownerId', ownerIds)) as unknown as QuotaRow[]
    const rolling = rows.filter(({ quotaType }) => quotaType === ROLLING_QUOTA).map(({ id }) => id)
    const windows = new Map<number, RollingWindow | undefined>()
    for (const ids of chunks(rolling)) {
      // As text, since unreadable ones are findings.
      const texts = await transaction.rows(
        `SELECT ${quota.column('id')} AS id, ${quota.column('window')} AS counts FROM ${quota.table} WHERE ${quota.column('id')} IN (${placeholders(ids)})`,
        ids,
      )
      for (const { id, counts } of texts) windows.set(Number(id), readable(counts as string | null))
    }
    return rows.map((row) => ({ ...row, window: row.quotaType === ROLLING_QUOTA ? windows.get(row.id) : null }))
  }

  /** Finds owners without a lock row. */
  private async owners(transaction: Transaction, ownerIds: readonly number[]): Promise<Finding[]> {
    const standing = new Set(await this.store.existingOwnerIds(transaction, ownerIds))
    return ownerIds
      .filter((ownerId) => !standing.has(ownerId))
      .map((ownerId) => ({
        rule: 'owner_row',
        ownerId,
        where: `owner ${ownerId}`,
        expected: 'a row to be locked',
        found: 'none',
        show: showing(this.store.owner, 'ownerId', ownerId),
        // Created before the lock is taken.
        mend: async () => Promise.resolve([]),
      }))
  }

  /**
   * Compares the settings with the changes, and the thresholds with the events.
   * @returns the quotas that may have used more than their total
   */
  private async settings(
    transaction: Transaction,
    ownerIds: readonly number[],
    quotas: readonly StoredQuota[],
    findings: Finding[],
  ): Promise<Set<number>> {
    const oldest = await oldestChange(transaction, this.store)
    const eventsFrom = await eventsCompleteFrom(transaction, this.store)
    const from = Math.max(eventsFrom, oldest + 1)
    const recorded = await this.changes(transaction, ownerIds, from)
    const changesOf = ({ id }: StoredQuota): RecordedChanges => recorded.get(id) ?? new RecordedChanges(from)
    const mistakes = new Map(quotas.map((quota) => [quota, contradictions(quota)]))
    const sane = quotas.filter((quota) => mistakes.get(quota)?.length === 0)
    const began = new Map<StoredQuota, Instant>()
    for (const quota of sane) if (passedOf(quota).size > 0) began.set(quota, changesOf(quota).countBegan(quota))
    const complete = [...began].filter(([, at]) => at >= eventsFrom)
    const told = await this.toldThresholds(transaction, complete)
    const events = await this.eventsOfChanges(
      transaction,
      quotas.filter((one) => changesOf(one).recent > 0),
      from,
    )
    const mayExceed = new Set<number>()
    const copies = await this.copies.wrong(transaction, quotas, this.clock.now())
    for (const quota of quotas) {
      const changes = changesOf(quota)
      // What a count follows may have been lowered.
      if (changes.mayExceed || !changes.created) mayExceed.add(quota.id)
      const [expected, found] = [changes.recent, events.get(quota.id) ?? 0]
      const all: Mistake[] = [
        ...(mistakes.get(quota) ?? []),
        ...unrecorded(quota, changes),
        ...(copies.get(quota) ?? []),
        ...wrongVersion(quota, changes, oldest),
        ...wrongPassed(quota, told.get(quota)),
      ]
      if (expected !== found) {
        const since = formatInstant(from)
        all.push({ rule: 'event', expected: `${expected} events of its changes since ${since}`, found: String(found) })
      }
      for (const mistake of all) findings.push(this.finding(quota, mistake.rule, mistake.expected, mistake.found))
      // A repair takes nothing away by an opening balance that another row contradicts.
      quota.openingUsed = Math.min(quota.openingUsed, Number(changes.values.get('opening_used') ?? Infinity))
    }
    return mayExceed
  }

  private async changes(
    transaction: Transaction,
    ownerIds: readonly number[],
    from: Instant,
  ): Promise<Map<number, RecordedChanges>> {
    const { change } = this.store
    const { dialect } = transaction
    const part = change.part(['id', 'quotaId', 'ownerId', 'action', 'actor', 'at', 'before', 'after'])
    const [ownerId, id, size] = [change.column('ownerId'), change.column('id'), CHANGES[dialect]]
    const recorded = new Map<number, RecordedChanges>()
    const slice = new TimeSlice()
    const owners = { after: (ownerIds[0] ?? 0) - 1, last: ownerIds.at(-1) ?? -1 }
    await everyPage(owners, size, async (range, values) => {
      const rows = await transaction.rows(
        `SELECT ${part.columns} FROM ${change.readBy(dialect, ['ownerId', 'id'])} WHERE ${range(ownerId, id)} ORDER BY ${ownerId}, ${id} LIMIT ${size}`,
        values,
      )
      let end: { ownerId: number; id: number } | undefined
      for (const row of rows) {
        if (slice.spent) await slice.next()
        const one = part.decode(row)
        // A change of a group has no quota.
        if (one.quotaId !== null) {
          const known = recorded.get(one.quotaId) ?? new RecordedChanges(from)
          known.add(one)
          recorded.set(one.quotaId, known)
        }
        end = { ownerId: one.ownerId, id: one.id }
      }
      return { read: rows.length, end }
    })
    return recorded
  }

  /** The thresholds that events of the current counts tell of. */
  private async toldThresholds(
    transaction: Transaction,
    began: readonly (readonly [StoredQuota, Instant])[],
  ): Promise<ReadonlyMap<StoredQuota, ReadonlySet<number>>> {
    const { event } = this.store
    const part = event.part(['quotaId', 'at', 'data'])
    const told = new Map(began.map(([quota, at]) => [quota.id, { quota, at, thresholds: new Set<number>() }]))
    for (const some of chunks([...told.values()].sort((a, b) => a.at - b.at))) {
      const rows = await transaction.rows(
        `SELECT ${part.columns} FROM ${event.readBy(transaction.dialect, ['quotaId', 'type', 'position'])} WHERE ${event.column('quotaId')} IN (${placeholders(some)}) ` +
          `AND ${event.column('type')} = 'quota.threshold_reached' AND ${event.column('at')} >= ?`,
        [...some.map(({ quota }) => quota.id), event.bind('at', some[0]?.at)],
      )
      for (const row of rows) {
        const { quotaId, at, data } = part.decode(row)
        const known = told.get(quotaId ?? 0)
        if (known === undefined || at < known.at) continue
        for (const threshold of crossedIn(data)) known.thresholds.add(threshold)
      }
    }
    return new Map([...told.values()].map(({ quota, thresholds }) => [quota, thresholds]))
  }

  /** The numbers of events of changes since a time. */
  private async eventsOfChanges(
    transaction: Transaction,
    quotas: readonly StoredQuota[],
    from: Instant,
  ): Promise<ReadonlyMap<number, number>> {
    const { event } = this.store
    const [quotaId, numbers] = [event.column('quotaId'), new Map<number, number>()]
    for (const some of chunks(quotas)) {
      const rows = await transaction.rows(
        `SELECT ${quotaId} AS quota_id, COUNT(*) AS n FROM ${event.readBy(transaction.dialect, ['quotaId', 'position'])} ` +
          `WHERE ${quotaId} IN (${placeholders(some)}) AND ${event.column('changeId')} IS NOT NULL AND ${event.column('at')} >= ? GROUP BY ${quotaId}`,
        [...some.map(({ id }) => id), event.bind('at', from)],
      )
      for (const row of rows) numbers.set(Number(row['quota_id']), Number(row['n']))
    }
    return numbers
  }

  /**
   * Returns the right usage of a quota. If nothing of it can have been removed, it is the sum of the rows. Otherwise
   * the totals of the days before `begins_at` are added, which nothing else confirms.
   */
  private async shouldBe(
    transaction: Transaction,
    quota: StoredQuota,
    { used: ofRows, totalled }: LedgerSum,
    state: LedgerStateRow,
  ): Promise<ShouldBe> {
    const whole = state.beginsAt === null || quota.createdAt >= state.beginsAt + MAX_SKEW_MS
    if (whole) return { whole, used: ofRows }
    // A window is not the sum of its count, so it does not confirm these totals.
    if (quota.window !== null) return { whole, used: Math.max(ofRows, totalled ?? 0) }
    // Counter and totals agree and are not below the sum of the rows; the slower computation would give the same.
    if (totalled === quota.used && totalled >= ofRows) return { whole, used: totalled }
    const of = owned(quota)
    const from = wholeFrom(state)
    const since = (await this.rebuild.charges(transaction, of, from)).reduce(
      (sum, { cycleSeq, charged, refunded }) => sum + (cycleSeq === quota.cycleSeq ? charged - refunded : 0),
      0,
    )
    const before = await this.rebuild.usedBefore(transaction, of, quota.cycleSeq, from)
    return { whole, used: openingOf(quota) + before + since }
  }

  /**
   * Compares the totals: of the current count, of all counts if nothing was removed, and hours with days. They are
   * rebuilt, unless they may be the only record of missing acts, or are of days whose acts were removed.
   */
  private totalsOf(
    quota: StoredQuota,
    { used: ofRows, totalled, ever, everTotalled }: LedgerSum,
    { used, whole }: ShouldBe,
    state: LedgerStateRow,
    unequal: UnequalDay | undefined,
  ): Finding[] {
    if (totalled === undefined) return []
    const again: Mend = async (transaction) => {
      const locked = await this.totals.lockState(transaction)
      await this.rebuild.make(transaction, owned(quota), locked, this.clock.now())
      const told = (text: string): { mended: string } => ({ mended: `totals: ${text}` })
      const { id: quotaId, ownerId } = quota
      return [{ quotaId, ownerId, before: told(`${totalled} used`), after: told('rebuilt from the acts') }]
    }
    const finding = (expected: string, found: string, mendable: boolean): Finding[] => [
      { ...this.finding(quota, 'totals', expected, found), ...(mendable ? { mend: again } : {}) },
    ]
    if (totalled !== used)
      return finding(`${used} used, as the acts say`, `${totalled} added up`, quota.used <= used || totalled <= used)
    if (whole && everTotalled !== ever)
      return finding(`${ever} used in all counts, as the acts say`, `${everTotalled} added up`, everTotalled < ever)
    if (totalled < ofRows)
      return finding(`at least ${ofRows} used, as the acts that are left say`, `${totalled} added up`, false)
    if (unequal === undefined) return []
    const { day, ofHours, ofDay } = unequal
    return finding(
      `hours of ${dayText(day)} that add up to its day`,
      `${ofHours}; day ${ofDay}`,
      day >= wholeFrom(state),
    )
  }

  /**
   * Compares the counters. A repair raises them to the sums of the rows, so that nothing is spent twice, and never
   * lowers them: acts may be missing. A cap that has counted more than 2^53-1 is not compared: its counter stopped
   * there (contract, §9), so that the rows no longer determine it.
   */
  private counters(quota: StoredQuota, { used: ofRows, reserved }: LedgerSum, should: number): Finding[] {
    if (quota.cap !== null && should > Number.MAX_SAFE_INTEGER) return []
    const used = Math.max(should, ofRows)
    const atLeast = should < ofRows
    if ((atLeast ? quota.used >= used : quota.used === used) && quota.reserved === reserved) return []
    const raised = { used: Math.max(quota.used, ofRows), reserved: Math.max(quota.reserved, reserved) }
    const raises = raised.used > quota.used || raised.reserved > quota.reserved
    const finding = this.finding(
      quota,
      'counters',
      `${atLeast ? 'at least ' : ''}${counted(used, reserved)}`,
      counted(quota.used, quota.reserved),
    )
    const right = (atLeast ? raised.used >= used : raised.used === used) && raised.reserved === reserved
    return [{ ...finding, ...(raises ? { mend: this.setTo(quota, raised, raised), remains: !right } : {}) }]
  }

  /**
   * Compares a rolling cap slot by slot with the rows. Slots that are about to leave the window are not compared, since
   * clocks differ.
   */
  private windowCounters(quota: StoredQuota, ofRows: RollingWindow | null, state: LedgerStateRow): Finding[] {
    // `settings` reports a missing window length.
    if (ofRows === null) return []
    const from = this.clock.now() + LEAVING_MS
    const removed = (until: Instant): boolean =>
      state.beginsAt !== null && until - 2 * (quota.windowSeconds ?? 0) * 1000 < state.beginsAt + MAX_SKEW_MS
    const stored = quota.window ?? EMPTY_WINDOW
    const later = withoutPast(stored, from)
    const { should, raised, certain } = windowDifference(later, withoutPast(ofRows, from), removed)
    const [wanted, is, best] = [should, later, raised].map(formatWindow)
    const sums = sumOf(stored)
    const summed = sums.used === quota.used && sums.reserved === quota.reserved
    if (quota.window !== undefined && wanted === is && summed) return []
    const found =
      quota.window === undefined
        ? 'unreadable window_counts'
        : `${windowText(later)}; ${counted(quota.used, quota.reserved)}`
    const finding = this.finding(quota, 'counters', windowText(should), found)
    const window = [...stored.filter(({ until }) => until <= from), ...raised]
    const after = sumOf(window)
    // An unreadable window stops all requests of the owner, so it is replaced.
    const [used, reserved] = quota.window === undefined ? [0, 0] : [quota.used, quota.reserved]
    const counters = { used: Math.max(after.used, used), reserved: Math.max(after.reserved, reserved) }
    const raises = best !== is || counters.used > used || counters.reserved > reserved
    if (!raises && quota.window !== undefined) return [finding]
    const remains = !certain || best !== wanted || counters.used !== after.used || counters.reserved !== after.reserved
    return [{ ...finding, mend: this.setTo(quota, { ...counters, window }, counters), remains }]
  }

  private holdDue(quota: StoredQuota, { firstHoldAt: due }: LedgerSum): Finding[] {
    if (due === null || (quota.holdDueAt !== null && quota.holdDueAt <= due)) return []
    const was = quota.holdDueAt === null ? null : formatInstant(quota.holdDueAt)
    const is = formatInstant(due)
    const mend = this.setTo(quota, { holdDueAt: due }, { hold_due_at: is }, { hold_due_at: was })
    return [{ ...this.finding(quota, 'hold_due', `${is} or before`, was ?? 'none'), mend }]
  }

  private setTo(
    { id: quotaId, ownerId, used, reserved }: StoredQuota,
    values: Partial<Pick<QuotaRow, 'used' | 'reserved' | 'holdDueAt' | 'window'>>,
    after: Awaited<ReturnType<Mend>>[number]['after'],
    before: Awaited<ReturnType<Mend>>[number]['before'] = { used, reserved },
  ): Mend {
    const { quota } = this.store
    const names = Object.keys(values) as (keyof typeof values)[]
    return async (transaction) => {
      await transaction.execute(
        `UPDATE ${quota.table} SET ${names.map((name) => `${quota.column(name)} = ?`).join(', ')} WHERE ${quota.column('id')} = ?`,
        [...names.map((name) => quota.bind(name, values[name])), quotaId],
      )
      return [{ quotaId, ownerId, before, after }]
    }
  }

  /** Returns whether the quota currently counts more than its total, which only an observe cap may. */
  private exceedsTotal({ cap, total, used, reserved, window }: StoredQuota): boolean {
    if (cap === 'observe') return false
    const now = window == null ? { used, reserved } : sumOf(withoutPast(window, this.clock.now()))
    return now.used + now.reserved > total
  }

  private overdrawn(quota: StoredQuota, legal: boolean): Finding {
    const found = `${counted(quota.used, quota.reserved)} of ${quota.total}`
    if (!legal) return this.finding(quota, 'overdrawn', 'no more than its total, which nobody lowered', found)
    return { ...this.finding(quota, 'overdrawn', 'no more than its total, unless that was lowered', found), note: true }
  }

  private finding({ id, ownerId }: StoredQuota, rule: Finding['rule'], expected: string, found: string): Finding {
    const { quota, act, allocation, change, event, usageTotal } = this.store
    const more =
      rule === 'counters'
        ? `${showing(act, 'plainQuotaId', id)} ${showing(allocation, 'quotaId', id)}`
        : rule === 'totals'
          ? showing(usageTotal, 'quotaId', id)
          : rule === 'event' || rule === 'passed'
            ? showing(event, 'quotaId', id)
            : showing(change, 'quotaId', id)
    const show = `${showing(quota as never, 'id' as never, id)} ${more}`
    return { rule, ownerId, where: `quota ${id} of owner ${ownerId}`, expected, found, show }
  }
}

/** A group of whose quotas each member has a count has no shared counter, and needs no lock. */
function ownersToLock(ownerIds: readonly number[], quotas: readonly StoredQuota[]): readonly number[] {
  if ((ownerIds[0] ?? 0) >= 0) return ownerIds
  const shared = new Set(quotas.filter(({ per }) => per === 'group').map(({ ownerId }) => ownerId))
  return ownerIds.filter((ownerId) => shared.has(ownerId))
}

function counted(used: number, reserved: number): string {
  return `used ${used}, reserved ${reserved}`
}

function windowText(window: RollingWindow): string {
  return `window ${formatWindow(window) || 'empty'}`
}

function owned({ id: quotaId, ownerId, cap }: StoredQuota): OwnedQuota {
  return { quotaId, ownerId, byCap: cap !== null }
}

function runningOf(quota: StoredQuota): Running {
  const { cycleSeq, createdAt, quotaType, windowSeconds, cap } = quota
  const window = quotaType === ROLLING_QUOTA ? windowSeconds : null
  return { isCap: cap !== null, cycleSeq, createdAt, windowSeconds: window, opening: openingOf(quota) }
}

/** The opening balance belongs to the first count. */
function openingOf({ cycleSeq, openingUsed }: StoredQuota): number {
  return cycleSeq === 0 ? openingUsed : 0
}

function readable(text: string | null): RollingWindow | undefined {
  try {
    return text === null ? undefined : parseWindow(text)
  } catch {
    return undefined
  }
}

/** The thresholds that an event tells of. */
function crossedIn(data: string): number[] {
  try {
    return (JSON.parse(data) as { crossed: number[] }).crossed
  } catch {
    return []
  }
}

function chunks<T>(values: readonly T[]): T[][] {
  const parts: T[][] = []
  for (let start = 0; start < values.length; start += QUOTAS) parts.push(values.slice(start, start + QUOTAS))
  return parts
}
