import type { Clock } from '../../common/clock.js'
import { AFTER_EVERY_ID } from '../../database/bytes.js'
import { presentOf } from '../../database/store-clock.js'
import type { TransactionRunner } from '../../database/transaction-runner.js'
import type { Instant } from '../../common/instant.js'
import { FOLD_LAG_MS, firstIdAt, instantOfId } from '../rows/act-id.js'
import type { LedgerStateRow } from '../rows/ledger-state.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { TotalsStore } from './totals-store.js'

/** The number of acts per step: in a larger step, more acts belong to one quota and share one row. */
const STEP = { mysql: 50_000, sqlite: 1_000 } as const
/** A step that fails is tried again with a quarter of its acts, down to this part of a whole one. */
const SMALLEST_PART = 1 / 64
/** About the acts of the time that a reader always adds up (`SeriesReader`), where they are many. */
const STEPS_READ = 10
/** The maximum lag of the totals if there are fewer acts than one step. */
export const LAZY_MS = 300_000

/**
 * Adds up acts by hour and day, each exactly once. A step first closes acts up to an existing one (`LedgerGateRow`):
 * writing batches hold the gate, so after it has moved, all new acts have later ids. Then it adds the closed acts to
 * the totals and advances their id, in one transaction. The effect of an act never changes, so totals stay right when
 * the acts are removed.
 */
export class TotalsUpdater<Q extends QuotaRow> {
  readonly rows: TotalsStore<Q>
  /** The part of a step that the server manages in the time of a statement. */
  private part = 1

  constructor(
    private readonly store: LedgerStore<Q>,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
  ) {
    this.rows = new TotalsStore(store)
  }

  /** The progress of upkeep. */
  async state(): Promise<LedgerStateRow> {
    return this.transactions.read((transaction) => this.rows.state(transaction))
  }

  /** The time of the first act that is not in the totals, from its id; undefined if all are. */
  async behindSince(): Promise<Instant | undefined> {
    const first = await this.nthBehind(1)
    return first === undefined ? undefined : instantOfId(first)
  }

  /** Are more acts outside the totals than a reader adds up while the time is in doubt, for a minute after a start? */
  async isFarBehind(): Promise<boolean> {
    return (await this.nthBehind(STEPS_READ * STEP[this.transactions.dialect])) !== undefined
  }

  /**
   * Adds the next acts.
   * @returns are there more to add now?
   */
  async fold(): Promise<boolean> {
    if (!(await this.hasClosed()) && !(await this.close())) return false
    try {
      const more = await this.add()
      this.part = Math.min(1, this.part * 2)
      return more
    } catch (error) {
      this.part = Math.max(SMALLEST_PART, this.part / 4)
      throw error
    }
  }

  private async add(): Promise<boolean> {
    const { state } = this.store
    return this.transactions.write(async (transaction) => {
      const { foldedTo } = await this.rows.lockState(transaction)
      const closedTo = await this.rows.closedTo(transaction)
      if (closedTo <= foldedTo) return false
      const count = Math.ceil(STEP[transaction.dialect] * this.part)
      const last = await this.rows.nthAct(transaction, foldedTo, closedTo, count)
      const end = last ?? closedTo
      await this.rows.addPlain(transaction, foldedTo, end)
      const others = await this.rows.othersBetween(transaction, foldedTo, end)
      await this.rows.addCharges(transaction, await this.rows.charges(transaction, others))
      await transaction.later(
        `UPDATE ${state.table} SET ${state.column('foldedTo')} = ? WHERE ${state.column('id')} = 1`,
        [state.bind('foldedTo', end)],
      )
      return last !== undefined
    })
  }

  private async nthBehind(n: number): Promise<string | undefined> {
    return this.transactions.read(async (transaction) => {
      const { foldedTo } = await this.rows.state(transaction)
      return this.rows.nthAct(transaction, foldedTo, AFTER_EVERY_ID, n)
    })
  }

  /** Are there closed acts that are not in the totals? */
  private async hasClosed(): Promise<boolean> {
    return this.transactions.read(async (transaction) => {
      const { foldedTo } = await this.rows.state(transaction)
      return (await this.rows.closedTo(transaction)) > foldedTo
    })
  }

  /**
   * Closes the next acts: a step of them, or all if the first is old enough. It never closes beyond the latest existing
   * act, nor beyond the store's own time: a wrong clock closes nothing in the future.
   * @returns was anything closed?
   */
  private async close(): Promise<boolean> {
    if (!this.clock.steady) return false
    const target = firstIdAt(this.clock.now() - FOLD_LAG_MS)
    const end = await this.transactions.read(async (transaction) => {
      const { foldedTo } = await this.rows.state(transaction)
      const last = await this.rows.nthAct(transaction, foldedTo, target, STEP[transaction.dialect])
      if (last !== undefined) return last
      const first = await this.rows.nthAct(transaction, foldedTo, target, 1)
      if (first === undefined || instantOfId(target) - instantOfId(first) < LAZY_MS) return undefined
      return this.rows.newestAct(transaction, target)
    })
    if (end === undefined) return false
    return this.transactions.write(async (transaction) => {
      const present = await this.clock.confirmed(async () => presentOf(transaction))
      if (end > firstIdAt(present - FOLD_LAG_MS)) return false
      await this.rows.close(transaction, end)
      return true
    })
  }
}
