import { instantFromStore } from '../../database/column.js'
import { placeholders, type RawRow } from '../../database/row-codec.js'
import type { Transaction } from '../../database/unit-of-work.js'
import { formatInstant, type Instant } from '../../time/instant.js'
import { capsOf } from '../rows/counted-caps.js'
import type { LedgerStateRow } from '../rows/ledger-state.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { oldestKept } from '../rows/refusal.entity.js'
import { beginningOf, STEP_MS } from '../rows/utc-step.js'
import { type Charge, USAGE_KINDS } from '../store/charge.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { summed, TotalsStore } from './totals-store.js'

/** Plain consumes that one statement adds up. */
const ACTS = 20_000
/** Operations that one statement reads with their acts. */
const OPERATIONS = 500

/** A quota, with whose it is. */
export interface OwnedQuota {
  readonly quotaId: number
  readonly ownerId: number
  /** Is it a cap, which counts all of what its owner takes? */
  readonly byCap: boolean
}

/** A day on which hours and the day itself say different things of one quota and cycle. */
export interface UnequalDay {
  readonly quotaId: number
  readonly ownerId: number
  readonly day: Instant
  readonly ofHours: string
  readonly ofDay: string
}

/**
 * Makes totals again from the acts. All acts from `begins_at` on are there, so that the totals of the days since are
 * derived from them; those of earlier days are the only trace of what was removed, and stay as they are.
 */
export class TotalsRebuild<Q extends QuotaRow> {
  private readonly totals: TotalsStore<Q>

  constructor(private readonly store: LedgerStore<Q>) {
    this.totals = new TotalsStore(store)
  }

  /**
   * What acts did to a quota, in sums of an hour at most.
   * @param from acts from this instant on; the beginning of an hour
   * @param last acts up to this id; undefined: all
   */
  async charges(transaction: Transaction, quota: OwnedQuota, from: Instant, last = AFTER_EVERY_ID): Promise<Charge[]> {
    const found = [
      ...(await this.plainConsumes(transaction, quota, last)),
      ...(await this.others(transaction, quota.quotaId, last)),
    ]
    return found.filter(({ at }) => at >= from)
  }

  /**
   * Replaces the totals of a quota by what the acts up to the watermark say, for the days that they can be made for.
   * The owner's lock must be held, or no act up to the watermark can come in any more.
   * @param state how far the totals have come, locked
   * @param now hours that would be dropped by now are not made
   */
  async make(transaction: Transaction, quota: OwnedQuota, state: LedgerStateRow, now: Instant): Promise<void> {
    const { usageTotal } = this.store
    const from = wholeFrom(state)
    await transaction.execute(
      `DELETE FROM ${usageTotal.table} WHERE ${usageTotal.column('ownerId')} = ? AND ${usageTotal.column('quotaId')} = ? ` +
        `AND ${usageTotal.column('step')} IN ('day', 'hour') AND ${usageTotal.column('beganAt')} >= ?`,
      [quota.ownerId, quota.quotaId, usageTotal.bind('beganAt', from)],
    )
    const rows = summed(await this.charges(transaction, quota, from, state.foldedTo))
    await this.totals.add(
      transaction,
      rows.filter(({ step, beganAt }) => step === 'day' || beganAt >= oldestKept(now)),
    )
  }

  /**
   * What totals of days before `begins_at` say was used of a quota in one of its cycles: that cannot be made again.
   */
  async usedBefore(
    transaction: Transaction,
    { ownerId, quotaId }: OwnedQuota,
    cycleSeq: number,
    before: Instant,
  ): Promise<number> {
    const { usageTotal } = this.store
    const [row] = await transaction.rows(
      `SELECT SUM(${usageTotal.column('charged')} - ${usageTotal.column('refunded')}) AS used FROM ${usageTotal.readByKey(transaction.dialect)} ` +
        `WHERE ${usageTotal.column('ownerId')} = ? AND ${usageTotal.column('step')} = 'day' AND ${usageTotal.column('beganAt')} < ? ` +
        `AND ${usageTotal.column('quotaId')} = ? AND ${usageTotal.column('cycleSeq')} = ?`,
      [ownerId, usageTotal.bind('beganAt', before), quotaId, cycleSeq],
    )
    return Number(row?.['used'] ?? 0)
  }

  /** The days of the last month on which a quota's hours are not what its day says, of these owners; the first ones. */
  async unequalDays(transaction: Transaction, ownerIds: readonly number[], now: Instant): Promise<UnequalDay[]> {
    const { usageTotal } = this.store
    const column = (
      property: 'ownerId' | 'quotaId' | 'cycleSeq' | 'step' | 'beganAt' | 'charged' | 'refunded',
    ): string => usageTotal.column(property)
    const sum = (step: 'hour' | 'day', property: 'charged' | 'refunded'): string =>
      `SUM(CASE WHEN ${column('step')} = '${step}' THEN ${column(property)} ELSE 0 END)`
    const day = `SUBSTR(${column('beganAt')}, 1, 10)`
    // Hours go one by one: of the first day that has any some may be gone.
    const since = beginningOf('day', oldestKept(now)) + STEP_MS.day
    const rows = await transaction.rows(
      `SELECT ${column('ownerId')} AS owner_id, ${column('quotaId')} AS quota_id, ${column('cycleSeq')} AS cycle_seq, ${day} AS day, ` +
        `${sum('hour', 'charged')} AS hour_charged, ${sum('hour', 'refunded')} AS hour_refunded, ` +
        `${sum('day', 'charged')} AS day_charged, ${sum('day', 'refunded')} AS day_refunded ` +
        `FROM ${usageTotal.readByKey(transaction.dialect)} WHERE ${column('ownerId')} IN (${placeholders(ownerIds)}) ` +
        `AND ${column('step')} IN ('day', 'hour') AND ${column('beganAt')} >= ? AND ${column('quotaId')} > 0 ` +
        `GROUP BY ${column('ownerId')}, ${column('quotaId')}, ${column('cycleSeq')}, ${day} ` +
        `HAVING ${sum('hour', 'charged')} <> ${sum('day', 'charged')} OR ${sum('hour', 'refunded')} <> ${sum('day', 'refunded')} ` +
        `ORDER BY ${day} LIMIT ${UNEQUAL}`,
      [...ownerIds, usageTotal.bind('beganAt', since)],
    )
    return rows.map((row) => ({
      ownerId: Number(row['owner_id']),
      quotaId: Number(row['quota_id']),
      day: instantFromStore(`${String(row['day'])} 00:00:00.000`),
      ofHours: `charged ${Number(row['hour_charged'])}, refunded ${Number(row['hour_refunded'])}`,
      ofDay: `charged ${Number(row['day_charged'])}, refunded ${Number(row['day_refunded'])}`,
    }))
  }

  private async plainConsumes(
    transaction: Transaction,
    { quotaId, ownerId, byCap }: OwnedQuota,
    last: string,
  ): Promise<Charge[]> {
    const { act } = this.store
    // What a cap counted lies among all of its owner's.
    const [by, value] = byCap ? (['plainOwnerId', ownerId] as const) : (['plainQuotaId', quotaId] as const)
    const countOf = (row: RawRow): number | undefined =>
      byCap
        ? capsOf(row['caps'] as string | null).find((count) => count.quotaId === quotaId)?.cycleSeq
        : row['cycle_seq'] === null
          ? undefined
          : Number(row['cycle_seq'])
    const [id, cycleSeq, at] = [act.column('id'), act.column('cycleSeq'), act.column('at')]
    const charges: Charge[] = []
    for (let after = '', read = ACTS; read === ACTS;) {
      const rows = await transaction.rows(
        `SELECT p.owner_id, p.cycle_seq, p.caps, p.hour, SUM(p.amount) AS charged, COUNT(*) AS n, MAX(p.id) AS id FROM (` +
          `SELECT ${id} AS id, ${act.column('plainOwnerId')} AS owner_id, ${cycleSeq} AS cycle_seq, SUBSTR(${at}, 1, 13) AS hour, ` +
          `${byCap ? act.column('caps') : 'NULL'} AS caps, ` +
          `${act.column('amount')} AS amount FROM ${act.readBy(transaction.dialect, [by, 'id'])} ` +
          `WHERE ${act.column(by)} = ? AND ${id} > ? AND ${id} <= ? ORDER BY ${id} LIMIT ${ACTS}) p ` +
          'GROUP BY p.owner_id, p.cycle_seq, p.caps, p.hour',
        [value, after, last],
      )
      read = 0
      for (const row of rows) {
        read += Number(row['n'])
        if (String(row['id']) > after) after = String(row['id'])
        const count = countOf(row)
        if (row['owner_id'] === null || count === undefined) continue
        charges.push({
          ownerId: Number(row['owner_id']),
          quotaId,
          cycleSeq: count,
          byCap,
          at: instantFromStore(`${String(row['hour'])}:00`),
          charged: Number(row['charged']),
          refunded: 0,
        })
      }
    }
    return charges
  }

  /** Of operations with rows of their own, one quota's part. */
  private async others(transaction: Transaction, quotaId: number, last: string): Promise<Charge[]> {
    const { act, allocation } = this.store
    const operationId = allocation.column('operationId')
    const charges: Charge[] = []
    for (let after = ''; ;) {
      const rows = await transaction.rows(
        `SELECT DISTINCT ${operationId} AS id FROM ${allocation.readBy(transaction.dialect, ['quotaId', 'operationId'])} ` +
          `WHERE ${allocation.column('quotaId')} = ? AND ${operationId} > ? ORDER BY ${operationId} LIMIT ${OPERATIONS}`,
        [quotaId, after],
      )
      const ids = rows.map((row) => String(row['id']))
      const lastId = ids.at(-1)
      if (lastId === undefined) return charges
      const acts = await transaction.rows(
        `SELECT ${act.columns} FROM ${act.readBy(transaction.dialect, ['operationId'])} WHERE ${act.column('operationId')} IN (${placeholders(ids)}) ` +
          `AND ${act.column('id')} <= ? AND ${act.column('plainOwnerId')} IS NULL AND ${act.column('kind')} IN (${placeholders(USAGE_KINDS)})`,
        [...ids, last, ...USAGE_KINDS],
      )
      const made = await this.totals.charges(
        transaction,
        acts.map((row) => act.decode(row)),
      )
      for (const charge of made) if (charge.quotaId === quotaId) charges.push(charge)
      if (ids.length < OPERATIONS) return charges
      after = lastId
    }
  }
}

/** Ids are hexadecimal. */
const AFTER_EVERY_ID = 'g'
/** Days that are told of a page of owners at most. */
const UNEQUAL = 1_000

/** From which UTC day on all acts are there: the totals from then on can be made again. */
export function wholeFrom({ beginsAt }: Pick<LedgerStateRow, 'beginsAt'>): Instant {
  return beginsAt === null ? 0 : Math.ceil(beginsAt / STEP_MS.day) * STEP_MS.day
}

/** A day as people read it. */
export function dayText(day: Instant): string {
  return formatInstant(day).slice(0, 10)
}
