import { type RawRow, type Scalar } from '../database/row-codec.js'
import type { UnitOfWork } from '../database/unit-of-work.js'
import type { Instant } from '../quota/instant.js'
import type { QuotaRow } from './quota.entity.js'
import { HOLDS_OF_OWNER, inThisOrder, type LedgerStore } from './store.js'

/** A statement with the values of its placeholders. */
export interface Statement {
  readonly sql: string
  readonly values: readonly Scalar[]
}

/** A condition whose rows are counted. */
export interface Counted extends Statement {
  /** The table, by the index that finds them, where the planner would not take it. */
  readonly countedFrom?: string
}

/** A statement that selects rows to be shown. */
export interface Rows extends Statement {
  /** What they are ordered by, columns of `page`; where it is not said they come in any order. */
  readonly order?: string
}

/**
 * Quotas as they are stored, with the units of their due holds taken off `reserved`. Only where the time for that has come the rows are read once more, together
 * with what the holds keep: in one statement, so that a sweep between two cannot count a hold twice.
 * @param page selects whole rows of quotas
 * @param all counts the list that they are a page of; `counted` is what it says
 */
export async function readQuotas<Q extends QuotaRow>(
  work: Pick<UnitOfWork, 'dialect' | 'read'>,
  store: LedgerStore<Q>,
  now: Instant,
  page: Rows,
  all?: Statement,
): Promise<{ quotas: Q[]; counted: number }> {
  const { quota } = store
  const plain = all === undefined ? page : together(page, all)
  let rows = await work.read((transaction) => transaction.rows(plain.sql, plain.values))
  const isDue = ({ holdDueAt }: Q): boolean => holdDueAt !== null && holdDueAt <= now
  if (rows.some((row) => isThere(row) && isDue(quota.decode(row)))) {
    const { sql, values } = together(page, all, joinedDueUnits(work, store, now))
    rows = await work.read((transaction) => transaction.rows(sql, values))
  }
  const quotas = rows.filter(isThere).map((row) => {
    const one = quota.decode(row)
    one.reserved -= Number(row['due_units'] ?? 0)
    return one
  })
  return { quotas, counted: countedIn(rows) }
}

/**
 * Joins to a `page` of quotas what their due holds keep. The holds of those owners alone are read, once each, whatever the number of quotas: the order of
 * the join is fixed, since a planner that knows averages would rather walk through a quota's history for every quota.
 */
function joinedDueUnits<Q extends QuotaRow>(
  { dialect }: Pick<UnitOfWork, 'dialect'>,
  { quota, hold, allocation }: LedgerStore<Q>,
  now: Instant,
): Statement {
  const due = quota.bind('holdDueAt', now)
  const then = inThisOrder(dialect)
  const [quotaId, cycleSeq] = [`a.${allocation.column('quotaId')}`, `a.${allocation.column('cycleSeq')}`]
  return {
    sql:
      `LEFT JOIN (SELECT ${quotaId} AS quota_id, ${cycleSeq} AS cycle_seq, SUM(a.${allocation.column('amount')}) AS due_units ` +
      `FROM (SELECT DISTINCT ${quota.column('ownerId')} AS owner_id FROM page WHERE ${quota.column('holdDueAt')} <= ?) held ` +
      `${then} ${hold.readBy(dialect, HOLDS_OF_OWNER, 'h')} ` +
      `ON h.${hold.column('ownerId')} = held.owner_id AND h.${hold.column('expiresAt')} <= ? ` +
      `${then} ${allocation.readByKey(dialect, 'a')} ON a.${allocation.column('operationId')} = h.${hold.column('operationId')} ` +
      `GROUP BY ${quotaId}, ${cycleSeq}) due ` +
      `ON due.quota_id = page.${quota.column('id')} AND due.cycle_seq = page.${quota.column('cycleSeq')}`,
    values: [due, due],
  }
}

/**
 * A page's rows, each with the count of the whole list; one row of the count alone where the page is empty. One statement sees one moment.
 * @param joined what else is joined to `page`, with a column `due_units`
 */
export function together(page: Rows, all: Statement | undefined, joined?: Statement): Statement {
  const [rows, counted] = all === undefined ? ['page', []] : [`(${all.sql}) list LEFT JOIN page ON 1 = 1`, all.values]
  const columns = ['page.*']
  if (all !== undefined) columns.push('list.counted')
  if (joined !== undefined) columns.push('due.due_units')
  return {
    sql:
      `WITH page AS (${page.sql}) SELECT ${columns.join(', ')} FROM ${rows} ${joined?.sql ?? ''}` +
      (page.order === undefined ? '' : ` ORDER BY ${page.order}`),
    values: [...page.values, ...counted, ...(joined?.values ?? [])],
  }
}

/**
 * Counts the rows of a table that any of these conditions finds, which exclude each other. In one statement: a row that moves from one to the other is
 * counted once. No index is named where the condition does not: nothing is ordered, and the planner finds the one that covers it.
 * @param limit none is counted further
 */
export function countOf(table: string, conditions: readonly Counted[], limit?: number): Statement {
  const counts = conditions.map(({ sql, countedFrom = table }, place) =>
    limit === undefined
      ? `(SELECT COUNT(*) FROM ${countedFrom} ${sql})`
      : `(SELECT COUNT(*) FROM (SELECT 1 AS one FROM ${countedFrom} ${sql} LIMIT ${limit}) source_${place})`,
  )
  return { sql: `SELECT ${counts.join(' + ')} AS counted`, values: conditions.flatMap(({ values }) => values) }
}

/** What a count came to that was read, alone or with a page. */
export function countedIn(rows: readonly RawRow[]): number {
  return Number(rows[0]?.['counted'] ?? 0)
}

/** Is this a row of the page, and not the count of an empty one? */
export function isThere(row: RawRow): boolean {
  return row['id'] !== null
}
