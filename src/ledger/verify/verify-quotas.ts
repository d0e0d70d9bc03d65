import type { Clock } from '../../clock/clock.js'
import { TimeSlice } from '../../clock/time-slice.js'
import { instantFromStore } from '../../database/column.js'
import { placeholders } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import { CAP_MODES, CYCLE_QUOTA, MAX_AMOUNT, ROLLING_QUOTA, STATUSES, TOTAL_QUOTA } from '../../quota/quota.js'
import {
  EMPTY_WINDOW,
  formatWindow,
  MAX_WINDOW_SECONDS,
  MIN_WINDOW_SECONDS,
  parseWindow,
  type RollingWindow,
  sumOf,
  withoutPast,
} from '../../quota/rolling-window.js'
import { formatInstant, type Instant } from '../../time/instant.js'
import type { LedgerStateRow } from '../rows/ledger-state.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { LIVE_OF_OWNER, type LedgerStore } from '../store/ledger-store.js'
import { dayText, type OwnedQuota, TotalsRebuild, type UnequalDay, wholeFrom } from '../totals/totals-rebuild.js'
import { TotalsStore } from '../totals/totals-store.js'
import { LedgerSums, type LedgerSum } from './ledger-sums.js'
import {
  type Check,
  examined,
  type Finding,
  idsAfter,
  type Mend,
  rowsBy,
  type CheckPage,
  type Subject,
} from './verify-check.js'
import { windowDifference } from './verify-windows.js'

const PARTS = [
  'id',
  'ownerId',
  'quotaType',
  'total',
  'used',
  'reserved',
  'state',
  'expireAt',
  'cycleUnit',
  'cycleTimeZone',
  'cycleAnchorAt',
  'cycleEndsAt',
  'cycleSeq',
  'holdDueAt',
  'version',
  'createdAt',
  'cap',
  'windowSeconds',
] as const satisfies readonly (keyof QuotaRow)[]
type KnownQuota = Pick<QuotaRow, (typeof PARTS)[number]> & {
  /** The stored window of a rolling cap; undefined if it is unreadable, null for other quotas. */
  readonly window: RollingWindow | null | undefined
}

/** The maximum number of quota ids in one statement. */
const QUOTAS = 1_000
/** The number of changes of a quota that are read at a time. */
const CHANGES = 500

/** The tolerance for differences between clocks, in milliseconds. */
const MAX_SKEW_MS = 10 * 60_000

/** Slots that leave a window within this time are not compared, in milliseconds. */
const LEAVING_MS = 5_000

/** The actor of repairs in the changes. */
export const VERIFY = 'verify'

/** The number of edits in a quota's changes, and whether its create is among them. */
interface Edits {
  readonly count: number
  readonly created: boolean
}

/** The right counters of a quota, and their sources. */
interface ShouldBe {
  /** The usage by the remaining rows and the totals of removed ones. */
  readonly used: number
  readonly reserved: number
  /** The sum of the remaining rows. */
  readonly ofRows: number
  /** The usage according to all totals and the acts after them; undefined if the totals are too far behind. */
  readonly totalled: number | undefined
  /** Whether certainly nothing of the current count was removed. */
  readonly whole: boolean
}

/** Checks quotas: their counters against the ledger, their owner's lock row, and their settings. */
export class QuotaCheck<Q extends QuotaRow> implements Check {
  readonly what = 'owners'
  readonly rules = ['counters', 'totals', 'hold_due', 'owner_row', 'version', 'settings', 'overdrawn'] as const
  readonly size = 50

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

  async next(transaction: Transaction, after: Subject | undefined): Promise<CheckPage> {
    const { quota } = this.store
    const from = quota.readBy(transaction.dialect, LIVE_OF_OWNER)
    const rows = await transaction.rows(idsAfter(quota, from, 'ownerId', this.size), [after ?? 0])
    return examined(
      rows.map((row) => Number(row['id'])),
      this.size,
    )
  }

  async examine(transaction: Transaction, ownerIds: readonly Subject[]): Promise<Finding[]> {
    const sorted = ownerIds.map(Number).sort((a, b) => a - b)
    const now = this.clock.now()
    const quotas = await this.quotas(transaction, sorted)
    const findings = await this.owners(transaction, sorted)
    const running = new Map(
      quotas.map((quota) => [quota.id, { cycleSeq: quota.cycleSeq, windowSeconds: windowOf(quota) }]),
    )
    const sums = await this.sums.of(transaction, sorted, running, now)
    const state = await this.totals.state(transaction)
    const unequal = new Map<number, UnequalDay>()
    for (const day of await this.rebuild.unequalDays(transaction, sorted, now))
      if (!unequal.has(day.quotaId)) unequal.set(day.quotaId, day)
    const edits = await this.edits(transaction, quotas)
    const oldest = await this.oldestChange(transaction)
    const slice = new TimeSlice()
    for (const quota of quotas) {
      if (slice.spent) await slice.next()
      const sum = sums.get(quota.id)
      if (sum === undefined) continue
      const known = edits.get(quota.id) ?? { count: 0, created: false }
      const should = await this.shouldBe(transaction, quota, sum, state)
      const wrong =
        quota.quotaType !== ROLLING_QUOTA
          ? this.counters(quota, should)
          : this.windowCounters(quota, should, sum.window, state)
      const counted = [...wrong, ...this.holdDue(quota, sum)]
      findings.push(...this.totalsOf(quota, should, state, unequal.get(quota.id)), ...counted)
      findings.push(...settings(quota), ...version(quota, known, oldest))
      if (counted.length === 0 && this.exceedsTotal(quota))
        findings.push(await this.overdrawn(transaction, quota, known.created))
    }
    return findings
  }

  private async quotas(transaction: Transaction, ownerIds: readonly number[]): Promise<KnownQuota[]> {
    const { quota } = this.store
    const rows = await rowsBy(transaction, quota, PARTS, 'ownerId', ownerIds)
    const rolling = rows.filter(({ quotaType }) => quotaType === ROLLING_QUOTA).map(({ id }) => id)
    const windows = new Map<number, RollingWindow | undefined>()
    for (let start = 0; start < rolling.length; start += QUOTAS) {
      const ids = rolling.slice(start, start + QUOTAS)
      // As text, since unreadable ones are findings.
      const texts = await transaction.rows(
        `SELECT ${quota.column('id')} AS id, ${quota.column('window')} AS counts FROM ${quota.table} ` +
          `WHERE ${quota.column('id')} IN (${placeholders(ids)})`,
        ids,
      )
      for (const { id, counts } of texts) windows.set(Number(id), readable(counts as string | null))
    }
    return rows.map((row) => ({ ...row, window: row.quotaType === ROLLING_QUOTA ? windows.get(row.id) : null }))
  }

  /** Returns whether the quota currently counts more than its total, which only an observe cap may. */
  private exceedsTotal({ cap, total, used, reserved, window }: KnownQuota): boolean {
    if (cap === 'observe') return false
    const now = window == null ? { used, reserved } : sumOf(withoutPast(window, this.clock.now()))
    return now.used + now.reserved > total
  }

  /** Finds owners without a lock row. A repair creates it first. */
  private async owners(transaction: Transaction, ownerIds: readonly number[]): Promise<Finding[]> {
    const standing = new Set(await this.store.existingOwnerIds(transaction, ownerIds))
    return ownerIds
      .filter((ownerId) => !standing.has(ownerId))
      .map((ownerId) => ({
        rule: 'owner_row',
        subject: ownerId,
        ownerId,
        where: `owner ${ownerId}`,
        expected: 'a row to be locked',
        found: 'none',
        mend: async (writing) => {
          await this.store.ensureOwners(writing, [ownerId])
          return []
        },
      }))
  }

  /**
   * Returns the right counters of a quota. If nothing of its current count can have been removed, they are the sum of
   * the rows. Otherwise the totals of the days before `begins_at` are added, which nothing else confirms.
   */
  private async shouldBe(
    transaction: Transaction,
    quota: KnownQuota,
    { used: ofRows, reserved, totalled }: LedgerSum,
    state: LedgerStateRow,
  ): Promise<ShouldBe> {
    const { beginsAt } = state
    const whole = beginsAt === null || quota.createdAt >= beginsAt + MAX_SKEW_MS
    const sums = { ofRows, reserved, totalled, whole }
    if (whole) return { ...sums, used: ofRows }
    // A window is not the sum of its count, so it does not confirm these totals.
    if (quota.window !== null) return { ...sums, used: Math.max(ofRows, totalled ?? 0) }
    // Counter and totals agree and are not below the sum of the rows; the slower computation would give the same.
    if (totalled === quota.used && totalled >= ofRows) return { ...sums, used: totalled }
    const of = owned(quota)
    const from = wholeFrom(state)
    const since = (await this.rebuild.charges(transaction, of, from)).reduce(
      (sum, { cycleSeq, charged, refunded }) => sum + (cycleSeq === quota.cycleSeq ? charged - refunded : 0),
      0,
    )
    return { ...sums, used: (await this.rebuild.usedBefore(transaction, of, quota.cycleSeq, from)) + since }
  }

  /**
   * Compares the totals. Totals that can be rebuilt must be equal; for earlier days, only totals that are too low can
   * be found.
   */
  private totalsOf(
    quota: KnownQuota,
    should: ShouldBe,
    state: LedgerStateRow,
    unequal: UnequalDay | undefined,
  ): Finding[] {
    const { used, ofRows, totalled } = should
    const again: Mend = async (transaction) => {
      const locked = await this.totals.lockState(transaction)
      await this.rebuild.make(transaction, owned(quota), locked, this.clock.now())
      const described = (text: string): { mended: string } => ({ mended: `totals: ${text}` })
      return [
        {
          quotaId: quota.id,
          ownerId: quota.ownerId,
          before: described(`${String(totalled)} used`),
          after: described('rebuilt from the acts'),
        },
      ]
    }
    if (totalled !== undefined && totalled !== used) {
      const found = findingOf(quota, 'totals', `${used} used, as the acts say`, `${totalled} added up`)
      return [bothHigher(quota, should) ? found : { ...found, mend: again }]
    }
    if (totalled !== undefined && totalled < ofRows)
      return [
        findingOf(quota, 'totals', `at least ${ofRows} used, as the acts that are left say`, `${totalled} added up`),
      ]
    if (unequal === undefined) return []
    const { day, ofHours, ofDay } = unequal
    const found = findingOf(
      quota,
      'totals',
      `hours of ${dayText(day)} that add up to its day`,
      `${ofHours}; day ${ofDay}`,
    )
    return [day < wholeFrom(state) ? found : { ...found, mend: again }]
  }

  /**
   * Compares the counters. A repair always raises a counter to the sum of the rows, so that nothing is spent twice. It
   * lowers one only if nothing was removed and the totals are not higher too: acts may be missing. It does not compare
   * a cap that has counted more than 2^53-1: its counter stopped there (contract, §9), so that the rows no longer
   * determine it.
   */
  private counters(quota: KnownQuota, should: ShouldBe): Finding[] {
    if (quota.cap !== null && should.used > Number.MAX_SAFE_INTEGER) return []
    const { ofRows, reserved, whole } = should
    const atLeast = should.used < ofRows
    const used = Math.max(should.used, ofRows)
    const wrong = atLeast ? quota.used < used : quota.used !== used
    if (!wrong && quota.reserved === reserved) return []
    const set = (values: { used: number; reserved: number }): Mend =>
      this.setTo(quota, values, { before: { used: quota.used, reserved: quota.reserved }, after: values })
    const raised = { used: Math.max(quota.used, ofRows), reserved: Math.max(quota.reserved, reserved) }
    const known = !wrong || (quota.used < ofRows ? used === ofRows : whole && !bothHigher(quota, should))
    return [
      {
        ...findingOf(
          quota,
          'counters',
          `${atLeast ? 'at least ' : ''}${counted(used, reserved)}`,
          counted(quota.used, quota.reserved),
        ),
        ...(known ? { mend: set({ used: wrong ? used : quota.used, reserved }) } : {}),
        raise: raised.used > quota.used || raised.reserved > quota.reserved ? set(raised) : undefined,
      },
    ]
  }

  /**
   * Compares a rolling cap slot by slot with the rows. Slots that are about to leave the window are not compared, since
   * clocks differ.
   */
  private windowCounters(
    quota: KnownQuota,
    should: ShouldBe,
    ofRows: RollingWindow | null,
    state: LedgerStateRow,
  ): Finding[] {
    const { window } = quota
    // `settings` reports a missing window length.
    if (ofRows === null) return []
    const from = this.clock.now() + LEAVING_MS
    const later = withoutPast(ofRows, from)
    const removed = (until: Instant): boolean =>
      state.beginsAt !== null && until - 2 * (quota.windowSeconds ?? 0) * 1000 < state.beginsAt + MAX_SKEW_MS
    if (window === undefined) {
      const found = findingOf(quota, 'counters', windowText(later), 'unreadable window_counts')
      return [{ ...found, mend: this.setWindow(quota, ofRows) }]
    }
    const stored = window ?? EMPTY_WINDOW
    const difference = windowDifference(withoutPast(stored, from), later, removed)
    const sums = sumOf(stored)
    if (!difference.differs && sums.used === quota.used && sums.reserved === quota.reserved) return []
    const kept = stored.filter(({ until }) => until <= from)
    const found = findingOf(
      quota,
      'counters',
      windowText(difference.should),
      `${windowText(withoutPast(stored, from))}; ${counted(quota.used, quota.reserved)}`,
    )
    const acts = (should.totalled ?? 0) <= should.ofRows
    const sure = difference.certain && (acts || !difference.lowers)
    return [
      {
        ...found,
        ...(sure ? { mend: this.setWindow(quota, [...kept, ...difference.should]) } : {}),
        raise: difference.raises ? this.setWindow(quota, [...kept, ...difference.raised]) : undefined,
      },
    ]
  }

  private setWindow(quota: KnownQuota, window: RollingWindow): Mend {
    const { used, reserved } = quota
    const sums = sumOf(window)
    return this.setTo(quota, { ...sums, window }, { before: { used, reserved }, after: sums })
  }

  private holdDue(quota: KnownQuota, { firstHoldAt }: LedgerSum): Finding[] {
    if (firstHoldAt === null || (quota.holdDueAt !== null && quota.holdDueAt <= firstHoldAt)) return []
    const was = quota.holdDueAt === null ? null : formatInstant(quota.holdDueAt)
    const is = formatInstant(firstHoldAt)
    return [
      {
        ...findingOf(quota, 'hold_due', `${is} or before`, was ?? 'none'),
        mend: this.setTo(
          quota,
          { holdDueAt: firstHoldAt },
          { before: { hold_due_at: was }, after: { hold_due_at: is } },
        ),
      },
    ]
  }

  private setTo(
    { id: quotaId, ownerId }: KnownQuota,
    values: Partial<Pick<QuotaRow, 'used' | 'reserved' | 'holdDueAt' | 'window'>>,
    change: Pick<Awaited<ReturnType<Mend>>[number], 'before' | 'after'>,
  ): Mend {
    const { quota } = this.store
    const names = Object.keys(values) as (keyof typeof values)[]
    return async (transaction) => {
      await transaction.execute(
        `UPDATE ${quota.table} SET ${names.map((name) => `${quota.column(name)} = ?`).join(', ')} WHERE ${quota.column('id')} = ?`,
        [...names.map((name) => quota.bind(name, values[name])), quotaId],
      )
      return [{ quotaId, ownerId, ...change }]
    }
  }

  /** Reports a quota with more than its total: legal if the total was lowered, or if a repair found more usage. */
  private async overdrawn(transaction: Transaction, quota: KnownQuota, complete: boolean): Promise<Finding> {
    const found = `${counted(quota.used, quota.reserved)} of ${quota.total}`
    const legal = (await this.lowered(transaction, quota.id)) || !complete
    if (!legal) return findingOf(quota, 'overdrawn', 'no more than its total, which nobody lowered', found)
    return { ...findingOf(quota, 'overdrawn', 'no more than its total, unless that was lowered', found), note: true }
  }

  private async lowered(transaction: Transaction, quotaId: number): Promise<boolean> {
    const { change } = this.store
    const part = change.part(['id', 'action', 'actor', 'before', 'after'])
    for (let after = 0; ;) {
      const rows = await transaction.rows(
        `SELECT ${part.columns} FROM ${change.readBy(transaction.dialect, ['quotaId', 'id'])} WHERE ${change.column('quotaId')} = ? ` +
          `AND ${change.column('id')} > ? ORDER BY ${change.column('id')} LIMIT ${CHANGES}`,
        [quotaId, after],
      )
      for (const row of rows) {
        const { id, action, actor, before, after: became } = part.decode(row)
        after = id
        if (action === 'update' && (fell(before, became, 'total') || enforced(before, became))) return true
        // A repair may have raised the counters.
        if (
          action === 'reset' &&
          actor === VERIFY &&
          (fell(became, before, 'used') || fell(became, before, 'reserved'))
        )
          return true
      }
      if (rows.length < CHANGES) return false
    }
  }

  private async edits(transaction: Transaction, quotas: readonly KnownQuota[]): Promise<Map<number, Edits>> {
    const { change } = this.store
    const [quotaId, action] = [change.column('quotaId'), change.column('action')]
    const edits = new Map<number, Edits>()
    for (let start = 0; start < quotas.length; start += QUOTAS) {
      const ids = quotas.slice(start, start + QUOTAS).map(({ id }) => id)
      const rows = await transaction.rows(
        `SELECT ${quotaId} AS quota_id, COUNT(*) AS n, SUM(CASE WHEN ${action} = 'create' THEN 1 ELSE 0 END) AS creates ` +
          `FROM ${change.readBy(transaction.dialect, ['quotaId', 'id'])} WHERE ${quotaId} IN (${placeholders(ids)}) AND ${action} <> 'reset' ` +
          `GROUP BY ${quotaId}`,
        ids,
      )
      for (const row of rows)
        edits.set(Number(row['quota_id']), { count: Number(row['n']), created: Number(row['creates']) > 0 })
    }
    return edits
  }

  /** Returns the time of the oldest remaining change. */
  private async oldestChange(transaction: Transaction): Promise<Instant | undefined> {
    const { change } = this.store
    const at = change.column('at')
    const rows = await transaction.rows(
      `SELECT MIN(${at}) AS at FROM ${change.readBy(transaction.dialect, ['at', 'id'])}`,
    )
    const oldest = rows[0]?.['at']
    return typeof oldest === 'string' ? instantFromStore(oldest) : undefined
  }
}

/** Compares the version with the number of edits. Each edit has a change; the oldest may have been removed. */
function version(quota: KnownQuota, { count, created }: Edits, oldest: Instant | undefined): Finding[] {
  const complete = created || (oldest !== undefined && quota.createdAt > oldest + MAX_SKEW_MS)
  if (complete ? quota.version === count : quota.version > count) return []
  const expected = `${count} changes make version ${count}${complete ? '' : ' at least, and its create is gone'}`
  return [findingOf(quota, 'version', expected, `version ${quota.version}`)]
}

/** Finds settings that no request can have set. */
function settings(quota: KnownQuota): Finding[] {
  const { quotaType, total, state, expireAt, cycleUnit, cycleTimeZone, cycleAnchorAt, cycleEndsAt, cycleSeq } = quota
  const { cap, windowSeconds } = quota
  const cycle = [cycleUnit, cycleTimeZone, cycleAnchorAt, cycleEndsAt]
  const wrong: [expected: string, found: string][] = []
  if (!STATUSES.includes(state)) wrong.push([`one of ${STATUSES.join(', ')}`, state])
  if (state === 'expired' && expireAt === null) wrong.push(['an expiry, since it is expired', 'none'])
  if (total < 0 || total > MAX_AMOUNT) wrong.push([`a total from 0 to ${MAX_AMOUNT}`, String(total)])
  if (cycleSeq < 0) wrong.push(['a cycle_seq from 0', String(cycleSeq)])
  if (cap !== null && !CAP_MODES.includes(cap)) wrong.push([`no cap, or one of ${CAP_MODES.join(', ')}`, cap])
  const rolling = (quotaType as number) === ROLLING_QUOTA
  if (rolling && cap === null) wrong.push(['a cap, since it is of type 3', 'none'])
  if (rolling !== inWindow(windowSeconds) || (!rolling && windowSeconds !== null))
    wrong.push([
      rolling
        ? `a window of ${MIN_WINDOW_SECONDS} to ${MAX_WINDOW_SECONDS} seconds, since it is of type 3`
        : `no window, since it is of type ${quotaType}`,
      String(windowSeconds),
    ])
  if (quotaType === TOTAL_QUOTA || quotaType === ROLLING_QUOTA) {
    if (quotaType === TOTAL_QUOTA && expireAt === null) wrong.push(['an expiry, since it is of type 1', 'none'])
    if (cycle.some((part) => part !== null))
      wrong.push([`no cycle, since it is of type ${quotaType}`, cycle.map(String).join(', ')])
  } else if ((quotaType as number) === CYCLE_QUOTA) {
    if (cycle.some((part) => part === null))
      wrong.push(['a complete cycle, since it is of type 2', cycle.map(String).join(', ')])
    else if ((cycleEndsAt ?? 0) < (cycleAnchorAt ?? 0))
      wrong.push(['a cycle that ends at its anchor or later', formatInstant(cycleEndsAt ?? 0)])
  } else wrong.push(['type 1, 2 or 3', String(quotaType)])
  return wrong.map(([expected, found]) => findingOf(quota, 'settings', expected, found))
}

function findingOf({ id, ownerId }: KnownQuota, rule: Finding['rule'], expected: string, found: string): Finding {
  return { rule, subject: ownerId, ownerId, where: `quota ${id} of owner ${ownerId}`, expected, found }
}

/** Returns whether counter and totals are both higher than the acts: then acts may be missing. */
function bothHigher({ used: counter }: KnownQuota, { used, totalled }: ShouldBe): boolean {
  return counter > used && totalled !== undefined && totalled > used
}

function counted(used: number, reserved: number): string {
  return `used ${used}, reserved ${reserved}`
}

function owned({ id: quotaId, ownerId, cap }: KnownQuota): OwnedQuota {
  return { quotaId, ownerId, byCap: cap !== null }
}

function windowOf({ quotaType, windowSeconds }: KnownQuota): number | null {
  return quotaType === ROLLING_QUOTA ? windowSeconds : null
}

function readable(text: string | null): RollingWindow | undefined {
  try {
    return text === null ? undefined : parseWindow(text)
  } catch {
    return undefined
  }
}

function inWindow(seconds: number | null): boolean {
  return seconds !== null && seconds >= MIN_WINDOW_SECONDS && seconds <= MAX_WINDOW_SECONDS
}

function windowText(window: RollingWindow): string {
  return `window ${formatWindow(window) || 'empty'}`
}

/** Returns whether an observe cap became an enforce cap. It may have counted more than its total before. */
function enforced(before: string, after: string): boolean {
  return before.includes('"cap":"observe"') && after.includes('"cap":"enforce"')
}

/** Returns whether a member is smaller in the second text than in the first. */
function fell(before: string, after: string, member: string): boolean {
  try {
    const [was, is] = [before, after].map((text) => (JSON.parse(text) as Record<string, unknown>)[member])
    return typeof was === 'number' && typeof is === 'number' && is < was
  } catch {
    return false
  }
}
