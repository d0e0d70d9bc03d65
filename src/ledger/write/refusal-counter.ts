import type { Clock } from '../../common/clock.js'
import { PeriodicTask } from '../../common/periodic-task.js'
import { placeholders, type Scalar } from '../../database/row-codec.js'
import type { Transaction, TransactionRunner } from '../../database/transaction-runner.js'
import type { Instant } from '../../common/instant.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { REFUSED, type RefusalCode, type RefusalRow } from '../rows/refusal.entity.js'
import { beginningOf } from '../rows/utc-step.js'
import type { LedgerStore } from '../store/ledger-store.js'
import type { Spells } from './spells.js'

/**
 * The interval between writes of counts, well within the five seconds for which an instance may keep them in memory
 * (contract, §8).
 */
const FLUSH_EVERY_MS = 2_000
/** The maximum number of counts in memory, one for each owner, code and hour: about 30 MB. */
const MAX_COUNTS = 100_000
/** The maximum number of counts that one transaction writes. */
const STEP = 500

/** A count in memory, with the time of its first refusal. */
type Count = RefusalRow & { readonly firstAt: Instant }

/** Observes attempts that are not counted individually. */
export interface RefusalObserver {
  /** Attempts for owners that never had a quota and are in no group by name. */
  unknownOwner(attempts: number): void
  /** Attempts that were dropped because the database was unavailable or too slow. */
  dropped(attempts: number): void
}

/**
 * Counts refused attempts in memory and writes the sums in the background, so that a refusal does not cost its request
 * a write. Spells of refusals are kept with them. A crash loses the counts of the last seconds; a write whose COMMIT
 * was not answered may count twice. MAX_COUNTS limits the memory, and the number of existing owners limits the table.
 */
export class RefusalCounter<Q extends QuotaRow> {
  private readonly task: PeriodicTask
  private counts = new Map<string, Count>()
  /** An observer for metrics; at most one. */
  observer: RefusalObserver | undefined

  constructor(
    channel: string,
    private readonly store: LedgerStore<Q>,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
    private readonly spells: Spells<Q>,
  ) {
    this.task = new PeriodicTask(transactions, `${channel} refusals`, FLUSH_EVERY_MS, async () => this.writeAll())
  }

  /** Counts one attempt. */
  count(ownerId: number, code: RefusalCode, amount: number): void {
    const now = this.clock.now()
    const hour = beginningOf('hour', now)
    this.add({
      hour,
      ownerId,
      code,
      count: 1,
      requested: amount,
      smallest: amount,
      largest: amount,
      lastAmount: amount,
      firstAt: now,
      lastAt: now,
    })
  }

  /** Writes the remaining counts; counts that cannot be written are lost. */
  async close(): Promise<void> {
    await this.task.stop()
    await this.flush()
  }

  /** Writes all present counts; never rejects. */
  async flush(): Promise<void> {
    await this.task.again()
  }

  private async writeAll(): Promise<void> {
    // In order of the key, so that instances that write the same rows wait for each other and do not deadlock.
    const rows = [...this.counts.values()].sort(
      (a, b) => a.hour - b.hour || a.ownerId - b.ownerId || (a.code < b.code ? -1 : 1),
    )
    this.counts = new Map()
    for (let start = 0; start < rows.length; start += STEP) {
      const step = rows.slice(start, start + STEP)
      try {
        const strangers = await this.transactions.write(async (transaction) => this.write(transaction, step))
        if (strangers > 0) this.observer?.unknownOwner(strangers)
      } catch (error) {
        for (const row of rows.slice(start)) this.add(row)
        throw error
      }
    }
  }

  /** @returns attempts for owners that never had a quota */
  private async write(transaction: Transaction, rows: readonly Count[]): Promise<number> {
    const { owner, quota, refusal } = this.store
    const ownerIds = [...new Set(rows.map(({ ownerId }) => ownerId))]
    const found = await transaction.rows(
      `SELECT o.${owner.column('ownerId')} AS id FROM ${owner.table} o WHERE o.${owner.column('ownerId')} IN (${placeholders(ownerIds)}) ` +
        `AND (o.${owner.column('groupId')} IS NOT NULL OR (SELECT 1 FROM ${quota.table} q WHERE q.${quota.column('ownerId')} = o.${owner.column('ownerId')} LIMIT 1) = 1)`,
      ownerIds,
    )
    const known = new Set(found.map((row) => Number(row['id'])))
    const more = this.addition(transaction)
    const counted = rows.filter(({ ownerId }) => known.has(ownerId))
    for (const { sql, values } of refusal.inserts(counted, transaction))
      await transaction.execute(`${sql} ${more.sql}`, [...values, ...more.values])
    await this.spells.add(transaction, counted)
    return rows.filter(({ ownerId }) => !known.has(ownerId)).reduce((sum, { count }) => sum + count, 0)
  }

  /** The assignments that add a count to an existing row. */
  private addition({ dialect }: Transaction): { sql: string; values: Scalar[] } {
    const { refusal } = this.store
    const [count, requested, lastAt] = [refusal.column('count'), refusal.column('requested'), refusal.column('lastAt')]
    const [smallest, largest, lastAmount] = [
      refusal.column('smallest'),
      refusal.column('largest'),
      refusal.column('lastAmount'),
    ]
    const fresh = (column: string): string => (dialect === 'mysql' ? `VALUES(${column})` : `excluded.${column}`)
    const [least, greatest] = dialect === 'mysql' ? ['LEAST', 'GREATEST'] : ['MIN', 'MAX']
    const sets = [
      `${count} = ${count} + ${fresh(count)}`,
      `${requested} = ${least}(?, ${requested} + ${fresh(requested)})`,
      `${smallest} = ${least}(${smallest}, ${fresh(smallest)})`,
      `${largest} = ${greatest}(${largest}, ${fresh(largest)})`,
      // MySQL assigns from left to right: this one reads the time before it is set.
      `${lastAmount} = CASE WHEN ${fresh(lastAt)} < ${lastAt} THEN ${lastAmount} ELSE ${fresh(lastAmount)} END`,
      `${lastAt} = ${greatest}(${lastAt}, ${fresh(lastAt)})`,
    ].join(', ')
    const key = (['hour', 'ownerId', 'code'] as const).map((property) => refusal.column(property)).join(', ')
    return {
      sql: dialect === 'mysql' ? `ON DUPLICATE KEY UPDATE ${sets}` : `ON CONFLICT (${key}) DO UPDATE SET ${sets}`,
      values: [Number.MAX_SAFE_INTEGER],
    }
  }

  /** Adds a count to those in memory; drops it if there is no room. */
  private add(row: Count): void {
    const name = `${row.hour} ${row.ownerId} ${row.code}`
    const known = this.counts.get(name)
    if (known !== undefined) this.counts.set(name, merged(known, row))
    else if (this.counts.size < MAX_COUNTS) this.counts.set(name, row)
    else this.observer?.dropped(row.count)
  }
}

/** Merges two counts of one owner, code and hour. */
function merged(one: Count, other: Count): Count {
  return {
    hour: one.hour,
    ownerId: one.ownerId,
    code: one.code,
    count: one.count + other.count,
    // The number of attempts has no limit, so the sum stops at the largest exact JSON number.
    requested: Math.min(one.requested + other.requested, Number.MAX_SAFE_INTEGER),
    smallest: Math.min(one.smallest, other.smallest),
    largest: Math.max(one.largest, other.largest),
    lastAmount: (other.lastAt < one.lastAt ? one : other).lastAmount,
    firstAt: Math.min(one.firstAt, other.firstAt),
    lastAt: Math.max(one.lastAt, other.lastAt),
  }
}

/** Is this refusal counted? */
export function isCounted(code: string): code is RefusalCode {
  return (REFUSED as readonly string[]).includes(code)
}
