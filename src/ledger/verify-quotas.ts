import { TimeSlice } from '../clock/time-slice.js'
import { instantFromStore } from '../database/column.js'
import { placeholders } from '../database/row-codec.js'
import type { Transaction } from '../database/unit-of-work.js'
import { formatInstant, type Instant } from '../quota/instant.js'
import { CYCLE_QUOTA, MAX_AMOUNT, STATUSES, TOTAL_QUOTA } from '../quota/quota.js'
import { instantOfId } from './act-age.js'
import { LedgerSums, type LedgerSum } from './ledger-sums.js'
import type { QuotaRow } from './quota.entity.js'
import { LIVE_OF_OWNER, type LedgerStore } from './store.js'
import { TotalsStore } from './totals-store.js'
import { SERIES_STEPS } from './usage-total.entity.js'
import { beginningOf } from './utc-step.js'
import { type Check, type Finding, idsAfter, type Mend, type Mended, rowsBy, type Subject } from './verify-check.js'

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

/** Do quotas count what the ledger says, under a lock that is there, with settings that go together? */
export class QuotaCheck<Q extends QuotaRow> implements Check {
  readonly what = 'owners'
  readonly rules = ['counters', 'totals', 'hold_due', 'owner_row', 'version', 'settings', 'overdrawn'] as const
  readonly size = 50

  constructor(
    private readonly store: LedgerStore<Q>,
    private readonly sums = new LedgerSums(store),
    private readonly totals = new TotalsStore(store),
  ) {}

  async next(transaction: Transaction, after: Subject | undefined): Promise<number[]> {
    const { quota } = this.store
    const from = quota.readBy(transaction.dialect, LIVE_OF_OWNER)
    const rows = await transaction.rows(idsAfter(quota, from, 'ownerId', this.size), [after ?? 0])
    return rows.map((row) => Number(row['id']))
  }

  async examine(transaction: Transaction, ownerIds: readonly Subject[]): Promise<Finding[]> {
    const sorted = ownerIds.map(Number).sort((a, b) => a - b)
    const quotas: KnownQuota[] = await rowsBy(transaction, this.store.quota, PARTS, 'ownerId', sorted)
    const findings = await this.owners(transaction, sorted)
    const running = new Map(quotas.map(({ id, cycleSeq }) => [id, cycleSeq]))
    const sums = await this.sums.of(transaction, sorted, running)
    const edits = await this.edits(transaction, quotas)
    const oldest = await this.oldestChange(transaction)
    const slice = new TimeSlice()
    for (const quota of quotas) {
      if (slice.spent) await slice.next()
      const sum = sums.get(quota.id)
      if (sum === undefined) continue
      const known = edits.get(quota.id) ?? { count: 0, created: false }
      const counted = this.counters(quota, sum)
      findings.push(...counted, ...settings(quota), ...version(quota, known, oldest))
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

  private counters(quota: KnownQuota, { used, reserved, firstHoldAt, totalled }: LedgerSum): Finding[] {
    const findings: Finding[] = []
    // Where the counter is off as well, something else is named that both follow from.
    if (quota.used === used && totalled !== undefined && totalled !== used) {
      findings.push({
        ...told(quota, 'totals', `${used} used, as the ledger says`, `${totalled} added up`),
        mend: this.correctTotals(quota, totalled, used),
      })
    }
    if (quota.used !== used || quota.reserved !== reserved) {
      findings.push({
        ...told(quota, 'counters', counted(used, reserved), counted(quota.used, quota.reserved)),
        mend: this.setTo(
          quota,
          { used, reserved },
          { before: { used: quota.used, reserved: quota.reserved }, after: { used, reserved } },
        ),
      })
    }
    if (firstHoldAt !== null && (quota.holdDueAt === null || quota.holdDueAt > firstHoldAt)) {
      const was = quota.holdDueAt === null ? null : formatInstant(quota.holdDueAt)
      findings.push({
        ...told(quota, 'hold_due', `${formatInstant(firstHoldAt)} or before`, was ?? 'none'),
        mend: this.setTo(
          quota,
          { holdDueAt: firstHoldAt },
          { before: { hold_due_at: was }, after: { hold_due_at: formatInstant(firstHoldAt) } },
        ),
      })
    }
    return findings
  }

  /** Adds what is missing, or takes away what is too much, where the totals have got to: nobody knows of which day. */
  private correctTotals({ id: quotaId, ownerId, cycleSeq }: KnownQuota, totalled: number, used: number): Mend {
    return async (transaction) => {
      const { foldedTo } = await this.totals.state(transaction)
      const units = { charged: Math.max(0, used - totalled), refunded: Math.max(0, totalled - used) }
      const rows = SERIES_STEPS.map((step) => {
        const beganAt = beginningOf(step, instantOfId(foldedTo))
        return { ownerId, step, beganAt, quotaId, cycleSeq, ...units, refusals: 0, refused: 0 }
      })
      await this.totals.add(transaction, rows)
      const told = (sum: number): Mended['before'] => ({ mended: `totals: ${sum} used` })
      return [{ quotaId, ownerId, before: told(totalled), after: told(used) }]
    }
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
  if (quotaType === TOTAL_QUOTA) {
    if (expireAt === null) wrong.push(['an end, being of type 1', 'none'])
    if (cycle.some((part) => part !== null)) wrong.push(['no cycle, being of type 1', cycle.map(String).join(', ')])
  } else if ((quotaType as number) === CYCLE_QUOTA) {
    if (cycle.some((part) => part === null))
      wrong.push(['a whole cycle, being of type 2', cycle.map(String).join(', ')])
    else if ((cycleEndsAt ?? 0) < (cycleAnchorAt ?? 0))
      wrong.push(['a cycle that ends at its anchor or later', formatInstant(cycleEndsAt ?? 0)])
  } else wrong.push(['type 1 or 2', String(quotaType)])
  return wrong.map(([expected, found]) => told(quota, 'settings', expected, found))
}

function told({ id, ownerId }: KnownQuota, rule: Finding['rule'], expected: string, found: string): Finding {
  return { rule, subject: ownerId, ownerId, where: `quota ${id} of owner ${ownerId}`, expected, found }
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
