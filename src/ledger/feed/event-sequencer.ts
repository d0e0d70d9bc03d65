import { PeriodicTask } from '../../common/periodic-task.js'
import { placeholders } from '../../database/row-codec.js'
import type { Transaction, TransactionRunner } from '../../database/transaction-runner.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { LedgerStore } from '../store/ledger-store.js'

/** The interval between checks for events without a position from other instances, in milliseconds. */
const EVERY_MS = 2_000
/** The delay after a batch with events: those of several batches get their positions together. */
const SOON_MS = 100
/** The maximum number of events that one transaction numbers. */
const STEP = 1_000
/** The number of events that one statement numbers: for each row, the server tries the cases in order. */
const ROWS_AT_ONCE = 100

/**
 * Assigns positions in the feed to committed events: 1, 2, 3 …, one after another.
 *
 * No event appears before a position that a reader has seen: all transactions that assign positions first lock the
 * feed's one row, so each begins after the previous one has committed. A reader that sees a position sees every smaller
 * one. An event of an open transaction has no position, and later gets a larger one, whenever it was written. Nobody
 * waits for such a transaction.
 *
 * Events of one quota are in the order of its acts: they are written under the owner's lock, so the second one has the
 * larger `seq` and is committed after the first. One statement finds the events to number, as committed at one moment:
 * if it sees the second, it sees the first, and numbers them by `seq`.
 *
 * Any number of instances may run it at once; each numbers its own events, and others that it finds.
 */
export class EventSequencer<Q extends QuotaRow> {
  private readonly task: PeriodicTask
  private readonly listeners: (() => void)[] = []

  constructor(
    channelName: string,
    private readonly store: LedgerStore<Q>,
    private readonly transactions: TransactionRunner,
  ) {
    this.task = new PeriodicTask(transactions, `${channelName} events`, EVERY_MS, async () => this.run())
  }

  /** Called each time this instance has assigned positions. */
  onNumbered(listener: () => void): void {
    this.listeners.push(listener)
  }

  /** Events were committed here: they get their positions shortly. */
  written(): void {
    this.task.soon(SOON_MS)
  }

  /**
   * Resolves when every event committed before the call has a position.
   * @throws ServiceError unavailable if the store cannot be written
   */
  async number(): Promise<void> {
    // A running one may have read before the last commit.
    const failure = await this.task.again()
    if (failure !== undefined) throw failure
  }

  private async run(): Promise<void> {
    if (!(await this.transactions.read((transaction) => this.unnumbered(transaction, 1))).length) return
    while ((await this.transactions.write((transaction) => this.step(transaction))) === STEP);
    for (const listener of this.listeners) listener()
  }

  /** @returns the number of events that got a position */
  private async step(transaction: Transaction): Promise<number> {
    const { event, eventFeed } = this.store
    const last = await this.lockLast(transaction)
    const seqs = await this.unnumbered(transaction, STEP)
    if (seqs.length === 0) return 0
    const [seq, position] = [event.column('seq'), event.column('position')]
    for (let from = 0; from < seqs.length; from += ROWS_AT_ONCE) {
      const some = seqs.slice(from, from + ROWS_AT_ONCE)
      await transaction.later(
        `UPDATE ${event.table} SET ${position} = CASE ${seq} ${some.map(() => 'WHEN ? THEN ?').join(' ')} END ` +
          `WHERE ${seq} IN (${placeholders(some)})`,
        [...some.flatMap((one, n) => [one, last + from + n + 1]), ...some],
      )
    }
    await transaction.later(
      `UPDATE ${eventFeed.table} SET ${eventFeed.column('lastPosition')} = ? WHERE ${eventFeed.column('id')} = 1`,
      [last + seqs.length],
    )
    return seqs.length
  }

  private async lockLast(transaction: Transaction): Promise<number> {
    const { eventFeed } = this.store
    const [row] = await transaction.rows(
      `SELECT ${eventFeed.columns} FROM ${eventFeed.table} WHERE ${eventFeed.column('id')} = 1 ` +
        (transaction.dialect === 'mysql' ? 'FOR UPDATE' : ''),
    )
    if (row === undefined) throw new Error('the row of the event feed is missing')
    return eventFeed.decode(row).lastPosition
  }

  /** In one statement, which sees all of them at one moment. */
  private async unnumbered(transaction: Transaction, limit: number): Promise<number[]> {
    const { event } = this.store
    const seq = event.column('seq')
    const rows = await transaction.rows(
      `SELECT ${seq} AS seq FROM ${event.readBy(transaction.dialect, ['position'])} WHERE ${event.column('position')} IS NULL ` +
        `ORDER BY ${seq} LIMIT ${limit}`,
    )
    return rows.map((row) => Number(row['seq']))
  }
}
