import { type Dialect, placeholders, type RowCodec } from '../../database/row-codec.js'
import type { CapMode, Status } from '../../domain/quota.js'
import type { Instant } from '../../common/instant.js'
import type { Channel } from '../rows/channel.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { beginsWith } from '../store/ledger-store.js'
import type { Counted, Statement } from './quota-statements.js'

/** The quotas that a list shows. */
export interface QuotaFilter<Q extends QuotaRow> {
  /** Values of the subjects that the quota names, by property. */
  readonly subjects: Partial<Record<keyof Q & string, number>>
  readonly status: Status | undefined
  /** Only soft-deleted ones; otherwise only live ones. */
  readonly deleted?: boolean
  /** The beginning of the label, compared in the form of `comparedLabel`. */
  readonly label?: string
  /** Only caps of that kind, or with `none` only payers. */
  readonly cap?: CapMode | 'none'
  /** Only quotas with these ids. */
  readonly ids?: readonly number[]
  /** Only counts that follow this quota. */
  readonly follows?: number
  /** No counts of members. */
  readonly withoutCounts?: true
}

/** The requested part of a list. */
export interface PageRequest {
  /** From 1. */
  readonly page: number
  /** 1 … 100. */
  readonly pageSize: number
  /** Only items with a smaller id; the total still counts the whole list. */
  readonly beforeId?: number | undefined
}

/** Rows of a list: a condition, and the index that has them in order of id. */
export interface Where extends Counted {
  /** The table, with that index. */
  readonly from: string
  /** Does the index have them in another order? Then they are sorted. */
  readonly unordered?: true
}

/** The sources of a list's rows for a page, and for the total. */
export interface Sources {
  /** In order of id, or few enough to be sorted. */
  readonly page: readonly Where[]
  /** By a covering index, if there is one. */
  readonly total: readonly Where[]
}

/** The sources of a list's rows: the conditions of its filter, and the index by which they are read newest first. */
export class ListSources<Q extends QuotaRow> {
  constructor(
    private readonly channel: Channel<Q>,
    private readonly quota: RowCodec<Q>,
    private readonly dialect: Dialect,
  ) {}

  /**
   * A list's rows come from one or two disjoint sources. The stored `state` `expired` may lag: quotas that are due but
   * not yet marked are found by their time, excluded from the active ones and added to the expired ones, so that the
   * filter is exact at any instant.
   */
  of(filter: QuotaFilter<Q>, now: Instant): Where[] {
    if (isNamed(filter)) return [this.named(filter, now)]
    const { subjects, status, deleted = false, cap } = filter
    const { quota } = this
    const subject = this.channel.subjects
      .map(({ property }) => property)
      .find((property) => subjects[property] !== undefined)
    const first = subject === undefined ? [] : [subject]
    // Deleted quotas of all subjects are read newest first by the flag, and so are caps; those of one subject are few.
    const flagged = (deleted || cap !== undefined) && subject === undefined
    const isDeleted = flagged
      ? this.flag(deleted)
      : { sql: `${quota.column('deletedAt')} IS ${deleted ? 'NOT NULL' : 'NULL'}`, values: [] }
    const byFlag: (keyof Q & string)[] = ['deleted', ...(cap === undefined ? [] : (['cap'] as const))]
    const where = (properties: (keyof Q & string)[], ofStatus: readonly Statement[]): Where => ({
      from: quota.readBy(this.dialect, [
        ...(flagged ? byFlag : [...first, 'deletedAt' as const]),
        ...(deleted ? (['id'] as const) : properties),
      ]),
      ...allOf([isDeleted, ...this.conditions(filter), ...ofStatus]),
    })
    const marked = statusCondition(quota, status, now)
    // Deleted quotas are never marked as expired: their status is derived, row by row.
    if (deleted || status === undefined) return [where(['id'], marked)]
    if (status !== 'expired') return [where(['state', 'id'], marked)]
    const [state, expireAt] = [quota.column('state'), quota.column('expireAt')]
    const due = where(
      ['state', subject === undefined ? 'expireAt' : 'id'],
      [{ sql: `${state} = 'active' AND ${expireAt} <= ?`, values: [quota.bind('expireAt', now)] }],
    )
    return [
      where(['state', 'id'], [{ sql: `${state} = 'expired'`, values: [] }]),
      // Found by time and sorted by id; not over the computed flag.
      flagged ? { ...due, unordered: true } : due,
    ]
  }

  /** A list's rows by their label, unsorted. */
  byLabel(filter: QuotaFilter<Q>, now: Instant): Where {
    const from = this.quota.readBy(this.dialect, ['deleted', 'labelSearch', 'id'])
    return { ...this.flagged(filter, now), from, countedFrom: from, unordered: true }
  }

  /** Quotas by their ids, or the counts that follow one by their own index. */
  private named(filter: QuotaFilter<Q>, now: Instant): Where {
    const { quota, dialect } = this
    const from = filter.ids === undefined ? quota.readBy(dialect, ['follows', 'id']) : quota.readByKey(dialect)
    return { ...this.flagged(filter, now), from, countedFrom: from }
  }

  /** All conditions of a filter, by the computed flag. */
  private flagged(filter: QuotaFilter<Q>, now: Instant): Statement {
    const { status, deleted = false } = filter
    return allOf([this.flag(deleted), ...this.conditions(filter), ...statusCondition(this.quota, status, now)])
  }

  private flag(deleted: boolean): Statement {
    return { sql: `${this.quota.column('deleted')} = ?`, values: [deleted ? 1 : 0] }
  }

  /** The conditions of a filter, but for `deleted` and the status. */
  private conditions({ subjects, label, cap, ids, follows, withoutCounts }: QuotaFilter<Q>): Statement[] {
    const { quota } = this
    return [
      ...(label === undefined ? [] : [beginsWith(quota, 'labelSearch', label)]),
      ...(ids === undefined ? [] : [{ sql: `${quota.column('id')} IN (${placeholders(ids)})`, values: ids }]),
      ...(follows === undefined ? [] : [{ sql: `${quota.column('follows')} = ?`, values: [follows] }]),
      ...(cap === undefined ? [] : [capCondition(quota, cap)]),
      ...(withoutCounts === undefined ? [] : [{ sql: `${quota.column('follows')} IS NULL`, values: [] }]),
      ...this.channel.subjects.flatMap(({ property }) => {
        const value = subjects[property]
        return value === undefined ? [] : [{ sql: `${quota.column(property)} = ?`, values: [value] }]
      }),
    ]
  }
}

/** The clause of conditions that all must hold; at least one. */
export function allOf(conditions: readonly Statement[]): Statement {
  return {
    sql: `WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}`,
    values: conditions.flatMap(({ values }) => values),
  }
}

/** Does the filter name quotas, or what they follow? They are few, and no other index is sought. */
export function isNamed<Q extends QuotaRow>({ ids, follows }: QuotaFilter<Q>): boolean {
  return (ids ?? follows) !== undefined
}

function capCondition<Q extends QuotaRow>(quota: RowCodec<Q>, cap: CapMode | 'none'): Statement {
  const column = quota.column('cap')
  return cap === 'none' ? { sql: `${column} IS NULL`, values: [] } : { sql: `${column} = ?`, values: [cap] }
}

/**
 * The stored values of a quota with that status at `now`, whether or not it has been marked as expired; nothing for any
 * status.
 */
function statusCondition<Q extends QuotaRow>(
  quota: RowCodec<Q>,
  status: Status | undefined,
  now: Instant,
): Statement[] {
  const state = quota.column('state')
  const expireAt = quota.column('expireAt')
  const time = quota.bind('expireAt', now)
  switch (status) {
    case undefined:
      return []
    case 'active':
      return [{ sql: `${state} = 'active' AND (${expireAt} IS NULL OR ${expireAt} > ?)`, values: [time] }]
    case 'disabled':
    case 'left':
      return [{ sql: `${state} = '${status}'`, values: [] }]
    case 'expired':
      return [{ sql: `(${state} = 'expired' OR (${state} = 'active' AND ${expireAt} <= ?))`, values: [time] }]
  }
}

/** The condition of a page that lists only quotas with smaller ids; it follows others. */
export function beforeOf(beforeId: number | undefined): Statement {
  return beforeId === undefined ? { sql: '', values: [] } : { sql: ' AND `id` < ?', values: [beforeId] }
}

/** No table has more rows than possible ids. */
const ALL_ROWS = Number.MAX_SAFE_INTEGER

/**
 * Selects columns of each row of a page: its sources are read newest first and no further than the page reaches.
 * @param columns columns of the table, including the id
 * @param size maximum number of rows of the page
 */
export function pageOf(
  sources: readonly Where[],
  columns: string,
  offset: number,
  size: number,
  beforeId: number | undefined,
): Statement {
  const before = beforeOf(beforeId)
  const window = `LIMIT ${size} OFFSET ${offset}`
  // Rows to sort are found first. MariaDB computes a virtual column of a sorted row from columns that it has not read
  // (MDEV-36896), and loses rows; a derived table with a LIMIT is not merged into the sort.
  const rows = ({ from, sql, unordered }: Where, limit: string): string =>
    `SELECT ${columns} FROM ${
      unordered === true
        ? `(SELECT \`id\` FROM ${from} ${sql}${before.sql} LIMIT ${ALL_ROWS}) found`
        : `${from} ${sql}${before.sql}`
    } ORDER BY \`id\` DESC ${limit}`
  const values = sources.flatMap((source) => [...source.values, ...before.values])
  const [only, ...others] = sources
  if (only !== undefined && others.length === 0) return { sql: rows(only, window), values }
  const parts = sources.map(
    (source, place) => `SELECT * FROM (${rows(source, `LIMIT ${offset + size}`)}) source_${place}`,
  )
  return { sql: `SELECT * FROM (${parts.join(' UNION ALL ')} ORDER BY \`id\` DESC ${window}) sources`, values }
}
