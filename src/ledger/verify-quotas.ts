import type { Clock } from '../clock/clock.js'
import { TimeSlice } from '../clock/time-slice.js'
import { instantFromStore } from '../database/column.js'
import { placeholders } from '../database/row-codec.js'
import type { Transaction } from '../database/unit-of-work.js'
import { formatInstant, type Instant } from '../quota/instant.js'
import { CYCLE_QUOTA, MAX_AMOUNT, ROLLING_QUOTA, STATUSES, TOTAL_QUOTA } from '../quota/quota.js'
import { LedgerSums, type LedgerSum } from './ledger-sums.js'
import type { LedgerStateRow } from './ledger-state.entity.js'
import type { QuotaRow } from './quota.entity.js'
import { LIVE_OF_OWNER, type LedgerStore } from './store.js'
import { dayText, TotalsAgain, type UnequalDay, wholeFrom } from './totals-again.js'
import { TotalsStore } from './totals-store.js'
import {
  type Check,
  examined,
  type Finding,
  idsAfter,
  type Mend,
  rowsBy,
  type Stretch,
  type Subject,
} from './verify-check.js'

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
] as const satisfies readonly (keyof QuotaRow)[]
type KnownQuota = Pick<QuotaRow, (typeof PARTS)[number]>

/** Ids of quotas that one statement names. */
const QUOTAS = 1_000
/** Changes of a quota that are read at a time. */
const CHANGES = 500

/** Changes were taken down by several clocks; of one near the oldest that is left nobody knows what came before it. */
const MAX_SKEW_MS = 10 * 60_000

/** The name under which repairs stand in the changes. */
export const VERIFY = 'verify'

/** How many edits the changes of a quota tell, and whether its create is among them. */
interface Edits {
  readonly count: number
  readonly created: boolean
}

/** What a quota's counters must be, and what says so. */
interface ShouldBe {
  /** What was used: by the rows that are there, and the totals of what was removed. */
  readonly used: number
  readonly reserved: number
  /** What the rows that are there add up to. */
  readonly ofRows: number
  /** What all totals and the acts after them say was used; undefined where they are too far behind to tell. */
  readonly totalled: number | undefined
  /** Is it certain that nothing of the quota's running cycle was removed? */
  readonly whole: boolean
}

/** Do quotas count what the ledger says, under a lock that is there, with settings that go together? */
export class QuotaCheck<Q extends QuotaRow> implements Check {
  readonly what = 'owners'
  readonly rules = ['counters', 'totals', 'hold_due', 'owner_row', 'version', 'settings', 'overdrawn'] as const
  readonly size = 50

  private readonly sums: LedgerSums<Q>
  private readonly totals: TotalsStore<Q>
  private readonly again: TotalsAgain<Q>

  constructor(
    private readonly store: LedgerStore<Q>,
    private readonly clock: Clock,
  ) {
    this.sums = new LedgerSums(store)
    this.totals = new TotalsStore(store)
    this.again = new TotalsAgain(store)
  }

  async next(transaction: Transaction, after: Subject | undefined): Promise<Stretch> {
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
    const quotas: KnownQuota[] = await rowsBy(transaction, this.store.quota, PARTS, 'ownerId', sorted)
    const findings = await this.owners(transaction, sorted)
    const running = new Map(quotas.map(({ id, cycleSeq }) => [id, cycleSeq]))
    const sums = await this.sums.of(transaction, sorted, running)
    const state = await this.totals.state(transaction)
    const unequal = new Map<number, UnequalDay>()
    for (const day of await this.again.unequalDays(transaction, sorted, this.clock.now()))
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
      const counted = [...this.counters(quota, should), ...this.holdDue(quota, sum)]
      findings.push(...this.totalsOf(quota, should, state, unequal.get(quota.id)), ...counted)
      findings.push(...settings(quota), ...version(quota, known, oldest))
      if (counted.length === 0 && quota.used + quota.reserved > quota.total)
        findings.push(await this.overdrawn(transaction, quota, known.created))
    }
    return findings
  }

  /** Owners without the row that is their lock. It is made before anything is written under it. */
  private async owners(transaction: Transaction, ownerIds: readonly number[]): Promise<Finding[]> {
    const standing = new Set(await this.store.standingOwners(transaction, ownerIds))
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
   * What the counters and the totals of a quota must be. Where nothing of its running cycle can have been removed, that
   * is what the rows add up to. Else the totals of the days before `begins_at` belong to it, and nothing else confirms
   * them.
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
    // The counter and the totals say the same, and no less than the rows: what takes longer to find out is the same.
    if (totalled === quota.used && totalled >= ofRows) return { ...sums, used: totalled }
    const of = { quotaId: quota.id, ownerId: quota.ownerId }
    const from = wholeFrom(state)
    const since = (await this.again.postings(transaction, of, from)).reduce(
      (sum, { cycleSeq, charged, refunded }) => sum + (cycleSeq === quota.cycleSeq ? charged - refunded : 0),
      0,
    )
    return { ...sums, used: (await this.again.usedBefore(transaction, of, quota.cycleSeq, from)) + since }
  }

  /** Totals that can be made again are wrong wherever they differ; those of earlier days can be seen to be too low. */
  private totalsOf(
    quota: KnownQuota,
    should: ShouldBe,
    state: LedgerStateRow,
    unequal: UnequalDay | undefined,
  ): Finding[] {
    const { used, ofRows, totalled } = should
    const again: Mend = async (transaction) => {
      const locked = await this.totals.lockState(transaction)
      await this.again.make(transaction, { quotaId: quota.id, ownerId: quota.ownerId }, locked, this.clock.now())
      const told = (text: string): { mended: string } => ({ mended: `totals: ${text}` })
      return [
        {
          quotaId: quota.id,
          ownerId: quota.ownerId,
          before: told(`${String(totalled)} used`),
          after: told(`made again from the acts`),
        },
      ]
    }
    if (totalled !== undefined && totalled !== used) {
      const found = told(quota, 'totals', `${used} used, as the acts say`, `${totalled} added up`)
      return [bothMore(quota, should) ? found : { ...found, mend: again }]
    }
    if (totalled !== undefined && totalled < ofRows)
      return [told(quota, 'totals', `at least ${ofRows} used, as the acts that are left say`, `${totalled} added up`)]
    if (unequal === undefined) return []
    const { day, ofHours, ofDay } = unequal
    const found = told(quota, 'totals', `hours of ${dayText(day)} that add up to its day`, `${ofHours}; day ${ofDay}`)
    return [day < wholeFrom(state) ? found : { ...found, mend: again }]
  }

  /**
   * A counter is raised to what the rows add up to whatever else is wrong, so that nothing is spent twice. It is
   * lowered only where nothing was removed and the totals do not say more as well: acts may be what is missing.
   */
  private counters(quota: KnownQuota, should: ShouldBe): Finding[] {
    const { ofRows, reserved, whole } = should
    const atLeast = should.used < ofRows
    const used = Math.max(should.used, ofRows)
    const wrong = atLeast ? quota.used < used : quota.used !== used
    if (!wrong && quota.reserved === reserved) return []
    const set = (values: { used: number; reserved: number }): Mend =>
      this.setTo(quota, values, { before: { used: quota.used, reserved: quota.reserved }, after: values })
    const raised = { used: Math.max(quota.used, ofRows), reserved: Math.max(quota.reserved, reserved) }
    const known = !wrong || (quota.used < ofRows ? used === ofRows : whole && !bothMore(quota, should))
    return [
      {
        ...told(
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

  private holdDue(quota: KnownQuota, { firstHoldAt }: LedgerSum): Finding[] {
    if (firstHoldAt === null || (quota.holdDueAt !== null && quota.holdDueAt <= firstHoldAt)) return []
    const was = quota.holdDueAt === null ? null : formatInstant(quota.holdDueAt)
    const is = formatInstant(firstHoldAt)
    return [
      {
        ...told(quota, 'hold_due', `${is} or before`, was ?? 'none'),
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
    values: Partial<Pick<QuotaRow, 'used' | 'reserved' | 'holdDueAt'>>,
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

  /** More than its total: legal where somebody lowered that, or where what was spent was found by a repair. */
  private async overdrawn(transaction: Transaction, quota: KnownQuota, complete: boolean): Promise<Finding> {
    const found = `${counted(quota.used, quota.reserved)} of ${quota.total}`
    const legal = (await this.lowered(transaction, quota.id)) || !complete
    if (!legal) return told(quota, 'overdrawn', 'no more than its total, which nobody lowered', found)
    return { ...told(quota, 'overdrawn', 'no more than its total, unless that was lowered', found), note: true }
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
        if (action === 'update' && fell(before, became, 'total')) return true
        // A repair may find that more was spent than was counted.
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

  /** When the oldest change was made that is left. */
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

/** The version counts edits, and each edit has a change; but the oldest changes may be gone by now. */
function version(quota: KnownQuota, { count, created }: Edits, oldest: Instant | undefined): Finding[] {
  const complete = created || (oldest !== undefined && quota.createdAt > oldest + MAX_SKEW_MS)
  if (complete ? quota.version === count : quota.version > count) return []
  const expected = `${count} changes make version ${count}${complete ? '' : ' at least, and its create is gone'}`
  return [told(quota, 'version', expected, `version ${quota.version}`)]
}

/** Settings that no request could have made. */
function settings(quota: KnownQuota): Finding[] {
  const { quotaType, total, state, expireAt, cycleUnit, cycleTimeZone, cycleAnchorAt, cycleEndsAt, cycleSeq } = quota
  const cycle = [cycleUnit, cycleTimeZone, cycleAnchorAt, cycleEndsAt]
  const wrong: [expected: string, found: string][] = []
  if (!STATUSES.includes(state)) wrong.push([`one of ${STATUSES.join(', ')}`, state])
  if (state === 'expired' && expireAt === null) wrong.push(['an end, being expired', 'none'])
  if (total < 0 || total > MAX_AMOUNT) wrong.push([`a total from 0 to ${MAX_AMOUNT}`, String(total)])
  if (cycleSeq < 0) wrong.push(['a count of cycles', String(cycleSeq)])
  if (quotaType === TOTAL_QUOTA || quotaType === ROLLING_QUOTA) {
    if (quotaType === TOTAL_QUOTA && expireAt === null) wrong.push(['an end, being of type 1', 'none'])
    if (cycle.some((part) => part !== null))
      wrong.push([`no cycle, being of type ${quotaType}`, cycle.map(String).join(', ')])
  } else if ((quotaType as number) === CYCLE_QUOTA) {
    if (cycle.some((part) => part === null))
      wrong.push(['a whole cycle, being of type 2', cycle.map(String).join(', ')])
    else if ((cycleEndsAt ?? 0) < (cycleAnchorAt ?? 0))
      wrong.push(['a cycle that ends at its anchor or later', formatInstant(cycleEndsAt ?? 0)])
  } else wrong.push(['type 1, 2 or 3', String(quotaType)])
  return wrong.map(([expected, found]) => told(quota, 'settings', expected, found))
}

function told({ id, ownerId }: KnownQuota, rule: Finding['rule'], expected: string, found: string): Finding {
  return { rule, subject: ownerId, ownerId, where: `quota ${id} of owner ${ownerId}`, expected, found }
}

/** Do counter and totals say more than the acts? These may be what is missing then. */
function bothMore({ used: counter }: KnownQuota, { used, totalled }: ShouldBe): boolean {
  return counter > used && totalled !== undefined && totalled > used
}

function counted(used: number, reserved: number): string {
  return `used ${used}, reserved ${reserved}`
}

/** Is a member smaller in the second text than in the first? */
function fell(before: string, after: string, member: string): boolean {
  try {
    const [was, is] = [before, after].map((text) => (JSON.parse(text) as Record<string, unknown>)[member])
    return typeof was === 'number' && typeof is === 'number' && is < was
  } catch {
    return false
  }
}
