import type { DataSource } from 'typeorm'
import type { UnitOfWork } from '../../database/unit-of-work.js'
import type { Channel } from '../rows/channel.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { LedgerStore } from '../store/ledger-store.js'
import type { QuotaReader, SummaryView } from './quota-reader.js'

/** A page of owners as it is answered. */
export interface OwnersPage {
  items: SummaryView[]
  /** Where the next page starts, or null at the end. */
  next_after: number | null
}

/** Reads who has quotas, past the engine. */
export class OwnerReader<Q extends QuotaRow> {
  private readonly store: LedgerStore<Q>

  constructor(
    channel: Channel<Q>,
    dataSource: DataSource,
    private readonly work: UnitOfWork,
    private readonly quotas: QuotaReader<Q>,
  ) {
    this.store = new LedgerStore(dataSource, channel)
  }

  /**
   * Everybody who ever had a quota, ids ascending, each with the sums of what is active.
   * @param asking the principal whose turn it takes
   * @param after only owners with a larger id
   * @param size 1 … 100
   */
  async page(asking: string, after: number | undefined, size: number): Promise<OwnersPage> {
    const { owner, quota } = this.store
    const id = owner.column('ownerId')
    const force = this.work.dialect === 'mysql' ? ' FORCE INDEX (PRIMARY)' : ''
    // One look for each owner of the page: an EXISTS would be turned into a join with all quotas behind it.
    // The row is made before the first create, which may then be refused: that is no owner yet.
    const rows = await this.work
      .readsOf(asking)
      .read((transaction) =>
        transaction.rows(
          `SELECT o.${id} AS id FROM ${owner.table} o${force} WHERE o.${id} > ? ` +
            `AND (SELECT 1 FROM ${quota.table} q WHERE q.${quota.column('ownerId')} = o.${id} LIMIT 1) = 1 ORDER BY o.${id} LIMIT ${size + 1}`,
          [after ?? 0],
        ),
      )
    const ids = rows.slice(0, size).map((row) => Number(row['id']))
    const items = await Promise.all(ids.map(async (ownerId) => this.quotas.sumsOf(ownerId)))
    return { items, next_after: rows.length > size ? (ids.at(-1) ?? null) : null }
  }
}
