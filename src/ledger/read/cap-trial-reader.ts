import type { DataSource } from 'typeorm'
import type { Clock } from '../../common/clock.js'
import { TimeSlice } from '../../common/time-slice.js'
import { bytesToStore, idFromStore } from '../../database/bytes.js'
import { instantFromStore } from '../../database/column.js'
import { chunks, type Dialect, placeholders, type RawRow, type Scalar } from '../../database/row-codec.js'
import type { Reads, TransactionRunner } from '../../database/transaction-runner.js'
import { Turns } from '../../database/turns.js'
import { Unavailable } from '../../common/service-error.js'
import { CapTrial, type TrialSettings } from '../../domain/cap-trial.js'
import { formatInstant, type Instant } from '../../common/instant.js'
import { firstIdAt } from '../rows/act-id.js'
import type { Channel } from '../rows/channel.js'
import { groupBy } from '../../common/group-by.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { beginningOf, STEP_MS } from '../rows/utc-step.js'
import { groupNotFound } from '../store/errors.js'
import { GroupStore } from '../store/group-store.js'
import { LedgerStore, straightJoin } from '../store/ledger-store.js'
import { TotalsStore } from '../totals/totals-store.js'
import { ActQueue } from './act-queue.js'

/** A number of operations, and the sum of their amounts, at most 2^53-1. */
interface Refused {
  count: number
  requested: number
}

/** The result of a trial, in the form of answers. */
export interface CapTrialView {
  days: number
  operations: number
  would_refuse: Refused
  /** UTC days with such operations, oldest first. */
  by_day: (Refused & { day: string })[]
  /** False: there were too many operations or owners, or some operations have been removed. */
  complete: boolean
}

/** What bounds a trial. */
export interface TrialBounds {
  /** The maximum number of operations (contract, §9). */
  readonly operations: number
  /** The maximum number of members whose operations are read. */
  readonly members: number
  /** The maximum number of operations that are read before their acts are passed on in order. */
  readonly part: number
  /** The maximum number of operations or members in the result of one statement. */
  readonly page: number
  /** The maximum number of owners in one statement. */
  readonly owners: number
}

const OF_EVERY_STORE = { operations: 1_000_000, members: 100_000, owners: 1_000 }
const BOUNDS: Readonly<Record<Dialect, TrialBounds>> = {
  mysql: { ...OF_EVERY_STORE, part: 100_000, page: 2_000 },
  // A statement blocks the event loop.
  sqlite: { ...OF_EVERY_STORE, part: 20_000, page: 500 },
}
/** Trials at once; each may need 100 MB for a million operations that are all settled much later. */
const AT_ONCE = 2
/** How long a trial waits for its turn and runs. A connection without an answer is closed after 65 s. */
const PATIENCE_MS = 60_000
/** The maximum difference between the time in an id and the time of its act: requests wait, clocks step back. */
const LEEWAY_MS = 60_000

/** A part of the period, by the time in ids. */
interface Part {
  readonly from: Instant
  readonly to: Instant
}

/** Where operations are: plain consumes are acts, others have rows of their own. */
type Source = 'plain' | 'inRows'
const SOURCES = ['plain', 'inRows'] as const

/** One trial. */
interface Question {
  readonly reads: Reads
  /** Ascending. */
  readonly ownerIds: readonly number[]
  readonly start: Instant
  readonly now: Instant
  /** By `performance.now()`. */
  readonly deadline: number
  readonly slice: TimeSlice
}

/**
 * Tries a cap on what an owner, or the members of a group together, did in the last days (contract, §9). It reads
 * operations in pieces, each in the principal's turn, and passes them on in the order of their acts, so its memory does
 * not grow with the period, but only with the number of settlements long after their operations.
 */
export class CapTrialReader<Q extends QuotaRow> {
  private readonly store: LedgerStore<Q>
  private readonly groups: GroupStore<Q>
  private readonly totals: TotalsStore<Q>
  private readonly turns = new Turns(AT_ONCE)

  constructor(
    channel: Channel<Q>,
    dataSource: DataSource,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
    private readonly bounds = BOUNDS[transactions.dialect],
  ) {
    this.store = new LedgerStore(dataSource, channel)
    this.groups = new GroupStore(this.store)
    this.totals = new TotalsStore(this.store)
  }

  /**
   * Tries a cap of an owner.
   * @param days the period, in days of 24 hours until now
   * @throws ServiceError unavailable if its turn does not come in time, or it takes too long
   */
  async ofOwner(principalId: string, ownerId: number, settings: TrialSettings, days: number): Promise<CapTrialView> {
    return this.inTurn(principalId, async (deadline) => this.result(principalId, [ownerId], settings, days, deadline))
  }

  /**
   * Tries a shared cap of a group: on what its present members and those of the groups below it did, wherever they
   * were members then.
   * @throws ServiceError group_not_found; unavailable, as for an owner
   */
  async ofGroup(principalId: string, groupId: number, settings: TrialSettings, days: number): Promise<CapTrialView> {
    return this.inTurn(principalId, async (deadline) => {
      const members = await this.membersOf(this.transactions.readsOf(principalId), groupId)
      const found = await this.result(principalId, members.slice(0, this.bounds.members), settings, days, deadline)
      return { ...found, complete: found.complete && members.length <= this.bounds.members }
    })
  }

  private async inTurn<T>(principalId: string, work: (deadline: number) => Promise<T>): Promise<T> {
    const deadline = performance.now() + PATIENCE_MS
    return this.turns.run(principalId, deadline, async () => work(deadline))
  }

  /** The owners of whose chain the group is a part, ids ascending; at most a page more than the bound. */
  private async membersOf(reads: Reads, groupId: number): Promise<number[]> {
    const { owner } = this.store
    const [id, ofGroup] = [owner.column('ownerId'), owner.column('groupId')]
    const family = await reads.read(async (transaction) => {
      const group = await this.groups.group(transaction, groupId)
      return group?.deletedAt === null ? this.groups.family(transaction, groupId) : undefined
    })
    if (family === undefined) throw groupNotFound(groupId)
    const { groupIds, hasDefault } = family
    const found: number[] = []
    const from = owner.readBy(reads.dialect, ['groupId', 'ownerId'])
    for (const each of hasDefault ? [...groupIds, null] : groupIds) {
      for (let after = 0, full = true; full && found.length <= this.bounds.members;) {
        const rows = await reads.read(async (transaction) =>
          transaction.rows(
            `SELECT ${id} AS id FROM ${from} WHERE ${ofGroup} ${each === null ? 'IS NULL' : '= ?'} AND ${id} > ? ORDER BY ${id} LIMIT ${this.bounds.page}`,
            [...(each === null ? [] : [each]), after],
          ),
        )
        for (const row of rows) found.push((after = Number(row['id'])))
        full = rows.length === this.bounds.page
      }
    }
    return found.sort((a, b) => a - b)
  }

  private async result(
    principalId: string,
    ownerIds: readonly number[],
    settings: TrialSettings,
    days: number,
    deadline: number,
  ): Promise<CapTrialView> {
    const now = this.clock.now()
    const start = now - days * STEP_MS.day
    const reads = this.transactions.readsOf(principalId)
    const question: Question = { reads, ownerIds, start, now, deadline, slice: new TimeSlice() }
    const { parts, isWhole } = await this.newest(question)
    const trial = new CapTrial(settings, start)
    const queue = new ActQueue()
    const byDay = new Map<Instant, Refused>()
    let operations = 0
    for (const part of parts) {
      await this.read(question, part, queue)
      // An act that is not read yet may be a little earlier than its id says.
      const until = part === parts.at(-1) ? Infinity : part.to - LEEWAY_MS
      while (queue.nextAt < until) {
        if (question.slice.spent) await question.slice.next()
        const { at, countedAt, ...move } = queue.pop()
        if (countedAt !== undefined) {
          trial.settle(at, countedAt, move)
          continue
        }
        operations += 1
        if (!trial.take(at, move)) continue
        const day = beginningOf('day', at)
        const sum = byDay.get(day) ?? { count: 0, requested: 0 }
        byDay.set(day, added(sum, { count: 1, requested: move.used + move.reserved }))
      }
    }
    const { beginsAt } = await reads.read(async (transaction) => this.totals.state(transaction))
    const refused = [...byDay].map(([day, sum]) => ({ day: formatInstant(day), ...sum }))
    return {
      days,
      operations,
      would_refuse: refused.reduce<Refused>(added, { count: 0, requested: 0 }),
      by_day: refused,
      complete: isWhole && (beginsAt === null || beginsAt <= start),
    }
  }

  /**
   * The parts of the period with its newest operations, oldest first, each with few enough of them to
   * be read and sorted at a time.
   */
  private async newest(question: Question): Promise<{ parts: Part[]; isWhole: boolean }> {
    const fast = await this.split(question, false)
    // The fast count has refunded consumes twice.
    return fast.isWhole ? fast : this.split(question, true)
  }

  private async split(question: Question, exact: boolean): Promise<{ parts: Part[]; isWhole: boolean }> {
    const parts: Part[] = []
    let left = this.bounds.operations
    const waiting: Part[] = [{ from: question.start - LEEWAY_MS, to: question.now + LEEWAY_MS }]
    for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
      const { from, to } = part
      const most = Math.min(this.bounds.part, left)
      const count = await this.count(question, part, most + 1, exact)
      if (count > most && to - from > 1) {
        const middle = Math.floor((from + to) / 2)
        waiting.push({ from, to: middle }, { from: middle, to })
        continue
      }
      if (count > left) return { parts, isWhole: false }
      if (count > 0) parts.unshift(part)
      left -= count
    }
    return { parts, isWhole: true }
  }

  /** The number of operations in a part, up to a maximum. */
  private async count(question: Question, part: Part, most: number, exact: boolean): Promise<number> {
    let count = 0
    for (const source of SOURCES) {
      for (const ownerIds of chunks(question.ownerIds, this.bounds.owners)) {
        if (count >= most) return most
        const { from, where, values } = this.selected(question.reads.dialect, source, ownerIds, part)
        const { operation, act } = this.store
        const plain =
          exact && source === 'inRows'
            ? `AND NOT EXISTS (SELECT 1 FROM ${act.readByKey(question.reads.dialect, 'p')} WHERE s.${operation.column('kind')} = 'consume' ` +
              `AND p.${act.column('id')} = s.${operation.column('id')} AND p.${act.column('plainOwnerId')} IS NOT NULL)`
            : ''
        const [row] = await this.rows(
          question,
          `SELECT COUNT(*) AS n FROM (SELECT 1 AS one FROM ${from} WHERE ${where} ${plain} LIMIT ${most - count}) counted`,
          values,
        )
        count += Number(row?.['n'] ?? 0)
      }
    }
    return count
  }

  /** Reads the acts of a part's operations into the queue, whenever these acts were. */
  private async read(question: Question, part: Part, queue: ActQueue): Promise<void> {
    await this.everyPage(question, 'plain', part, (rows) => this.addPlain(question, rows, queue))
    await this.everyPage(question, 'inRows', part, async (rows) => {
      for (const acts of groupBy(rows, (row) => idFromStore(row['id'])).values()) {
        if (question.slice.spent) await question.slice.next()
        this.addOperation(question, acts, queue)
      }
    })
  }

  private async addPlain({ start, now, slice }: Question, rows: readonly RawRow[], queue: ActQueue): Promise<void> {
    for (const row of rows) {
      if (slice.spent) await slice.next()
      const at = instantFromStore(row['at'] as string)
      if (at < start || at > now) continue
      queue.push(idFromStore(row['id']), { at, countedAt: undefined, used: Number(row['amount']), reserved: 0 })
    }
  }

  /** @param acts of one operation, without the act of a plain consume */
  private addOperation({ start, now }: Question, acts: readonly RawRow[], queue: ActQueue): void {
    const [first] = acts
    if (first === undefined) return
    const countedAt = instantFromStore(first['created_at'] as string)
    if (countedAt < start || countedAt > now) return
    const held = Number(first['amount'])
    let isOpen = first['expires_at'] !== null
    for (const { kind, act_id: actId, at: text, units: moved } of acts) {
      const id = idFromStore(actId)
      if (kind === 'commit' || kind === 'release') isOpen = false
      const at = instantFromStore(text as string)
      const units = Number(moved)
      if (at > now) continue
      if (kind === 'consume') queue.push(id, { at, countedAt: undefined, used: units, reserved: 0 })
      else if (kind === 'reserve') queue.push(id, { at, countedAt: undefined, used: 0, reserved: units })
      else if (kind === 'refund') queue.push(id, { at, countedAt, used: -units, reserved: 0 })
      else queue.push(id, { at, countedAt, used: kind === 'commit' ? units : 0, reserved: -held })
    }
    const endsAt = isOpen ? instantFromStore(first['expires_at'] as string) : Infinity
    if (endsAt <= now) queue.push('', { at: endsAt, countedAt, used: 0, reserved: -held })
  }

  /** Reads a part's rows, page by page, by an index over owner and id. */
  private async everyPage(
    question: Question,
    source: Source,
    part: Part,
    take: (rows: readonly RawRow[]) => Promise<void>,
  ): Promise<void> {
    const { dialect } = question.reads
    const size = this.bounds.page
    for (const chunk of chunks(question.ownerIds, this.bounds.owners)) {
      let ownerIds = chunk
      // A full page may end within an owner's rows: the next pages read the rest of that owner, then the others.
      for (let within: { ownerId: number; after: string } | undefined; ownerIds.length > 0;) {
        const selected: readonly number[] = within === undefined ? ownerIds : [within.ownerId]
        const { from, where, order, values } = this.selected(dialect, source, selected, part, within?.after)
        const rows = await this.rows(
          question,
          this.page(dialect, source, `${from} WHERE ${where} ORDER BY ${order} LIMIT ${size}`),
          values,
        )
        await take(rows)
        const ids = new Set(rows.map((row) => idFromStore(row['id'])))
        const last = rows.reduce<RawRow | undefined>(later, undefined)
        if (ids.size < size || last === undefined) {
          const done = within?.ownerId ?? Infinity
          ownerIds = ownerIds.filter((ownerId) => ownerId > done)
          within = undefined
        } else within = { ownerId: Number(last['owner_id']), after: idFromStore(last['id']) }
      }
    }
  }

  /** The statement of a page: for operations with rows, with all acts that have rows of their own. */
  private page(dialect: Dialect, source: Source, which: string): string {
    const { act, operation } = this.store
    if (source === 'plain')
      return `SELECT s.${act.column('plainOwnerId')} AS owner_id, s.${act.column('id')} AS id, s.${act.column('amount')} AS amount, s.${act.column('at')} AS at FROM ${which}`
    return (
      `SELECT o.*, a.${act.column('id')} AS act_id, a.${act.column('kind')} AS kind, a.${act.column('at')} AS at, a.${act.column('amount')} AS units ` +
      `FROM (SELECT s.${operation.column('ownerId')} AS owner_id, s.${operation.column('id')} AS id, s.${operation.column('amount')} AS amount, ` +
      `s.${operation.column('createdAt')} AS created_at, s.${operation.column('expiresAt')} AS expires_at FROM ${which}) o ` +
      `${straightJoin(dialect)} ${act.readBy(dialect, ['operationId'], 'a')} ON a.${act.column('operationId')} = o.id`
    )
  }

  /** The operations `s` of owners in a part, in one source. @param after only those of later ids */
  private selected(
    dialect: Dialect,
    source: Source,
    ownerIds: readonly number[],
    { from, to }: Part,
    after?: string,
  ): { from: string; where: string; order: string; values: Scalar[] } {
    const { act, operation } = this.store
    const [table, ownerId, id] =
      source === 'plain'
        ? [act.readBy(dialect, ['plainOwnerId', 'id'], 's'), act.column('plainOwnerId'), act.column('id')]
        : [operation.readBy(dialect, ['ownerId', 'id'], 's'), operation.column('ownerId'), operation.column('id')]
    return {
      from: table,
      where: `s.${ownerId} IN (${placeholders(ownerIds)}) AND s.${id} ${after === undefined ? '>=' : '>'} ? AND s.${id} < ?`,
      order: `s.${ownerId}, s.${id}`,
      values: [...ownerIds, bytesToStore(after ?? firstIdAt(from)), bytesToStore(firstIdAt(to))],
    }
  }

  private async rows({ reads, deadline, slice }: Question, sql: string, values: readonly Scalar[]): Promise<RawRow[]> {
    if (performance.now() > deadline) throw new Unavailable('database_turn')
    const rows = await reads.read(async (transaction) => transaction.rows(sql, values))
    // On SQLite, no statement waits for anything.
    if (slice.spent) await slice.next()
    return rows
  }
}

/** The later of two rows, in the order of owner and id. */
function later(one: RawRow | undefined, other: RawRow): RawRow {
  if (one === undefined) return other
  const difference = Number(one['owner_id']) - Number(other['owner_id'])
  return difference > 0 || (difference === 0 && idFromStore(one['id']) >= idFromStore(other['id'])) ? one : other
}

function added(one: Refused, other: Refused): Refused {
  const requested = Math.min(Number.MAX_SAFE_INTEGER, one.requested + other.requested)
  return { count: one.count + other.count, requested }
}
