import type { Clock } from '../common/clock.js'
import type { Transaction, TransactionRunner } from '../database/transaction-runner.js'
import type { ChangeSetItemRow } from './change-set-item.entity.js'
import type { ChangeSetStore } from './change-set-store.js'
import { type ChangeSetRow, type ChangeSetState, type Counts, countsOf, NO_WORK } from './change-set.entity.js'

/** The duration of a lease, in milliseconds. */
export const LEASE_MS = 10_000

/** Another instance works on the change set, or it was dropped. */
export class LeaseLost extends Error {}

/**
 * One change set while this instance holds its lease. Each write checks the lease under the change set's lock and
 * renews it: an instance that was suspended overwrites nothing that another one wrote.
 *
 * `attempts` counts the failures of the present step in a row, and one more while it is in progress: a step that ends
 * the process counts, a change set that only waited in that process does not. All of preparing is one step, since it
 * begins anew.
 */
export class LeasedChangeSet {
  /**
   * @param set as read when the lease was taken; kept current
   */
  constructor(
    private readonly store: ChangeSetStore,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
    readonly set: ChangeSetRow,
    private readonly holder: string,
  ) {}

  get counts(): Counts {
    return countsOf(this.set)
  }

  /** Would the lease expire soon, unless it is renewed? */
  get due(): boolean {
    return this.leftMs < LEASE_MS / 2
  }

  /** Is its end, as written last, still to come? */
  get isCurrent(): boolean {
    return this.leftMs > 0
  }

  private get leftMs(): number {
    return (this.set.heldUntil ?? 0) - this.clock.now()
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
    return (await this.step({}, async (transaction) => this.store.removeItems(transaction, this.set.id))) === true
  }

  /** Marks the beginning of a step after others had their turns. */
  async begin(): Promise<void> {
    await this.write({}, 1)
  }

  /** Lets others have their turns. */
  async pause(): Promise<void> {
    await this.write({}, -1)
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
    await this.write({ holder: null, heldUntil: null }, -1)
  }

  /** Does not count the step in progress, which others have interrupted, and releases the lease if it still has it. */
  async forgive(): Promise<void> {
    const { id, work } = this.set
    let attempts: number | undefined
    await this.transactions.write(async (transaction) => {
      const found = await this.store.lock(transaction, id)
      if (found?.work !== work) return
      attempts ??= Math.max(0, found.attempts - 1)
      const lease = found.holder === this.holder ? { holder: null, heldUntil: null } : {}
      await this.store.update(transaction, id, { attempts, ...lease })
    })
  }

  /** Marks the work as done and releases the lease. */
  async finish(values: Partial<ChangeSetRow> = {}): Promise<void> {
    await this.write({ ...NO_WORK, ...values })
  }

  private async step<T>(
    values: Partial<ChangeSetRow>,
    others: (transaction: Transaction) => Promise<T>,
  ): Promise<T | undefined> {
    return this.write(this.set.work === 'prepare' ? values : { attempts: 1, ...values }, 0, others)
  }

  /** @param counted is added to `attempts`, which another instance may have changed */
  private async write<T>(
    values: Partial<ChangeSetRow>,
    counted = 0,
    others?: (transaction: Transaction) => Promise<T>,
  ): Promise<T | undefined> {
    const { id, work } = this.set
    const heldUntil = this.clock.now() + LEASE_MS
    let attempts: number | undefined
    const result = await this.transactions.write(async (transaction) => {
      const found = await this.store.lock(transaction, id)
      if (found?.holder !== this.holder || found.work !== work) throw new LeaseLost()
      // A rerun may find what the first attempt has written.
      attempts ??= Math.max(0, found.attempts + counted)
      const done = await others?.(transaction)
      await this.store.update(transaction, id, { heldUntil, attempts, ...values })
      return done
    })
    Object.assign(this.set, { heldUntil, attempts, ...values })
    return result
  }
}
