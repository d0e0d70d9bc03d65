import { TimeSlice } from '../../common/time-slice.js'
import { BEFORE_EVERY_ID, bytesFromStore, bytesToStore, idFromStore } from '../../database/bytes.js'
import { instantFromStore } from '../../database/column.js'
import { type Dialect, placeholders, type RawRow, type Scalar } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import type { CapCount } from '../../domain/cap.js'
import { type Allocation, cut } from '../../domain/draw-down.js'
import { addUnits, countsUntil, type Move, openingWindow, type RollingWindow } from '../../domain/rolling-window.js'
import { type Instant, MAX_INSTANT } from '../../common/instant.js'
import { instantOfId } from '../rows/act-id.js'
import { capsOf } from '../rows/counted-caps.js'
import { groupBy } from '../rows/group-by.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { TotalsStore } from '../totals/totals-store.js'

/** A quota whose sums are computed. */
export interface Running {
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

/** A range of owners: those after the first, up to the last. */
export interface OwnerRange {
  readonly after: number
  readonly last: number
}

/** The end of a page; it may be within the rows of an owner. */
interface PageEnd {
  readonly ownerId: number
  readonly id: Scalar
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
   * Returns the sums of quotas, each for its current count.
   * @param transaction a snapshot
   * @param ownerIds the owners of the quotas, ascending; either groups or others
   * @param running the quotas
   * @param now windows contain what still counts after this time
   */
  async of(
    transaction: Transaction,
    ownerIds: readonly number[],
    running: ReadonlyMap<number, Running>,
    now: Instant,
  ): Promise<Map<number, LedgerSum>> {
    const sums = new Map<number, LedgerSum>()
    let longest = 0
    for (const [quotaId, { windowSeconds, opening, createdAt }] of running) {
      const window = windowSeconds === null ? null : openingWindow(windowSeconds, createdAt, opening)
      sums.set(quotaId, {
        used: opening,
        reserved: 0,
        firstHoldAt: null,
        window,
        totalled: undefined,
        ever: 0,
        everTotalled: 0,
      })
      longest = Math.max(longest, windowSeconds ?? 0)
    }
    const [first] = ownerIds
    const last = ownerIds.at(-1)
    if (first === undefined || last === undefined) return sums
    const owners = { after: first - 1, last }
    const sumOf = (quotaId: number, cycleSeq: number): LedgerSum | undefined =>
      running.get(quotaId)?.cycleSeq === cycleSeq ? sums.get(quotaId) : undefined
    const builder = new SumBuilder(sums, sumOf, running, now)
    // No window counts anything older.
    const since = longest === 0 ? MAX_INSTANT : now - 2 * longest * 1000
    if (last < 0)
      for (const [quotaId, sum] of sums) {
        const alone = new Map([[quotaId, sum]])
        const one: SumOf = (id, cycleSeq) => (id === quotaId ? sumOf(id, cycleSeq) : undefined)
        const ofOne = new SumBuilder(alone, one, running, now)
        await this.addPlainConsumesOf(transaction, quotaId, running.get(quotaId)?.isCap === true, ofOne, since)
        await this.addOperationsOf(transaction, quotaId, ofOne)
      }
    else {
      await this.addPlainConsumes(transaction, owners, builder, since)
      await this.addOperations(transaction, owners, builder)
    }
    await this.addTotals(transaction, ownerIds, sums, sumOf, running, now)
    return sums
  }

  private async addTotals(
    transaction: Transaction,
    ownerIds: readonly number[],
    sums: ReadonlyMap<number, LedgerSum>,
    sumOf: SumOf,
    running: ReadonlyMap<number, Running>,
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
      for (const [quotaId, sum] of sums) sum.totalled = running.get(quotaId)?.opening
      for (const { quotaId, cycleSeq, amount } of [
        ...totals,
        ...rest.map((charge) => ({ ...charge, amount: charge.charged - charge.refunded })),
      ]) {
        const [sum, ever] = [sumOf(quotaId, cycleSeq), sums.get(quotaId)]
        if (sum !== undefined) sum.totalled = (sum.totalled ?? 0) + amount
        if (ever !== undefined) ever.everTotalled += amount
      }
      return
    }
  }

  /** Adds plain consumes. `addOperations` subtracts those that have an operation row. */
  private async addPlainConsumes(
    transaction: Transaction,
    owners: OwnerRange,
    builder: SumBuilder,
    since: Instant,
  ): Promise<void> {
    const { act } = this.store
    const [id, ownerId] = [act.column('id'), act.column('plainOwnerId')]
    const [caps, at] = [act.column('caps'), act.column('at')]
    // Windows need the time of each; the others can be summed.
    const when = `CASE WHEN ${caps} IS NULL OR ${at} < ? THEN NULL ELSE ${at} END`
    const from = act.readBy(transaction.dialect, ['plainOwnerId', 'id'])
    const size = ACTS[transaction.dialect]
    await everyPage(owners, size, async (range, values) => {
      const rows = await transaction.rows(
        `SELECT p.owner_id, p.quota_id, p.cycle_seq, p.caps, p.at, SUM(p.amount) AS amount, COUNT(*) AS n, MAX(p.id) AS id FROM (SELECT ${id} AS id, ${ownerId} AS owner_id, ${act.column('plainQuotaId')} AS quota_id, ` +
          `${act.column('cycleSeq')} AS cycle_seq, ${caps} AS caps, ${when} AS at, ${act.column('amount')} AS amount FROM ${from} ` +
          `WHERE ${range(ownerId, id)} ORDER BY ${ownerId}, ${id} LIMIT ${size}) p ` +
          'GROUP BY p.owner_id, p.quota_id, p.cycle_seq, p.caps, p.at',
        [act.bind('at', since), ...values],
      )
      let read = 0
      for (const row of rows) {
        read += Number(row['n'])
        builder.plain(row, Number(row['amount']), instantOrNull(row['at']))
      }
      return { read, end: lastOf(rows) }
    })
  }

  /** Adds the plain consumes of all members, present and past ones, that a quota of a group paid or counted. */
  private async addPlainConsumesOf(
    transaction: Transaction,
    quotaId: number,
    isCap: boolean,
    builder: SumBuilder,
    since: Instant,
  ): Promise<void> {
    const { act } = this.store
    const { from, id, cycleSeq, ofQuota } = this.store.plainOf(transaction.dialect, isCap)
    const at = `p.${act.column('at')}`
    const size = ACTS[transaction.dialect]
    for (let after = BEFORE_EVERY_ID, read = size; read === size;) {
      const rows = await transaction.rows(
        `SELECT s.cycle_seq, s.at, SUM(s.amount) AS amount, COUNT(*) AS n, MAX(s.id) AS id FROM (SELECT ${id} AS id, ` +
          `${cycleSeq} AS cycle_seq, CASE WHEN ${at} >= ? THEN ${at} END AS at, p.${act.column('amount')} AS amount FROM ${from} ` +
          `WHERE ${ofQuota} AND ${id} > ? ORDER BY ${id} LIMIT ${size}) s GROUP BY s.cycle_seq, s.at`,
        [act.bind('at', since), quotaId, bytesToStore(after)],
      )
      read = 0
      for (const row of rows) {
        read += Number(row['n'])
        const id = idFromStore(row['id'])
        if (id > after) after = id
        builder.plain({ ...row, quota_id: quotaId, caps: null }, Number(row['amount']), instantOrNull(row['at']))
      }
    }
  }

  /** Adds operations with rows: their kept units are a prefix of their allocations. */
  private async addOperations(transaction: Transaction, owners: OwnerRange, builder: SumBuilder): Promise<void> {
    const { operation } = this.store
    const { dialect } = transaction
    const [id, ownerId] = [operation.column('id'), operation.column('ownerId')]
    const from = operation.readBy(dialect, ['ownerId', 'id'])
    const size = OPERATIONS[dialect]
    await everyPage(owners, size, async (range, values) => {
      const which = `FROM ${from} WHERE ${range(ownerId, id)} ORDER BY ${ownerId}, ${id} LIMIT ${size}`
      const rows = await this.addRows(transaction, which, values, builder)
      return { read: new Set(rows.map((row) => idFromStore(row['id']))).size, end: lastOf(rows) }
    })
  }

  /** Adds the operations of all members, present and past ones, that took from a quota of a group. */
  private async addOperationsOf(transaction: Transaction, quotaId: number, builder: SumBuilder): Promise<void> {
    const { operation, allocation } = this.store
    const { dialect } = transaction
    const [id, ofQuota] = [allocation.column('operationId'), allocation.column('quotaId')]
    const size = OPERATIONS[dialect]
    for (let after: Scalar = bytesToStore(BEFORE_EVERY_ID); ;) {
      const found = await transaction.rows(
        `SELECT DISTINCT ${id} AS id FROM ${allocation.readBy(dialect, ['quotaId', 'operationId'])} WHERE ${ofQuota} = ? AND ${id} > ? ORDER BY ${id} LIMIT ${size}`,
        [quotaId, after],
      )
      const ids = found.map((row) => bytesFromStore(row['id']))
      const last = ids.at(-1)
      if (last === undefined) return
      const which = `FROM ${operation.readByKey(dialect)} WHERE ${operation.column('id')} IN (${placeholders(ids)})`
      await this.addRows(transaction, which, ids, builder)
      if (ids.length < size) return
      after = last
    }
  }

  /** Adds operations with their allocations. @returns the rows */
  private async addRows(
    transaction: Transaction,
    which: string,
    values: readonly Scalar[],
    builder: SumBuilder,
  ): Promise<RawRow[]> {
    const { operation, allocation, act } = this.store
    const { dialect } = transaction
    const slice = new TimeSlice()
    const rows = await transaction.rows(
      `SELECT o.id, o.owner_id, o.state, o.kept, o.expires_at, a.${allocation.column('position')} AS position, ` +
        `a.${allocation.column('quotaId')} AS quota_id, a.${allocation.column('cycleSeq')} AS cycle_seq, a.${allocation.column('amount')} AS amount, a.${allocation.column('countedAt')} AS counted_at, ` +
        `p.${act.column('plainQuotaId')} AS plain_quota_id, p.${act.column('cycleSeq')} AS plain_cycle_seq, p.${act.column('amount')} AS plain_amount, ` +
        `p.${act.column('caps')} AS plain_caps, p.${act.column('at')} AS plain_at ` +
        `FROM (SELECT ${operation.column('id')} AS id, ${operation.column('ownerId')} AS owner_id, ${operation.column('kind')} AS kind, ${operation.column('state')} AS state, ` +
        `${operation.column('charged')} - ${operation.column('refunded')} AS kept, ${operation.column('expiresAt')} AS expires_at ${which}) o ` +
        `LEFT JOIN ${allocation.readByKey(dialect, 'a')} ON a.${allocation.column('operationId')} = o.id ` +
        `LEFT JOIN ${act.readByKey(dialect, 'p')} ON o.kind = 'consume' AND p.${act.column('id')} = o.id`,
      values,
    )
    for (const parts of groupBy(rows, (row) => idFromStore(row['id'])).values()) {
      if (slice.spent) await slice.next()
      builder.operation(parts)
    }
    return rows
  }
}

type SumOf = (quotaId: number, cycleSeq: number) => LedgerSum | undefined

/** Accumulates the sums, row by row. */
class SumBuilder {
  constructor(
    private readonly sums: ReadonlyMap<number, LedgerSum>,
    private readonly sumOf: SumOf,
    private readonly running: ReadonlyMap<number, Running>,
    private readonly now: Instant,
  ) {}

  /**
   * Adds plain consumes, or subtracts them.
   * @param at the time of the consumes; null: too long ago for any window
   */
  plain(row: RawRow, units: number, at: Instant | null): void {
    this.use({ quotaId: Number(row['quota_id']), cycleSeq: Number(row['cycle_seq'] ?? NaN) }, units, at)
    for (const count of capsOf(row['caps'] as string | null)) this.use(count, units, at)
  }

  /** Adds an operation that has rows, and subtracts the plain consume that it was. */
  operation(parts: readonly RawRow[]): void {
    const [first] = parts
    if (first === undefined) return
    if (first['plain_quota_id'] !== null) {
      const plain = {
        quota_id: first['plain_quota_id'],
        cycle_seq: first['plain_cycle_seq'],
        caps: first['plain_caps'],
      }
      this.plain(plain, -Number(first['plain_amount']), instantOrNull(first['plain_at']))
    }
    if (first['quota_id'] === null) return
    const rows = [...parts].sort((a, b) => Number(a['position']) - Number(b['position']))
    const paid = rows.filter((row) => row['counted_at'] === null).map(allocationOf)
    const counted = rows.filter((row) => row['counted_at'] !== null)
    const kept = Number(first['kept'])
    for (const part of cut(paid, 0, kept)) this.use(part, part.amount)
    for (const row of counted) this.use(allocationOf(row), kept, instantOrNull(row['counted_at']))
    if (first['state'] !== 'reserved') return
    const expiresAt = instantOrNull(first['expires_at'])
    for (const part of paid) this.hold(part, expiresAt)
    for (const row of counted) this.hold(allocationOf(row), expiresAt, instantOrNull(row['counted_at']))
  }

  private use(count: CapCount, units: number, at: Instant | null = null): void {
    const ever = this.sums.get(count.quotaId)
    if (ever !== undefined) ever.ever += units
    const sum = this.sumOf(count.quotaId, count.cycleSeq)
    if (sum === undefined) return
    sum.used += units
    this.count(sum, count, at, { used: units })
  }

  private hold(count: Allocation, expiresAt: Instant | null, at: Instant | null = null): void {
    const sum = this.sumOf(count.quotaId, count.cycleSeq)
    if (sum === undefined) return
    sum.reserved += count.amount
    if (!this.count(sum, count, at, { reserved: count.amount }) || expiresAt === null) return
    sum.firstHoldAt = Math.min(sum.firstHoldAt ?? expiresAt, expiresAt)
  }

  /** Adds to the window of a rolling cap. @returns whether the quota still counts the units */
  private count(sum: LedgerSum, { quotaId }: CapCount, at: Instant | null, move: Move): boolean {
    const seconds = this.running.get(quotaId)?.windowSeconds ?? null
    if (sum.window === null || seconds === null) return true
    if (at === null) return false
    const until = countsUntil(seconds, at)
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

/** Returns the last row of a page, in order of owner and id. */
function lastOf(rows: readonly RawRow[]): PageEnd | undefined {
  let last: { ownerId: number; id: string } | undefined
  for (const row of rows) {
    const place = { ownerId: Number(row['owner_id']), id: idFromStore(row['id']) }
    if (last === undefined || place.ownerId > last.ownerId || (place.ownerId === last.ownerId && place.id > last.id))
      last = place
  }
  return last && { ...last, id: bytesToStore(last.id) }
}

/**
 * Pages through the rows of a range of owners by an index over owner and id. A full page may end within an owner's
 * rows: the next page reads the rest of that owner, then paging continues with the following owners, so that each
 * statement is one range of the index.
 * @param read reads the page of a range; returns the number of rows and the end of the page
 */
export async function everyPage(
  { after, last }: OwnerRange,
  size: number,
  read: (
    range: (ownerId: string, id: string) => string,
    values: readonly Scalar[],
  ) => Promise<{ read: number; end: PageEnd | undefined }>,
): Promise<void> {
  let done = after
  let within: PageEnd | undefined
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
