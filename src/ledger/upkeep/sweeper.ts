import { Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import type { Clock } from '../../clock/clock.js'
import { instantFromStore } from '../../database/column.js'
import { placeholders } from '../../database/row-codec.js'
import type { TransactionRunner } from '../../database/transaction-runner.js'
import type { QuotaReader } from '../read/quota-reader.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { oldestKept } from '../rows/refusal.entity.js'
import { beginningOf } from '../rows/utc-step.js'
import { refusalTotals, TotalsStore } from '../totals/totals-store.js'
import { MAX_EXPIRED_AT_ONCE } from '../write/holds.js'
import type { Ledger } from '../write/ledger.js'

const EVERY_MS = 2_000
/** The maximum number of quotas per step, so that a step holds locks only briefly. */
const STEP = 500

/** Lets requests run between two steps: on SQLite, a step blocks the event loop. */
async function yieldToRequests(): Promise<void> {
  await new Promise(setImmediate)
}

/**
 * Cleans up in the background: records that quotas and holds have expired, and renews shared counts. Correctness does
 * not depend on it, only speed. Any number of instances may run it: each step states its condition in the statement or
 * runs under the owner's lock.
 */
export class Sweeper<Q extends QuotaRow> implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger: Logger
  private readonly totals: TotalsStore<Q>
  private timer: NodeJS.Timeout | undefined
  private running: Promise<void> | undefined

  constructor(
    private readonly ledger: Ledger<Q>,
    private readonly reader: QuotaReader<Q>,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
  ) {
    this.logger = new Logger(`${ledger.channel.name} sweeper`)
    this.totals = new TotalsStore(ledger.store)
  }

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => {
      // Another part has logged the outage and watches it.
      if (this.transactions.reach !== 'all') return
      this.running ??= this.sweep()
        .catch((error: unknown) => {
          this.logger.warn(`sweep failed, retrying later: ${String(error)}`)
        })
        .finally(() => {
          this.running = undefined
        })
    }, EVERY_MS)
    this.timer.unref()
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.timer)
    await this.running
  }

  /** Runs everything that is due, step by step. Steps that depend on the time run only while the clock is steady. */
  async sweep(): Promise<void> {
    if (this.clock.steady) await this.expire()
    await this.setOwnersOfChanges()
    while (this.clock.steadyForRemoval && (await this.dropRefusals()) > 0) await yieldToRequests()
    await this.reader.refreshCounts()
  }

  /** Records expired quotas and holds. */
  private async expire(): Promise<void> {
    while ((await this.markExpired()) === STEP) await yieldToRequests()
    // Owners are submitted together, so that they share batches. Holds that remain after their step are not retried at
    // once.
    let first: string | undefined
    for (;;) {
      const due = await this.sweepHolds()
      if (due.length < MAX_EXPIRED_AT_ONCE || due[0] === first) break
      first = due[0]
      await yieldToRequests()
    }
  }

  /** Stores `expired` on quotas that have ended. The statement checks again, so that a concurrent edit wins. */
  private async markExpired(): Promise<number> {
    const { quota } = this.ledger.store
    const due = `${quota.column('state')} = 'active' AND ${quota.column('expireAt')} <= ?`
    const now = quota.bind('expireAt', this.clock.now())
    return this.transactions.write(async (transaction) => {
      // Deleted quotas are not changed: a restore evaluates them again.
      const rows = await transaction.rows(
        `SELECT ${quota.column('id')} AS id FROM ${quota.table} WHERE ${quota.column('deletedAt')} IS NULL AND ${due} ` +
          `ORDER BY ${quota.column('expireAt')} LIMIT ${STEP}`,
        [now],
      )
      if (rows.length === 0) return 0
      const ids = rows.map((row) => Number(row['id'])).sort((a, b) => a - b)
      await transaction.execute(
        `UPDATE ${quota.table} SET ${quota.column('state')} = 'expired' WHERE ${quota.column('id')} IN (${placeholders(ids)}) AND ${due}`,
        [...ids, now],
      )
      return rows.length
    })
  }

  /** Adds the oldest counts of refusals to the day's totals, and removes them, hour by hour. */
  private async dropRefusals(): Promise<number> {
    const { refusal } = this.ledger.store
    const [hour, ownerId] = [refusal.column('hour'), refusal.column('ownerId')]
    const past = beginningOf('hour', oldestKept(this.clock.now()))
    const rows = await this.transactions.read((transaction) =>
      transaction.rows(
        `SELECT ${hour} AS hour, ${ownerId} AS owner_id FROM ${refusal.table} WHERE ${hour} = (SELECT MIN(${hour}) FROM ${refusal.table}) ` +
          `AND ${hour} < ? GROUP BY ${hour}, ${ownerId} ORDER BY ${ownerId} LIMIT ${STEP}`,
        [refusal.bind('hour', past)],
      ),
    )
    const [first] = rows
    if (first === undefined) return 0
    const began = instantFromStore(first['hour'] as string)
    const ids = rows.map((row) => Number(row['owner_id']))
    const these = `WHERE ${hour} = ? AND ${ownerId} IN (${placeholders(ids)})`
    const values = [refusal.bind('hour', began), ...ids]
    await this.transactions.write(async (transaction) => {
      // Locked, so that two instances do not move the same rows.
      const counted = await transaction.rows(
        `SELECT ${refusal.columns} FROM ${refusal.table} ${these} ORDER BY ${ownerId} ${transaction.dialect === 'mysql' ? 'FOR UPDATE' : ''}`,
        values,
      )
      await this.totals.add(transaction, refusalTotals(counted.map((row) => refusal.decode(row))))
      await transaction.later(`DELETE FROM ${refusal.table} ${these}`, values)
    })
    return rows.length
  }

  /** Sets the owner of changes that an instance of release 0.1.0 wrote next to this one. */
  private async setOwnersOfChanges(): Promise<void> {
    const { change, quota } = this.ledger.store
    const [id, ownerId] = [change.column('id'), change.column('ownerId')]
    const rows = await this.transactions.read((transaction) =>
      transaction.rows(
        `SELECT ${id} AS id FROM ${change.readBy(this.transactions.dialect, ['ownerId', 'id'])} WHERE ${ownerId} IS NULL ORDER BY ${id} LIMIT ${STEP}`,
      ),
    )
    if (rows.length === 0) return
    const ids = rows.map((row) => Number(row['id']))
    await this.transactions.write((transaction) =>
      transaction.execute(
        `UPDATE ${change.table} SET ${ownerId} = (SELECT q.${quota.column('ownerId')} FROM ${quota.table} q ` +
          `WHERE q.${quota.column('id')} = ${change.table}.${change.column('quotaId')}) WHERE ${id} IN (${placeholders(ids)})`,
        ids,
      ),
    )
  }

  /** Expires due holds. @returns their operation ids, the earliest first; at most those of one step */
  private async sweepHolds(): Promise<string[]> {
    const { hold } = this.ledger.store
    const expiresAt = hold.column('expiresAt')
    const rows = await this.transactions.read((transaction) =>
      transaction.rows(
        `SELECT ${hold.column('operationId')} AS id, ${hold.column('ownerId')} AS owner_id FROM ${hold.table} ` +
          `WHERE ${expiresAt} <= ? ORDER BY ${expiresAt}, ${hold.column('operationId')} LIMIT ${MAX_EXPIRED_AT_ONCE}`,
        [hold.bind('expiresAt', this.clock.now())],
      ),
    )
    const ownerIds = new Set(rows.map((row) => Number(row['owner_id'])))
    await Promise.all([...ownerIds].map((ownerId) => this.ledger.sweep(ownerId)))
    return rows.map((row) => String(row['id']))
  }
}
