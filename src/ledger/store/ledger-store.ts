import type { DataSource } from 'typeorm'
import { TimeSlice } from '../../clock/time-slice.js'
import { instantFromStore } from '../../database/column.js'
import { type Dialect, placeholders, type RawRow, RowCodec, type Scalar } from '../../database/row-codec.js'
import type { Statement, Transaction } from '../../database/unit-of-work.js'
import type { CapCount } from '../../quota/cap.js'
import type { Allocation } from '../../quota/draw-down.js'
import { storedForSearch } from '../../quota/label.js'
import type { Hold } from '../../quota/refill.js'
import { nameOf } from '../../role/principal-name.js'
import type { Instant } from '../../time/instant.js'
import type { Act, ActRow } from '../rows/act.entity.js'
import type { AllocationRow } from '../rows/allocation.entity.js'
import type { CallerRow } from '../rows/caller.entity.js'
import type { ChangeRow } from '../rows/change.entity.js'
import type { Channel } from '../rows/channel.js'
import { NO_CAPS } from '../rows/counted-caps.js'
import type { EventFeedRow } from '../rows/event-feed.entity.js'
import type { EventRow } from '../rows/event.entity.js'
import type { HoldRow } from '../rows/hold.entity.js'
import type { LedgerGateRow } from '../rows/ledger-gate.entity.js'
import type { LedgerStateRow } from '../rows/ledger-state.entity.js'
import type { OperationRow } from '../rows/operation.entity.js'
import type { OwnerRow } from '../rows/owner.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { RefusalRow } from '../rows/refusal.entity.js'
import type { UsageTotalRow } from '../rows/usage-total.entity.js'
import type { MadeBy } from './answers.js'
import { isPlain, plainOperation, plainRow, wholeAct } from './plain-consume.js'
import { allocationRows, type DueUnits, type WorkingSet, type HeldBy, type OperationEntry } from './working-set.js'

/** The index by which an owner's live quotas are found. */
export const LIVE_OF_OWNER = ['ownerId', 'deletedAt', 'state', 'id'] as const

/** The index by which an owner's holds are found. */
export const HOLDS_OF_OWNER = ['ownerId', 'expiresAt'] as const

/** Lists of ids in one statement are cut at this length. */
const MAX_IDS = 10_000

/**
 * The present is read once the locks are had, and may then be earlier than what was taken for it when they were asked
 * for.
 */
const CLOCK_MAY_STEP_BACK_MS = 60_000

/** What a batch must know; lists without doubles. */
export interface Wanted {
  readonly ownerIds: readonly number[]
  /** Leave out owners that somebody else keeps locked, instead of waiting for them. */
  readonly skipLocked: boolean
  /** The present, or a little earlier. */
  readonly now: Instant
  readonly deduplicationKeys: readonly string[]
  readonly actIds: readonly string[]
  readonly operationIds: readonly string[]
  readonly quotaIds: readonly number[]
}

/** What was found. */
export interface Found<Q> {
  /**
   * The owners that are locked. One without a row is not: its first create may be under way elsewhere, and what that
   * makes must not be touched here.
   */
  readonly lockedIds: readonly number[]
  /** The owners' quotas that may be live, of those not locked as well, and those that were named, deleted or not. */
  readonly quotas: readonly Q[]
  readonly acts: readonly Act[]
  readonly operations: readonly OperationEntry[]
  /** No act may be written whose id is this one or an earlier one; it stays so until the transaction ends. */
  readonly closedTo: string
}

/**
 * The statements of one channel's ledger. Knows tables, and nothing of what they are for; that plain consumes have one
 * row is known here alone.
 */
export class LedgerStore<Q extends QuotaRow> {
  readonly quota: RowCodec<Q>
  readonly operation: RowCodec<OperationRow>
  readonly allocation: RowCodec<AllocationRow>
  readonly hold: RowCodec<HoldRow>
  readonly change: RowCodec<ChangeRow>
  readonly owner: RowCodec<OwnerRow>
  readonly refusal: RowCodec<RefusalRow>
  readonly usageTotal: RowCodec<UsageTotalRow>
  readonly state: RowCodec<LedgerStateRow>
  readonly gate: RowCodec<LedgerGateRow>
  readonly act: RowCodec<ActRow>
  readonly caller: RowCodec<CallerRow>
  readonly event: RowCodec<EventRow>
  readonly eventFeed: RowCodec<EventFeedRow>

  /**
   * @param plainConsumes may a plain consume be written as one row? Not beside an instance that cannot read it. Such
   *   rows are read in any case.
   */
  constructor(
    dataSource: DataSource,
    private readonly channel: Channel<Q>,
    private readonly plainConsumes = false,
  ) {
    this.quota = RowCodec.of(dataSource, channel.quota)
    this.owner = RowCodec.of(dataSource, channel.owner)
    this.act = RowCodec.of(dataSource, channel.act)
    this.operation = RowCodec.of(dataSource, channel.operation)
    this.allocation = RowCodec.of(dataSource, channel.allocation)
    this.hold = RowCodec.of(dataSource, channel.hold)
    this.change = RowCodec.of(dataSource, channel.change)
    this.refusal = RowCodec.of(dataSource, channel.refusal)
    this.usageTotal = RowCodec.of(dataSource, channel.usageTotal)
    this.state = RowCodec.of(dataSource, channel.ledgerState)
    this.caller = RowCodec.of(dataSource, channel.caller)
    this.gate = RowCodec.of(dataSource, channel.ledgerGate)
    this.event = RowCodec.of(dataSource, channel.event)
    this.eventFeed = RowCodec.of(dataSource, channel.eventFeed)
  }

  /** Makes sure that the owners have the rows that serve as their locks. Harmless where nothing follows. */
  async ensureOwners(transaction: Transaction, ownerIds: readonly number[]): Promise<void> {
    const id = this.owner.column('ownerId')
    // An upsert and not INSERT IGNORE, which would take a shared lock that two instances cannot both trade for an
    // exclusive one.
    const conflict =
      transaction.dialect === 'mysql' ? `ON DUPLICATE KEY UPDATE ${id} = ${id}` : `ON CONFLICT (${id}) DO NOTHING`
    await transaction.execute(
      `INSERT INTO ${this.owner.table} (${id}) VALUES ${ownerIds.map(() => '(?)').join(', ')} ${conflict}`,
      [...ownerIds].sort((a, b) => a - b),
    )
  }

  /**
   * Takes the owners' locks, in id order, and reads behind them what a batch must know: all that one packet can ask
   * for. On SQLite the transaction holds the one write lock already.
   */
  async lockAndRead(transaction: Transaction, wanted: Wanted): Promise<Found<Q>> {
    const { dialect } = transaction
    const { ownerIds, skipLocked, deduplicationKeys, actIds, operationIds, quotaIds } = wanted
    const lock = dialect === 'sqlite' ? '' : skipLocked ? 'FOR UPDATE SKIP LOCKED' : 'FOR UPDATE'
    const found = await sent(transaction, [
      this.ownerRows(dialect, ownerIds, lock),
      this.liveQuotas(dialect, ownerIds, wanted.now - CLOCK_MAY_STEP_BACK_MS),
      selectBy(this.quota, 'id', quotaIds),
      selectBy(this.act, 'deduplicationKey', deduplicationKeys),
      selectBy(this.act, 'id', actIds),
      selectBy(this.operation, 'id', operationIds),
      selectBy(this.allocation, 'operationId', operationIds),
      this.keptGate(dialect),
    ])
    const [owners = [], live = [], named = [], keyed = [], own = [], operations = [], allocations = [], gate = []] =
      found
    const entries = withAllocations(
      await decoded(this.operation, operations),
      await decoded(this.allocation, allocations),
    )
    return {
      lockedIds: owners.map((row) => Number(row['id'])),
      quotas: [...(await decoded(this.quota, live)), ...(await decoded(this.quota, named))],
      acts: [...(await decoded(this.act, keyed)), ...(await decoded(this.act, own))].map((act) => this.whole(act)),
      operations: [...entries, ...(await this.plainOperations(transaction, operationIds, entries))],
      closedTo: (gate[0]?.['closed_to'] as string | undefined) ?? '',
    }
  }

  /**
   * Up to where acts are closed, and nobody moves that until the transaction ends. Those who read it do not wait for
   * each other. It comes after the owners' locks, so that nobody keeps it while waiting for one of these.
   */
  private keptGate(dialect: Dialect): Statement {
    const { gate } = this
    return {
      sql:
        `SELECT ${gate.column('closedTo')} AS closed_to FROM ${gate.table} WHERE ${gate.column('id')} = ? ` +
        (dialect === 'mysql' ? 'LOCK IN SHARE MODE' : ''),
      values: [1],
    }
  }

  /**
   * Takes the owners' locks alone, in id order. On SQLite the transaction holds the one write lock already.
   * @returns the owners that are locked: those that have a row
   */
  async lockOwners(transaction: Transaction, ownerIds: readonly number[]): Promise<number[]> {
    const lock = transaction.dialect === 'sqlite' ? '' : 'FOR UPDATE'
    const { sql, values } = this.ownerRows(transaction.dialect, ownerIds, lock)
    return (await transaction.rows(sql, values)).map((row) => Number(row['id']))
  }

  /** Those of the owners that have a lock row, whoever keeps it locked. */
  async standingOwners(transaction: Transaction, ownerIds: readonly number[]): Promise<number[]> {
    const { sql, values } = this.ownerRows(transaction.dialect, ownerIds, '')
    return (await transaction.rows(sql, values)).map((row) => Number(row['id']))
  }

  /** Those of the owners that have quotas, deleted ones too. */
  async ownersWithQuotas(transaction: Transaction, ownerIds: readonly number[]): Promise<number[]> {
    const id = this.quota.column('ownerId')
    const rows = await transaction.rows(
      `SELECT DISTINCT ${id} AS id FROM ${this.quota.table} WHERE ${id} IN (${placeholders(ownerIds)})`,
      ownerIds,
    )
    return rows.map((row) => Number(row['id']))
  }

  /**
   * Counts a batch on the owners' rows. A cluster's other node does not see the locks of this one, but two batches that
   * wrote the same row collide there: who holds the row's lock is thrown out, and who comes late to the commit too.
   */
  async touchOwners(transaction: Transaction, ownerIds: readonly number[]): Promise<void> {
    const edits = this.owner.column('edits')
    await transaction.later(
      `UPDATE ${this.owner.table} SET ${edits} = ${edits} + 1 WHERE ${this.owner.column('ownerId')} IN (${placeholders(ownerIds)})`,
      ownerIds,
    )
  }

  /** The owners' quotas that may be live, and those that are named, deleted or not; nothing is locked. */
  async quotasOf(
    transaction: Transaction,
    { ownerIds, quotaIds, now }: Pick<Wanted, 'ownerIds' | 'quotaIds' | 'now'>,
  ): Promise<Q[]> {
    // Connections for reads take one statement at a time.
    const { sql, values = [] } = this.liveQuotas(transaction.dialect, ownerIds, now)
    const live = ownerIds.length === 0 ? [] : await decoded(this.quota, await transaction.rows(sql, values))
    return [...live, ...(await this.quotasById(transaction, quotaIds))]
  }

  /** What a change set changed first of each of the quotas, by quota. */
  async changesOfSet(
    transaction: Transaction,
    changeSetId: number,
    quotaIds: readonly number[],
  ): Promise<Map<number, ChangeRow>> {
    if (quotaIds.length === 0) return new Map()
    const { change } = this
    const rows = await transaction.rows(
      `SELECT ${change.columns} FROM ${change.readBy(transaction.dialect, ['changeSetId', 'quotaId'])} ` +
        `WHERE ${change.column('changeSetId')} = ? AND ${change.column('quotaId')} IN (${placeholders(quotaIds)}) ORDER BY ${change.column('id')} DESC`,
      [changeSetId, ...quotaIds],
    )
    return new Map(rows.map((row) => change.decode(row)).map((one) => [one.quotaId, one]))
  }

  /** Quotas by id, deleted ones too. */
  async quotasById(transaction: Transaction, ids: readonly number[]): Promise<Q[]> {
    return this.byIds(transaction, this.quota, 'id', ids)
  }

  async actsByDeduplicationKey(transaction: Transaction, deduplicationKeys: readonly string[]): Promise<Act[]> {
    return (await this.byIds(transaction, this.act, 'deduplicationKey', deduplicationKeys)).map((act) =>
      this.whole(act),
    )
  }

  /** The acts on an operation, the one that made it among them. */
  async actsOf(transaction: Transaction, operationId: string): Promise<Act[]> {
    const later = await this.byIds(transaction, this.act, 'operationId', [operationId])
    return [...(await this.plainActs(transaction, [operationId])), ...later].map((act) => this.whole(act))
  }

  /** The refunds of these operations. */
  async refundsOf(transaction: Transaction, operationIds: readonly string[]): Promise<ActRow[]> {
    const acts = await this.byIds(transaction, this.act, 'operationId', operationIds)
    return acts.filter(({ kind }) => kind === 'refund')
  }

  /** Operations with their allocations in draw-down order. */
  async operationsById(transaction: Transaction, ids: readonly string[]): Promise<OperationEntry[]> {
    const rows = await this.byIds(transaction, this.operation, 'id', ids)
    const paid = await this.byIds(
      transaction,
      this.allocation,
      'operationId',
      rows.map((row) => row.id),
    )
    const entries = withAllocations(rows, paid)
    return [...entries, ...(await this.plainOperations(transaction, ids, entries))]
  }

  /** Whose the quotas are. */
  async ownersOfQuotas(transaction: Transaction, ids: readonly number[]): Promise<Map<number, number>> {
    const { quota } = this
    const [id, ownerId] = [quota.column('id'), quota.column('ownerId')]
    const rows = await transaction.rows(
      `SELECT ${id} AS id, ${ownerId} AS owner_id FROM ${quota.table} WHERE ${id} IN (${placeholders(ids)})`,
      ids,
    )
    return new Map(rows.map((row) => [Number(row['id']), Number(row['owner_id'])]))
  }

  /** Whose the operations are. */
  async ownersOfOperations(transaction: Transaction, ids: readonly string[]): Promise<Map<string, number>> {
    const { operation, act } = this
    const [id, ownerId] = [operation.column('id'), operation.column('ownerId')]
    const [plainId, plainOwnerId] = [act.column('id'), act.column('plainOwnerId')]
    const rows = await transaction.rows(
      `SELECT ${id} AS id, ${ownerId} AS owner_id FROM ${operation.table} WHERE ${id} IN (${placeholders(ids)}) UNION ALL ` +
        `SELECT ${plainId}, ${plainOwnerId} FROM ${act.readByKey(transaction.dialect)} WHERE ${plainId} IN (${placeholders(ids)}) AND ${plainOwnerId} IS NOT NULL`,
      [...ids, ...ids],
    )
    return new Map(rows.map((row) => [row['id'] as string, Number(row['owner_id'])]))
  }

  /** Who made the operations: the callers of the acts that have their ids. Ids of nothing are left out. */
  async makersOf(transaction: Transaction, ids: readonly string[]): Promise<Map<string, string>> {
    const { act } = this
    const makers = new Map<string, string>()
    for (const part of chunks(ids)) {
      const rows = await transaction.rows(
        `SELECT ${act.column('id')} AS id, COALESCE(${act.column('callerId')}, ${act.column('caller')}) AS caller FROM ${act.table} WHERE ${act.column('id')} IN (${placeholders(part)})`,
        part,
      )
      for (const row of rows) makers.set(row['id'] as string, row['caller'] as string)
    }
    return makers
  }

  /** Who made the operations, and with which key, by their ids. */
  async beginningsOf(transaction: Transaction, ids: readonly string[]): Promise<Map<string, MadeBy>> {
    const part = this.act.part(['id', 'caller', 'callerName', 'idempotencyKey'])
    if (ids.length === 0) return new Map()
    const rows = await transaction.rows(
      `SELECT ${part.columns} FROM ${this.act.table} WHERE ${this.act.column('id')} IN (${placeholders(ids)})`,
      ids,
    )
    return new Map(
      rows.map((row) => {
        const { id, caller, callerName, idempotencyKey } = part.decode(row)
        return [id, { actor: nameOf(caller, callerName), idempotency_key: idempotencyKey }]
      }),
    )
  }

  /** The owners' holds that are open at `now`. */
  async openHolds(transaction: Transaction, ownerIds: readonly number[], now: Instant): Promise<HeldBy[]> {
    return this.holds(transaction, ownerIds, '>', now)
  }

  /** The owners' holds that are due at `now` and still written down, the earliest `limit` of them. */
  async dueHolds(
    transaction: Transaction,
    ownerIds: readonly number[],
    now: Instant,
    limit: number,
  ): Promise<HeldBy[]> {
    const { hold } = this
    return this.holds(
      transaction,
      ownerIds,
      '<=',
      now,
      `ORDER BY ${hold.column('expiresAt')}, ${hold.column('operationId')} LIMIT ${limit}`,
    )
  }

  /**
   * What the owners' due holds keep that are still written down: units by quota and cycle, of caps by when they
   * counted.
   */
  async dueUnits(transaction: Transaction, ownerIds: readonly number[], now: Instant): Promise<DueUnits[]> {
    if (ownerIds.length === 0) return []
    const { hold, allocation } = this
    const [quotaId, cycleSeq] = [`a.${allocation.column('quotaId')}`, `a.${allocation.column('cycleSeq')}`]
    const countedAt = `a.${allocation.column('countedAt')}`
    const rows = await transaction.rows(
      `SELECT ${quotaId} AS quota_id, ${cycleSeq} AS cycle_seq, ${countedAt} AS counted_at, SUM(a.${allocation.column('amount')}) AS amount FROM ${hold.readBy(transaction.dialect, HOLDS_OF_OWNER, 'h')} ` +
        `${inThisOrder(transaction.dialect)} ${allocation.readByKey(transaction.dialect, 'a')} ON a.${allocation.column('operationId')} = h.${hold.column('operationId')} ` +
        `WHERE h.${hold.column('ownerId')} IN (${placeholders(ownerIds)}) AND h.${hold.column('expiresAt')} <= ? GROUP BY ${quotaId}, ${cycleSeq}, ${countedAt}`,
      [...ownerIds, hold.bind('expiresAt', now)],
    )
    return rows.map((row) => ({ ...unitsOf(row), countedAt: countedAtOf(row) }))
  }

  /** When the first of each owner's holds is due that are open at `now`; owners without one are left out. */
  async nextDue(transaction: Transaction, ownerIds: readonly number[], now: Instant): Promise<Map<number, Instant>> {
    const { hold } = this
    const [ownerId, expiresAt] = [hold.column('ownerId'), hold.column('expiresAt')]
    const rows = await transaction.rows(
      `SELECT ${ownerId} AS owner_id, MIN(${expiresAt}) AS expires_at FROM ${hold.readBy(transaction.dialect, HOLDS_OF_OWNER)} ` +
        `WHERE ${ownerId} IN (${placeholders(ownerIds)}) AND ${expiresAt} > ? GROUP BY ${ownerId}`,
      [...ownerIds, hold.bind('expiresAt', now)],
    )
    return new Map(rows.map((row) => [Number(row['owner_id']), instantFromStore(row['expires_at'] as string)]))
  }

  /** Inserts quotas and answers their ids, in order. */
  async insertQuotas(transaction: Transaction, quotas: readonly Omit<Q, 'id'>[]): Promise<number[]> {
    const rows = quotas.map((quota) => searchable(quota as Q))
    return this.insertNumbered(transaction, this.quota, rows)
  }

  /**
   * Inserts rows and answers their generated ids, in order. The ids of one INSERT are consecutive, as far apart as the
   * server's setting says. On a cluster that setting changes with the number of nodes: there each row has a statement
   * of its own.
   */
  private async insertNumbered<T extends object>(
    transaction: Transaction,
    codec: RowCodec<T>,
    rows: readonly Partial<T>[],
  ): Promise<number[]> {
    const ids: number[] = []
    for (const part of transaction.clustered ? rows.map((row) => [row]) : [rows]) {
      for (const { sql, values } of codec.inserts(part)) {
        const { affected, insertId } = await transaction.execute(sql, values)
        for (let n = 0; n < affected; n += 1) ids.push(insertId + n * transaction.idStep)
      }
    }
    return ids
  }

  /**
   * Writes everything that a batch recorded. The acts go first: theirs is the one index on which two batches can meet.
   * Rows go in order of their ids, which rise: pages of the table are then filled one after the other, and not split in
   * the middle.
   * @param nextId makes ids for events
   */
  async write(transaction: Transaction, workingSet: WorkingSet<Q>, nextId: () => string): Promise<void> {
    const plain = new Map<string, OperationEntry>()
    const inRows: OperationEntry[] = []
    for (const entry of workingSet.newOperations) {
      if (this.plainConsumes && isPlain(entry)) plain.set(entry.row.id, entry)
      else inRows.push(entry)
    }
    const changed = [...workingSet.changedOperations.values()]
    inRows.push(...changed.filter((entry) => entry.plain))
    inRows.sort((a, b) => compare(a.row.id, b.row.id))
    const acts = workingSet.newActs
      .map((act) => {
        const entry = plain.get(act.id)
        return entry === undefined ? act : plainRow(act, entry)
      })
      .sort((a, b) => compare(a.id, b.id))
    const holds = [...workingSet.newHolds.values()].map(({ ownerId, hold }) => ({ ...hold, ownerId }))
    await this.insert(transaction, this.act, acts)
    await this.insert(
      transaction,
      this.operation,
      inRows.map(({ row }) => row),
    )
    await this.insert(transaction, this.allocation, inRows.flatMap(allocationRows))
    await this.insert(transaction, this.hold, holds)
    await this.insertChanges(transaction, workingSet, nextId)
    await this.expire(transaction, [...workingSet.expiredOperations])
    await this.closeHolds(transaction, workingSet.closedHolds)
    await this.update(
      transaction,
      this.operation,
      changed
        .filter((entry) => !entry.plain)
        .map(({ row }) => ({ id: row.id, values: pick(row, this.operation.updated) })),
    )
    const edited = [...workingSet.editedQuotas.values()]
    const counted = workingSet.changedCounters().filter(({ id }) => !workingSet.editedQuotas.has(id))
    await this.update(transaction, this.quota, [
      ...edited.map((quota) => ({
        id: quota.id,
        values: pick(searchable(workingSet.stored(quota)), this.quota.updated),
      })),
      ...counted.map(({ id, values }) => ({ id, values: values as Partial<Q> })),
    ])
  }

  /** Changes, and the events, which name the changes that they tell of. */
  private async insertChanges(
    transaction: Transaction,
    { changes, events }: WorkingSet<Q>,
    nextId: () => string,
  ): Promise<void> {
    const ids = await this.insertNumbered(transaction, this.change, changes)
    const idOf = new Map(changes.map((change, n) => [change, ids[n] ?? null]))
    await this.insert(
      transaction,
      this.event,
      events.map(({ change, ...event }) => ({
        ...event,
        id: nextId(),
        position: null,
        changeId: change === undefined ? null : (idOf.get(change) ?? null),
      })),
    )
  }

  private ownerRows(dialect: Dialect, ownerIds: readonly number[], lock: string): Statement {
    const id = this.owner.column('ownerId')
    const sorted = [...ownerIds].sort((a, b) => a - b)
    // The primary key and no plan of the server's own: locks are taken in the order in which rows are read.
    return {
      sql: `SELECT ${id} AS id FROM ${this.owner.readByKey(dialect)} WHERE ${id} IN (${placeholders(sorted)}) ORDER BY ${id} ${lock}`,
      values: sorted,
    }
  }

  /** The owners' quotas that may be live at `since` or later, disabled ones among them. */
  private liveQuotas(dialect: Dialect, ownerIds: readonly number[], since: Instant): Statement {
    const { quota } = this
    return {
      sql:
        `SELECT ${quota.columns} FROM ${quota.readBy(dialect, LIVE_OF_OWNER)} WHERE ${quota.column('ownerId')} IN (${placeholders(ownerIds)}) ` +
        `AND ${quota.column('deletedAt')} IS NULL AND ${quota.column('state')} IN ('active', 'disabled') ` +
        `AND (${quota.column('expireAt')} IS NULL OR ${quota.column('expireAt')} > ?)`,
      values: [...ownerIds, quota.bind('expireAt', since)],
    }
  }

  /** Holds with what they keep, in one statement of few columns: an owner may have thousands. */
  private async holds(
    transaction: Transaction,
    ownerIds: readonly number[],
    compared: '>' | '<=',
    now: Instant,
    some = '',
  ): Promise<HeldBy[]> {
    if (ownerIds.length === 0) return []
    const { hold, allocation } = this
    const [id, ownerId, expiry] = [hold.column('operationId'), hold.column('ownerId'), hold.column('expiresAt')]
    const rows = await transaction.rows(
      `SELECT h.id, h.owner_id, h.expires_at, a.${allocation.column('quotaId')} AS quota_id, a.${allocation.column('cycleSeq')} AS cycle_seq, ` +
        `a.${allocation.column('amount')} AS amount, a.${allocation.column('countedAt')} AS counted_at FROM (SELECT ${id} AS id, ${ownerId} AS owner_id, ${expiry} AS expires_at ` +
        `FROM ${hold.readBy(transaction.dialect, HOLDS_OF_OWNER)} ` +
        `WHERE ${ownerId} IN (${placeholders(ownerIds)}) AND ${expiry} ${compared} ? ${some}) h ` +
        `${inThisOrder(transaction.dialect)} ${allocation.readByKey(transaction.dialect, 'a')} ON a.${allocation.column('operationId')} = h.id`,
      [...ownerIds, hold.bind('expiresAt', now)],
    )
    const slice = new TimeSlice()
    const found = new Map<string, HeldBy & { hold: MutableHold }>()
    for (const row of rows) {
      if (slice.spent) await slice.next()
      const operationId = row['id'] as string
      let held = found.get(operationId)
      if (held === undefined) {
        const expiresAt = instantFromStore(row['expires_at'] as string)
        held = { ownerId: Number(row['owner_id']), hold: { operationId, expiresAt, allocations: [] } }
        found.set(operationId, held)
      }
      addTo(held.hold, row)
    }
    return [...found.values()]
  }

  private async expire(transaction: Transaction, operationIds: readonly string[]): Promise<void> {
    for (const ids of chunks(operationIds)) {
      await transaction.later(
        `UPDATE ${this.operation.table} SET ${this.operation.column('state')} = 'expired' WHERE ${this.operation.column('id')} IN (${placeholders(ids)})`,
        ids,
      )
    }
  }

  private async closeHolds(transaction: Transaction, operationIds: readonly string[]): Promise<void> {
    for (const ids of chunks(operationIds)) {
      await transaction.later(
        `DELETE FROM ${this.hold.table} WHERE ${this.hold.column('operationId')} IN (${placeholders(ids)})`,
        ids,
      )
    }
  }

  private whole(act: ActRow): Act {
    return wholeAct(this.channel, act)
  }

  /** The acts of those of the operations that are plain consumes. */
  private async plainActs(transaction: Transaction, ids: readonly string[]): Promise<ActRow[]> {
    return (await this.byIds(transaction, this.act, 'id', ids)).filter(({ plainOwnerId }) => plainOwnerId !== null)
  }

  /** Those of the operations that have no rows of their own. */
  private async plainOperations(
    transaction: Transaction,
    ids: readonly string[],
    inRows: readonly OperationEntry[],
  ): Promise<OperationEntry[]> {
    const found = new Set(inRows.map(({ row }) => row.id))
    const acts = await this.plainActs(
      transaction,
      ids.filter((id) => !found.has(id)),
    )
    return acts.map(plainOperation).filter((entry) => entry !== undefined)
  }

  private async byIds<T extends object>(
    transaction: Transaction,
    codec: RowCodec<T>,
    property: keyof T & string,
    ids: readonly (string | number)[],
  ): Promise<T[]> {
    const found: T[] = []
    for (const part of chunks(ids)) {
      const { sql, values } = selectBy(codec, property, part)
      const rows = await transaction.rows(sql, values)
      for (const one of await decoded(codec, rows)) found.push(one)
    }
    return found
  }

  private async insert<T extends object>(
    transaction: Transaction,
    codec: RowCodec<T>,
    rows: readonly Partial<T>[],
  ): Promise<void> {
    for (const { sql, values } of codec.inserts(rows)) await transaction.later(sql, values)
  }

  /** Sets absolute values on many rows in one statement: `SET used = CASE id WHEN … END`, only where they differ. */
  private async update<T extends { id: string | number }>(
    transaction: Transaction,
    codec: RowCodec<T>,
    rows: readonly { id: T['id']; values: Partial<T> }[],
  ): Promise<void> {
    for (const part of chunks(
      [...rows].sort((a, b) => compare(a.id, b.id)),
      MAX_ROWS_UPDATED,
    )) {
      const id = codec.column('id')
      const properties = new Set(part.flatMap(({ values }) => Object.keys(values) as (keyof T & string)[]))
      const bound: Scalar[] = []
      const sets = [...properties].map((property) => {
        const column = codec.column(property)
        const cases = part
          .filter(({ values }) => property in values)
          .map((row) => {
            bound.push(row.id, codec.bind(property, row.values[property]))
            return 'WHEN ? THEN ?'
          })
        return `${column} = CASE ${id} ${cases.join(' ')} ELSE ${column} END`
      })
      const ids = part.map((row) => row.id)
      await transaction.later(`UPDATE ${codec.table} SET ${sets.join(', ')} WHERE ${id} IN (${placeholders(ids)})`, [
        ...bound,
        ...ids,
      ])
    }
  }
}

/** Joins tables in the order in which they are named, whatever a planner thinks of tables that have just grown. */
export function inThisOrder(dialect: Dialect): string {
  return dialect === 'mysql' ? 'STRAIGHT_JOIN' : 'CROSS JOIN'
}

/** Rows of a table by one of its keys. */
function selectBy<T extends object>(
  codec: RowCodec<T>,
  property: keyof T & string,
  keys: readonly (string | number)[],
): Statement {
  return {
    sql: `SELECT ${codec.columns} FROM ${codec.table} WHERE ${codec.column(property)} IN (${placeholders(keys)})`,
    values: keys,
  }
}

/** The rows of each statement; one that looks for nothing is not sent. */
async function sent(transaction: Transaction, statements: readonly Statement[]): Promise<RawRow[][]> {
  const asking = statements.filter(({ values = [] }) => values.length > 0)
  const results = await transaction.all(asking)
  return statements.map((statement) => results[asking.indexOf(statement)] ?? [])
}

function added<T>(lists: Map<string, T[]>, name: string, one: T): void {
  const list = lists.get(name)
  if (list === undefined) lists.set(name, [one])
  else list.push(one)
}

/** Operations with what each was paid by, in draw-down order, and the caps that counted it. */
function withAllocations(rows: readonly OperationRow[], allocations: AllocationRow[]): OperationEntry[] {
  const paid = new Map<string, Allocation[]>()
  const counted = new Map<string, CapCount[]>()
  for (const row of allocations.sort((a, b) => a.position - b.position)) {
    const { operationId, quotaId, cycleSeq, amount, countedAt } = row
    if (countedAt === null) added(paid, operationId, { quotaId, cycleSeq, amount })
    else added(counted, operationId, { quotaId, cycleSeq })
  }
  return rows.map((row) => ({ row, allocations: paid.get(row.id) ?? [], caps: counted.get(row.id) ?? NO_CAPS }))
}

/** Each row may need two placeholders a column. */
const MAX_ROWS_UPDATED = 1_000

/** Rows as entities; 500 owners may have 100,000 of them, so that others get a turn in between. */
async function decoded<T extends object>(codec: RowCodec<T>, rows: readonly RawRow[]): Promise<T[]> {
  const slice = new TimeSlice()
  const found: T[] = []
  for (const row of rows) {
    if (slice.spent) await slice.next()
    found.push(codec.decode(row))
  }
  return found
}

/** A hold whose rows are being read. */
interface MutableHold extends Hold {
  allocations: Allocation[]
  counted?: { at: Instant; caps: CapCount[] }
}

function addTo(hold: MutableHold, row: RawRow): void {
  const { quotaId, cycleSeq, amount } = unitsOf(row)
  const at = countedAtOf(row)
  if (at === null) hold.allocations.push({ quotaId, cycleSeq, amount })
  else (hold.counted ??= { at, caps: [] }).caps.push({ quotaId, cycleSeq })
}

function countedAtOf(row: RawRow): Instant | null {
  const text = row['counted_at'] as string | null
  return text === null ? null : instantFromStore(text)
}

function unitsOf(row: RawRow): Allocation {
  return { quotaId: Number(row['quota_id']), cycleSeq: Number(row['cycle_seq']), amount: Number(row['amount']) }
}

function* chunks<T>(values: readonly T[], size: number = MAX_IDS): Generator<readonly T[]> {
  for (let start = 0; start < values.length; start += size) yield values.slice(start, start + size)
}

/** A quota with what the label filter compares. */
function searchable<Q extends QuotaRow>(quota: Q): Q {
  return { ...quota, labelSearch: storedForSearch(quota.label) }
}

function compare<T extends string | number>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function pick<T extends object>(from: T, names: readonly (keyof T & string)[]): Partial<T> {
  return Object.fromEntries(names.map((name) => [name, from[name]])) as Partial<T>
}
