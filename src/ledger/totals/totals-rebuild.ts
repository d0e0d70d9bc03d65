import { AFTER_EVERY_ID, bytesToStore, idFromStore } from '../../database/bytes.js'
import { instantFromStore } from '../../database/column.js'
import { chunks, placeholders, type RawRow } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import type { Instant } from '../../common/instant.js'
import { capsOf } from '../rows/counted-caps.js'
import type { LedgerStateRow } from '../rows/ledger-state.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { oldestKept } from '../rows/refusal.entity.js'
import { beginningOf, STEP_MS } from '../rows/utc-step.js'
import { type Charge, USAGE_KINDS } from '../store/charge.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { summed, TotalsStore } from './totals-store.js'

/** The number of plain consumes that one statement adds up. */
const ACTS = 20_000
/** The number of operations that one statement reads with their acts. */
const OPERATIONS = 500

/** The maximum number of owners in one statement. */
const OWNERS = 1_000

/** A quota with its owner. */
export interface OwnedQuota {
  readonly quotaId: number
  readonly ownerId: number
  /** Is it a cap, which counts all consumption of its owner? */
  readonly byCap: boolean
  /** Does it, a group's, pay for its members, in whose totals that is, too? */
  readonly ofMembers?: boolean
}

/** A day on which the totals of the hours differ from the total of the day, for one quota and cycle. */
export interface UnequalDay {
  readonly quotaId: number
  readonly ownerId: number
  readonly day: Instant
  readonly ofHours: string
  readonly ofDay: string
}

/**
 * Rebuilds totals from the acts. All acts since `begins_at` exist, so the totals of later days can be derived from
 * them. The totals of earlier days are the only record of removed acts, and do not change.
 */
export class TotalsRebuild<Q extends QuotaRow> {
  private readonly totals: TotalsStore<Q>

  constructor(private readonly store: LedgerStore<Q>) {
    this.totals = new TotalsStore(store)
  }

  /**
   * The charges of acts to a quota, summed by hour or smaller units.
   * @param quota with `ofMembers`, each charge is also one of the member
   * @param from only acts at or after this instant; the beginning of an hour
   * @param last only acts up to this id; undefined: all
   */
  async charges(transaction: Transaction, quota: OwnedQuota, from: Instant, last = AFTER_EVERY_ID): Promise<Charge[]> {
    const found = [
      ...(await this.plainConsumes(transaction, quota, last)),
      ...(await this.others(transaction, quota, last)),
    ]
    return found.filter(({ at }) => at >= from)
  }

  /**
   * Replaces the totals of a quota by the sums of the acts up to the watermark, for the days that can be rebuilt; if a
   * group's paid for members, also theirs. The caller must hold the owner's lock, or know that no act up to the
   * watermark can be added.
   * @param state the progress of upkeep, locked
   * @param now hours whose retention has ended by now are not rebuilt
   */
  async make(transaction: Transaction, quota: OwnedQuota, state: LedgerStateRow, now: Instant): Promise<void> {
    const { usageTotal } = this.store
    const from = wholeFrom(state)
    const ofMembers = quota.ownerId < 0 && !quota.byCap
    const charges = await this.charges(transaction, { ...quota, ofMembers }, from, state.foldedTo)
    for (const ownerIds of chunks([...new Set([quota.ownerId, ...charges.map(({ ownerId }) => ownerId)])], OWNERS))
      await transaction.execute(
        `DELETE FROM ${usageTotal.table} WHERE ${usageTotal.column('ownerId')} IN (${placeholders(ownerIds)}) ` +
          `AND ${usageTotal.column('quotaId')} = ? ` +
          `AND ${usageTotal.column('step')} IN ('day', 'hour') AND ${usageTotal.column('beganAt')} >= ?`,
        [...ownerIds, quota.quotaId, usageTotal.bind('beganAt', from)],
      )
    const rows = summed(charges)
    await this.totals.add(
      transaction,
      rows.filter(({ step, beganAt }) => step === 'day' || beganAt >= oldestKept(now)),
    )
  }

  /**
   * The usage of a quota in one of its cycles according to the totals of days before `begins_at`, which cannot be
   * rebuilt.
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

  /** The first days of the last month on which the hours of these owners' quotas differ from the day. */
  async unequalDays(transaction: Transaction, ownerIds: readonly number[], now: Instant): Promise<UnequalDay[]> {
    const { usageTotal } = this.store
    const column = (
      property: 'ownerId' | 'quotaId' | 'cycleSeq' | 'step' | 'beganAt' | 'charged' | 'refunded',
    ): string => usageTotal.column(property)
    const sum = (step: 'hour' | 'day', property: 'charged' | 'refunded'): string =>
      `SUM(CASE WHEN ${column('step')} = '${step}' THEN ${column(property)} ELSE 0 END)`
    const day = `SUBSTR(${column('beganAt')}, 1, 10)`
    // Hours are removed one by one: some of the first remaining day may be missing.
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
    { quotaId, ownerId, byCap, ofMembers = false }: OwnedQuota,
    last: string,
  ): Promise<Charge[]> {
    const { act } = this.store
    const { dialect } = transaction
    const p = (property: 'id' | 'at' | 'plainOwnerId' | 'cycleSeq' | 'caps' | 'amount'): string =>
      `p.${act.column(property)}`
    // The consumes that a cap of an owner counted are among all those of the owner.
    const byText = byCap && ownerId > 0
    const { from, id, cycleSeq, ofQuota } = byText
      ? {
          ...{ from: act.readBy(dialect, ['plainOwnerId', 'id'], 'p'), id: p('id'), cycleSeq: p('cycleSeq') },
          ofQuota: `${p('plainOwnerId')} = ?`,
        }
      : this.store.plainOf(dialect, byCap)
    const countOf = (row: RawRow): number | undefined =>
      byText
        ? capsOf(row['caps'] as string | null).find((count) => count.quotaId === quotaId)?.cycleSeq
        : row['cycle_seq'] === null
          ? undefined
          : Number(row['cycle_seq'])
    const charges: Charge[] = []
    for (let after = '', read = ACTS; read === ACTS;) {
      const rows = await transaction.rows(
        `SELECT s.member, s.cycle_seq, s.caps, s.hour, SUM(s.amount) AS charged, COUNT(*) AS n, MAX(s.id) AS id FROM (` +
          `SELECT ${id} AS id, ${cycleSeq} AS cycle_seq, SUBSTR(${p('at')}, 1, 13) AS hour, ` +
          `${ofMembers ? p('plainOwnerId') : 'NULL'} AS member, ${byText ? p('caps') : 'NULL'} AS caps, ` +
          `${p('amount')} AS amount FROM ${from} ` +
          `WHERE ${ofQuota} AND ${id} > ? AND ${id} <= ? ORDER BY ${id} LIMIT ${ACTS}) s ` +
          'GROUP BY s.member, s.cycle_seq, s.caps, s.hour',
        [byText ? ownerId : quotaId, bytesToStore(after), bytesToStore(last)],
      )
      read = 0
      for (const row of rows) {
        read += Number(row['n'])
        const id = idFromStore(row['id'])
        if (id > after) after = id
        const count = countOf(row)
        if (count === undefined) continue
        const charge: Charge = {
          ownerId,
          quotaId,
          cycleSeq: count,
          byCap,
          at: instantFromStore(`${String(row['hour'])}:00`),
          charged: Number(row['charged']),
          refunded: 0,
        }
        charges.push(charge)
        if (ofMembers) charges.push({ ...charge, ownerId: Number(row['member']) })
      }
    }
    return charges
  }

  /** The charges of operations with rows of their own to one quota. */
  private async others(
    transaction: Transaction,
    { quotaId, ownerId, ofMembers = false }: OwnedQuota,
    last: string,
  ): Promise<Charge[]> {
    const { act, allocation } = this.store
    const operationId = allocation.column('operationId')
    const charges: Charge[] = []
    for (let after = ''; ;) {
      const rows = await transaction.rows(
        `SELECT DISTINCT ${operationId} AS id FROM ${allocation.readBy(transaction.dialect, ['quotaId', 'operationId'])} ` +
          `WHERE ${allocation.column('quotaId')} = ? AND ${operationId} > ? ORDER BY ${operationId} LIMIT ${OPERATIONS}`,
        [quotaId, bytesToStore(after)],
      )
      const ids = rows.map((row) => idFromStore(row['id']))
      const lastId = ids.at(-1)
      if (lastId === undefined) return charges
      const acts = await transaction.rows(
        `SELECT ${act.columns} FROM ${act.readBy(transaction.dialect, ['operationId'])} WHERE ${act.column('operationId')} IN (${placeholders(ids)}) ` +
          `AND ${act.column('id')} <= ? AND ${act.column('plainOwnerId')} IS NULL AND ${act.column('kind')} IN (${placeholders(USAGE_KINDS)})`,
        [...[...ids, last].map(bytesToStore), ...USAGE_KINDS],
      )
      const made = await this.totals.charges(
        transaction,
        acts.map((row) => act.decode(row)),
        true,
      )
      for (const charge of made)
        if (charge.quotaId === quotaId && (ofMembers || charge.ownerId === ownerId)) charges.push(charge)
      if (ids.length < OPERATIONS) return charges
      after = lastId
    }
  }
}

/** The maximum number of days returned for a page of owners. */
const UNEQUAL = 1_000

/** Returns the UTC day from which all acts exist, so that totals can be rebuilt. */
export function wholeFrom({ beginsAt }: Pick<LedgerStateRow, 'beginsAt'>): Instant {
  return beginsAt === null ? 0 : Math.ceil(beginsAt / STEP_MS.day) * STEP_MS.day
}
