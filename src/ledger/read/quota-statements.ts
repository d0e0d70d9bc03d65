import { instantFromStore } from '../../database/column.js'
import { type RawRow, type Scalar } from '../../database/row-codec.js'
import type { Reads } from '../../database/transaction-runner.js'
import { settleIn } from '../../domain/cap.js'
import type { Instant } from '../../common/instant.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { HOLDS_OF_OWNER, straightJoin, type LedgerStore } from '../store/ledger-store.js'

/** A statement with the values of its placeholders. */
export interface Statement {
  readonly sql: string
  readonly values: readonly Scalar[]
}

/** A condition whose rows are counted. */
export interface Counted extends Statement {
  /** The table with the index to use, if the planner would choose another one. */
  readonly countedFrom?: string
}

/** A statement that selects rows of a page. */
interface Rows extends Statement {
  /** The order, by columns of `page`; if absent, the order of the rows is undefined. */
  readonly order?: string
}

/**
 * Quotas as stored, with the units of their due holds subtracted from `reserved`.
 * @param page selects whole rows of quotas
 */
export async function readQuotas<Q extends QuotaRow>(
  reads: Reads,
  store: LedgerStore<Q>,
  now: Instant,
  page: Rows,
): Promise<Q[]> {
  const read = await readRows(reads, store, now, page)
  return read.flatMap(({ quota }) => quota ?? [])
}

/** One of several lists that a statement reads. */
export interface ListPart {
  /** Selects the given expressions for each row of the page: columns of the quotas' table, or constants. */
  readonly page: (columns: string) => Statement
  /** Counts the whole list, as a column `counted`; undefined if the count is not needed. */
  readonly all: Statement | undefined
}

/** The result of one list. */
export interface ListFound<Q> {
  /** The page, newest first. */
  readonly quotas: Q[]
  /** The length of the whole list; undefined if it was not requested. */
  counted: number | undefined
}

/**
 * Reads pages of several lists in one statement, each with the count of its whole list if requested. One statement sees
 * one snapshot: no quota moves between a page and its count.
 *
 * Each list selects the ids of its page by its own index, no more than the page shows; the rows are then read by their
 * primary key. This costs the server a tenth of separate statements, and reads only the page even if an owner has many
 * quotas.
 */
export async function readLists<Q extends QuotaRow>(
  reads: Reads,
  store: LedgerStore<Q>,
  now: Instant,
  parts: readonly ListPart[],
): Promise<ListFound<Q>[]> {
  const { quota } = store
  const id = quota.column('id')
  const branches = parts.flatMap(({ page, all }, place) => [
    page(`${place} AS place, ${id}, NULL AS counted`),
    ...(all === undefined ? [] : [{ sql: `SELECT ${place}, NULL, (${all.sql})`, values: all.values }]),
  ])
  // MySQL requires parentheses around a branch with a LIMIT; SQLite does not allow them.
  const branch = reads.dialect === 'mysql' ? (sql: string) => `(${sql})` : (sql: string) => `SELECT * FROM (${sql})`
  const found: ListFound<Q>[] = parts.map(() => ({ quotas: [], counted: undefined }))
  const rows = await readRows(reads, store, now, {
    sql:
      `SELECT list.place, list.counted, ${quota.columnsOf('q')} FROM (${branches.map(({ sql }) => branch(sql)).join(' UNION ALL ')}) list ` +
      `LEFT JOIN ${quota.table} q ON q.${id} = list.${id}`,
    values: branches.flatMap(({ values }) => values),
  })
  for (const { row, quota: one } of rows) {
    const list = found[Number(row['place'])]
    if (list === undefined) continue
    if (one === undefined) list.counted = Number(row['counted'])
    else list.quotas.push(one)
  }
  for (const { quotas } of found) quotas.sort((a, b) => b.id - a.id)
  return found
}

/** A row as read, and the quota that it contains, if any. */
export interface Read<Q> {
  readonly row: RawRow
  readonly quota: Q | undefined
}

/**
 * Reads rows of quotas. Only if holds are due, it reads the rows again together with the units of the due holds: in one
 * statement, so that a sweep in between cannot count a hold twice.
 */
export async function readRows<Q extends QuotaRow>(
  reads: Reads,
  store: LedgerStore<Q>,
  now: Instant,
  page: Rows,
): Promise<Read<Q>[]> {
  const decoded = (row: RawRow): Read<Q> => ({ row, quota: isPageRow(row) ? store.quota.decode(row) : undefined })
  const rows = await reads.read((transaction) => transaction.rows(page.sql, page.values))
  const plain = rows.map(decoded)
  if (!plain.some(({ quota }) => quota !== undefined && quota.holdDueAt !== null && quota.holdDueAt <= now))
    return plain
  const { sql, values } = pageWithCount(page, undefined, joinedDueUnits(reads, store, now))
  return withoutDueUnits((await reads.read((transaction) => transaction.rows(sql, values))).map(decoded))
}

/** Subtracts the units of due holds. A cap has one row for each time at which it counted one of them. */
function withoutDueUnits<Q extends QuotaRow>(joined: readonly Read<Q>[]): Read<Q>[] {
  const known = new Map<string, Q>()
  return joined.filter(({ row, quota: found }) => {
    if (found === undefined) return true
    const name = `${String(row['place'])} ${found.id}`
    const quota = known.get(name) ?? found
    known.set(name, quota)
    const units = Number(row['due_units'] ?? 0)
    const countedAt = row['counted_at'] as string | null
    if (countedAt === null) quota.reserved -= units
    else
      settleIn(quota, { quotaId: quota.id, cycleSeq: quota.cycleSeq }, instantFromStore(countedAt), {
        reserved: -units,
      })
    return quota === found
  })
}

/**
 * Joins the units of due holds to a `page` of quotas. Reads only the holds of the page's owners, each once, for any
 * number of quotas: the order of the join is fixed, since a planner that estimates from averages would scan the history
 * of every quota.
 */
function joinedDueUnits<Q extends QuotaRow>(
  { dialect }: Pick<Reads, 'dialect'>,
  { quota, hold, allocation }: LedgerStore<Q>,
  now: Instant,
): Statement {
  const due = quota.bind('holdDueAt', now)
  const then = straightJoin(dialect)
  const countedAt = `a.${allocation.column('countedAt')}`
  const [quotaId, cycleSeq] = [`a.${allocation.column('quotaId')}`, `a.${allocation.column('cycleSeq')}`]
  return {
    sql:
      `LEFT JOIN (SELECT held.owner_id AS owner_id, ${quotaId} AS quota_id, ${cycleSeq} AS cycle_seq, ${countedAt} AS counted_at, SUM(a.${allocation.column('amount')}) AS due_units ` +
      `FROM (SELECT DISTINCT ${quota.column('ownerId')} AS owner_id FROM page WHERE ${quota.column('holdDueAt')} <= ?) held ` +
      `${then} ${hold.readBy(dialect, HOLDS_OF_OWNER, 'h')} ` +
      `ON h.${hold.column('ownerId')} = held.owner_id AND h.${hold.column('expiresAt')} <= ? ` +
      `${then} ${allocation.readByKey(dialect, 'a')} ON a.${allocation.column('operationId')} = h.${hold.column('operationId')} ` +
      `GROUP BY held.owner_id, ${quotaId}, ${cycleSeq}, ${countedAt}) due ` +
      // A hold has a row for each owner of whose quotas it keeps units; each counts for the quotas of its own.
      `ON due.owner_id = page.${quota.column('ownerId')} AND due.quota_id = page.${quota.column('id')} AND due.cycle_seq = page.${quota.column('cycleSeq')}`,
    values: [due, due],
  }
}

/**
 * Reads a page's rows, each with the count of the whole list; a single row with the count alone if the page is empty.
 * One statement sees one snapshot.
 * @param joined a join to `page`, with a column `due_units`
 */
export function pageWithCount(page: Rows, all: Statement | undefined, joined?: Statement): Statement {
  const [rows, counted] = all === undefined ? ['page', []] : [`(${all.sql}) list LEFT JOIN page ON 1 = 1`, all.values]
  const columns = ['page.*']
  if (all !== undefined) columns.push('list.counted')
  if (joined !== undefined) columns.push('due.due_units', 'due.counted_at')
  return {
    sql:
      `WITH page AS (${page.sql}) SELECT ${columns.join(', ')} FROM ${rows} ${joined?.sql ?? ''}` +
      (page.order === undefined ? '' : ` ORDER BY ${page.order}`),
    values: [...page.values, ...counted, ...(joined?.values ?? [])],
  }
}

/**
 * Counts the rows of a table that match any of these conditions, which must exclude each other. In one statement, so
 * that a row that moves from one condition to another is counted once. It names an index only if the condition does:
 * nothing is sorted, and the planner finds the covering index.
 * @param limit the count stops here
 */
export function countOf(table: string, conditions: readonly Counted[], limit?: number): Statement {
  const counts = conditions.map(({ sql, countedFrom = table }, place) =>
    limit === undefined ? `(SELECT COUNT(*) FROM ${countedFrom} ${sql})` : countedUpTo(limit, countedFrom, sql, place),
  )
  return { sql: `SELECT ${counts.join(' + ')} AS counted`, values: conditions.flatMap(({ values }) => values) }
}

/**
 * The same for lists that were beyond the limit recently: testing for a row at the limit takes three quarters of the
 * time of counting up to it. If there is no such row any more, the same statement counts the rows.
 */
export function countOfLong(table: string, conditions: readonly Counted[], limit: number): Statement {
  const counts = conditions.map(
    ({ sql, countedFrom = table }, place) =>
      `CASE WHEN EXISTS (SELECT 1 FROM ${countedFrom} ${sql} LIMIT 1 OFFSET ${limit - 1}) THEN ${limit} ` +
      `ELSE ${countedUpTo(limit, countedFrom, sql, place)} END`,
  )
  return {
    sql: `SELECT ${counts.join(' + ')} AS counted`,
    values: conditions.flatMap(({ values }) => [...values, ...values]),
  }
}

function countedUpTo(limit: number, table: string, condition: string, place: number): string {
  return `(SELECT COUNT(*) FROM (SELECT 1 AS one FROM ${table} ${condition} LIMIT ${limit}) source_${place})`
}

/** The result of a statement that counts. */
export async function counted(reads: Pick<Reads, 'read'>, { sql, values }: Statement): Promise<number> {
  return countedIn(await reads.read((transaction) => transaction.rows(sql, values)))
}

/** The count in the result of a statement that counts, alone or with a page. */
export function countedIn(rows: readonly RawRow[]): number {
  return Number(rows[0]?.['counted'] ?? 0)
}

/** Is this a row of the page? Otherwise it only has the count of an empty page. */
export function isPageRow(row: RawRow): boolean {
  return row['id'] !== null
}
