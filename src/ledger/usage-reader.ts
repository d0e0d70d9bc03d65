import type DataLoader from 'dataloader'
import type { DataSource } from 'typeorm'
import type { Clock } from '../clock/clock.js'
import type { RowCodec, Scalar } from '../database/row-codec.js'
import type { UnitOfWork } from '../database/unit-of-work.js'
import type { Act } from './act.entity.js'
import type { OperationEntry } from './working-set.js'
import type { Channel } from './channel.js'
import { deduplicationKeyFor } from './command.js'
import { gatheringLoader } from './gathering-loader.js'
import { operationNotFound } from './judge.js'
import type { OperationKind, OperationRow, OperationState } from './operation.entity.js'
import { isEmpty, type Period } from './period.js'
import type { QuotaRow } from './quota.entity.js'
import { LedgerStore } from './store.js'
import { actView, type ActView, operationView, type OperationView } from './view.js'

/** Whose operations a ledger page shows: exactly one of the two. */
export type LedgerOf = { readonly ownerId: number } | { readonly quotaId: number }

/** Which operations of a page are wanted; an absent member is no condition. The period is that of `created_at`. */
export interface LedgerFilter extends Period {
  readonly state?: OperationState | undefined
  readonly kind?: OperationKind | undefined
}

/** A page of the ledger as it is answered. */
export interface LedgerPage {
  items: OperationView[]
  /** Where the next page starts, or null at the end. */
  next_before: string | null
  /** From when on it is whole; absent where nothing was ever removed. */
  begins_at?: string
}

/** A condition with the values of its placeholders. */
interface Condition {
  readonly sql: string
  readonly values: readonly Scalar[]
}

/** One of the places where the ids of a page may be, to be read newest first. */
interface Arm {
  readonly from: string
  readonly id: string
  readonly conditions: readonly Condition[]
}

/**
 * Reads operations past the engine; a hold whose time has come shows as expired, whether or not that is written down.
 */
export class UsageReader<Q extends QuotaRow> {
  private readonly store: LedgerStore<Q>
  private readonly one: DataLoader<string, OperationEntry | undefined>

  constructor(
    private readonly channel: Channel<Q>,
    dataSource: DataSource,
    private readonly work: UnitOfWork,
    private readonly clock: Clock,
  ) {
    this.store = new LedgerStore(dataSource, channel)
    this.one = gatheringLoader(async (ids) => {
      const entries = await this.work.read((transaction) => this.store.operationsById(transaction, ids))
      const byId = new Map(entries.map((entry) => [entry.row.id, entry]))
      return ids.map((id) => byId.get(id))
    })
  }

  /** One operation. @throws ServiceError operation_not_found */
  async get(id: string): Promise<OperationView> {
    const entry = await this.one.load(id)
    if (entry === undefined) throw operationNotFound(id)
    return this.view(entry)
  }

  /**
   * Operations of an owner or of a quota, newest first; a deleted quota's too.
   * @param before only operations older than this id
   * @param size 1 … 100
   */
  async ledger(of: LedgerOf, before: string | undefined, size: number, filter: LedgerFilter = {}): Promise<LedgerPage> {
    if (isEmpty(filter)) return { items: [], next_before: null }
    const arms = [this.inRows(of, filter), ...this.plain(of, filter)]
    // One more than asked for tells whether there is a next page.
    const limit = size + 1
    return this.work.read(async (transaction) => {
      const newest = arms.map(
        ({ from, id, conditions }, n) =>
          `SELECT id FROM (SELECT ${id} AS id FROM ${from} WHERE ${conditions.map(({ sql }) => sql).join(' AND ')} ` +
          `${before === undefined ? '' : `AND ${id} < ?`} ORDER BY ${id} DESC LIMIT ${limit}) arm${n}`,
      )
      // A union, since a refunded consume is found in both.
      const rows = await transaction.rows(
        `${newest.join(' UNION ')} ORDER BY id DESC LIMIT ${limit}`,
        arms.flatMap(({ conditions }) => [
          ...conditions.flatMap(({ values }) => values),
          ...(before === undefined ? [] : [before]),
        ]),
      )
      const ids = rows.slice(0, size).map((row) => String(row['id']))
      const entries = await this.store.operationsById(transaction, ids)
      entries.sort((a, b) => (a.row.id < b.row.id ? 1 : -1))
      return {
        items: entries.map((entry) => this.view(entry)),
        next_before: rows.length > size ? (ids.at(-1) ?? null) : null,
      }
    })
  }

  /**
   * The operation that a key stands for: the one it made, or the one it refunded. None where it stands for a quota's
   * act, or for nothing.
   * @param caller whose key it is
   */
  async byKey(caller: string, key: string): Promise<LedgerPage> {
    return this.work.read(async (transaction) => {
      const acts = await this.store.actsByDeduplicationKey(transaction, [deduplicationKeyFor(caller, key)])
      const ids = acts.map(({ operationId }) => operationId).filter((id) => id !== null)
      const entries = await this.store.operationsById(transaction, ids)
      return { items: entries.map((entry) => this.view(entry)), next_before: null }
    })
  }

  /** What was done with an operation, oldest first. @throws ServiceError operation_not_found */
  async acts(id: string): Promise<ActView[]> {
    const acts = await this.work.read((transaction) => this.store.actsOf(transaction, id))
    if (acts.length === 0) throw operationNotFound(id)
    // In the order in which they must have happened, also where the clocks of two instances disagree.
    const rank = ({ kind }: Act): number => (kind === 'refund' ? 2 : kind === 'commit' || kind === 'release' ? 1 : 0)
    acts.sort((a, b) => rank(a) - rank(b) || a.at - b.at || (a.id < b.id ? -1 : 1))
    return acts.map(actView)
  }

  /** How many reservations are open, over all owners. */
  async openHolds(): Promise<number> {
    const { hold } = this.store
    const rows = await this.work.read(async (transaction) =>
      transaction.rows(`SELECT COUNT(*) AS n FROM ${hold.table} WHERE ${hold.column('expiresAt')} > ?`, [
        hold.bind('expiresAt', this.clock.now()),
      ]),
    )
    return Number(rows[0]?.['n'] ?? 0)
  }

  /**
   * Where the ids of operations in rows of their own are read from, newest first by an index, and what tells the
   * owner's or the quota's from others.
   */
  private inRows(of: LedgerOf, filter: LedgerFilter): Arm {
    const { operation, allocation, hold } = this.store
    const conditions = this.conditions(filter)
    // An owner's open holds are few, however long the owner's ledger is.
    const open =
      filter.state === 'reserved'
        ? `JOIN ${hold.table} h ON h.${hold.column('operationId')} = o.${operation.column('id')}`
        : ''
    if ('ownerId' in of) {
      const by = operation.readBy(this.work.dialect, ['ownerId', 'id'], 'o')
      const from = open === '' ? by : `${operation.table} o ${open}`
      const column = open === '' ? `o.${operation.column('ownerId')}` : `h.${hold.column('ownerId')}`
      return {
        from,
        id: `o.${operation.column('id')}`,
        conditions: [{ sql: `${column} = ?`, values: [of.ownerId] }, ...conditions],
      }
    }
    const paid = allocation.readBy(this.work.dialect, ['quotaId', 'operationId'], 'a')
    const id = `a.${allocation.column('operationId')}`
    const join = `JOIN ${operation.table} o ON o.${operation.column('id')} = ${id}`
    return {
      from: conditions.length === 0 ? paid : `${paid} ${join} ${open}`,
      id,
      conditions: [{ sql: `a.${allocation.column('quotaId')} = ?`, values: [of.quotaId] }, ...conditions],
    }
  }

  /**
   * Where the ids of plain consumes are read from; nowhere where the filter wants none. What the filter asks for is the
   * same of one that has rows of its own by now.
   */
  private plain(of: LedgerOf, { state, kind, from, to }: LedgerFilter): Arm[] {
    if ((state !== undefined && state !== 'consumed') || kind === 'reserve') return []
    const { act } = this.store
    const [property, value] =
      'ownerId' in of ? (['plainOwnerId', of.ownerId] as const) : (['plainQuotaId', of.quotaId] as const)
    return [
      {
        from: act.readBy(this.work.dialect, [property, 'id'], 'p'),
        id: `p.${act.column('id')}`,
        conditions: [
          { sql: `p.${act.column(property)} = ?`, values: [value] },
          ...within(act, 'p', 'at', { from, to }),
        ],
      },
    ]
  }

  /** Conditions on the operation `o`. A hold whose time has come is expired, whether or not that is written down. */
  private conditions({ state, kind, from, to }: LedgerFilter): Condition[] {
    const { operation } = this.store
    const column = (property: keyof OperationRow): string => `o.${operation.column(property)}`
    const now = operation.bind('expiresAt', this.clock.now())
    const so: Condition[] =
      state === undefined
        ? []
        : state === 'reserved'
          ? [{ sql: `${column('state')} = ? AND ${column('expiresAt')} > ?`, values: [state, now] }]
          : state === 'expired'
            ? [
                {
                  sql: `(${column('state')} = ? OR (${column('state')} = 'reserved' AND ${column('expiresAt')} <= ?))`,
                  values: [state, now],
                },
              ]
            : [{ sql: `${column('state')} = ?`, values: [state] }]
    return [
      ...so,
      ...(kind === undefined ? [] : [{ sql: `${column('kind')} = ?`, values: [kind] }]),
      ...within(operation, 'o', 'createdAt', { from, to }),
    ]
  }

  private view({ row, allocations }: OperationEntry): OperationView {
    return operationView(this.channel, row, allocations, this.clock.now())
  }
}

/** Conditions on when something was. */
function within<T extends object>(
  codec: RowCodec<T>,
  alias: string,
  property: keyof T & string,
  { from, to }: Period,
): Condition[] {
  const column = `${alias}.${codec.column(property)}`
  return [
    ...(from === undefined ? [] : [{ sql: `${column} >= ?`, values: [codec.bind(property, from)] }]),
    ...(to === undefined ? [] : [{ sql: `${column} < ?`, values: [codec.bind(property, to)] }]),
  ]
}
