import { instantFromStore } from '../../database/column.js'
import { type RawRow, type Scalar } from '../../database/row-codec.js'
import type { UnitOfWork } from '../../database/unit-of-work.js'
import { settleIn } from '../../quota/cap.js'
import type { Instant } from '../../time/instant.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { HOLDS_OF_OWNER, inThisOrder, type LedgerStore } from '../store/ledger-store.js'

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
interface Rows extends Statement {
  /** What they are ordered by, columns of `page`; where it is not said they come in any order. */
  readonly order?: string
}

/**
 * Quotas as they are stored, with the units of their due holds taken off `reserved`.
 * @param page selects whole rows of quotas
 */
export async function readQuotas<Q extends QuotaRow>(
  work: Pick<UnitOfWork, 'dialect' | 'read'>,
  store: LedgerStore<Q>,
  now: Instant,
  page: Rows,
): Promise<Q[]> {
  const read = await readRows(work, store, now, page)
  return read.flatMap(({ quota }) => quota ?? [])
}

/** One of several lists that a statement reads. */
export interface ListPart {
  /** Selects what it is told for each row of the page: columns of the quotas' table, or constants. */
  readonly page: (columns: string) => Statement
  /** Counts the whole list, with a column `counted`, where that is to be known. */
  readonly all: Statement | undefined
}

/** What was found of a list. */
export interface ListFound<Q> {
  /** The page, newest first. */
  readonly quotas: Q[]
  /** How long the whole list is; undefined where that was not asked. */
  counted: number | undefined
}

/**
 * Pages of several lists in one statement, each as it would be read alone, with the count of the whole list beside it.
 * One statement sees one moment: no quota moves between a page and its count.
 *
 * Each list names the ids of its page by its own index, and no more of them than it shows; the rows are then read by
 * their key. That costs the server a tenth of as many statements, and an owner with many quotas does not make it read
 * more than the page.
 */
export async function readLists<Q extends QuotaRow>(
  work: Pick<UnitOfWork, 'dialect' | 'read'>,
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
  // MySQL wants a branch that has a limit in parentheses, where SQLite takes none.
  const branch = work.dialect === 'mysql' ? (sql: string) => `(${sql})` : (sql: string) => `SELECT * FROM (${sql})`
  const found: ListFound<Q>[] = parts.map(() => ({ quotas: [], counted: undefined }))
  const rows = await readRows(work, store, now, {
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

/** A row as it came, and the quota in it, where there is one. */
interface Read<Q> {
  readonly row: RawRow
  readonly quota: Q | undefined
}

/**
 * Rows of quotas. Only where the time for due holds has come the rows are read once more, together with what the holds
 * keep: in one statement, so that a sweep between two cannot count a hold twice.
 */
async function readRows<Q extends QuotaRow>(
  work: Pick<UnitOfWork, 'dialect' | 'read'>,
  store: LedgerStore<Q>,
  now: Instant,
  page: Rows,
): Promise<Read<Q>[]> {
  const decoded = (row: RawRow): Read<Q> => ({ row, quota: isThere(row) ? store.quota.decode(row) : undefined })
  const rows = await work.read((transaction) => transaction.rows(page.sql, page.values))
  const plain = rows.map(decoded)
  if (!plain.some(({ quota }) => quota !== undefined && quota.holdDueAt !== null && quota.holdDueAt <= now))
    return plain
  const { sql, values } = together(page, undefined, joinedDueUnits(work, store, now))
  return withoutDueUnits((await work.read((transaction) => transaction.rows(sql, values))).map(decoded))
}

/** Takes off what due holds keep. A cap comes once for each time at which it counted one of them. */
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
 * Joins to a `page` of quotas what their due holds keep. The holds of those owners alone are read, once each, whatever
 * the number of quotas: the order of the join is fixed, since a planner that knows averages would rather walk through a
 * quota's history for every quota.
 */
function joinedDueUnits<Q extends QuotaRow>(
  { dialect }: Pick<UnitOfWork, 'dialect'>,
  { quota, hold, allocation }: LedgerStore<Q>,
  now: Instant,
): Statement {
  const due = quota.bind('holdDueAt', now)
  const then = inThisOrder(dialect)
  const countedAt = `a.${allocation.column('countedAt')}`
  const [quotaId, cycleSeq] = [`a.${allocation.column('quotaId')}`, `a.${allocation.column('cycleSeq')}`]
  return {
    sql:
      `LEFT JOIN (SELECT ${quotaId} AS quota_id, ${cycleSeq} AS cycle_seq, ${countedAt} AS counted_at, SUM(a.${allocation.column('amount')}) AS due_units ` +
      `FROM (SELECT DISTINCT ${quota.column('ownerId')} AS owner_id FROM page WHERE ${quota.column('holdDueAt')} <= ?) held ` +
      `${then} ${hold.readBy(dialect, HOLDS_OF_OWNER, 'h')} ` +
      `ON h.${hold.column('ownerId')} = held.owner_id AND h.${hold.column('expiresAt')} <= ? ` +
      `${then} ${allocation.readByKey(dialect, 'a')} ON a.${allocation.column('operationId')} = h.${hold.column('operationId')} ` +
      `GROUP BY ${quotaId}, ${cycleSeq}, ${countedAt}) due ` +
      `ON due.quota_id = page.${quota.column('id')} AND due.cycle_seq = page.${quota.column('cycleSeq')}`,
    values: [due, due],
  }
}

/**
 * A page's rows, each with the count of the whole list; one row of the count alone where the page is empty. One
 * statement sees one moment.
 * @param joined what else is joined to `page`, with a column `due_units`
 */
export function together(page: Rows, all: Statement | undefined, joined?: Statement): Statement {
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
 * Counts the rows of a table that any of these conditions finds, which exclude each other. In one statement: a row that
 * moves from one to the other is counted once. No index is named where the condition does not: nothing is ordered, and
 * the planner finds the one that covers it.
 * @param limit none is counted further
 */
export function countOf(table: string, conditions: readonly Counted[], limit?: number): Statement {
  const counts = conditions.map(({ sql, countedFrom = table }, place) =>
    limit === undefined ? `(SELECT COUNT(*) FROM ${countedFrom} ${sql})` : countedUpTo(limit, countedFrom, sql, place),
  )
  return { sql: `SELECT ${counts.join(' + ')} AS counted`, values: conditions.flatMap(({ values }) => values) }
}

/**
 * The same, for lists that were beyond the limit a moment ago: to look whether there is a row at the limit takes three
 * quarters of the time that counting up to it takes, since nothing is kept of the others. Where there is none any more
 * they are counted after all, in the same statement.
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

/** What a count came to that was read, alone or with a page. */
export function countedIn(rows: readonly RawRow[]): number {
  return Number(rows[0]?.['counted'] ?? 0)
}

/** Is this a row of the page, and not the count of an empty one? */
export function isThere(row: RawRow): boolean {
  return row['id'] !== null
}
