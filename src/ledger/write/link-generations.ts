import { placeholders } from '../../database/row-codec.js'
import { SharedReads } from '../../database/shared-reads.js'
import type { TransactionRunner } from '../../database/transaction-runner.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { LedgerStore } from '../store/ledger-store.js'

/**
 * The generation of each owner's links. A link contains the generation in which it was made, and opens only in this
 * one: so revoking ends exactly the links that were made before it, whatever the clocks of the instances show.
 */
export class LinkGenerations<Q extends QuotaRow> {
  private readonly shared: SharedReads<number, number>

  constructor(
    private readonly store: LedgerStore<Q>,
    private readonly transactions: TransactionRunner,
    channelName: string,
  ) {
    const { owner } = store
    const [id, generation] = [owner.column('ownerId'), owner.column('linkGeneration')]
    const reads = transactions.readsOf(`(${channelName} links)`)
    this.shared = new SharedReads(async (ownerIds) => {
      const rows = await reads.read((transaction) =>
        transaction.rows(
          `SELECT ${id} AS id, ${generation} AS generation FROM ${owner.readByKey(transaction.dialect)} WHERE ${id} IN (${placeholders(ownerIds)})`,
          ownerIds,
        ),
      )
      const found = new Map(rows.map((row) => [Number(row['id']), Number(row['generation'])]))
      return ownerIds.map((ownerId) => found.get(ownerId) ?? 0)
    })
  }

  /** The present generation of an owner's links; 0 for an owner that is not known. */
  async of(ownerId: number): Promise<number> {
    return this.shared.get(ownerId)
  }

  /** Ends all links of an owner, known or not. A rerun may count twice, before anyone knows of the first time. */
  async revoke(ownerId: number): Promise<void> {
    await this.transactions.write(async (transaction) => {
      await this.store.ensureOwners(transaction, [ownerId])
      await this.store.revokeLinks(transaction, ownerId)
    })
  }
}
