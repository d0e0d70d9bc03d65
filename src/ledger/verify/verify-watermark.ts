import type { Clock } from '../../clock/clock.js'
import { instantFromStore } from '../../database/column.js'
import type { Scalar } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import { formatInstant, type Instant } from '../../time/instant.js'
import { firstIdAt, FOLD_LAG_MS, instantOfId } from '../rows/act-id.js'
import type { LedgerStateRow } from '../rows/ledger-state.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { beginningOf } from '../rows/utc-step.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { wholeFrom } from '../totals/totals-rebuild.js'
import { summed, TotalsStore } from '../totals/totals-store.js'
import { type Check, examined, type Finding, type Mend, type CheckPage } from './verify-check.js'

/** Upkeep's marks are in the past. A mark further in the future than this comes from a wrong clock. */
const MAX_AHEAD_MS = 60_000
/** The maximum difference between the time of an act and that of its id, in milliseconds. */
const MAX_ID_AGE_MS = 600_000
/** The number of acts that one statement adds up. */
const ACTS = 50_000

const MARKS = ['foldedTo', 'beginsAt', 'removedTo'] as const

/**
 * Checks that upkeep's marks are not in the future, which a wrong clock can cause. If `folded_to` is in the future,
 * acts with lower ids are never added to the totals; if `removed_to` is, nothing is removed; if `begins_at` is, callers
 * are told that existing rows may have been removed.
 */
export class WatermarkCheck<Q extends QuotaRow> implements Check {
  readonly what = 'tables'
  readonly rules = ['watermark'] as const
  readonly size = 1
  private readonly totals: TotalsStore<Q>

  constructor(
    private readonly store: LedgerStore<Q>,
    private readonly clock: Clock,
  ) {
    this.totals = new TotalsStore(store)
  }

  async next(_: Transaction, after: unknown): Promise<CheckPage> {
    return Promise.resolve(examined(after === undefined ? [this.store.state.table] : [], this.size))
  }

  async examine(transaction: Transaction): Promise<Finding[]> {
    const state = await this.totals.state(transaction)
    const findings: Finding[] = []
    for (const mark of MARKS) {
      const at = instantOf(state, mark)
      if (at === null || at <= this.clock.now() + MAX_AHEAD_MS) continue
      const mend = mark === 'foldedTo' ? await this.foldedBack(transaction, state) : this.markedAs(mark)
      findings.push(this.ahead(`${this.store.state.column(mark)} of ${this.store.state.table}`, at, mend))
    }
    const { gate } = this.store
    const closedAt = instantOfId(await this.totals.closedTo(transaction))
    if (closedAt > this.clock.now() + MAX_AHEAD_MS) {
      findings.push(this.ahead(`${gate.column('closedTo')} of ${gate.table}`, closedAt, this.closedBack()))
    }
    return findings
  }

  private ahead(where: string, at: Instant, mend: Mend | undefined): Finding {
    return {
      rule: 'watermark',
      subject: this.store.state.table,
      ownerId: null,
      where: where.replaceAll('`', ''),
      expected: 'not after the present',
      found: formatInstant(at),
      ...(mend === undefined ? {} : { mend }),
    }
  }

  /**
   * Sets the gate back to the present. If the watermark itself stays in the future, so does the gate: an act between
   * the two would never be added up.
   */
  private closedBack(): Mend {
    return async (transaction) => {
      const { gate } = this.store
      const { foldedTo } = await this.totals.lockState(transaction)
      const present = this.present()
      await transaction.execute(
        `UPDATE ${gate.table} SET ${gate.column('closedTo')} = ? WHERE ${gate.column('id')} = 1`,
        [foldedTo > present ? foldedTo : present],
      )
      return []
    }
  }

  /** Sets `begins_at` to the present, or clears `removed_to` so that the next removal examines everything again. */
  private markedAs(mark: 'beginsAt' | 'removedTo'): Mend {
    return async (transaction) => {
      await this.set(transaction, mark, mark === 'beginsAt' ? this.clock.now() : null)
      return []
    }
  }

  /**
   * Sets the watermark back to the present, so that each act is in the totals once or after the watermark: rebuilds the
   * totals of the affected days from the acts up to it. Ids assigned meanwhile may be in the future; these acts stay
   * after the watermark until then.
   * @returns undefined if acts of these days may have been removed
   */
  private async foldedBack(transaction: Transaction, seen: LedgerStateRow): Promise<Mend | undefined> {
    const earliest = await this.earliestBeyond(transaction, this.present(), seen.foldedTo)
    if (this.from(earliest) < wholeFrom(seen) && earliest !== undefined) return undefined
    return async (writing) => {
      const state = await this.totals.lockState(writing)
      const to = this.present()
      const since = await this.earliestBeyond(writing, to, state.foldedTo)
      const from = this.from(since)
      // Without acts in between, no act is in the totals twice.
      if (from >= wholeFrom(state)) await this.addAgain(writing, from, to)
      await this.set(writing, 'foldedTo', to)
      return []
    }
  }

  private present(): string {
    return firstIdAt(this.clock.now() - FOLD_LAG_MS)
  }

  /** Returns the day from which totals must be rebuilt. */
  private from(earliest: Instant | undefined): Instant {
    const to = this.clock.now() - FOLD_LAG_MS
    return beginningOf('day', Math.min(to, earliest ?? to))
  }

  /** Returns the time of the first act that is in the totals too early; undefined if there is none. */
  private async earliestBeyond(transaction: Transaction, to: string, foldedTo: string): Promise<Instant | undefined> {
    const { act } = this.store
    const id = act.column('id')
    const [row] = await transaction.rows(
      `SELECT MIN(${act.column('at')}) AS at FROM ${act.readByKey(transaction.dialect)} WHERE ${id} > ? AND ${id} <= ?`,
      [to, foldedTo],
    )
    const at = row?.['at']
    return typeof at === 'string' ? instantFromStore(at) : undefined
  }

  private async addAgain(transaction: Transaction, from: Instant, to: string): Promise<void> {
    const { usageTotal } = this.store
    await transaction.execute(
      `DELETE FROM ${usageTotal.table} WHERE ${usageTotal.column('step')} IN ('day', 'hour') AND ${usageTotal.column('beganAt')} >= ? ` +
        `AND ${usageTotal.column('quotaId')} > 0`,
      [usageTotal.bind('beganAt', from)],
    )
    for (let after = firstIdAt(from - MAX_ID_AGE_MS); after < to;) {
      const last = (await this.totals.nthAct(transaction, after, to, ACTS)) ?? to
      await this.totals.addPlain(transaction, after, last, from)
      const others = await this.totals.othersBetween(transaction, after, last)
      const charges = await this.totals.charges(transaction, others)
      await this.totals.add(transaction, summed(charges.filter(({ at }) => at >= from)))
      after = last
    }
  }

  private async set(transaction: Transaction, mark: (typeof MARKS)[number], value: Scalar): Promise<void> {
    const { state } = this.store
    await transaction.execute(`UPDATE ${state.table} SET ${state.column(mark)} = ? WHERE ${state.column('id')} = ?`, [
      state.bind(mark, value),
      1,
    ])
  }
}

function instantOf(state: LedgerStateRow, mark: (typeof MARKS)[number]): Instant | null {
  return mark === 'foldedTo' ? instantOfId(state.foldedTo) : state[mark]
}
