import { TimeSlice } from '../../common/time-slice.js'
import { BEFORE_EVERY_ID, bytesToStore, idFromStore } from '../../database/bytes.js'
import { instantFromStore } from '../../database/column.js'
import type { Dialect, RawRow, Scalar } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import type { CapCount } from '../../domain/cap.js'
import { type Allocation, cut } from '../../domain/draw-down.js'
import { addUnits, countsUntil, type Move, openingWindow, type RollingWindow } from '../../domain/rolling-window.js'
import { type Instant, MAX_INSTANT } from '../../common/instant.js'
import { instantOfId } from '../rows/act-id.js'
import { capsOf } from '../rows/counted-caps.js'
import { groupBy } from '../../common/group-by.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { TotalsStore } from '../totals/totals-store.js'
import { sqlOf } from './verify-check.js'

/** A quota whose sums are computed. */
export interface Running {
  readonly id: number
  readonly isCap: boolean
  /** The current count. */
  readonly cycleSeq: number
  /** The window of a rolling cap; null for other quotas. */
  readonly windowSeconds: number | null
  /** The opening balance of the current count; 0 for none. */
  readonly opening: number
  readonly createdAt: Instant
}

/** The sums of the ledger for a quota's current count, with its opening balance. */
export interface LedgerSum {
  readonly of: Running
  /** The sum of the remaining rows, without removed ones. */
  used: number
  reserved: number
  /** The first expiry of its open holds that still count; null if there is none. */
  firstHoldAt: Instant | null
  /** The current window of a rolling cap; null for other quotas. */
  window: RollingWindow | null
  /** The usage according to the totals and the acts after them; undefined if the totals are too far behind. */
  totalled: number | undefined
  /** The sums of all counts: of the remaining rows, and according to the totals and the acts after them. */
  ever: number
  everTotalled: number
}

/** A range of owners, or of quotas: those after the first, up to the last. */
export interface KeyRange {
  readonly after: number
  readonly last: number
}

/** Rows in the order of an index over a key, an owner or a quota, and an id; in texts of `sqlOf`. */
interface Source {
  readonly from: string
  readonly key: string
  readonly id: string
}

/** Plain consumes, with the quota, its count and the caps that count them. */
interface PlainSource extends Source {
  readonly quotaId: string
  readonly cycleSeq: string
  readonly caps: string
}

/** Totals that are further behind are being built for the first time. */
const MAX_BEHIND_MS = 900_000
/** The number of acts that one statement adds up. On SQLite, a statement blocks the event loop. */
const ACTS: Readonly<Record<Dialect, number>> = { mysql: 20_000, sqlite: 2_000 }
/** The number of operations that one statement reads with their allocations. */
const OPERATIONS: Readonly<Record<Dialect, number>> = { mysql: 5_000, sqlite: 500 }

/**
 * Adds up the ledger to find the right values of quotas' counters. It works in pages, so that statements and memory do
 * not grow with an owner's history.
 */
export class LedgerSums<Q extends QuotaRow> {
  private readonly totals: TotalsStore<Q>

  constructor(private readonly store: LedgerStore<Q>) {
    this.totals = new TotalsStore(store)
  }

  /**
   * Returns the sums of quotas, each for its current count, by id.
   * @param transaction a snapshot
   * @param ownerIds the owners of the quotas, ascending; either groups or others
   * @param now windows contain what still counts after this time
   */
  async of(
    transaction: Transaction,
    ownerIds: readonly number[],
    running: readonly Running[],
    now: Instant,
  ): Promise<Map<number, LedgerSum>> {
    const sums = new Map(running.map((quota) => [quota.id, opened(quota)]))
    const longest = Math.max(0, ...running.map(({ windowSeconds }) => windowSeconds ?? 0))
    // No window counts anything older.
    const since = longest === 0 ? MAX_INSTANT : now - 2 * longest * 1000
    const { operation, allocation, act } = this.store
    const { dialect } = transaction
    const [first = 0] = ownerIds
    const last = ownerIds.at(-1) ?? first - 1
    if (last >= 0) {
      const builder = new SumBuilder(sums, now)
      const owners = { after: first - 1, last }
      const plain = act.readBy(dialect, ['plainOwnerId', 'id'], 'p')
      const whose = { quotaId: 'p.plainQuotaId', cycleSeq: 'p.cycleSeq', caps: 'p.caps' }
      await this.addPlain(
        transaction,
        owners,
        { from: plain, key: 'p.plainOwnerId', id: 'p.id', ...whose },
        builder,
        since,
      )
      const from = operation.readBy(dialect, ['ownerId', 'id'], 'i')
      await this.addOperations(transaction, owners, { from, key: 'i.ownerId', id: 'i.id' }, builder)
    } else
      for (const [quotaId, sum] of sums) {
        // Of all members, present and past ones, that the quota of a group paid or counted.
        const builder = new SumBuilder(new Map([[quotaId, sum]]), now)
        const only = { after: quotaId - 1, last: quotaId }
        const { from: plain, id, cycleSeq } = this.store.plainOf(dialect, sum.of.isCap)
        const key = sum.of.isCap ? 'a.quotaId' : 'p.plainQuotaId'
        const source = { from: plain, key, id, quotaId: key, cycleSeq, caps: 'NULL' }
        await this.addPlain(transaction, only, source, builder, since)
        const from = allocation.readBy(dialect, ['quotaId', 'operationId'], 'a')
        await this.addOperations(transaction, only, { from, key: 'a.quotaId', id: 'a.operationId' }, builder)
      }
    await this.addTotals(transaction, ownerIds, sums, now)
    return sums
  }

  private async addTotals(
    transaction: Transaction,
    ownerIds: readonly number[],
    sums: ReadonlyMap<number, LedgerSum>,
    now: Instant,
  ): Promise<void> {
    for (;;) {
      const { foldedTo, beginsAt } = await this.totals.state(transaction)
      const newest = (await this.totals.newestAct(transaction)) ?? ''
      const first = await this.totals.nthAct(transaction, foldedTo, newest, 1)
      // A wrong clock makes ids in the future.
      const behind = first === undefined ? 0 : Math.min(now, instantOfId(newest)) - instantOfId(first)
      if (beginsAt === null && behind > MAX_BEHIND_MS) return
      const totals = await this.totals.used(transaction, ownerIds)
      const rest = await this.totals.rest(transaction, foldedTo, ownerIds)
      // Under a lock instead of a snapshot, the totals may have advanced meanwhile.
      if ((await this.totals.state(transaction)).foldedTo !== foldedTo) continue
      for (const sum of sums.values()) sum.totalled = sum.of.opening
      const after = rest.map((charge) => ({ ...charge, amount: charge.charged - charge.refunded }))
      for (const { quotaId, cycleSeq, amount } of [...totals, ...after]) {
        const sum = sums.get(quotaId)
        if (sum === undefined) continue
        sum.everTotalled += amount
        if (sum.of.cycleSeq === cycleSeq) sum.totalled = (sum.totalled ?? 0) + amount
      }
      return
    }
  }

  /**
   * Adds plain consumes. `addOperations` subtracts those that have an operation row.
   * @param since windows need the time of each from here on; the others can be summed
   */
  private async addPlain(
    transaction: Transaction,
    keys: KeyRange,
    { from, key, id, quotaId, cycleSeq, caps }: PlainSource,
    builder: SumBuilder,
    since: Instant,
  ): Promise<void> {
    const { act, allocation } = this.store
    const size = ACTS[transaction.dialect]
    await everyPage(keys, size, { key, id }, async (range, values) => {
      const text =
        'SELECT s.key_id, s.quota_id, s.cycle_seq, s.caps, s.at, SUM(s.amount) AS amount, COUNT(*) AS n, MAX(s.id) AS id ' +
        `FROM (SELECT ${id} AS id, ${key} AS key_id, ${quotaId} AS quota_id, ${cycleSeq} AS cycle_seq, ${caps} AS caps, ` +
        `CASE WHEN p.caps IS NOT NULL AND p.at >= ? THEN p.at END AS at, p.amount AS amount FROM ${from} ` +
        `WHERE ${range} AND p.plainOwnerId IS NOT NULL ORDER BY ${key}, ${id} LIMIT ${size}) s ` +
        'GROUP BY s.key_id, s.quota_id, s.cycle_seq, s.caps, s.at'
      const rows = await transaction.rows(sqlOf({ p: act, a: allocation }, text), [act.bind('at', since), ...values])
      for (const row of rows) builder.plain(row, Number(row['amount']))
      return { read: rows.reduce((sum, row) => sum + Number(row['n']), 0), end: endOf(rows) }
    })
  }

  /** Adds operations with rows: their kept units are a prefix of their allocations. */
  private async addOperations(
    transaction: Transaction,
    keys: KeyRange,
    { from, key, id }: Source,
    builder: SumBuilder,
  ): Promise<void> {
    const { operation, allocation, act } = this.store
    const { dialect } = transaction
    const tables = { i: operation, a: allocation, o: operation, t: allocation, p: act }
    const size = OPERATIONS[dialect]
    const slice = new TimeSlice()
    await everyPage(keys, size, { key, id }, async (range, values) => {
      const text =
        'SELECT page.key_id, page.id, o.id AS of_row, o.state, o.charged - o.refunded AS kept, o.expiresAt, ' +
        't.position, t.quotaId AS quota_id, t.cycleSeq AS cycle_seq, t.amount, t.countedAt AS counted_at, ' +
        'p.plainQuotaId AS plain_quota_id, p.cycleSeq AS plain_cycle_seq, p.amount AS plain_amount, p.caps, p.at ' +
        `FROM (SELECT DISTINCT ${key} AS key_id, ${id} AS id FROM ${from} WHERE ${range} ` +
        `ORDER BY ${key}, ${id} LIMIT ${size}) page LEFT JOIN ${operation.readByKey(dialect, 'o')} ON o.id = page.id ` +
        `LEFT JOIN ${allocation.readByKey(dialect, 't')} ON t.operationId = o.id ` +
        `LEFT JOIN ${act.readByKey(dialect, 'p')} ON o.kind = 'consume' AND p.id = o.id`
      const rows = await transaction.rows(sqlOf(tables, text), values)
      const operations = groupBy(rows, (row) => idFromStore(row['id']))
      for (const parts of operations.values()) {
        if (slice.spent) await slice.next()
        builder.operation(parts)
      }
      return { read: operations.size, end: endOf(rows) }
    })
  }
}

function opened(of: Running): LedgerSum {
  const { opening, windowSeconds, createdAt } = of
  const window = windowSeconds === null ? null : openingWindow(windowSeconds, createdAt, opening)
  return { of, used: opening, reserved: 0, firstHoldAt: null, window, totalled: undefined, ever: 0, everTotalled: 0 }
}

/** Accumulates the sums, row by row. */
class SumBuilder {
  constructor(
    private readonly sums: ReadonlyMap<number, LedgerSum>,
    private readonly now: Instant,
  ) {}

  /** Adds plain consumes, or subtracts them. Their time is null if it is too long ago for any window. */
  plain({ quota_id: quotaId, cycle_seq: cycleSeq, caps, at }: RawRow, units: number): void {
    const counts = [{ quotaId: Number(quotaId), cycleSeq: Number(cycleSeq ?? NaN) }, ...capsOf(caps as string | null)]
    for (const count of counts) this.use(count, units, instantOrNull(at))
  }

  /** Adds an operation that has rows, and subtracts the plain consume that it was. */
  operation(parts: readonly RawRow[]): void {
    const [first] = parts
    if (first === undefined || first['of_row'] === null) return
    const { plain_quota_id: quotaId, plain_cycle_seq: cycleSeq, plain_amount: amount } = first
    if (quotaId !== null) this.plain({ ...first, quota_id: quotaId, cycle_seq: cycleSeq }, -Number(amount))
    if (first['quota_id'] === null) return
    const rows = [...parts].sort((a, b) => Number(a['position']) - Number(b['position']))
    const paid = rows.filter((row) => row['counted_at'] === null).map(allocationOf)
    const counted = rows.filter((row) => row['counted_at'] !== null)
    const kept = Number(first['kept'])
    for (const part of cut(paid, 0, kept)) this.use(part, part.amount, null)
    for (const row of counted) this.use(allocationOf(row), kept, instantOrNull(row['counted_at']))
    if (first['state'] !== 'reserved') return
    const expiresAt = instantOrNull(first['expires_at'])
    for (const row of rows) this.hold(allocationOf(row), expiresAt, instantOrNull(row['counted_at']))
  }

  private use(count: CapCount, units: number, at: Instant | null): void {
    const sum = this.sums.get(count.quotaId)
    if (sum === undefined) return
    sum.ever += units
    if (sum.of.cycleSeq !== count.cycleSeq) return
    sum.used += units
    this.count(sum, at, { used: units })
  }

  private hold({ quotaId, cycleSeq, amount }: Allocation, expiresAt: Instant | null, at: Instant | null): void {
    const sum = this.sums.get(quotaId)
    if (sum?.of.cycleSeq !== cycleSeq) return
    sum.reserved += amount
    if (!this.count(sum, at, { reserved: amount }) || expiresAt === null) return
    sum.firstHoldAt = Math.min(sum.firstHoldAt ?? expiresAt, expiresAt)
  }

  /** Adds to the window of a rolling cap. @returns whether the quota still counts the units */
  private count(sum: LedgerSum, at: Instant | null, move: Move): boolean {
    const { windowSeconds } = sum.of
    if (sum.window === null || windowSeconds === null) return true
    if (at === null) return false
    const until = countsUntil(windowSeconds, at)
    if (until <= this.now) return false
    sum.window = addUnits(sum.window, until, move)
    return true
  }
}

function allocationOf(row: RawRow): Allocation {
  return { quotaId: Number(row['quota_id']), cycleSeq: Number(row['cycle_seq']), amount: Number(row['amount']) }
}

function instantOrNull(value: unknown): Instant | null {
  return value == null ? null : instantFromStore(value as string)
}

/** The end of a page; it may be within the rows of a key. */
interface PageEnd {
  readonly key: number
  readonly id: Scalar
}

/** Returns the last row of a page, in order of key and id. */
function endOf(rows: readonly RawRow[]): PageEnd | undefined {
  let [key, id] = [-Infinity, BEFORE_EVERY_ID]
  for (const row of rows) {
    const [rowKey, rowId] = [Number(row['key_id']), idFromStore(row['id'])]
    if (rowKey > key || (rowKey === key && rowId > id)) [key, id] = [rowKey, rowId]
  }
  return rows.length === 0 ? undefined : { key, id: bytesToStore(id) }
}

/**
 * Pages through the rows of a range of keys by an index over key and id. A full page may end within a key's rows: the
 * next page reads the rest of that key, then paging continues with the following keys, so that each statement is one
 * range of the index.
 * @param read reads the page of a condition; returns the number of rows and the end of the page
 */
export async function everyPage(
  { after, last }: KeyRange,
  size: number,
  { key, id }: Pick<Source, 'key' | 'id'>,
  read: (range: string, values: readonly Scalar[]) => Promise<{ read: number; end: PageEnd | undefined }>,
): Promise<void> {
  let done = after
  let within: PageEnd | undefined
  while (done < last) {
    const { read: count, end } =
      within === undefined
        ? await read(`${key} > ? AND ${key} <= ?`, [done, last])
        : await read(`${key} = ? AND ${id} > ?`, [within.key, within.id])
    if (count >= size && end !== undefined) within = end
    else if (within !== undefined) {
      done = within.key
      within = undefined
    } else return
  }
}
