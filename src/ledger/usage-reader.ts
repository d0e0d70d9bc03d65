import type DataLoader from 'dataloader'
import type { DataSource } from 'typeorm'
import type { Clock } from '../clock/clock.js'
import type { Scalar } from '../database/row-codec.js'
import type { UnitOfWork } from '../database/unit-of-work.js'
import type { ActRow } from './act.entity.js'
import type { OperationEntry } from './book.js'
import type { Channel } from './channel.js'
import { onceForKey } from './command.js'
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
}

/** A condition with the values of its placeholders. */
interface Condition {
  readonly sql: string
  readonly values: readonly Scalar[]
}

/** Reads operations past the engine; a hold whose time has come shows as expired, whether or not anything has swept it. */
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
      const entries = await this.work.read((transaction) => this.store.operationsById(transaction, [...new Set(ids)]))
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
    const [from, id, condition] = this.path(of, filter)
    const conditions = [
      condition,
      ...(before === undefined ? [] : [{ sql: `${id} < ?`, values: [before] }]),
      ...this.conditions(filter),
    ]
    return this.work.read(async (transaction) => {
      // One more than asked for tells whether there is a next page.
      const rows = await transaction.rows(
        `SELECT ${id} AS id FROM ${from} WHERE ${conditions.map(({ sql }) => sql).join(' AND ')} ORDER BY ${id} DESC LIMIT ${size + 1}`,
        conditions.flatMap(({ values }) => values),
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
   * The operation that a key stands for: the one it made, or the one it refunded. None where it stands for a quota's act, or for nothing.
   * @param caller whose key it is
   */
  async byKey(caller: string, key: string): Promise<LedgerPage> {
    return this.work.read(async (transaction) => {
      const acts = await this.store.actsByOnce(transaction, [onceForKey(caller, key)])
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
    const rank = ({ kind }: ActRow): number => (kind === 'refund' ? 2 : kind === 'commit' || kind === 'release' ? 1 : 0)
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

  /** Where a page's ids are read from, newest first by an index, and what tells the owner's or the quota's from others. */
  private path(of: LedgerOf, filter: LedgerFilter): [from: string, id: string, condition: Condition] {
    const { operation, allocation, hold } = this.store
    // An owner's open holds are few, however long the owner's ledger is.
    const open =
      filter.state === 'reserved'
        ? `JOIN ${hold.table} h ON h.${hold.column('operationId')} = o.${operation.column('id')}`
        : ''
    if ('ownerId' in of) {
      const by = operation.readBy(this.work.dialect, ['ownerId', 'id'], 'o')
      const from = open === '' ? by : `${operation.table} o ${open}`
      const column = open === '' ? `o.${operation.column('ownerId')}` : `h.${hold.column('ownerId')}`
      return [from, `o.${operation.column('id')}`, { sql: `${column} = ?`, values: [of.ownerId] }]
    }
    const paid = allocation.readBy(this.work.dialect, ['quotaId', 'operationId'], 'a')
    const id = `a.${allocation.column('operationId')}`
    const condition = { sql: `a.${allocation.column('quotaId')} = ?`, values: [of.quotaId] }
    const { state, kind, from, to } = filter
    if (state === undefined && kind === undefined && from === undefined && to === undefined)
      return [paid, id, condition]
    const join = `JOIN ${operation.table} o ON o.${operation.column('id')} = ${id}`
    return [`${paid} ${join} ${open}`, id, condition]
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
      ...(from === undefined
        ? []
        : [{ sql: `${column('createdAt')} >= ?`, values: [operation.bind('createdAt', from)] }]),
      ...(to === undefined ? [] : [{ sql: `${column('createdAt')} < ?`, values: [operation.bind('createdAt', to)] }]),
    ]
  }

  private view({ row, allocations }: OperationEntry): OperationView {
    return operationView(this.channel, row, allocations, this.clock.now())
  }
}
