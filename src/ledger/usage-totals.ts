import type { Clock } from '../clock/clock.js'
import type { UnitOfWork } from '../database/unit-of-work.js'
import { FOLD_LAG_MS, firstIdAt, instantOfId } from './act-age.js'
import type { LedgerStateRow } from './ledger-state.entity.js'
import type { QuotaRow } from './quota.entity.js'
import type { LedgerStore } from './store.js'
import { summed, TotalsStore } from './totals-store.js'

/** Acts that one step adds up: the more at once, the more of them are of one quota, and add up to one row. */
const STEP = { mysql: 50_000, sqlite: 1_000 } as const
/** How far the totals may lag behind where there is less than a step to add. */
export const LAZY_MS = 300_000

/**
 * Adds up acts by hour and day, each exactly once: a step adds the acts that follow an id to the totals and moves that
 * id, in one transaction. What an act did is a fact of the past, so totals stay right when the acts themselves are
 * removed. See `act-age.ts` for why nothing comes in behind that id.
 */
export class UsageTotals<Q extends QuotaRow> {
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

  /**
   * Adds the next acts.
   * @returns are there more that could be added now?
   */
  async fold(): Promise<boolean> {
    const { state } = this.store
    return this.work.write(async (transaction) => {
      const { foldedTo } = await this.rows.lockState(transaction)
      // After the lock: whoever had it may have kept it for long.
      const target = firstIdAt(this.clock.now() - FOLD_LAG_MS)
      if (foldedTo >= target) return false
      const last = await this.rows.nthAct(transaction, foldedTo, target, STEP[transaction.dialect])
      if (last === undefined && instantOfId(target) - instantOfId(foldedTo) < LAZY_MS) return false
      const end = last ?? target
      await this.rows.addPlain(transaction, foldedTo, end)
      const others = await this.rows.othersBetween(transaction, foldedTo, end)
      await this.rows.add(transaction, summed(await this.rows.postings(transaction, others)))
      await transaction.later(
        `UPDATE ${state.table} SET ${state.column('foldedTo')} = ? WHERE ${state.column('id')} = 1`,
        [end],
      )
      return last !== undefined
    })
  }
}
