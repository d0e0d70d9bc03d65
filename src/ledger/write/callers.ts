import type { Clock } from '../../common/clock.js'
import type { TransactionRunner } from '../../database/transaction-runner.js'
import { storedName } from '../../common/principal-name.js'
import type { Instant } from '../../common/instant.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { oldestKept } from '../rows/refusal.entity.js'
import { beginningOf } from '../rows/utc-step.js'
import type { LedgerStore } from '../store/ledger-store.js'

/** The number of callers of the current day that an instance remembers. */
const MAX_NOTED = 50_000

/**
 * Records the recent callers of a channel, so that a key can be looked up under all of them. An index of acts by caller
 * would cost every consume: instead, a caller is recorded once per UTC day, before its first act of that day.
 */
export class Callers<Q extends QuotaRow> {
  private day: Instant = 0
  /** By caller: the pending write; undefined when recorded. */
  private readonly noted = new Map<string, Promise<void> | undefined>()

  constructor(
    private readonly store: LedgerStore<Q>,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
  ) {}

  /**
   * Records a caller that is about to spend.
   * @returns undefined if it is recorded already, otherwise a promise that resolves when it is
   */
  note({ id, name }: { readonly id: string; readonly name: string }): Promise<void> | undefined {
    const day = beginningOf('day', this.clock.now())
    if (day !== this.day || this.noted.size > MAX_NOTED) {
      this.day = day
      this.noted.clear()
    }
    const key = id === name ? id : `${id} ${name}`
    if (this.noted.has(key)) return this.noted.get(key)
    const { noted } = this
    const writing = this.write(id, name).then(
      () => {
        if (noted.get(key) === writing) noted.set(key, undefined)
      },
      (error: unknown) => {
        // The next request tries again.
        if (noted.get(key) === writing) noted.delete(key)
        throw error
      },
    )
    noted.set(key, writing)
    return writing
  }

  /** The callers that have spent in the last 31 days, and possibly others from the first of these days. */
  async recent(): Promise<string[]> {
    const { caller } = this.store
    const [id, spentAt] = [caller.column('id'), caller.column('spentAt')]
    const since = beginningOf('day', oldestKept(this.clock.now()))
    const rows = await this.transactions.read((transaction) =>
      transaction.rows(`SELECT ${id} AS id FROM ${caller.table} WHERE ${spentAt} >= ?`, [
        caller.bind('spentAt', since),
      ]),
    )
    return rows.map((row) => String(row['id']))
  }

  /**
   * The callers with a name: that of a static token, and those of the identity provider that have recently spent under
   * it.
   */
  async named(name: string): Promise<string[]> {
    const { caller } = this.store
    const rows = await this.transactions.read((transaction) =>
      transaction.rows(`SELECT ${caller.columns} FROM ${caller.table} WHERE ${caller.column('name')} = ?`, [
        storedName(name),
      ]),
    )
    // A server ignores trailing blanks in comparisons.
    const same = rows.map((row) => caller.decode(row)).filter((row) => row.name === storedName(name))
    return [...new Set([name, ...same.map(({ id }) => id)])]
  }

  private async write(id: string, name: string): Promise<void> {
    const { caller } = this.store
    await this.transactions.write(async (transaction) => {
      const clause = caller.overwriting(transaction.dialect, ['id'], ['name', 'spentAt'])
      const row = { id, name: storedName(name), spentAt: this.clock.now() }
      for (const { sql, values } of caller.inserts([row], transaction)) await transaction.later(sql + clause, values)
    })
  }
}
