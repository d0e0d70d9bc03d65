import type { Clock } from '../../clock/clock.js'
import { presentOf } from '../../database/store-clock.js'
import type { UnitOfWork } from '../../database/unit-of-work.js'
import type { Instant } from '../../time/instant.js'
import { FOLD_LAG_MS, firstIdAt, instantOfId } from '../rows/act-id.js'
import type { LedgerStateRow } from '../rows/ledger-state.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { summed, TotalsStore } from './totals-store.js'

/** Acts that one step adds up: the more at once, the more of them are of one quota, and add up to one row. */
const STEP = { mysql: 50_000, sqlite: 1_000 } as const
/** How far the totals may lag behind where there is less than a step to add. */
export const LAZY_MS = 300_000

/**
 * Adds up acts by hour and day, each exactly once. A step first closes acts up to one that is there (`LedgerGateRow`):
 * batches that write keep the gate from moving, so once it has, whatever is to come has a later id. Then it adds the
 * closed acts to the totals and moves the id that they reach, in one transaction. What an act did is a fact of the
 * past, so totals stay right when the acts themselves are removed.
 */
export class TotalsUpdater<Q extends QuotaRow> {
  readonly rows: TotalsStore<Q>

  constructor(
    private readonly store: LedgerStore<Q>,
    private readonly work: UnitOfWork,
    private readonly clock: Clock,
  ) {
    this.rows = new TotalsStore(store)
  }

  /** How far upkeep has come. */
  async state(): Promise<LedgerStateRow> {
    return this.work.read((transaction) => this.rows.state(transaction))
  }

  /** When the first act came in, by its id's time, that is not in the totals; undefined where all are. */
  async behindSince(): Promise<Instant | undefined> {
    const first = await this.nthBehind(1)
    return first === undefined ? undefined : instantOfId(first)
  }

  /** Are as many acts not in the totals as one step adds up, or more? */
  async isStepBehind(): Promise<boolean> {
    return (await this.nthBehind(STEP[this.work.dialect])) !== undefined
  }

  /**
   * Adds the next acts.
   * @returns are there more that could be added now?
   */
  async fold(): Promise<boolean> {
    const { state } = this.store
    if (!(await this.hasClosed()) && !(await this.close())) return false
    return this.work.write(async (transaction) => {
      const { foldedTo } = await this.rows.lockState(transaction)
      const closedTo = await this.rows.closedTo(transaction)
      if (closedTo <= foldedTo) return false
      const last = await this.rows.nthAct(transaction, foldedTo, closedTo, STEP[transaction.dialect])
      const end = last ?? closedTo
      await this.rows.addPlain(transaction, foldedTo, end)
      const others = await this.rows.othersBetween(transaction, foldedTo, end)
      await this.rows.add(transaction, summed(await this.rows.charges(transaction, others)))
      await transaction.later(
        `UPDATE ${state.table} SET ${state.column('foldedTo')} = ? WHERE ${state.column('id')} = 1`,
        [end],
      )
      return last !== undefined
    })
  }

  private async nthBehind(n: number): Promise<string | undefined> {
    return this.work.read(async (transaction) => {
      const { foldedTo } = await this.rows.state(transaction)
      return this.rows.nthAct(transaction, foldedTo, LAST_ID, n)
    })
  }

  /** Are there closed acts that are not in the totals? */
  private async hasClosed(): Promise<boolean> {
    return this.work.read(async (transaction) => {
      const { foldedTo } = await this.rows.state(transaction)
      return (await this.rows.closedTo(transaction)) > foldedTo
    })
  }

  /**
   * Closes the next acts: a step of them, or what there is once the first is old enough. Never further than the latest
   * act that is there, nor than the store's own time allows: a clock that is wrong closes nothing that is to come.
   * @returns was anything closed?
   */
  private async close(): Promise<boolean> {
    if (!this.clock.steady) return false
    const target = firstIdAt(this.clock.now() - FOLD_LAG_MS)
    const end = await this.work.read(async (transaction) => {
      const { foldedTo } = await this.rows.state(transaction)
      const last = await this.rows.nthAct(transaction, foldedTo, target, STEP[transaction.dialect])
      if (last !== undefined) return last
      const first = await this.rows.nthAct(transaction, foldedTo, target, 1)
      if (first === undefined || instantOfId(target) - instantOfId(first) < LAZY_MS) return undefined
      return this.rows.newestAct(transaction, target)
    })
    if (end === undefined) return false
    return this.work.write(async (transaction) => {
      const present = await this.clock.confirmed(async () => presentOf(transaction))
      if (end > firstIdAt(present - FOLD_LAG_MS)) return false
      await this.rows.close(transaction, end)
      return true
    })
  }
}

/** Not before any id. */
const LAST_ID = 'g'
