import type { Clock } from '../../common/clock.js'
import { idFromStore } from '../../database/bytes.js'
import { instantFromStore } from '../../database/column.js'
import { PeriodicTask } from '../../common/periodic-task.js'
import { placeholders } from '../../database/row-codec.js'
import type { TransactionRunner } from '../../database/transaction-runner.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { oldestKept } from '../rows/refusal.entity.js'
import { beginningOf } from '../rows/utc-step.js'
import { refusalTotals, TotalsStore } from '../totals/totals-store.js'
import { MAX_EXPIRED_AT_ONCE } from '../write/holds.js'
import { GroupStore } from '../store/group-store.js'
import { lockOf } from '../store/ledger-store.js'
import type { Ledger } from '../write/ledger.js'

const EVERY_MS = 2_000
/** The maximum number of quotas per step, so that a step holds locks only briefly. */
const STEP = 500
/** The maximum number of members' counts per step. */
const COUNTS_STEP = 200
/** The maximum number of them whose settings one statement writes. */
const COPIES_STEP = 500
/** The rest after a step while requests arrive, as a multiple of it. */
const COUNTS_REST = 9
/** From how many steps an instance chooses its next one. */
const COUNTS_APART = 8

function isGoingOn(signal: AbortSignal | undefined): boolean {
  return signal?.aborted !== true
}

/**
 * Cleans up in the background: records that quotas and holds have expired, and writes what members' counts follow. No
 * decision depends on it, only speed, and lists of members' counts. Any number of
 * instances may run it: each step states its condition in the statement or runs under the owner's lock.
 */
export class Sweeper<Q extends QuotaRow> {
  readonly task: PeriodicTask
  private readonly totals: TotalsStore<Q>
  private readonly groups: GroupStore<Q>

  constructor(
    private readonly ledger: Ledger<Q>,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
  ) {
    this.totals = new TotalsStore(ledger.store)
    this.groups = new GroupStore(ledger.store)
    const name = `${ledger.channel.name} sweeper`
    this.task = new PeriodicTask(transactions, name, EVERY_MS, async (signal) => this.sweep(signal))
  }

  /**
   * Runs everything that is due, step by step. Steps that depend on the time run only while the clock is steady.
   * @param signal ends it after the present step
   * @throws the first failure, after all others: an owner that another session keeps locked stops nobody else
   */
  async sweep(signal?: AbortSignal): Promise<void> {
    const failures: unknown[] = []
    for (const part of [
      async () => this.markAllExpired(signal),
      async () => this.expireHolds(signal),
      async () => this.followCounts(signal),
      async () => this.dropAllRefusals(signal),
    ])
      await part().catch((error: unknown) => failures.push(error))
    if (failures.length > 0) throw failures[0]
  }

  private async markAllExpired(signal?: AbortSignal): Promise<void> {
    while (isGoingOn(signal) && this.clock.steady && (await this.markExpired()) === STEP);
  }

  private async dropAllRefusals(signal?: AbortSignal): Promise<void> {
    while (isGoingOn(signal) && this.clock.steadyForRemoval && (await this.dropRefusals()) > 0);
  }

  /**
   * Records expired holds. Owners are submitted together, so that they share batches. What remains after its step is
   * not tried again at once.
   * @throws the first failure, after the holds of all others
   */
  private async expireHolds(signal?: AbortSignal): Promise<void> {
    const failures = new Map<number, unknown>()
    for (let first: string | undefined; isGoingOn(signal) && this.clock.steady;) {
      const due = await this.sweepHolds(failures)
      if (due.length < MAX_EXPIRED_AT_ONCE || due[0] === first) break
      first = due[0]
    }
    if (failures.size > 0) throw [...failures.values()][0]
  }

  /**
   * Stores `expired` on quotas that have ended. The statement checks again, so that a concurrent edit wins. After a
   * lock timeout it omits quotas that another session keeps locked: they are marked later.
   */
  private async markExpired(): Promise<number> {
    const { quota } = this.ledger.store
    const due = `${quota.column('state')} = 'active' AND ${quota.column('expireAt')} <= ?`
    const now = quota.bind('expireAt', this.clock.now())
    return this.transactions.write(async (transaction) => {
      // Deleted quotas are not changed: a restore evaluates them again.
      const rows = await transaction.rows(
        `SELECT ${quota.column('id')} AS id, ${quota.column('ownerId')} AS owner_id FROM ${quota.table} ` +
          `WHERE ${quota.column('deletedAt')} IS NULL AND ${due} ` +
          `ORDER BY ${quota.column('expireAt')} LIMIT ${STEP} ` +
          (transaction.afterLockTimeout ? lockOf(transaction.dialect, true) : ''),
        [now],
      )
      if (rows.length === 0) return 0
      const ids = rows.map((row) => Number(row['id'])).sort((a, b) => a - b)
      await transaction.execute(
        `UPDATE ${quota.table} SET ${quota.column('state')} = 'expired' WHERE ${quota.column('id')} IN (${placeholders(ids)}) AND ${due}`,
        [...ids, now],
      )
      const ofGroups = rows.filter((row) => Number(row['owner_id']) < 0).map((row) => Number(row['id']))
      if (ofGroups.length > 0) await this.groups.outdateOverridden(transaction, ofGroups)
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

  /**
   * Writes the settings of outdated counts, of which an edit of what they follow may have made many: together, or owner
   * by owner where that needs a decision.
   * @throws the first failure, after all others: an owner that another session keeps locked stops nobody else
   */
  private async followCounts(signal?: AbortSignal): Promise<void> {
    // What remains after its step is not tried again at once.
    const tried = new Set<number>()
    const failures: unknown[] = []
    while (isGoingOn(signal)) {
      const began = performance.now()
      const found = await this.outdatedOwners()
      if (found.length === 0) break
      const isLast = found.length < COUNTS_STEP
      if ((await this.copySettings(isLast)) === 0) {
        const ownerIds = new Set(found.filter((ownerId) => !tried.has(ownerId)))
        const results = await Promise.allSettled([...ownerIds].map(async (ownerId) => this.ledger.follow(ownerId)))
        for (const result of results) if (result.status === 'rejected') failures.push(result.reason)
        for (const ownerId of ownerIds) tried.add(ownerId)
        if (isLast || ownerIds.size === 0) break
      }
      await this.ledger.engine.rest(performance.now() - began, COUNTS_REST, signal)
    }
    if (failures.length > 0) throw failures[0]
  }

  private async copySettings(isLast: boolean): Promise<number> {
    const from = isLast ? 0 : COPIES_STEP * Math.floor(Math.random() * COUNTS_APART)
    return this.transactions.write((transaction) =>
      this.groups.copySettings(transaction, this.clock.now(), COPIES_STEP, from),
    )
  }

  private async outdatedOwners(): Promise<number[]> {
    const { table, where } = this.groups.copiesBehind(this.transactions.dialect)
    const ownerId = this.ledger.store.quota.column('ownerId')
    // Of some further on, since other instances look for them, too.
    const rows = async (from: number) =>
      this.transactions.read((transaction) =>
        transaction.rows(`SELECT c.${ownerId} AS owner_id FROM ${table} ${where} LIMIT ${COUNTS_STEP} OFFSET ${from}`),
      )
    const further = await rows(COUNTS_STEP * Math.floor(Math.random() * COUNTS_APART))
    const found = further.length === COUNTS_STEP ? further : await rows(0)
    return found.map((row) => Number(row['owner_id']))
  }

  /**
   * Expires due holds.
   * @param failures by owner: those are left out, and new ones added
   * @returns their operation ids, the earliest first; at most those of one step
   */
  private async sweepHolds(failures: Map<number, unknown>): Promise<string[]> {
    const { hold } = this.ledger.store
    const expiresAt = hold.column('expiresAt')
    // No owner is 0: the list is never empty.
    const left = [0, ...failures.keys()]
    const rows = await this.transactions.read((transaction) =>
      transaction.rows(
        `SELECT ${hold.column('operationId')} AS id, ${hold.column('ownerId')} AS owner_id FROM ${hold.table} ` +
          `WHERE ${expiresAt} <= ? AND ${hold.column('ownerId')} > 0 AND ${hold.column('ownerId')} NOT IN (${placeholders(left)}) ` +
          `ORDER BY ${expiresAt}, ${hold.column('operationId')} LIMIT ${MAX_EXPIRED_AT_ONCE}`,
        [hold.bind('expiresAt', this.clock.now()), ...left],
      ),
    )
    const ownerIds = new Set(rows.map((row) => Number(row['owner_id'])))
    const sweep = async (ownerId: number): Promise<unknown> =>
      this.ledger.sweep(ownerId).catch((error: unknown) => failures.set(ownerId, error))
    await Promise.all([...ownerIds].map(sweep))
    return rows.map((row) => idFromStore(row['id']))
  }
}
