import type { DataSource } from 'typeorm'
import type { TransactionRunner } from '../../database/transaction-runner.js'
import type { Channel } from '../rows/channel.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { LedgerStore, LIVE_OF_OWNER } from '../store/ledger-store.js'
import type { QuotaReader, SummaryView } from './quota-reader.js'

/** A page of owners, in the form of answers. */
export interface OwnersPage {
  items: SummaryView[]
  /** The start of the next page, or null at the end. */
  next_after: number | null
}

/** Reads the owners of quotas, without the engine. */
export class OwnerReader<Q extends QuotaRow> {
  private readonly store: LedgerStore<Q>

  constructor(
    channel: Channel<Q>,
    dataSource: DataSource,
    private readonly transactions: TransactionRunner,
    private readonly quotas: QuotaReader<Q>,
  ) {
    this.store = new LedgerStore(dataSource, channel)
  }

  /**
   * All owners that ever had a quota, ids ascending, each with the sums of the active quotas.
   * @param groupId only its direct members, with or without a quota
   * @param after only owners with a larger id
   * @param size 1 … 100
   */
  async page(
    principalId: string,
    groupId: number | undefined,
    after: number | undefined,
    size: number,
  ): Promise<OwnersPage> {
    const { owner, quota } = this.store
    const { dialect } = this.transactions
    const id = owner.column('ownerId')
    const ofQuota = quota.column('ownerId')
    // In the order of the index, so that it ends with the page: members without a quota may be many.
    const all =
      `SELECT DISTINCT ${ofQuota} AS id FROM ${quota.readBy(dialect, LIVE_OF_OWNER)} ` +
      `WHERE ${ofQuota} > ? ORDER BY ${ofQuota} LIMIT ${size + 1}`
    const members =
      `SELECT o.${id} AS id FROM ${owner.readBy(dialect, ['groupId', 'ownerId'], 'o')} ` +
      `WHERE o.${owner.column('groupId')} = ? AND o.${id} > ? ORDER BY o.${id} LIMIT ${size + 1}`
    const rows = await this.transactions
      .readsOf(principalId)
      .read((transaction) =>
        groupId === undefined ? transaction.rows(all, [after ?? 0]) : transaction.rows(members, [groupId, after ?? 0]),
      )
    const ids = rows.slice(0, size).map((row) => Number(row['id']))
    const items = await Promise.all(ids.map(async (ownerId) => this.quotas.sumsOf(ownerId)))
    return { items, next_after: rows.length > size ? (ids.at(-1) ?? null) : null }
  }
}
