import type { DataSource } from 'typeorm'
import { type Condition, placeholders } from '../../database/row-codec.js'
import type { Transaction, TransactionRunner } from '../../database/transaction-runner.js'
import { storedName } from '../../common/principal-name.js'
import { type Instant, MAX_INSTANT, MIN_INSTANT } from '../../common/instant.js'
import type { ChangeAction } from '../rows/change.entity.js'
import type { Channel } from '../rows/channel.js'
import { isEmpty, type Period } from '../rows/period.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { changeView, type ChangeView } from '../store/answers.js'
import { LedgerStore } from '../store/ledger-store.js'

/** The conditions on changes; absent members are no condition. */
export interface ChangeFilter extends Period {
  readonly actor?: string | undefined
  readonly action?: ChangeAction | undefined
  readonly quotaId?: number | undefined
  readonly ownerId?: number | undefined
  readonly requestId?: string | undefined
  readonly groupId?: number | undefined
}

/** A page of changes, in the form of answers. */
export interface ChangesPage {
  items: ChangeView[]
  /** The start of the next page, or null at the end. */
  next_before: number | null
}

/** The maximum number of changes of a period that are sorted: its index has them in order of time, not of id. */
const MAX_SORTED = 10_000

/**
 * The maximum difference between the clocks of instances, in milliseconds, at which a page of a long period is correct:
 * apart from such differences, ids increase with time. Periods with up to MAX_SORTED changes do not depend on it.
 */
const MAX_SKEW_MS = 10 * 60_000

/** The properties with an index that ends in the id, the most selective first. */
const EQUALS = ['requestId', 'quotaId', 'ownerId', 'groupId', 'actor', 'action'] as const
type Equal = (typeof EQUALS)[number]

/** A source of rows, and the conditions that its index serves. */
interface Path {
  readonly from: string
  readonly conditions: readonly Condition[]
  /** The remaining conditions on the rows. */
  readonly filter: ChangeFilter
}

/** Reads the changes of all quotas, including deleted ones, without the engine. */
export class ChangeReader<Q extends QuotaRow> {
  private readonly store: LedgerStore<Q>

  constructor(
    private readonly channel: Channel<Q>,
    dataSource: DataSource,
    private readonly transactions: TransactionRunner,
  ) {
    this.store = new LedgerStore(dataSource, channel)
  }

  /**
   * Changes that meet every condition, newest first.
   * @param before only changes with a smaller id
   * @param size 1 … 100
   */
  async page(
    principalId: string,
    filter: ChangeFilter,
    before: number | undefined,
    size: number,
  ): Promise<ChangesPage> {
    if (isEmpty(filter)) return { items: [], next_before: null }
    return this.transactions.readsOf(principalId).read(async (transaction) => {
      const path = await this.path(transaction, filter)
      const ids = await this.ids(transaction, path, before, size + 1)
      const items = await this.shown(transaction, ids.slice(0, size))
      return { items, next_before: ids.length > size ? (ids[size - 1] ?? null) : null }
    })
  }

  private async ids(
    transaction: Transaction,
    { from, conditions, filter }: Path,
    before: number | undefined,
    limit: number,
  ): Promise<number[]> {
    const id = this.store.change.column('id')
    const all = [
      ...conditions,
      ...this.conditions(filter),
      ...(before === undefined ? [] : [{ sql: `c.${id} < ?`, values: [before] }]),
    ]
    const rows = await transaction.rows(
      `SELECT c.${id} AS id FROM ${from} WHERE ${all.map(({ sql }) => sql).join(' AND ')} ORDER BY c.${id} DESC LIMIT ${limit}`,
      all.flatMap(({ values }) => values),
    )
    return rows.map((row) => Number(row['id']))
  }

  private async shown(transaction: Transaction, ids: readonly number[]): Promise<ChangeView[]> {
    if (ids.length === 0) return []
    const { change } = this.store
    const id = change.column('id')
    const rows = await transaction.rows(
      `SELECT ${change.columns} FROM ${change.table} WHERE ${id} IN (${placeholders(ids)}) ORDER BY ${id} DESC`,
      ids,
    )
    return rows.map((row) => changeView(this.channel, change.decode(row)))
  }

  /**
   * Selects the source with the fewest rows to read: by the condition that the fewest changes meet, as far as a bounded
   * count can tell.
   */
  private async path(transaction: Transaction, filter: ChangeFilter): Promise<Path> {
    const equals = EQUALS.filter((property) => filter[property] !== undefined)
    const timed = filter.from !== undefined || filter.to !== undefined
    if (!timed && equals.length <= 1) return this.byEqual(equals[0], filter)

    let best: { property: Equal | 'at'; count: number } | undefined
    for (const property of [...equals, ...(timed ? (['at'] as const) : [])]) {
      const path = property === 'at' ? this.byTime(filter) : this.byEqual(property, { [property]: filter[property] })
      const count = await this.count(transaction, path, best?.count ?? MAX_SORTED + 1)
      if (best === undefined || count < best.count) best = { property, count }
    }
    if (best?.property !== 'at') return this.byEqual(best?.property, filter)
    return best.count <= MAX_SORTED ? this.byTime(filter) : this.byWindow(transaction, filter)
  }

  private byEqual(property: Equal | undefined, filter: ChangeFilter): Path {
    const { change } = this.store
    // An explicit condition, so that every plan shows a range of the primary key and no full scan.
    if (property === undefined)
      return { from: this.byId(), conditions: [{ sql: `c.${change.column('id')} > 0`, values: [] }], filter }
    const { [property]: value, ...rest } = filter
    const from = change.readBy(this.transactions.dialect, [property, 'id'], 'c')
    return { from, conditions: value === undefined ? [] : [this.equal(property, value)], filter: rest }
  }

  private byTime({ from, to, ...rest }: ChangeFilter): Path {
    const { change } = this.store
    return {
      from: change.readBy(this.transactions.dialect, ['at', 'id'], 'c'),
      conditions: this.conditions({ from, to }),
      filter: rest,
    }
  }

  /** The source for a long period: a range of ids from well before the period to well after it. */
  private async byWindow(transaction: Transaction, filter: ChangeFilter): Promise<Path> {
    const { change } = this.store
    const [id, at] = [change.column('id'), change.column('at')]
    const edge = async (condition: string, order: string, time: Instant): Promise<number | undefined> => {
      const rows = await transaction.rows(
        `SELECT c.${id} AS id FROM ${change.readBy(this.transactions.dialect, ['at', 'id'], 'c')} WHERE c.${at} ${condition} ? ORDER BY c.${at} ${order}, c.${id} ${order} LIMIT 1`,
        [change.bind('at', time)],
      )
      return rows[0] === undefined ? undefined : Number(rows[0]['id'])
    }
    const { from, to } = filter
    // Columns hold no time outside of these.
    const first = from === undefined ? undefined : await edge('<', 'DESC', Math.max(MIN_INSTANT, from - MAX_SKEW_MS))
    const last = to === undefined ? undefined : await edge('>', 'ASC', Math.min(MAX_INSTANT, to + MAX_SKEW_MS))
    return {
      from: this.byId(),
      conditions: [
        ...(first === undefined ? [] : [{ sql: `c.${id} > ?`, values: [first] }]),
        ...(last === undefined ? [] : [{ sql: `c.${id} < ?`, values: [last] }]),
      ],
      filter,
    }
  }

  private byId(): string {
    return `${this.store.change.table} c${this.transactions.dialect === 'mysql' ? ' FORCE INDEX (PRIMARY)' : ''}`
  }

  private async count(transaction: Transaction, { from, conditions }: Path, limit: number): Promise<number> {
    const rows = await transaction.rows(
      `SELECT COUNT(*) AS n FROM (SELECT 1 AS one FROM ${from} WHERE ${conditions.map(({ sql }) => sql).join(' AND ')} LIMIT ${limit}) counted`,
      conditions.flatMap(({ values }) => values),
    )
    return Number(rows[0]?.['n'] ?? 0)
  }

  private conditions({ from, to, ...equals }: ChangeFilter): Condition[] {
    const { change } = this.store
    const at = `c.${change.column('at')}`
    return [
      ...(from === undefined ? [] : [{ sql: `${at} >= ?`, values: [change.bind('at', from)] }]),
      ...(to === undefined ? [] : [{ sql: `${at} < ?`, values: [change.bind('at', to)] }]),
      ...EQUALS.flatMap((property) => {
        const value = equals[property]
        return value === undefined ? [] : [this.equal(property, value)]
      }),
    ]
  }

  private equal(property: Equal, value: string | number): Condition {
    const stored = property === 'actor' ? storedName(String(value)) : value
    return this.store.change.equals(this.transactions.dialect, 'c', property, stored)
  }
}
