import type { DataSource } from 'typeorm'
import type { Clock } from '../../common/clock.js'
import { instantFromStore } from '../../database/column.js'
import { chunks, type Condition, placeholders, type RawRow, sumIn } from '../../database/row-codec.js'
import type { TransactionRunner } from '../../database/transaction-runner.js'
import { formatInstant, type Instant } from '../../common/instant.js'
import type { Channel } from '../rows/channel.js'
import { isEmpty, type Period } from '../rows/period.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { oldestKept, type RefusalCode } from '../rows/refusal.entity.js'
import { beginningOf, HOUR_MS } from '../rows/utc-step.js'
import { GroupStore } from '../store/group-store.js'
import { LedgerStore } from '../store/ledger-store.js'

/** An owner's refusals with one code, in the form of answers; the owner comes first. */
export interface TopRefusalView {
  code: RefusalCode
  count: number
  requested: number
  last_at: string
}

/** An owner's refusals with one code within one hour, in the form of answers. */
export interface RefusalView extends TopRefusalView {
  hour: string
  /** The smallest, the largest and the latest refused amount; present only if the caller asks for them. */
  smallest?: number
  largest?: number
  last?: number
}

/** Reads the counts of refusals. */
export class RefusalReader<Q extends QuotaRow> {
  private readonly store: LedgerStore<Q>

  constructor(
    private readonly channel: Channel<Q>,
    dataSource: DataSource,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
  ) {
    this.store = new LedgerStore(dataSource, channel)
  }

  /**
   * The owners with most refusals, ordered by count (descending), owner and code.
   * @param hours number of hours, including the current one; 1 … 168
   * @param groupId only present members of this group and of those below it
   * @param size 1 … 100
   */
  async top(
    principalId: string,
    hours: number,
    groupId: number | undefined,
    size: number,
  ): Promise<{ items: TopRefusalView[] }> {
    const { refusal } = this.store
    const owners = groupId === undefined ? [EVERYBODY] : await this.membersOf(principalId, groupId)
    const column = (property: 'hour' | 'ownerId' | 'code' | 'count' | 'requested' | 'lastAt'): string =>
      refusal.column(property)
    const end = beginningOf('hour', this.clock.now()) + HOUR_MS
    const found: { owner: number; sum: TopRefusalView }[] = []
    for (const these of owners) {
      const rows = await this.transactions
        .readsOf(principalId)
        .read((transaction) =>
          transaction.rows(
            `SELECT ${column('ownerId')} AS owner, ${column('code')} AS reason, SUM(${column('count')}) AS attempts, ` +
              `${sumIn(transaction.dialect, column('requested'))} AS units, MAX(${column('lastAt')}) AS latest FROM ${refusal.table} ` +
              `WHERE ${column('hour')} >= ? AND ${column('hour')} < ? ${these.sql}GROUP BY ${column('ownerId')}, ${column('code')} ` +
              `ORDER BY attempts DESC, owner, reason LIMIT ${size}`,
            [refusal.bind('hour', end - hours * HOUR_MS), refusal.bind('hour', end), ...these.values],
          ),
        )
      for (const row of rows) found.push({ owner: Number(row['owner']), sum: sumOf(row) })
    }
    found.sort((a, b) => b.sum.count - a.sum.count || a.owner - b.owner || (a.sum.code < b.sum.code ? -1 : 1))
    const [{ field }] = this.channel.subjects
    return { items: found.slice(0, size).map(({ owner, sum }) => ({ [field]: owner, ...sum })) }
  }

  /**
   * Conditions of which one holds for each owner that is a member of a group or of one below it, by name or by default,
   * and none for others.
   */
  private async membersOf(principalId: string, groupId: number): Promise<Condition[]> {
    const { owner, refusal } = this.store
    const groups = new GroupStore(this.store)
    const { groupIds, hasDefault } = await this.transactions
      .readsOf(principalId)
      .read(async (transaction) => groups.family(transaction, groupId))
    const groupOf =
      `(SELECT o.${owner.column('groupId')} FROM ${owner.readByKey(this.transactions.dialect, 'o')} ` +
      `WHERE o.${owner.column('ownerId')} = ${refusal.table}.${refusal.column('ownerId')})`
    return [...chunks(groupIds)].map((part, n) => {
      const byName = `${groupOf} IN (${placeholders(part)})`
      return { sql: `AND ${hasDefault && n === 0 ? `(${byName} OR ${groupOf} IS NULL)` : byName} `, values: part }
    })
  }

  /**
   * The refusals of all owners by hour, newest first.
   * @param from the first beginning of an hour; the cost is that of `top` for the same hours
   */
  async ofAll(principalId: string, from: Instant, to: Instant | undefined): Promise<{ items: RefusalView[] }> {
    if (isEmpty({ from, to })) return { items: [] }
    const { refusal } = this.store
    const [hour, code] = [refusal.column('hour'), refusal.column('code')]
    const within = this.hoursFrom(from, to)
    const rows = await this.transactions
      .readsOf(principalId)
      .read((transaction) =>
        transaction.rows(
          `SELECT ${hour} AS began, ${code} AS reason, SUM(${refusal.column('count')}) AS attempts, ` +
            `${sumIn(transaction.dialect, refusal.column('requested'))} AS units, MAX(${refusal.column('lastAt')}) AS latest ` +
            `FROM ${refusal.readByKey(transaction.dialect)} WHERE ${within.sql} ` +
            `GROUP BY ${hour}, ${code} ORDER BY ${hour} DESC, ${code}`,
          within.values,
        ),
      )
    return {
      items: rows.map((row) => ({ hour: formatInstant(instantFromStore(row['began'] as string)), ...sumOf(row) })),
    }
  }

  private hoursFrom(from: Instant, to: Instant | undefined): Condition {
    const { refusal } = this.store
    const hour = refusal.column('hour')
    const values = [from, to].flatMap((at) => (at === undefined ? [] : [refusal.bind('hour', at)]))
    return { sql: `${hour} >= ?${to === undefined ? '' : ` AND ${hour} < ?`}`, values }
  }

  /**
   * An owner's refusals by hour, newest first. Without `from`, the period begins 31 days ago.
   * @param options.amounts adds the smallest, the largest and the latest amount
   * @param options.most only so many; without a limit if absent
   */
  async ofOwner(
    principalId: string,
    ownerId: number,
    { from, to }: Period,
    { amounts = false, most }: { amounts?: boolean; most?: number } = {},
  ): Promise<{ items: RefusalView[] }> {
    const period = { from: from ?? oldestKept(this.clock.now()), to }
    if (isEmpty(period)) return { items: [] }
    const { refusal } = this.store
    const within = this.hoursFrom(period.from, to)
    const rows = await this.transactions
      .readsOf(principalId)
      .read((transaction) =>
        transaction.rows(
          `SELECT ${refusal.columns} FROM ${refusal.readBy(this.transactions.dialect, ['ownerId', 'hour'])} ` +
            `WHERE ${refusal.column('ownerId')} = ? AND ${within.sql} ` +
            `ORDER BY ${refusal.column('hour')} DESC, ${refusal.column('code')}${most === undefined ? '' : ` LIMIT ${most}`}`,
          [ownerId, ...within.values],
        ),
      )
    return {
      items: rows.map((row) => {
        const { hour: began, code, count, requested, lastAt, smallest, largest, lastAmount } = refusal.decode(row)
        const counted = { hour: formatInstant(began), code, count, requested, last_at: formatInstant(lastAt) }
        return amounts ? { ...counted, smallest, largest, last: lastAmount } : counted
      }),
    }
  }
}

/** No condition on owners. */
const EVERYBODY: Condition = { sql: '', values: [] }

/** A sum of counts with one code. */
function sumOf(row: RawRow): TopRefusalView {
  return {
    code: row['reason'] as RefusalCode,
    count: Number(row['attempts']),
    requested: Math.min(Number(row['units']), Number.MAX_SAFE_INTEGER),
    last_at: formatInstant(instantFromStore(row['latest'] as string)),
  }
}
