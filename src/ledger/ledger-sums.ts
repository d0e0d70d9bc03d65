import { TimeSlice } from '../clock/time-slice.js'
import { instantFromStore } from '../database/column.js'
import type { Dialect, RawRow, Scalar } from '../database/row-codec.js'
import type { Transaction } from '../database/unit-of-work.js'
import { type Allocation, cut } from '../quota/draw-down.js'
import type { Instant } from '../quota/instant.js'
import { instantOfId } from './act-age.js'
import { grouped } from './grouped.js'
import type { QuotaRow } from './quota.entity.js'
import type { LedgerStore } from './store.js'
import { TotalsStore } from './totals-store.js'

/** What the ledger says of a quota's running cycle. */
export interface LedgerSum {
  /** What the rows that are there add up to; what was removed is not in it. */
  used: number
  reserved: number
  /** When the first of its open holds ends; null where there is none. */
  firstHoldAt: Instant | null
  /** What the totals and the acts after them say was used; undefined where they are too far behind to tell. */
  totalled: number | undefined
}

/** A stretch of owners: those after the first, up to the last. */
interface Stretch {
  readonly after: number
  readonly last: number
}

/** Where a page ended; within an owner's rows there is an id. */
interface Place {
  readonly ownerId: number
  readonly id: string
}

/** Totals that are further behind are being made for the first time. */
const MAX_BEHIND_MS = 900_000
/** Acts that one statement adds up; SQLite has the event loop to itself meanwhile. */
const ACTS: Readonly<Record<Dialect, number>> = { mysql: 20_000, sqlite: 2_000 }
/** Operations that one statement reads with their allocations. */
const OPERATIONS: Readonly<Record<Dialect, number>> = { mysql: 5_000, sqlite: 500 }

/**
 * Adds up the ledger: what quotas' counters must be. In pages, so that neither a statement nor memory grows with an
 * owner's history.
 */
export class LedgerSums<Q extends QuotaRow> {
  private readonly totals: TotalsStore<Q>

  constructor(private readonly store: LedgerStore<Q>) {
    this.totals = new TotalsStore(store)
  }

  /**
   * The sums of quotas, each for its running cycle.
   * @param transaction sees one moment
   * @param ownerIds whose they are, in order
   * @param running the running `cycle_seq` of each quota that is asked for
   */
  async of(
    transaction: Transaction,
    ownerIds: readonly number[],
    running: ReadonlyMap<number, number>,
  ): Promise<Map<number, LedgerSum>> {
    const sums = new Map<number, LedgerSum>()
    for (const quotaId of running.keys())
      sums.set(quotaId, { used: 0, reserved: 0, firstHoldAt: null, totalled: undefined })
    const [first] = ownerIds
    const last = ownerIds.at(-1)
    if (first === undefined || last === undefined) return sums
    const stretch = { after: first - 1, last }
    const sumOf = (quotaId: number, cycleSeq: number): LedgerSum | undefined =>
      running.get(quotaId) === cycleSeq ? sums.get(quotaId) : undefined
    await this.addPlainConsumes(transaction, stretch, sumOf)
    await this.addOperations(transaction, stretch, sumOf)
    await this.addTotals(transaction, ownerIds, sums, sumOf)
    return sums
  }

  private async addTotals(
    transaction: Transaction,
    ownerIds: readonly number[],
    sums: ReadonlyMap<number, LedgerSum>,
    sumOf: SumOf,
  ): Promise<void> {
    for (;;) {
      const { foldedTo, beginsAt } = await this.totals.state(transaction)
      const newest = (await this.totals.newestAct(transaction)) ?? ''
      const first = await this.totals.nthAct(transaction, foldedTo, newest, 1)
      const behind = first === undefined ? 0 : instantOfId(newest) - instantOfId(first)
      if (beginsAt === null && behind > MAX_BEHIND_MS) return
      const totals = await this.totals.used(transaction, ownerIds)
      const rest = await this.totals.rest(transaction, foldedTo, ownerIds)
      // Under a lock, and not at one moment, they may have moved on in the middle.
      if ((await this.totals.state(transaction)).foldedTo !== foldedTo) continue
      for (const sum of sums.values()) sum.totalled = 0
      for (const { quotaId, cycleSeq, amount } of [
        ...totals,
        ...rest.map((posting) => ({ ...posting, amount: posting.charged - posting.refunded })),
      ]) {
        const sum = sumOf(quotaId, cycleSeq)
        if (sum !== undefined) sum.totalled = (sum.totalled ?? 0) + amount
      }
      return
    }
  }

  /** Plain consumes; those that have rows of their own by now are taken away again with them. */
  private async addPlainConsumes(transaction: Transaction, stretch: Stretch, sumOf: SumOf): Promise<void> {
    const { act } = this.store
    const [id, ownerId] = [act.column('id'), act.column('plainOwnerId')]
    const from = act.readBy(transaction.dialect, ['plainOwnerId', 'id'])
    const size = ACTS[transaction.dialect]
    await everyPage(stretch, size, async (range, values) => {
      const rows = await transaction.rows(
        `SELECT p.owner_id, p.quota_id, p.cycle_seq, SUM(p.amount) AS amount, COUNT(*) AS n, MAX(p.id) AS id FROM (SELECT ${id} AS id, ${ownerId} AS owner_id, ${act.column('plainQuotaId')} AS quota_id, ` +
          `${act.column('cycleSeq')} AS cycle_seq, ${act.column('amount')} AS amount FROM ${from} ` +
          `WHERE ${range(ownerId, id)} ORDER BY ${ownerId}, ${id} LIMIT ${size}) p ` +
          'GROUP BY p.owner_id, p.quota_id, p.cycle_seq',
        values,
      )
      let read = 0
      for (const row of rows) {
        read += Number(row['n'])
        const sum = sumOf(Number(row['quota_id']), Number(row['cycle_seq'] ?? NaN))
        if (sum !== undefined) sum.used += Number(row['amount'])
      }
      return { read, end: lastOf(rows) }
    })
  }

  /** Operations with rows of their own: what they keep is a prefix of their allocations. */
  private async addOperations(transaction: Transaction, stretch: Stretch, sumOf: SumOf): Promise<void> {
    const { operation, allocation, act } = this.store
    const { dialect } = transaction
    const [id, ownerId] = [operation.column('id'), operation.column('ownerId')]
    const from = operation.readBy(dialect, ['ownerId', 'id'])
    const slice = new TimeSlice()
    const size = OPERATIONS[dialect]
    await everyPage(stretch, size, async (range, values) => {
      const rows = await transaction.rows(
        `SELECT o.id, o.owner_id, o.state, o.kept, o.expires_at, a.${allocation.column('position')} AS position, ` +
          `a.${allocation.column('quotaId')} AS quota_id, a.${allocation.column('cycleSeq')} AS cycle_seq, a.${allocation.column('amount')} AS amount, ` +
          `p.${act.column('plainQuotaId')} AS plain_quota_id, p.${act.column('cycleSeq')} AS plain_cycle_seq, p.${act.column('amount')} AS plain_amount ` +
          `FROM (SELECT ${id} AS id, ${ownerId} AS owner_id, ${operation.column('kind')} AS kind, ${operation.column('state')} AS state, ` +
          `${operation.column('charged')} - ${operation.column('refunded')} AS kept, ${operation.column('expiresAt')} AS expires_at FROM ${from} ` +
          `WHERE ${range(ownerId, id)} ORDER BY ${ownerId}, ${id} LIMIT ${size}) o ` +
          `LEFT JOIN ${allocation.readByKey(dialect, 'a')} ON a.${allocation.column('operationId')} = o.id ` +
          `LEFT JOIN ${act.readByKey(dialect, 'p')} ON o.kind = 'consume' AND p.${act.column('id')} = o.id`,
        values,
      )
      const byId = grouped(rows, (row) => row['id'])
      for (const parts of byId.values()) {
        if (slice.spent) await slice.next()
        addOperation(parts, sumOf)
      }
      return { read: byId.size, end: lastOf(rows) }
    })
  }
}

type SumOf = (quotaId: number, cycleSeq: number) => LedgerSum | undefined

function addOperation(parts: readonly RawRow[], sumOf: SumOf): void {
  const [first] = parts
  if (first === undefined) return
  if (first['plain_quota_id'] !== null) {
    const sum = sumOf(Number(first['plain_quota_id']), Number(first['plain_cycle_seq'] ?? NaN))
    if (sum !== undefined) sum.used -= Number(first['plain_amount'])
  }
  if (first['quota_id'] === null) return
  const allocations: Allocation[] = [...parts]
    .sort((a, b) => Number(a['position']) - Number(b['position']))
    .map((row) => ({
      quotaId: Number(row['quota_id']),
      cycleSeq: Number(row['cycle_seq']),
      amount: Number(row['amount']),
    }))
  for (const { quotaId, cycleSeq, amount } of cut(allocations, 0, Number(first['kept']))) {
    const sum = sumOf(quotaId, cycleSeq)
    if (sum !== undefined) sum.used += amount
  }
  if (first['state'] !== 'reserved') return
  const expiresAt = first['expires_at'] === null ? null : instantFromStore(first['expires_at'] as string)
  for (const { quotaId, cycleSeq, amount } of allocations) {
    const sum = sumOf(quotaId, cycleSeq)
    if (sum === undefined) continue
    sum.reserved += amount
    if (expiresAt !== null) sum.firstHoldAt = Math.min(sum.firstHoldAt ?? expiresAt, expiresAt)
  }
}

/** Where the rows of a page end, in order of owner and id. */
function lastOf(rows: readonly RawRow[]): Place | undefined {
  let last: Place | undefined
  for (const row of rows) {
    const place = { ownerId: Number(row['owner_id']), id: row['id'] as string }
    if (last === undefined || place.ownerId > last.ownerId || (place.ownerId === last.ownerId && place.id > last.id))
      last = place
  }
  return last
}

/**
 * Walks the rows of a stretch of owners by an index over owner and id. A full page may end within an owner's rows: the
 * rest of that owner comes by itself, and then the owners after, so that each statement is one range of the index.
 * @param read reads the page of a range; says how many rows it had, and where it ended
 */
async function everyPage(
  { after, last }: Stretch,
  size: number,
  read: (
    range: (ownerId: string, id: string) => string,
    values: readonly Scalar[],
  ) => Promise<{ read: number; end: Place | undefined }>,
): Promise<void> {
  let done = after
  let within: Place | undefined
  while (done < last) {
    const { read: count, end } =
      within === undefined
        ? await read((ownerId) => `${ownerId} > ? AND ${ownerId} <= ?`, [done, last])
        : await read((ownerId, id) => `${ownerId} = ? AND ${id} > ?`, [within.ownerId, within.id])
    if (count >= size && end !== undefined) within = end
    else if (within !== undefined) {
      done = within.ownerId
      within = undefined
    } else return
  }
}
