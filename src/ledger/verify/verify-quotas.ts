import type { Clock } from '../../common/clock.js'
import { TimeSlice } from '../../common/time-slice.js'
import { instantFromStore } from '../../database/column.js'
import { chunks, type Dialect, placeholders } from '../../database/row-codec.js'
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
import { type OwnedQuota, TotalsRebuild, type UnequalDay, wholeFrom } from '../totals/totals-rebuild.js'
import { TotalsStore } from '../totals/totals-store.js'
import { everyPage, LedgerSums, type LedgerSum, type Running } from './ledger-sums.js'
import * as check from './verify-check.js'
import { wrongCopies } from './verify-copies.js'
import { eventsCompleteFrom, oldestChange } from './verify-events.js'
import * as settings from './verify-settings.js'
import { windowDifference } from './verify-windows.js'

type StoredQuota = settings.StoredQuota

/** The maximum number of owners on a page. */
const OWNERS = 50
/** The number of plain consumes, and of operations, at which a page ends, unless they are of one owner. */
const ROWS: Readonly<Record<Dialect, number>> = { mysql: 50_000, sqlite: 10_000 }
/** The number of quotas that are examined at a time: an owner may have any number of old ones. */
const AT_ONCE = 10_000
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

/** What changes and events say of a quota. */
interface History {
  readonly quota: StoredQuota
  readonly mistakes: readonly settings.Mistake[]
  readonly changes: settings.RecordedChanges
  /** A time at or before the beginning of the current count; 0 if no threshold was passed in it. */
  readonly began: Instant
  /** The thresholds that events of the current count tell of; undefined if some may have been removed. */
  readonly told: Set<number> | undefined
  /** The number of events of changes. */
  events: number
}

/** Checks owners: their lock row, and each quota's counters against the ledger, settings and thresholds. */
export class QuotaCheck<Q extends QuotaRow> implements check.Check {
  readonly what = 'owners'
  private readonly sums: LedgerSums<Q>
  private readonly totals: TotalsStore<Q>
  private readonly rebuild: TotalsRebuild<Q>

  constructor(
    private readonly store: LedgerStore<Q>,
    private readonly clock: Clock,
  ) {
    this.sums = new LedgerSums(store)
    this.totals = new TotalsStore(store)
    this.rebuild = new TotalsRebuild(store)
  }

  /** Groups come first, since their ids are negative. A page has owners of one kind, whose totals do not overlap. */
  async page(transaction: Transaction, after: check.Subject = Number.MIN_SAFE_INTEGER): Promise<check.Page> {
    const { quota } = this.store
    const from = quota.readBy(transaction.dialect, LIVE_OF_OWNER)
    const rows = await transaction.rows(check.idsAfter(quota, from, 'ownerId', OWNERS), [after])
    const found = rows.map((row) => Number(row['id']))
    const [first = 0] = found
    const ofOneKind = found.filter((ownerId) => ownerId < 0 === first < 0)
    const end = await this.endOfPage(transaction, first, ofOneKind.at(-1) ?? first)
    const ownerIds = ofOneKind.filter((ownerId) => ownerId === first || ownerId < end)
    const isLast = found.length < OWNERS && ownerIds.length === found.length
    const findings = ownerIds.length === 0 ? [] : await this.examine(transaction, ownerIds)
    return { what: this.what, count: ownerIds.length, last: isLast ? undefined : ownerIds.at(-1), findings }
  }

  /**
   * Finds the owner before which a page ends, so that its snapshot is short however many acts its owners have. What
   * groups took is not counted.
   * @returns Infinity if the page may have all owners up to the last
   */
  private async endOfPage(transaction: Transaction, first: number, last: number): Promise<number> {
    const { act, operation } = this.store
    const { dialect } = transaction
    let end = Infinity
    for (const [from, ownerId, id] of [
      [act.readBy(dialect, ['plainOwnerId', 'id']), act.column('plainOwnerId'), act.column('id')],
      [operation.readBy(dialect, ['ownerId', 'id']), operation.column('ownerId'), operation.column('id')],
    ] as const) {
      const [row] = await transaction.rows(
        `SELECT ${ownerId} AS id FROM ${from} WHERE ${ownerId} >= ? AND ${ownerId} <= ? ` +
          `ORDER BY ${ownerId}, ${id} LIMIT 1 OFFSET ${ROWS[dialect]}`,
        [first, last],
      )
      end = Math.min(end, Number(row?.['id'] ?? Infinity))
    }
    return end
  }

  /**
   * Examines owners: in a snapshot, or one owner under its lock.
   * @param ownerIds ascending
   */
  async examine(transaction: Transaction, ownerIds: readonly number[]): Promise<check.Finding[]> {
    const findings: check.Finding[] = []
    const locked = new Set<number>()
    for (let after = 0, more = true; more;) {
      const quotas = await this.quotas(transaction, ownerIds, after)
      const toLock = ownersToLock(ownerIds, quotas).filter((ownerId) => !locked.has(ownerId))
      findings.push(...(await this.owners(transaction, toLock)))
      for (const ownerId of toLock) locked.add(ownerId)
      findings.push(...(await this.examineSome(transaction, ownerIds, quotas)))
      more = quotas.length === AT_ONCE
      after = quotas.at(-1)?.id ?? after
    }
    return findings
  }

  private async examineSome(
    transaction: Transaction,
    ownerIds: readonly number[],
    quotas: readonly StoredQuota[],
  ): Promise<check.Finding[]> {
    const now = this.clock.now()
    const findings: check.Finding[] = []
    const mayExceed = await this.settings(transaction, ownerIds, quotas, findings)
    const sums = await this.sums.of(transaction, ownerIds, quotas.map(runningOf), now)
    const state = await this.totals.state(transaction)
    const days = await this.rebuild.unequalDays(transaction, ownerIds, now)
    const slice = new TimeSlice()
    for (const quota of quotas) {
      if (slice.spent) await slice.next()
      const sum = sums.get(quota.id)
      if (sum === undefined) continue
      const should = await this.shouldBe(transaction, quota, sum, state)
      const unequal = days.find(({ quotaId }) => quotaId === quota.id)
      findings.push(...this.totalsOf(quota, sum, should, state, unequal))
      const wrong =
        quota.quotaType === ROLLING_QUOTA
          ? this.windowCounters(quota, sum.window, state)
          : this.counters(quota, sum, should.used)
      const counted = [...wrong, ...this.holdDue(quota, sum)]
      findings.push(...counted)
      if (counted.length === 0) findings.push(...this.overdrawn(quota, mayExceed.has(quota.id)))
    }
    return findings
  }

  /** The next quotas by id. Reads windows as text, since unreadable ones are findings. */
  private async quotas(transaction: Transaction, ownerIds: readonly number[], after: number): Promise<StoredQuota[]> {
    const { quota } = this.store
    const names = ['id', 'ownerId', ...quota.inserted.filter((name) => name !== 'window' && name !== 'labelSearch')]
    const part = quota.part(names as never[])
    const rows = await transaction.rows(
      `SELECT ${part.columns}, ${quota.column('window')} AS text_of_window FROM ${quota.readBy(transaction.dialect, LIVE_OF_OWNER)} ` +
        `WHERE ${quota.column('ownerId')} IN (${placeholders(ownerIds)}) AND ${quota.column('id')} > ? ` +
        `ORDER BY ${quota.column('id')} LIMIT ${AT_ONCE}`,
      [...ownerIds, after],
    )
    return rows.map((row) => {
      const one = part.decode(row) as unknown as QuotaRow
      return {
        ...one,
        window: one.quotaType === ROLLING_QUOTA ? readable(row['text_of_window'] as string | null) : null,
      }
    })
  }

  /** Finds owners without a lock row. */
  private async owners(transaction: Transaction, ownerIds: readonly number[]): Promise<check.Finding[]> {
    const { owner, change } = this.store
    const standing = new Set(await this.store.existingOwnerIds(transaction, ownerIds))
    return ownerIds
      .filter((ownerId) => !standing.has(ownerId))
      .map((ownerId) => ({
        rule: 'owner_row',
        ownerId,
        where: `owner ${ownerId}`,
        expected: 'a row to be locked',
        found: ownerId < 0 ? 'none' : 'none, so its membership of a group is lost',
        show: `${check.showing(owner, 'ownerId', ownerId)}${ownerId < 0 ? '' : ` ${check.showing(change, 'action', "'members'")}`}`,
        // Created before the lock is taken.
        mend: async () => Promise.resolve([]),
        remains: ownerId > 0,
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
    findings: check.Finding[],
  ): Promise<Set<number>> {
    const oldest = await oldestChange(transaction, this.store)
    const eventsFrom = await eventsCompleteFrom(transaction, this.store)
    const from = Math.max(eventsFrom, oldest + 1)
    const recorded = await this.changes(transaction, ownerIds, quotas, from)
    const histories = quotas.map((quota): History => {
      const changes = recorded.get(quota.id) ?? new settings.RecordedChanges(from)
      const mistakes = settings.contradictions(quota)
      const began = mistakes.length === 0 && passedOf(quota).size > 0 ? changes.countBegan(quota) : 0
      return { quota, mistakes, changes, began, told: began >= eventsFrom ? new Set() : undefined, events: 0 }
    })
    await this.events(transaction, histories, from)
    const copies = await wrongCopies(transaction, this.store, quotas, this.clock.now())
    const mayExceed = new Set<number>()
    for (const { quota, mistakes, changes, told, events } of histories) {
      // What a count follows may have been lowered.
      if (changes.mayExceed || !changes.created) mayExceed.add(quota.id)
      const since = `${changes.recent} events of its changes since ${formatInstant(from)}`
      const all: readonly settings.Mistake[] = [
        ...mistakes,
        ...settings.unrecorded(quota, changes),
        ...(copies.get(quota.id) ?? []),
        ...settings.wrongVersion(quota, changes, oldest),
        ...settings.wrongPassed(quota, told),
        ...(changes.recent === events ? [] : [{ rule: 'event', expected: since, found: String(events) } as const]),
      ]
      for (const { rule, expected, found } of all) findings.push(this.finding(quota, rule, expected, found))
      // A repair takes nothing away by an opening balance that another row contradicts, and moves nothing by a window.
      quota.openingUsed = Math.min(quota.openingUsed, Number(changes.values.get('opening_used') ?? Infinity))
      const window = changes.values.get('window_seconds')
      if (typeof window === 'number') quota.windowSeconds = window
    }
    return mayExceed
  }

  private async changes(
    transaction: Transaction,
    ownerIds: readonly number[],
    quotas: readonly StoredQuota[],
    from: Instant,
  ): Promise<Map<number, settings.RecordedChanges>> {
    const { change } = this.store
    const { dialect } = transaction
    const part = change.part(['id', 'quotaId', 'ownerId', 'action', 'actor', 'at', 'before', 'after'])
    const [key, id, size] = [change.column('ownerId'), change.column('id'), CHANGES[dialect]]
    const recorded = new Map<number, settings.RecordedChanges>()
    const slice = new TimeSlice()
    const owners = { after: (ownerIds[0] ?? 0) - 1, last: ownerIds.at(-1) ?? -1 }
    await everyPage(owners, size, { key, id }, async (range, values) => {
      const rows = await transaction.rows(
        `SELECT ${part.columns} FROM ${change.readBy(dialect, ['ownerId', 'id'])} WHERE ${range} ` +
          `AND ${change.column('quotaId')} BETWEEN ? AND ? ORDER BY ${key}, ${id} LIMIT ${size}`,
        [...values, quotas[0]?.id ?? 0, quotas.at(-1)?.id ?? 0],
      )
      let end: { key: number; id: number } | undefined
      for (const row of rows) {
        if (slice.spent) await slice.next()
        const one = part.decode(row)
        end = { key: one.ownerId, id: one.id }
        // A change of a group has no quota.
        if (one.quotaId === null) continue
        const known = recorded.get(one.quotaId) ?? new settings.RecordedChanges(from)
        known.add(one)
        recorded.set(one.quotaId, known)
      }
      return { read: rows.length, end }
    })
    return recorded
  }

  /** Reads the number of events of changes since a time, and the thresholds that events of current counts tell of. */
  private async events(transaction: Transaction, histories: readonly History[], from: Instant): Promise<void> {
    const { event } = this.store
    const wanted = histories.filter(({ changes, told }) => changes.recent > 0 || told !== undefined)
    const byId = new Map(wanted.map((history) => [history.quota.id, history]))
    for (const some of chunks(wanted, QUOTAS)) {
      const first = Math.min(...some.map(({ told, began }) => (told === undefined ? Infinity : began)), from)
      const text =
        'SELECT e.quotaId AS quota_id, CASE WHEN e.changeId IS NULL THEN e.seq END AS one, MAX(e.at) AS at, ' +
        'MAX(CASE WHEN e.changeId IS NULL THEN e.data END) AS told, COUNT(*) AS n ' +
        `FROM ${event.readBy(transaction.dialect, ['quotaId', 'position'], 'e')} ` +
        `WHERE e.quotaId IN (${placeholders(some)}) AND e.at >= CASE WHEN e.changeId IS NULL THEN ? ELSE ? END ` +
        `AND (e.changeId IS NOT NULL OR e.type = 'quota.threshold_reached') GROUP BY e.quotaId, one`
      const since = [event.bind('at', first), event.bind('at', from)]
      const rows = await transaction.rows(check.sqlOf({ e: event }, text), [
        ...some.map(({ quota }) => quota.id),
        ...since,
      ])
      for (const { quota_id: quotaId, one, at, told, n } of rows) {
        const history = byId.get(Number(quotaId))
        if (history === undefined) continue
        if (one !== null && instantFromStore(at as string) >= history.began)
          for (const threshold of crossedIn(told as string)) history.told?.add(threshold)
        if (one === null && history.changes.recent > 0) history.events = Number(n)
      }
    }
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
    const whole = state.beginsAt === null || quota.createdAt >= state.beginsAt + settings.MAX_SKEW_MS
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
  ): check.Finding[] {
    if (totalled === undefined) return []
    const mend: check.Mend = async (transaction) => {
      const locked = await this.totals.lockState(transaction)
      await this.rebuild.make(transaction, owned(quota), locked, this.clock.now())
      const before = { mended: `totals: ${totalled} used` }
      return [{ quotaId: quota.id, before, after: { mended: 'totals: rebuilt from the acts' } }]
    }
    const finding = (expected: string, found: string, mendable: boolean): check.Finding[] => [
      { ...this.finding(quota, 'totals', expected, found), ...(mendable ? { mend } : {}) },
    ]
    const found = `${totalled} added up`
    if (totalled !== used)
      return finding(`${used} used, as the acts say`, found, quota.used <= used || totalled <= used)
    if (whole && everTotalled !== ever)
      return finding(`${ever} used in all counts, as the acts say`, `${everTotalled} added up`, everTotalled < ever)
    if (totalled < ofRows) return finding(`at least ${ofRows} used, as the acts that are left say`, found, false)
    if (unequal === undefined) return []
    const { day, ofHours, ofDay } = unequal
    const expected = `hours of ${formatInstant(day).slice(0, 10)} that add up to its day`
    return finding(expected, `${ofHours}; day ${ofDay}`, day >= wholeFrom(state))
  }

  /**
   * Compares the counters. A repair raises them to the sums of the rows, so that nothing is spent twice, and never
   * lowers them: acts may be missing. A cap that has counted more than 2^53-1 is not compared: its counter stopped
   * there (contract, §9), so that the rows no longer determine it.
   */
  private counters(quota: StoredQuota, { used: ofRows, reserved }: LedgerSum, should: number): check.Finding[] {
    if (quota.cap !== null && should > Number.MAX_SAFE_INTEGER) return []
    const used = Math.max(should, ofRows)
    const isRight = (is: Counters): boolean =>
      (should < ofRows ? is.used >= used : is.used === used) && is.reserved === reserved
    if (isRight(quota)) return []
    const raised = { used: Math.max(quota.used, ofRows), reserved: Math.max(quota.reserved, reserved) }
    const expected = `${should < ofRows ? 'at least ' : ''}${counted({ used, reserved })}`
    const finding = this.finding(quota, 'counters', expected, counted(quota))
    if (raised.used === quota.used && raised.reserved === quota.reserved) return [finding]
    return [{ ...finding, mend: this.setTo(quota, raised), remains: !isRight(raised) }]
  }

  /**
   * Compares a rolling cap slot by slot with the rows. Slots that are about to leave the window are not compared, since
   * clocks differ.
   */
  private windowCounters(quota: StoredQuota, ofRows: RollingWindow | null, state: LedgerStateRow): check.Finding[] {
    // `settings` reports a missing window length.
    if (ofRows === null) return []
    const from = this.clock.now() + LEAVING_MS
    const removed = (until: Instant): boolean =>
      state.beginsAt !== null && until - 2 * (quota.windowSeconds ?? 0) * 1000 < state.beginsAt + settings.MAX_SKEW_MS
    const stored = quota.window ?? EMPTY_WINDOW
    const later = withoutPast(stored, from)
    const { should, raised, certain } = windowDifference(later, withoutPast(ofRows, from), removed)
    const [wanted, is, best] = [should, later, raised].map(formatWindow)
    if (quota.window !== undefined && wanted === is && isEqual(sumOf(stored), quota)) return []
    const text = quota.window === undefined ? 'unreadable window_counts' : `${windowText(later)}; ${counted(quota)}`
    const finding = this.finding(quota, 'counters', windowText(should), text)
    const window = [...stored.filter(({ until }) => until <= from), ...raised]
    const after = sumOf(window)
    // An unreadable window stops all requests of the owner, so it is replaced.
    const least = quota.window === undefined ? { used: 0, reserved: 0 } : quota
    const raisedTo = { used: Math.max(after.used, least.used), reserved: Math.max(after.reserved, least.reserved) }
    if (quota.window !== undefined && best === is && isEqual(raisedTo, quota)) return [finding]
    const remains = !certain || best !== wanted || !isEqual(raisedTo, after)
    return [{ ...finding, mend: this.setTo(quota, { ...raisedTo, window }), remains }]
  }

  private holdDue(quota: StoredQuota, { firstHoldAt: due }: LedgerSum): check.Finding[] {
    if (due === null || (quota.holdDueAt !== null && quota.holdDueAt <= due)) return []
    const found = quota.holdDueAt === null ? 'none' : formatInstant(quota.holdDueAt)
    const finding = this.finding(quota, 'hold_due', `${formatInstant(due)} or before`, found)
    return [{ ...finding, mend: this.setTo(quota, { holdDueAt: due }) }]
  }

  private setTo(quota: StoredQuota, values: Partial<Counters & Pick<QuotaRow, 'holdDueAt' | 'window'>>): check.Mend {
    const codec = this.store.quota
    const names = Object.keys(values) as (keyof typeof values)[]
    // Without this, a repair to 0 would look like a reset by hand, by a token with the name of this actor.
    const replaced = 'window' in values && quota.window === undefined ? { mended: 'window_counts: unreadable' } : {}
    const told = ({ used, reserved, holdDueAt }: Partial<StoredQuota>): check.Mended['before'] =>
      'holdDueAt' in values
        ? { hold_due_at: holdDueAt == null ? null : formatInstant(holdDueAt) }
        : { used: used ?? 0, reserved: reserved ?? 0 }
    return async (transaction) => {
      await transaction.execute(
        `UPDATE ${codec.table} SET ${names.map((name) => `${codec.column(name)} = ?`).join(', ')} WHERE ${codec.column('id')} = ?`,
        [...names.map((name) => codec.bind(name, values[name])), quota.id],
      )
      return [{ quotaId: quota.id, before: { ...told(quota), ...replaced }, after: told({ ...quota, ...values }) }]
    }
  }

  /** Finds that the quota currently counts more than its total, which only an observe cap may. */
  private overdrawn(quota: StoredQuota, isLegal: boolean): check.Finding[] {
    const { cap, total, window } = quota
    const { used, reserved } = window == null ? quota : sumOf(withoutPast(window, this.clock.now()))
    if (cap === 'observe' || used + reserved <= total) return []
    const expected = `no more than its total, ${isLegal ? 'unless that was lowered' : 'which nobody lowered'}`
    const finding = this.finding(quota, 'overdrawn', expected, `${counted(quota)} of ${total}`)
    return [isLegal ? { ...finding, note: true } : finding]
  }

  private finding({ id, ownerId }: StoredQuota, rule: check.Rule, expected: string, found: string): check.Finding {
    const { quota, act, allocation, change, event, usageTotal } = this.store
    const more: Partial<Record<check.Rule, string>> = {
      counters: `${check.showing(act, 'plainQuotaId', id)} ${check.showing(allocation, 'quotaId', id)}`,
      totals: check.showing(usageTotal, 'quotaId', id),
      event: check.showing(event, 'quotaId', id),
      passed: check.showing(event, 'quotaId', id),
    }
    const show = `${check.showing(quota as never, 'id' as never, id)} ${more[rule] ?? check.showing(change, 'quotaId', id)}`
    return { rule, ownerId, where: `quota ${id} of owner ${ownerId}`, expected, found, show }
  }
}

type Counters = Pick<QuotaRow, 'used' | 'reserved'>

function isEqual(one: Counters, other: Counters): boolean {
  return one.used === other.used && one.reserved === other.reserved
}

/** A group of whose quotas each member has a count has no shared counter, and needs no lock. */
function ownersToLock(ownerIds: readonly number[], quotas: readonly StoredQuota[]): readonly number[] {
  if ((ownerIds[0] ?? 0) >= 0) return ownerIds
  const shared = new Set(quotas.filter(({ per }) => per === 'group').map(({ ownerId }) => ownerId))
  return ownerIds.filter((ownerId) => shared.has(ownerId))
}

function counted({ used, reserved }: Counters): string {
  return `used ${used}, reserved ${reserved}`
}

function windowText(window: RollingWindow): string {
  return `window ${formatWindow(window) || 'empty'}`
}

function owned({ id: quotaId, ownerId, cap }: StoredQuota): OwnedQuota {
  return { quotaId, ownerId, byCap: cap !== null }
}

function runningOf(quota: StoredQuota): Running {
  const { id, cycleSeq, createdAt, quotaType, windowSeconds, cap } = quota
  const window = quotaType === ROLLING_QUOTA ? windowSeconds : null
  return { id, isCap: cap !== null, cycleSeq, createdAt, windowSeconds: window, opening: openingOf(quota) }
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
