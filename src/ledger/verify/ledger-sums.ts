import { TimeSlice } from '../../clock/time-slice.js'
import { instantFromStore } from '../../database/column.js'
import type { Dialect, RawRow, Scalar } from '../../database/row-codec.js'
import type { Transaction } from '../../database/unit-of-work.js'
import type { CapCount } from '../../quota/cap.js'
import { type Allocation, cut } from '../../quota/draw-down.js'
import { added, countsUntil, EMPTY_WINDOW, type Move, type RollingWindow } from '../../quota/rolling-window.js'
import { type Instant, MAX_INSTANT } from '../../time/instant.js'
import { instantOfId } from '../rows/act-id.js'
import { capsOf } from '../rows/counted-caps.js'
import { groupBy } from '../rows/group-by.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { TotalsStore } from '../totals/totals-store.js'

/** A quota that is asked for. */
export interface Running {
  /** The count that runs. */
  readonly cycleSeq: number
  /** Of a rolling cap; null of any other quota. */
  readonly windowSeconds: number | null
}

/** What the ledger says of a quota's running count. */
export interface LedgerSum {
  /** What the rows that are there add up to; what was removed is not in it. */
  used: number
  reserved: number
  /** When the first of its open holds ends that still count; null where there is none. */
  firstHoldAt: Instant | null
  /** Of a rolling cap, what of that counts in its window at the time asked for; null of any other quota. */
  window: RollingWindow | null
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
   * @param running each quota that is asked for
   * @param now what counts in windows later than this is told
   */
  async of(
    transaction: Transaction,
    ownerIds: readonly number[],
    running: ReadonlyMap<number, Running>,
    now: Instant,
  ): Promise<Map<number, LedgerSum>> {
    const sums = new Map<number, LedgerSum>()
    let longest = 0
    for (const [quotaId, { windowSeconds }] of running) {
      const window = windowSeconds === null ? null : EMPTY_WINDOW
      sums.set(quotaId, { used: 0, reserved: 0, firstHoldAt: null, window, totalled: undefined })
      longest = Math.max(longest, windowSeconds ?? 0)
    }
    const [first] = ownerIds
    const last = ownerIds.at(-1)
    if (first === undefined || last === undefined) return sums
    const stretch = { after: first - 1, last }
    const sumOf = (quotaId: number, cycleSeq: number): LedgerSum | undefined =>
      running.get(quotaId)?.cycleSeq === cycleSeq ? sums.get(quotaId) : undefined
    const book = new Book(sumOf, running, now)
    // Of what is older no window counts anything any more.
    const since = longest === 0 ? MAX_INSTANT : now - 2 * longest * 1000
    await this.addPlainConsumes(transaction, stretch, book, since)
    await this.addOperations(transaction, stretch, book)
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
        ...rest.map((charge) => ({ ...charge, amount: charge.charged - charge.refunded })),
      ]) {
        const sum = sumOf(quotaId, cycleSeq)
        if (sum !== undefined) sum.totalled = (sum.totalled ?? 0) + amount
      }
      return
    }
  }

  /** Plain consumes; those that have rows of their own by now are taken away again with them. */
  private async addPlainConsumes(
    transaction: Transaction,
    stretch: Stretch,
    book: Book,
    since: Instant,
  ): Promise<void> {
    const { act } = this.store
    const [id, ownerId] = [act.column('id'), act.column('plainOwnerId')]
    const [caps, at] = [act.column('caps'), act.column('at')]
    // Windows count each from when it was made; the others may come in one sum.
    const when = `CASE WHEN ${caps} IS NULL OR ${at} < ? THEN NULL ELSE ${at} END`
    const from = act.readBy(transaction.dialect, ['plainOwnerId', 'id'])
    const size = ACTS[transaction.dialect]
    await everyPage(stretch, size, async (range, values) => {
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
        book.plain(row, Number(row['amount']), instantOrNull(row['at']))
      }
      return { read, end: lastOf(rows) }
    })
  }

  /** Operations with rows of their own: what they keep is a prefix of their allocations. */
  private async addOperations(transaction: Transaction, stretch: Stretch, book: Book): Promise<void> {
    const { operation, allocation, act } = this.store
    const { dialect } = transaction
    const [id, ownerId] = [operation.column('id'), operation.column('ownerId')]
    const from = operation.readBy(dialect, ['ownerId', 'id'])
    const slice = new TimeSlice()
    const size = OPERATIONS[dialect]
    await everyPage(stretch, size, async (range, values) => {
      const rows = await transaction.rows(
        `SELECT o.id, o.owner_id, o.state, o.kept, o.expires_at, a.${allocation.column('position')} AS position, ` +
          `a.${allocation.column('quotaId')} AS quota_id, a.${allocation.column('cycleSeq')} AS cycle_seq, a.${allocation.column('amount')} AS amount, a.${allocation.column('countedAt')} AS counted_at, ` +
          `p.${act.column('plainQuotaId')} AS plain_quota_id, p.${act.column('cycleSeq')} AS plain_cycle_seq, p.${act.column('amount')} AS plain_amount, ` +
          `p.${act.column('caps')} AS plain_caps, p.${act.column('at')} AS plain_at ` +
          `FROM (SELECT ${id} AS id, ${ownerId} AS owner_id, ${operation.column('kind')} AS kind, ${operation.column('state')} AS state, ` +
          `${operation.column('charged')} - ${operation.column('refunded')} AS kept, ${operation.column('expiresAt')} AS expires_at FROM ${from} ` +
          `WHERE ${range(ownerId, id)} ORDER BY ${ownerId}, ${id} LIMIT ${size}) o ` +
          `LEFT JOIN ${allocation.readByKey(dialect, 'a')} ON a.${allocation.column('operationId')} = o.id ` +
          `LEFT JOIN ${act.readByKey(dialect, 'p')} ON o.kind = 'consume' AND p.${act.column('id')} = o.id`,
        values,
      )
      const byId = groupBy(rows, (row) => row['id'])
      for (const parts of byId.values()) {
        if (slice.spent) await slice.next()
        book.operation(parts)
      }
      return { read: byId.size, end: lastOf(rows) }
    })
  }
}

type SumOf = (quotaId: number, cycleSeq: number) => LedgerSum | undefined

/** What is added up, row by row. */
class Book {
  constructor(
    private readonly sumOf: SumOf,
    private readonly running: ReadonlyMap<number, Running>,
    private readonly now: Instant,
  ) {}

  /**
   * Adds plain consumes, or takes them away again.
   * @param at when they were made; null: too long ago for any window
   */
  plain(row: RawRow, units: number, at: Instant | null): void {
    this.use({ quotaId: Number(row['quota_id']), cycleSeq: Number(row['cycle_seq'] ?? NaN) }, units)
    for (const count of capsOf(row['caps'] as string | null)) this.use(count, units, at)
  }

  /** Adds an operation that has rows of its own, in place of the plain consume that it was. */
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

  /** Counts in a window, where it is one. @returns does the quota still count it? */
  private count(sum: LedgerSum, { quotaId }: CapCount, at: Instant | null, move: Move): boolean {
    const seconds = this.running.get(quotaId)?.windowSeconds ?? null
    if (sum.window === null || seconds === null) return true
    if (at === null) return false
    const until = countsUntil(seconds, at)
    if (until <= this.now) return false
    sum.window = added(sum.window, until, move)
    return true
  }
}

function allocationOf(row: RawRow): Allocation {
  return { quotaId: Number(row['quota_id']), cycleSeq: Number(row['cycle_seq']), amount: Number(row['amount']) }
}

function instantOrNull(value: unknown): Instant | null {
  return value == null ? null : instantFromStore(value as string)
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
