import type { Clock } from '../../common/clock.js'
import { bytesToStore, idFromStore } from '../../database/bytes.js'
import { chunks, placeholders } from '../../database/row-codec.js'
import { presentOf } from '../../database/store-clock.js'
import type { Transaction, TransactionRunner } from '../../database/transaction-runner.js'
import type { Instant } from '../../common/instant.js'
import { firstIdAt, instantOfId } from '../rows/act-id.js'
import { OPERATION_ACTS, type ActRow } from '../rows/act.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { TOTALS_OF_TIME } from '../rows/usage-total.entity.js'
import { beginningOf, STEP_MS } from '../rows/utc-step.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { TotalsStore } from '../totals/totals-store.js'

/** The number of rows that one step examines: their owners are locked until they are removed. */
const STEP = 200

/** The minimum retention of events, in days (contract, §10). */
const EVENT_DAYS = 31

/**
 * Removes rows after their retention: settled operations with all their acts, and acts on settings. An operation is
 * removed as a whole or not at all: one with a younger act stays, and so does an open hold. Each step locks its owners,
 * as every write does, so that an operation cannot change while it is removed. A step removes only rows that are old
 * also by the store's own time, read in the same transaction, and that are in the totals, which do not change
 * meanwhile.
 */
export class Retention<Q extends QuotaRow> {
  private readonly totals: TotalsStore<Q>

  constructor(
    private readonly store: LedgerStore<Q>,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
  ) {
    this.totals = new TotalsStore(store)
  }

  /** Returns the time before which rows may be removed: the beginning of a UTC day, at least `days` ago. */
  cutoff(days: number): Instant {
    return cutoffAt(this.clock.now(), days)
  }

  /** The time of the oldest act, from its id; undefined if there is none. */
  async oldestActAt(): Promise<Instant | undefined> {
    const { act } = this.store
    const id = act.column('id')
    const [row] = await this.transactions.read((transaction) =>
      transaction.rows(`SELECT ${id} AS id FROM ${act.readByKey(transaction.dialect)} ORDER BY ${id} LIMIT 1`),
    )
    return row === undefined ? undefined : instantOfId(idFromStore(row['id']))
  }

  /**
   * Examines the next acts and removes those that may be removed.
   * @param after the last examined act; empty at first
   * @param before no younger act is removed: the time from which the ledger is said to be complete. It does not move
   *   when a day ends during the removal
   * @param days retention
   * @returns the number of removed rows, and the last examined act; undefined at the end
   */
  async removeActs(
    after: string,
    before: Instant,
    days: number,
  ): Promise<{ removed: number; last: string | undefined }> {
    const { act } = this.store
    const id = act.column('id')
    const rows = await this.transactions.read((transaction) =>
      transaction.rows(
        `SELECT ${act.columns} FROM ${act.readByKey(transaction.dialect)} WHERE ${id} > ? AND ${id} < ? ORDER BY ${id} LIMIT ${STEP}`,
        [bytesToStore(after), bytesToStore(firstIdAt(before))],
      ),
    )
    const acts = rows.map((row) => act.decode(row))
    const last = acts.at(-1)?.id
    // Settlements and refunds are removed with their operation, whose own act is older.
    const roots = acts.filter(({ kind }) => kind === 'consume' || kind === 'reserve')
    const edits = acts.filter(({ kind }) => !(OPERATION_ACTS as readonly string[]).includes(kind))
    if (roots.length + edits.length === 0) return { removed: 0, last }
    const removed = await this.transactions.write(async (transaction) => {
      const ownerIds = [...new Set([...roots, ...edits].map(({ ownerId }) => ownerId))]
      // An owner without a row cannot be locked; the next create or consume creates it. The acts of one that another
      // session keeps locked are removed on the next day: the others' locks must not wait for it.
      const locked = new Set(await this.store.lockOwners(transaction, ownerIds, transaction.afterLockTimeout))
      const { foldedTo } = await this.totals.lockState(transaction)
      const cutoff = Math.min(before, await this.confirmedCutoff(transaction, days))
      // A group that shares no quota has no row, and needs none: what is done to its settings changes no more.
      const mine = ({ ownerId, id, at }: ActRow): boolean =>
        (locked.has(ownerId) || ownerId < 0) && id <= foldedTo && at < cutoff
      const { operations, acts: gone } = await this.removable(transaction, roots.filter(mine), cutoff, foldedTo)
      const ids = [...gone, ...edits.filter(mine).map((edit) => edit.id)]
      const count = await this.remove(transaction, operations, ids)
      // On a cluster, a refund on another node does not see the lock: both must write the same row.
      if (transaction.clustered) await this.store.touchOwners(transaction, [...locked])
      return count
    })
    return { removed, last }
  }

  /** Removes the oldest changes of settings. @returns their number */
  async removeChanges(days: number): Promise<number> {
    const { change } = this.store
    const [id, at] = [change.column('id'), change.column('at')]
    const rows = await this.transactions.read((transaction) =>
      transaction.rows(
        `SELECT ${id} AS id FROM ${change.readBy(transaction.dialect, ['at', 'id'])} WHERE ${at} < ? ORDER BY ${at}, ${id} LIMIT ${STEP}`,
        [change.bind('at', this.cutoff(days))],
      ),
    )
    const ids = rows.map((row) => Number(row['id'])).sort((a, b) => a - b)
    if (ids.length === 0) return 0
    const { affected } = await this.transactions.write(async (transaction) =>
      transaction.execute(`DELETE FROM ${change.table} WHERE ${id} IN (${placeholders(ids)}) AND ${at} < ?`, [
        ...ids,
        change.bind('at', await this.confirmedCutoff(transaction, days)),
      ]),
    )
    return affected
  }

  /**
   * Removes the oldest events, by their own time: an event with a time in the future, from a wrong clock, does not
   * prevent others from being removed. A cursor before the last removed one is answered as expired.
   * @returns their number
   */
  async removeEvents(): Promise<number> {
    const { event, eventFeed } = this.store
    const [position, at] = [event.column('position'), event.column('at')]
    const removedTo = eventFeed.column('removedTo')
    return this.transactions.write(async (transaction) => {
      const cutoff = event.bind('at', await this.confirmedCutoff(transaction, EVENT_DAYS))
      const rows = await transaction.rows(
        `SELECT ${position} AS position FROM ${event.readBy(transaction.dialect, ['at'])} ` +
          `WHERE ${at} < ? AND ${position} IS NOT NULL ORDER BY ${at} LIMIT ${STEP}`,
        [cutoff],
      )
      if (rows.length === 0) return 0
      const positions = rows.map((row) => Number(row['position'])).sort((a, b) => a - b)
      const last = positions.at(-1) ?? 0
      // Locks the feed's row first, as the numbering does.
      await transaction.later(
        `UPDATE ${eventFeed.table} SET ${removedTo} = ? WHERE ${eventFeed.column('id')} = 1 AND ${removedTo} < ?`,
        [last, last],
      )
      await transaction.later(`DELETE FROM ${event.table} WHERE ${position} IN (${placeholders(positions)})`, positions)
      return positions.length
    })
  }

  /** Removes totals of hours. @returns how many */
  async removeHours(cutoff: Instant): Promise<number> {
    const { usageTotal } = this.store
    const [step, beganAt, ownerId] = TOTALS_OF_TIME.map((name) => usageTotal.column(name))
    const oldest = usageTotal.readBy(this.transactions.dialect, TOTALS_OF_TIME)
    const rows = await this.transactions.read((transaction) =>
      transaction.rows(
        `SELECT ${ownerId} AS owner_id, ${beganAt} AS began_at FROM ${oldest} WHERE ${step} = 'hour' AND ${beganAt} < ? ` +
          `ORDER BY ${beganAt} LIMIT ${STEP}`,
        [usageTotal.bind('beganAt', cutoff)],
      ),
    )
    const [first] = rows
    if (first === undefined) return 0
    const began = String(first['began_at'])
    const ids = [
      ...new Set(rows.filter((row) => row['began_at'] === began).map((row) => Number(row['owner_id']))),
    ].sort((a, b) => a - b)
    const { affected } = await this.transactions.write((transaction) =>
      transaction.execute(
        `DELETE FROM ${usageTotal.table} WHERE ${step} = 'hour' AND ${beganAt} = ? AND ${ownerId} IN (${placeholders(ids)})`,
        [began, ...ids],
      ),
    )
    return affected
  }

  /** Removes spells that are over, by their last refusal. @returns how many */
  async removeSpells(cutoff: Instant): Promise<number> {
    const { spell } = this.store
    const [stage, due, ownerId] = [spell.column('stage'), spell.column('dueAt'), spell.column('ownerId')]
    const old = `${stage} = 'over' AND ${due} < ?`
    const before = spell.bind('dueAt', cutoff)
    const rows = await this.transactions.read((transaction) =>
      transaction.rows(
        `SELECT ${ownerId} AS id FROM ${spell.readBy(transaction.dialect, ['stage', 'dueAt'])} WHERE ${old} ORDER BY ${due} LIMIT ${STEP}`,
        [before],
      ),
    )
    const ids = [...new Set(rows.map((row) => Number(row['id'])))].sort((a, b) => a - b)
    if (ids.length === 0) return 0
    const { affected } = await this.transactions.write((transaction) =>
      transaction.execute(`DELETE FROM ${spell.table} WHERE ${ownerId} IN (${placeholders(ids)}) AND ${old}`, [
        ...ids,
        before,
      ]),
    )
    return affected
  }

  private async confirmedCutoff(transaction: Transaction, days: number): Promise<Instant> {
    return cutoffAt(await this.clock.confirmed(async () => presentOf(transaction)), days)
  }

  /** Returns the operations without later acts that cannot change by themselves, and all their acts. */
  private async removable(
    transaction: Transaction,
    roots: readonly ActRow[],
    cutoff: Instant,
    foldedTo: string,
  ): Promise<{ operations: string[]; acts: string[] }> {
    const { operation, act } = this.store
    const ids = roots.map(({ id }) => bytesToStore(id))
    if (ids.length === 0) return { operations: [], acts: [] }
    const operationId = operation.column('id')
    const actOperationId = act.column('operationId')
    // Without answers: one operation may have any number of refunds.
    const part = act.part(['id', 'operationId', 'at'])
    const [found = [], others = []] = await transaction.all([
      {
        sql: `SELECT ${operationId} AS id, ${operation.column('state')} AS state FROM ${operation.table} WHERE ${operationId} IN (${placeholders(ids)})`,
        values: ids,
      },
      {
        sql: `SELECT ${part.columns} FROM ${act.readBy(transaction.dialect, ['operationId'])} WHERE ${actOperationId} IN (${placeholders(ids)})`,
        values: ids,
      },
    ])
    const states = new Map(found.map((row) => [idFromStore(row['id']), row['state']]))
    const acts = others.map((row) => part.decode(row))
    const [cutoffId, withLaterActs] = [firstIdAt(cutoff), new Set<string | null>()]
    for (const one of acts)
      if (one.at >= cutoff || one.id >= cutoffId || one.id > foldedTo) withLaterActs.add(one.operationId)
    const old = roots.filter(({ id, at }) => at < cutoff && !withLaterActs.has(id)).map(({ id }) => id)
    // Those without a row are plain consumes.
    const operations = old.filter((id) => states.get(id) !== 'reserved')
    const gone = new Set<string | null>(operations)
    return {
      operations,
      acts: [...operations, ...acts.filter((one) => gone.has(one.operationId)).map(({ id }) => id)],
    }
  }

  private async remove(
    transaction: Transaction,
    operationIds: readonly string[],
    actIds: readonly string[],
  ): Promise<number> {
    const { act, operation, allocation } = this.store
    const ids = [...new Set(actIds)].sort()
    for (const [table, column, keys] of [
      [allocation.table, allocation.column('operationId'), operationIds],
      [operation.table, operation.column('id'), operationIds],
      [act.table, act.column('id'), ids],
    ] as const) {
      // One operation may have any number of refunds.
      for (const part of chunks(keys))
        await transaction.later(
          `DELETE FROM ${table} WHERE ${column} IN (${placeholders(part)})`,
          part.map(bytesToStore),
        )
    }
    return ids.length
  }
}

function cutoffAt(now: Instant, days: number): Instant {
  return beginningOf('day', now) - days * STEP_MS.day
}
