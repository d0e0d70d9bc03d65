import type { Clock } from '../clock/clock.js'
import type { Transaction, TransactionRunner } from '../database/transaction-runner.js'
import type { ChangeSetItemRow } from './change-set-item.entity.js'
import type { ChangeSetStore } from './change-set-store.js'
import type { ChangeSetRow, ChangeSetState, Counts } from './change-set.entity.js'
import { OUTCOMES } from './change-set.entity.js'

/** The duration of a lease, in milliseconds. */
export const LEASE_MS = 10_000

/** Another instance works on the change set, or it was dropped. */
export class LeaseLost extends Error {}

/**
 * One change set while this instance holds its lease. Each write checks the lease under the change set's lock and
 * renews it: an instance that was suspended overwrites nothing that another one wrote.
 */
export class LeasedChangeSet {
  /** @param set as read when the lease was taken; kept current */
  constructor(
    private readonly store: ChangeSetStore,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
    readonly set: ChangeSetRow,
    private readonly holder: string,
  ) {}

  get counts(): Counts {
    return Object.fromEntries(OUTCOMES.map((outcome) => [outcome, this.set[outcome]])) as Counts
  }

  /**
   * Writes the rows of a step and the counts.
   * @throws LeaseLost
   */
  async writeRows(items: readonly ChangeSetItemRow[], counts: Counts): Promise<void> {
    await this.write(counts, async (transaction) => this.store.writeItems(transaction, items))
  }

  /** Inserts rows. */
  async insertRows(items: readonly ChangeSetItemRow[]): Promise<void> {
    await this.write({}, async (transaction) => this.store.insertItems(transaction, items))
  }

  /** Removes its rows, step by step. */
  async clear(): Promise<void> {
    while (await this.write({}, async (transaction) => this.store.removeItems(transaction, this.set.id)));
  }

  /** Renews the lease. */
  async keep(): Promise<void> {
    await this.write({}, async () => undefined)
  }

  /** Changes the state and releases the lease. `values` may name the next work. */
  async become(state: ChangeSetState, values: Partial<ChangeSetRow>): Promise<void> {
    const { version } = this.set
    const done = { work: null, holder: null, heldUntil: null }
    await this.write({ state, version: version + 1, ...done, ...values }, async () => undefined)
  }

  /** Releases the lease before it expires; another instance may continue the work. */
  async giveUp(): Promise<void> {
    await this.write({ holder: null, heldUntil: null }, async () => undefined)
  }

  /** Marks the work as done and releases the lease. */
  async finish(): Promise<void> {
    await this.write({ work: null, holder: null, heldUntil: null }, async () => undefined)
  }

  private async write<T>(values: Partial<ChangeSetRow>, others: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { id, work } = this.set
    const all = { heldUntil: this.clock.now() + LEASE_MS, ...values }
    const result = await this.transactions.write(async (transaction) => {
      const found = await this.store.lock(transaction, id)
      if (found?.holder !== this.holder || found.work !== work) throw new LeaseLost()
      const done = await others(transaction)
      await this.store.update(transaction, id, all)
      return done
    })
    Object.assign(this.set, all)
    return result
  }
}
