import DataLoader from 'dataloader'
import type { DataSource } from 'typeorm'
import type { Clock } from '../clock/clock.js'
import type { Scalar } from '../database/row-codec.js'
import type { UnitOfWork } from '../database/unit-of-work.js'
import type { OperationEntry } from './book.js'
import type { Channel } from './channel.js'
import { operationNotFound } from './judge.js'
import type { QuotaRow } from './quota.entity.js'
import { LedgerStore } from './store.js'
import { operationView, type OperationView } from './view.js'

/** Whose operations a ledger page shows: exactly one of the two. */
export type LedgerOf = { readonly ownerId: number } | { readonly quotaId: number }

/** A page of the ledger as it is answered. */
export interface LedgerPage {
  items: OperationView[]
  /** Where the next page starts, or null at the end. */
  next_before: string | null
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
    this.one = new DataLoader(
      async (ids) => {
        const entries = await this.work.read((transaction) => this.store.operationsById(transaction, [...new Set(ids)]))
        const byId = new Map(entries.map((entry) => [entry.row.id, entry]))
        return ids.map((id) => byId.get(id))
      },
      { cache: false, maxBatchSize: 500 },
    )
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
  async ledger(of: LedgerOf, before: string | undefined, size: number): Promise<LedgerPage> {
    const { operation, allocation } = this.store
    const [table, id, condition, value] =
      'ownerId' in of
        ? [operation.table, operation.column('id'), operation.column('ownerId'), of.ownerId]
        : [allocation.table, allocation.column('operationId'), allocation.column('quotaId'), of.quotaId]
    const values: Scalar[] = before === undefined ? [value] : [value, before]
    return this.work.read(async (transaction) => {
      // One more than asked for tells whether there is a next page.
      const rows = await transaction.rows(
        `SELECT ${id} AS id FROM ${table} WHERE ${condition} = ?${before === undefined ? '' : ` AND ${id} < ?`} ORDER BY ${id} DESC LIMIT ${size + 1}`,
        values,
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

  private view({ row, allocations }: OperationEntry): OperationView {
    return operationView(this.channel, row, allocations, this.clock.now())
  }
}
