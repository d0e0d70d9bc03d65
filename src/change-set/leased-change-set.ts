import type { Clock } from '../common/clock.js'
import type { Transaction, TransactionRunner } from '../database/transaction-runner.js'
import type { ChangeSetItemRow } from './change-set-item.entity.js'
import type { ChangeSetStore } from './change-set-store.js'
import { type ChangeSetRow, type ChangeSetState, type Counts, NO_WORK, OUTCOMES } from './change-set.entity.js'

/** The duration of a lease, in milliseconds. */
export const LEASE_MS = 10_000

/** Another instance works on the change set, or it was dropped. */
export class LeaseLost extends Error {}

/**
 * One change set while this instance holds its lease. Each write checks the lease under the change set's lock and
 * renews it: an instance that was suspended overwrites nothing that another one wrote.
 *
 * `attempts` is one more than `failures` while a step is in progress, and equal to it while others have their turns: a
 * step that ends the process counts, a change set that only waited in that process does not.
 */
export class LeasedChangeSet {
  /**
   * @param set as read when the lease was taken; kept current
   * @param failures how often the present step has failed in a row; all of preparing is one step, since it begins anew
   */
  constructor(
    private readonly store: ChangeSetStore,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
    readonly set: ChangeSetRow,
    private readonly holder: string,
    public failures: number,
  ) {}

  get counts(): Counts {
    return Object.fromEntries(OUTCOMES.map((outcome) => [outcome, this.set[outcome]])) as Counts
  }

  /** Would the lease expire soon, unless it is renewed? */
  get due(): boolean {
    return (this.set.heldUntil ?? 0) - this.clock.now() < LEASE_MS / 2
  }

  /**
   * Writes the rows of a step, and values of the change set.
   * @throws LeaseLost
   */
  async writeRows(items: readonly ChangeSetItemRow[], values: Partial<ChangeSetRow> = {}): Promise<void> {
    await this.step(values, async (transaction) => this.store.writeItems(transaction, items))
  }

  /** Removes its first rows. @returns whether there are more */
  async clearStep(): Promise<boolean> {
    return this.step({}, async (transaction) => this.store.removeItems(transaction, this.set.id))
  }

  /** Marks the beginning of a step after others had their turns. */
  async begin(): Promise<void> {
    await this.write({ attempts: this.failures + 1 })
  }

  /** Lets others have their turns. */
  async pause(): Promise<void> {
    await this.write({ attempts: this.failures })
  }

  /** Renews the lease. */
  async keep(): Promise<void> {
    await this.write({})
  }

  /** Changes the state and releases the lease. `values` may name the next work. */
  async become(state: ChangeSetState, values: Partial<ChangeSetRow>): Promise<void> {
    await this.write({ state, version: this.set.version + 1, ...NO_WORK, ...values })
  }

  /** Releases the lease before it expires; another instance may continue the work. */
  async giveUp(): Promise<void> {
    await this.write({ attempts: this.failures, holder: null, heldUntil: null })
  }

  /** Marks the work as done and releases the lease. */
  async finish(values: Partial<ChangeSetRow> = {}): Promise<void> {
    await this.write({ ...NO_WORK, ...values })
  }

  private async step<T>(values: Partial<ChangeSetRow>, others: (transaction: Transaction) => Promise<T>): Promise<T> {
    if (this.set.work === 'prepare') return this.write(values, others)
    const result = await this.write({ attempts: 1, ...values }, others)
    this.failures = 0
    return result
  }

  private async write(values: Partial<ChangeSetRow>): Promise<void>
  private async write<T>(values: Partial<ChangeSetRow>, others: (transaction: Transaction) => Promise<T>): Promise<T>
  private async write<T>(
    values: Partial<ChangeSetRow>,
    others?: (transaction: Transaction) => Promise<T>,
  ): Promise<T | undefined> {
    const { id, work } = this.set
    const all = { heldUntil: this.clock.now() + LEASE_MS, ...values }
    const result = await this.transactions.write(async (transaction) => {
      const found = await this.store.lock(transaction, id)
      if (found?.holder !== this.holder || found.work !== work) throw new LeaseLost()
      const done = await others?.(transaction)
      await this.store.update(transaction, id, all)
      return done
    })
    Object.assign(this.set, all)
    return result
  }
}
