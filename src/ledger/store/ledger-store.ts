import { randomInt } from 'node:crypto'
import type { DataSource } from 'typeorm'
import { TimeSlice } from '../../common/time-slice.js'
import { bytesToStore, idFromStore } from '../../database/bytes.js'
import { instantFromStore } from '../../database/column.js'
import {
  chunks,
  type Condition,
  type Dialect,
  placeholders,
  type RawRow,
  RowCodec,
  type Scalar,
} from '../../database/row-codec.js'
import type { Statement, Transaction } from '../../database/transaction-runner.js'
import type { CapCount } from '../../domain/cap.js'
import type { Allocation } from '../../domain/draw-down.js'
import { rangeOf, storedForSearch } from '../../domain/label.js'
import type { Hold } from '../../domain/refill.js'
import { nameOf, storedName } from '../../common/principal-name.js'
import type { Instant } from '../../common/instant.js'
import { type Act, type ActRow, requestColumns } from '../rows/act.entity.js'
import type { AllocationRow } from '../rows/allocation.entity.js'
import type { CallerRow } from '../rows/caller.entity.js'
import type { ChangeRow } from '../rows/change.entity.js'
import type { Channel } from '../rows/channel.js'
import { NO_CAPS } from '../rows/counted-caps.js'
import type { EventFeedRow } from '../rows/event-feed.entity.js'
import type { EventRow } from '../rows/event.entity.js'
import { groupBy } from '../../common/group-by.js'
import { groupOwner, type GroupRow } from '../rows/group.entity.js'
import type { HoldRow } from '../rows/hold.entity.js'
import type { LedgerGateRow } from '../rows/ledger-gate.entity.js'
import type { LedgerStateRow } from '../rows/ledger-state.entity.js'
import type { OperationRow } from '../rows/operation.entity.js'
import type { OwnerRow } from '../rows/owner.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { RefusalRow } from '../rows/refusal.entity.js'
import type { SpellRow } from '../rows/spell.entity.js'
import type { UsageTotalRow } from '../rows/usage-total.entity.js'
import type { MadeBy } from './answers.js'
import { isPlain, plainOperation, plainRow, wholeAct } from './plain-consume.js'
import type { WantedCounts } from './wanted-counts.js'
import {
  allocationRows,
  capRows,
  type DueUnits,
  type WorkingSet,
  type HeldBy,
  type OpenHoldsOf,
  type OperationEntry,
} from './working-set.js'

/** The index of an owner's live quotas. */
export const LIVE_OF_OWNER = ['ownerId', 'deletedAt', 'state', 'id'] as const

/** Generations of links that no number of revocations reaches. */
const UNUSED_GENERATIONS = [2 ** 32, 2 ** 48] as const

/** The index of an owner's holds. */
export const HOLDS_OF_OWNER = ['ownerId', 'expiresAt'] as const

/**
 * MariaDB alone reads this: it need not look up each range of an index to estimate the rows. The statement names its
 * index, so the estimate decides nothing, and would take a quarter of its time. MySQL knows that.
 */
const NO_DIVES = '/*M! SET STATEMENT eq_range_index_dive_limit = 1 FOR */ '

/**
 * The number of open holds of an owner, or of a group, that are read at first to say when a refused amount fits. Few
 * amounts depend on more of them, and a group may have some of each member.
 */
export const OPEN_HOLDS_AT_FIRST = 50
/** If more are needed, this multiple of them is read, again and again. */
export const OPEN_HOLDS_FACTOR = 10

/** The maximum number of SELECTs in one statement; SQLite accepts 500. */
const MAX_UNITED = 100

/**
 * The present time is read after the locks are taken, and may then be earlier than the time that was assumed before.
 */
const CLOCK_MAY_STEP_BACK_MS = 60_000

/** The condition that a text, in the form of `storedForSearch`, begins so; compared in that of `comparedLabel`. */
export function beginsWith<T extends object>(codec: RowCodec<T>, property: keyof T & string, text: string): Condition {
  const column = codec.column(property)
  const { from, to } = rangeOf(text)
  return to === undefined
    ? { sql: `${column} >= ?`, values: [from] }
    : { sql: `${column} >= ? AND ${column} < ?`, values: [from, to] }
}

/** The data that a batch needs; lists without duplicates. */
export interface Wanted {
  readonly ownerIds: readonly number[]
  /** Skip owners that another session keeps locked, instead of waiting for them. */
  readonly skipLocked: boolean
  /** The present, or a little earlier. */
  readonly now: Instant
  readonly deduplicationKeys: readonly string[]
  readonly actIds: readonly string[]
  readonly operationIds: readonly string[]
  readonly quotaIds: readonly number[]
}

/** The groups that a batch needs; lists without duplicates. */
export interface WantedGroups {
  /** The groups whose quotas are read, and whose shared counters are locked. */
  readonly groupIds: readonly number[]
  readonly counts: readonly WantedCounts[]
  /** Those of them whose quotas are created or edited. */
  readonly editedIds: readonly number[]
  readonly quotaIds: readonly number[]
  readonly skipLocked: boolean
  readonly now: Instant
}

/** The groups found. */
export interface FoundGroups<Q> {
  /** The locked ones, as owners (`groupOwner`). */
  readonly lockedIds: readonly number[]
  /** Those whose quotas are created or edited. */
  readonly groups: readonly GroupRow[]
  /** Their quotas that may be live, the named ones, and the counts of members. */
  readonly quotas: readonly Q[]
}

/** The data found. */
export interface Found<Q> {
  /**
   * The locked owners, with the groups that they are members of; null: none. An owner without a row is not locked:
   * another instance may be creating its first quota, which must not be changed here.
   */
  readonly locked: ReadonlyMap<number, number | null>
  /** The owners' quotas that may be live, including those of unlocked owners, and the named ones, deleted or not. */
  readonly quotas: readonly Q[]
  readonly acts: readonly Act[]
  readonly operations: readonly OperationEntry[]
  /** No act with an id up to this one may be written, and no chain changes; this holds until the transaction ends. */
  readonly gate: Pick<LedgerGateRow, 'closedTo' | 'defaultGroupId' | 'chainsVersion'>
  /** Undefined if no groups were wanted. */
  readonly ofGroups: FoundGroups<Q> | undefined
}

/**
 * The statements of one channel's ledger. It knows the tables but not their use; only this class knows that plain
 * consumes have one row.
 */
export class LedgerStore<Q extends QuotaRow> {
  readonly quota: RowCodec<Q>
  readonly operation: RowCodec<OperationRow>
  readonly allocation: RowCodec<AllocationRow>
  readonly hold: RowCodec<HoldRow>
  readonly change: RowCodec<ChangeRow>
  readonly owner: RowCodec<OwnerRow>
  readonly group: RowCodec<GroupRow>
  readonly refusal: RowCodec<RefusalRow>
  readonly spell: RowCodec<SpellRow>
  readonly usageTotal: RowCodec<UsageTotalRow>
  readonly state: RowCodec<LedgerStateRow>
  readonly gate: RowCodec<LedgerGateRow>
  readonly act: RowCodec<ActRow>
  readonly caller: RowCodec<CallerRow>
  readonly event: RowCodec<EventRow>
  readonly eventFeed: RowCodec<EventFeedRow>

  constructor(
    dataSource: DataSource,
    private readonly channel: Channel<Q>,
  ) {
    this.quota = RowCodec.of(dataSource, channel.quota)
    this.owner = RowCodec.of(dataSource, channel.owner)
    this.group = RowCodec.of(dataSource, channel.group)
    this.act = RowCodec.of(dataSource, channel.act)
    this.operation = RowCodec.of(dataSource, channel.operation)
    this.allocation = RowCodec.of(dataSource, channel.allocation)
    this.hold = RowCodec.of(dataSource, channel.hold)
    this.change = RowCodec.of(dataSource, channel.change)
    this.refusal = RowCodec.of(dataSource, channel.refusal)
    this.spell = RowCodec.of(dataSource, channel.spell)
    this.usageTotal = RowCodec.of(dataSource, channel.usageTotal)
    this.state = RowCodec.of(dataSource, channel.ledgerState)
    this.caller = RowCodec.of(dataSource, channel.caller)
    this.gate = RowCodec.of(dataSource, channel.ledgerGate)
    this.event = RowCodec.of(dataSource, channel.event)
    this.eventFeed = RowCodec.of(dataSource, channel.eventFeed)
  }

  /**
   * Creates missing lock rows of the owners. It has no other effect. An owner with quotas has lost its row, and with it
   * its generation of links: the new one is none in which a link can have been made, so revoked links stay shut.
   * @param broughtBy the principal that brings them in through the default group
   */
  async ensureOwners(
    transaction: Transaction,
    ownerIds: readonly number[],
    broughtBy?: { readonly callerId: string; readonly at: Instant },
  ): Promise<void> {
    const { owner } = this
    const names = (['ownerId', 'broughtBy', 'broughtAt', 'linkGeneration'] as const).map((name) => owner.column(name))
    const [id] = names
    const lost = new Set(await this.ownersWithQuotas(transaction, ownerIds))
    const brought =
      broughtBy === undefined ? [null, null] : [storedName(broughtBy.callerId), owner.bind('broughtAt', broughtBy.at)]
    // An upsert and not INSERT IGNORE, which takes a shared lock that two instances cannot both upgrade to an exclusive
    // one.
    const conflict =
      transaction.dialect === 'mysql' ? `ON DUPLICATE KEY UPDATE ${id} = ${id}` : `ON CONFLICT (${id}) DO NOTHING`
    await transaction.execute(
      `INSERT INTO ${owner.table} (${names.join(', ')}) VALUES ${ownerIds.map(() => '(?, ?, ?, ?)').join(', ')} ${conflict}`,
      [...ownerIds]
        .sort((a, b) => a - b)
        .flatMap((ownerId) => [ownerId, ...brought, lost.has(ownerId) ? randomInt(...UNUSED_GENERATIONS) : 0]),
    )
  }

  /**
   * The number of owners that a principal has brought in since a time. Its row is written first, so that transactions
   * that bring in owners of one principal follow one another, also on different nodes of a cluster.
   */
  async broughtSince(transaction: Transaction, callerId: string, since: Instant, now: Instant): Promise<number> {
    const { owner, caller } = this
    await transaction.execute(
      `UPDATE ${caller.table} SET ${caller.column('spentAt')} = ? WHERE ${caller.column('id')} = ?`,
      [caller.bind('spentAt', now), callerId],
    )
    const [row] = await transaction.rows(
      `SELECT COUNT(*) AS n FROM ${owner.readBy(transaction.dialect, ['broughtBy', 'broughtAt'])} ` +
        `WHERE ${owner.column('broughtBy')} = ? AND ${owner.column('broughtAt')} > ?`,
      [storedName(callerId), owner.bind('broughtAt', since)],
    )
    return Number(row?.['n'] ?? 0)
  }

  /**
   * Takes the owners' locks, in id order, then reads all data of the batch that one packet can request. On SQLite the
   * transaction already holds the only write lock.
   * @param groups see `lockGroups`
   */
  async lockAndRead(transaction: Transaction, wanted: Wanted, groups?: WantedGroups): Promise<Found<Q>> {
    const { dialect } = transaction
    const { ownerIds, skipLocked, deduplicationKeys, actIds, operationIds, quotaIds } = wanted
    const lock = lockOf(dialect, skipLocked)
    const statements = [
      this.ownerRows(dialect, ownerIds, lock),
      ownerIds.length === 0 ? NOTHING : this.liveQuotas(dialect, ownerIds, wanted.now - CLOCK_MAY_STEP_BACK_MS),
      selectBy(this.quota, 'id', quotaIds),
      selectBy(this.act, 'deduplicationKey', deduplicationKeys),
      selectBy(this.act, 'id', actIds),
      selectBy(this.operation, 'id', operationIds),
      selectBy(this.allocation, 'operationId', operationIds),
      this.keptGate(dialect),
    ]
    const ofGroups = groups === undefined ? [] : this.groupRows(dialect, groups)
    const found = await sent(transaction, [...statements, ...ofGroups])
    const [owners = [], live = [], named = [], keyed = [], own = [], operations = [], allocations = [], gate = []] =
      found
    const entries = withAllocations(
      await decoded(this.operation, operations),
      await decoded(this.allocation, allocations),
    )
    return {
      locked: groupsIn(owners),
      quotas: [...(await decoded(this.quota, live)), ...(await decoded(this.quota, named))],
      acts: [...(await decoded(this.act, keyed)), ...(await decoded(this.act, own))].map((act) => this.whole(act)),
      operations: [...entries, ...(await this.plainOperations(transaction, operationIds, entries))],
      gate: gate[0] === undefined ? NO_GATE : this.gate.decode(gate[0]),
      ofGroups: groups === undefined ? undefined : await this.foundGroups(found.slice(statements.length)),
    }
  }

  /**
   * Takes the locks of groups, in one order, then reads their quotas. Only groups that have or had a shared quota
   * have a lock row; others are read without a lock, unless their quotas are edited.
   */
  async lockGroups(transaction: Transaction, wanted: WantedGroups): Promise<FoundGroups<Q>> {
    return this.foundGroups(await sent(transaction, this.groupRows(transaction.dialect, wanted)))
  }

  private groupRows(
    dialect: Dialect,
    { groupIds, counts, editedIds, quotaIds, skipLocked, now }: WantedGroups,
  ): Statement[] {
    const { group } = this
    const owners = groupIds.map(groupOwner)
    const edited = [...editedIds].sort((a, b) => a - b)
    return [
      this.ownerRows(dialect, owners, lockOf(dialect, skipLocked)),
      {
        sql:
          `SELECT ${group.columns} FROM ${group.readByKey(dialect)} WHERE ${group.column('id')} IN (${placeholders(edited)}) ` +
          `ORDER BY ${group.column('id')} ${lockOf(dialect, false)}`,
        values: edited,
      },
      owners.length === 0 ? NOTHING : this.liveQuotas(dialect, owners, now - CLOCK_MAY_STEP_BACK_MS),
      selectBy(this.quota, 'id', quotaIds),
      this.countsOf(dialect, counts),
    ]
  }

  private async foundGroups(rows: readonly RawRow[][]): Promise<FoundGroups<Q>> {
    const [locked = [], groups = [], live = [], named = [], counts = []] = rows
    return {
      lockedIds: locked.map((row) => Number(row['id'])),
      groups: groups.map((row) => this.group.decode(row)),
      quotas: await decoded(this.quota, [...live, ...named, ...counts]),
    }
  }

  /**
   * The id up to which acts are closed, and the state of chains; neither can change until the transaction ends. Its
   * readers do not wait for each other. It is read after the owners' locks are taken, so that nobody holds it while
   * waiting for one of these.
   */
  keptGate(dialect: Dialect): Statement {
    return this.gateRow(dialect, 'LOCK IN SHARE MODE')
  }

  /** The gate's row. @param lock for a server; on SQLite, a transaction holds the only write lock */
  gateRow(dialect: Dialect, lock: '' | 'LOCK IN SHARE MODE' | 'FOR UPDATE'): Statement {
    const { gate } = this
    return {
      sql: `SELECT ${gate.columns} FROM ${gate.table} WHERE ${gate.column('id')} = ? ${dialect === 'mysql' ? lock : ''}`,
      values: [1],
    }
  }

  /**
   * Takes only the locks of owners, in id order, then those of groups, as every transaction does. On SQLite the
   * transaction already holds the only write lock.
   * @param skipLocked omit owners that another session keeps locked, instead of waiting for them
   * @returns the locked owners: those that have a row
   */
  async lockOwners(transaction: Transaction, ownerIds: readonly number[], skipLocked = false): Promise<number[]> {
    const lock = lockOf(transaction.dialect, skipLocked)
    const locked: number[] = []
    for (const ids of [ownerIds.filter((id) => id > 0), ownerIds.filter((id) => id < 0)]) {
      if (ids.length === 0) continue
      const { sql, values } = this.ownerRows(transaction.dialect, ids, lock)
      for (const row of await transaction.rows(sql, values)) locked.push(Number(row['id']))
    }
    return locked
  }

  /** The owners that have a lock row, locked or not. */
  async existingOwnerIds(transaction: Transaction, ownerIds: readonly number[]): Promise<number[]> {
    if (ownerIds.length === 0) return []
    const { sql, values } = this.ownerRows(transaction.dialect, ownerIds, '')
    return (await transaction.rows(sql, values)).map((row) => Number(row['id']))
  }

  /** The owners that have quotas, including deleted ones. */
  async ownersWithQuotas(transaction: Transaction, ownerIds: readonly number[]): Promise<number[]> {
    const id = this.quota.column('ownerId')
    const rows = await transaction.rows(
      `SELECT DISTINCT ${id} AS id FROM ${this.quota.table} WHERE ${id} IN (${placeholders(ownerIds)})`,
      ownerIds,
    )
    return rows.map((row) => Number(row['id']))
  }

  /**
   * Increments a counter in the owners' rows. Another node of a cluster does not see this node's locks, but two batches
   * that write the same row conflict: one loses its lock or fails at its commit.
   */
  async touchOwners(transaction: Transaction, ownerIds: readonly number[]): Promise<void> {
    const edits = this.owner.column('edits')
    await transaction.later(
      `UPDATE ${this.owner.table} SET ${edits} = ${edits} + 1 WHERE ${this.owner.column('ownerId')} IN (${placeholders(ownerIds)})`,
      ownerIds,
    )
  }

  /** Ends the links of an owner, which has a row. */
  async revokeLinks(transaction: Transaction, ownerId: number): Promise<void> {
    const { owner } = this
    const generation = owner.column('linkGeneration')
    await transaction.later(
      `UPDATE ${owner.table} SET ${generation} = ${generation} + 1 WHERE ${owner.column('ownerId')} = ?`,
      [ownerId],
    )
  }

  /** The owners' quotas that may be live, and the named ones, deleted or not; nothing is locked. */
  async quotasOf(
    transaction: Transaction,
    { ownerIds, quotaIds, now }: Pick<Wanted, 'ownerIds' | 'quotaIds' | 'now'>,
  ): Promise<Q[]> {
    // Connections for reads accept one statement at a time.
    const { sql, values = [] } = this.liveQuotas(transaction.dialect, ownerIds, now)
    const live = ownerIds.length === 0 ? [] : await decoded(this.quota, await transaction.rows(sql, values))
    return [...live, ...(await this.quotasById(transaction, quotaIds))]
  }

  /** The first change of each quota by a change set, by quota. */
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
    return new Map(rows.map((row) => change.decode(row)).map((one) => [one.quotaId ?? 0, one]))
  }

  /** Counts an act on quotas of these groups, as `touchOwners` does. */
  async touchGroups(transaction: Transaction, groupIds: readonly number[]): Promise<void> {
    const edits = this.group.column('edits')
    await transaction.later(
      `UPDATE ${this.group.table} SET ${edits} = ${edits} + 1 WHERE ${this.group.column('id')} IN (${placeholders(groupIds)})`,
      groupIds,
    )
  }

  /** Quotas by id, including deleted ones. */
  async quotasById(transaction: Transaction, ids: readonly number[]): Promise<Q[]> {
    return this.byIds(transaction, this.quota, 'id', ids)
  }

  async actsByDeduplicationKey(transaction: Transaction, deduplicationKeys: readonly string[]): Promise<Act[]> {
    return (await this.byIds(transaction, this.act, 'deduplicationKey', deduplicationKeys)).map((act) =>
      this.whole(act),
    )
  }

  /** Acts by id. */
  async actsById(transaction: Transaction, ids: readonly string[]): Promise<Act[]> {
    return (await this.byIds(transaction, this.act, 'id', ids)).map((act) => this.whole(act))
  }

  /** The oldest acts on an operation, including the one that made it: one operation may have any number of refunds. */
  async actsOf(transaction: Transaction, operationId: string): Promise<Act[]> {
    const { act } = this
    const rows = await transaction.rows(
      `SELECT ${act.columns} FROM ${act.readBy(transaction.dialect, ['operationId'])} ` +
        `WHERE ${act.column('operationId')} = ? ORDER BY ${act.column('id')} LIMIT ${MOST_ACTS_SHOWN}`,
      [bytesToStore(operationId)],
    )
    const acts = [...(await this.plainActs(transaction, [operationId])), ...(await decoded(act, rows))]
    return acts.slice(0, MOST_ACTS_SHOWN).map((one) => this.whole(one))
  }

  /**
   * The units that refunds of operations before an act returned, by operation. It reads the refunds from that act on,
   * not the others: one operation may have any number. One statement, so that both of its parts see the same state.
   */
  async refundedBefore(
    transaction: Transaction,
    operationIds: readonly string[],
    actId: string,
  ): Promise<Map<string, number>> {
    const { act, operation } = this
    const { dialect } = transaction
    const [id, a] = [`o.${operation.column('id')}`, (property: keyof ActRow) => `a.${act.column(property)}`]
    const found = new Map<string, number>()
    for (const part of chunks(operationIds)) {
      const rows = await transaction.rows(
        `SELECT ${id} AS id, o.${operation.column('refunded')} - COALESCE((SELECT SUM(${a('amount')}) FROM ${act.readBy(dialect, ['operationId'], 'a')} ` +
          `WHERE ${a('operationId')} = ${id} AND ${a('id')} >= ? AND ${a('kind')} = 'refund'), 0) AS units ` +
          `FROM ${operation.readByKey(dialect, 'o')} WHERE ${id} IN (${placeholders(part)})`,
        [bytesToStore(actId), ...part.map(bytesToStore)],
      )
      for (const row of rows) found.set(idFromStore(row['id']), Number(row['units']))
    }
    return found
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

  /** The owners of the quotas. */
  async ownersOfQuotas(transaction: Transaction, ids: readonly number[]): Promise<Map<number, number>> {
    const { quota } = this
    const [id, ownerId] = [quota.column('id'), quota.column('ownerId')]
    const rows = await transaction.rows(
      `SELECT ${id} AS id, ${ownerId} AS owner_id FROM ${quota.table} WHERE ${id} IN (${placeholders(ids)})`,
      ids,
    )
    return new Map(rows.map((row) => [Number(row['id']), Number(row['owner_id'])]))
  }

  /** Those of these quotas that belong to a group, with the group as owner (`groupOwner`). */
  async groupsOfQuotas(transaction: Transaction, ids: readonly number[]): Promise<Map<number, number>> {
    const { quota } = this
    const [id, ownerId] = [quota.column('id'), quota.column('ownerId')]
    const found = new Map<number, number>()
    for (const part of chunks(ids)) {
      const rows = await transaction.rows(
        `SELECT ${id} AS id, ${ownerId} AS owner_id FROM ${quota.readByKey(transaction.dialect)} WHERE ${id} IN (${placeholders(part)}) AND ${ownerId} < 0`,
        part,
      )
      for (const row of rows) found.set(Number(row['id']), Number(row['owner_id']))
    }
    return found
  }

  /** Groups by id, deleted or not. */
  async groupsById(transaction: Transaction, ids: readonly number[]): Promise<GroupRow[]> {
    return this.byIds(transaction, this.group, 'id', ids)
  }

  /** The owners of the operations. */
  async ownersOfOperations(transaction: Transaction, ids: readonly string[]): Promise<Map<string, number>> {
    const { operation, act } = this
    const [id, ownerId] = [operation.column('id'), operation.column('ownerId')]
    const [plainId, plainOwnerId] = [act.column('id'), act.column('plainOwnerId')]
    const owners = new Map<string, number>()
    for (const part of chunks(ids)) {
      const rows = await transaction.rows(
        `SELECT ${id} AS id, ${ownerId} AS owner_id FROM ${operation.table} WHERE ${id} IN (${placeholders(part)}) UNION ALL ` +
          `SELECT ${plainId}, ${plainOwnerId} FROM ${act.readByKey(transaction.dialect)} WHERE ${plainId} IN (${placeholders(part)}) AND ${plainOwnerId} IS NOT NULL`,
        [...part, ...part].map(bytesToStore),
      )
      for (const row of rows) owners.set(idFromStore(row['id']), Number(row['owner_id']))
    }
    return owners
  }

  /** The makers of the operations: the callers of the acts with their ids. Unknown ids are omitted. */
  async makersOf(transaction: Transaction, ids: readonly string[]): Promise<Map<string, string>> {
    const { act } = this
    const makers = new Map<string, string>()
    for (const part of chunks(ids)) {
      const rows = await transaction.rows(
        `SELECT ${act.column('id')} AS id, COALESCE(${act.column('callerId')}, ${act.column('caller')}) AS caller FROM ${act.table} WHERE ${act.column('id')} IN (${placeholders(part)})`,
        part.map(bytesToStore),
      )
      for (const row of rows) makers.set(idFromStore(row['id']), row['caller'] as string)
    }
    return makers
  }

  /** The makers of the operations, with their keys, by operation id. */
  async beginningsOf(transaction: Transaction, ids: readonly string[]): Promise<Map<string, MadeBy>> {
    const part = this.act.part(['id', 'caller', 'callerName', 'idempotencyKey'])
    if (ids.length === 0) return new Map()
    const rows = await transaction.rows(
      `SELECT ${part.columns} FROM ${this.act.table} WHERE ${this.act.column('id')} IN (${placeholders(ids)})`,
      ids.map(bytesToStore),
    )
    return new Map(
      rows.map((row) => {
        const { id, caller, callerName, idempotencyKey } = part.decode(row)
        return [id, { actor: nameOf(caller, callerName), idempotency_key: idempotencyKey }]
      }),
    )
  }

  /** The holds of each owner that are open at `now`, the earliest `limit` of them. */
  async openHolds(
    transaction: Transaction,
    ownerIds: readonly number[],
    now: Instant,
    limit: number,
  ): Promise<OpenHoldsOf[]> {
    const { hold } = this
    const expiry = hold.column('expiresAt')
    const found: OpenHoldsOf[] = []
    for (const part of chunks(ownerIds, MAX_UNITED)) {
      // An owner by itself: the index gives its first holds, however many it has.
      const first =
        `SELECT ${this.holdColumns} FROM ${hold.readBy(transaction.dialect, HOLDS_OF_OWNER)} ` +
        `WHERE ${hold.column('ownerId')} = ? AND ${expiry} > ? ORDER BY ${expiry} LIMIT ${limit}`
      const read = await this.holds(transaction, {
        sql: part.map((_, n) => `SELECT * FROM (${first}) h${n}`).join(' UNION ALL '),
        values: part.flatMap((ownerId) => [ownerId, hold.bind('expiresAt', now)]),
      })
      const held = groupBy(read, ({ ownerId }) => ownerId)
      for (const ownerId of part) {
        const holds = (held.get(ownerId) ?? []).map((one) => one.hold)
        const last = holds.reduce((latest, { expiresAt }) => Math.max(latest, expiresAt), now)
        // Further ones may end at the same instant as the last one.
        found.push({ ownerId, holds, knownUntil: holds.length < limit ? Infinity : last })
      }
    }
    return found
  }

  /** The owners' holds that are due at `now` and not yet recorded as expired, the earliest `limit` of them. */
  async dueHolds(
    transaction: Transaction,
    ownerIds: readonly number[],
    now: Instant,
    limit: number,
  ): Promise<HeldBy[]> {
    if (ownerIds.length === 0) return []
    const { hold } = this
    const expiry = hold.column('expiresAt')
    return this.holds(transaction, {
      sql:
        `SELECT ${this.holdColumns} FROM ${hold.readBy(transaction.dialect, HOLDS_OF_OWNER)} WHERE ${hold.column('ownerId')} IN (${placeholders(ownerIds)}) ` +
        `AND ${expiry} <= ? ORDER BY ${expiry}, ${hold.column('operationId')} LIMIT ${limit}`,
      values: [...ownerIds, hold.bind('expiresAt', now)],
    })
  }

  /**
   * The units of the owners' due holds that are not yet recorded as expired, by quota and cycle, for caps also by the
   * time when they were counted.
   */
  async dueUnits(transaction: Transaction, ownerIds: readonly number[], now: Instant): Promise<DueUnits[]> {
    if (ownerIds.length === 0) return []
    const { hold, allocation } = this
    const [quotaId, cycleSeq] = [`a.${allocation.column('quotaId')}`, `a.${allocation.column('cycleSeq')}`]
    const countedAt = `a.${allocation.column('countedAt')}`
    // A hold of a member has rows for its groups, too: each row gives the units of its owner's quotas.
    const ofOwner =
      `${straightJoin(transaction.dialect)} ${this.quota.readByKey(transaction.dialect, 'q')} ` +
      `ON q.${this.quota.column('id')} = ${quotaId} AND q.${this.quota.column('ownerId')} = h.${hold.column('ownerId')} `
    const rows = await transaction.rows(
      `SELECT ${quotaId} AS quota_id, ${cycleSeq} AS cycle_seq, ${countedAt} AS counted_at, SUM(a.${allocation.column('amount')}) AS amount FROM ${hold.readBy(transaction.dialect, HOLDS_OF_OWNER, 'h')} ` +
        `${straightJoin(transaction.dialect)} ${allocation.readByKey(transaction.dialect, 'a')} ON a.${allocation.column('operationId')} = h.${hold.column('operationId')} ${ofOwner}` +
        `WHERE h.${hold.column('ownerId')} IN (${placeholders(ownerIds)}) AND h.${hold.column('expiresAt')} <= ? GROUP BY ${quotaId}, ${cycleSeq}, ${countedAt}`,
      [...ownerIds, hold.bind('expiresAt', now)],
    )
    return rows.map((row) => ({ ...unitsOf(row), countedAt: countedAtOf(row) }))
  }

  /** The earliest expiry of each owner's holds that are open at `now`; owners without one are omitted. */
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

  /** Inserts quotas and returns their ids, in order. */
  async insertQuotas(transaction: Transaction, quotas: readonly Omit<Q, 'id'>[]): Promise<number[]> {
    const rows = quotas.map((quota) => searchable(quota as Q))
    return this.insertNumbered(transaction, this.quota, rows)
  }

  /**
   * Inserts rows and returns their generated ids, in order. The ids of one INSERT are consecutive, with the distance
   * that the server's setting defines. On a cluster, this setting changes with the number of nodes: there each row has
   * its own statement.
   */
  private async insertNumbered<T extends object>(
    transaction: Transaction,
    codec: RowCodec<T>,
    rows: readonly Partial<T>[],
  ): Promise<number[]> {
    const ids: number[] = []
    for (const part of transaction.clustered ? rows.map((row) => [row]) : [rows]) {
      for (const { sql, values } of codec.inserts(part, transaction)) {
        const { affected, insertId } = await transaction.execute(sql, values)
        for (let n = 0; n < affected; n += 1) ids.push(insertId + n * transaction.idStep)
      }
    }
    return ids
  }

  /**
   * Writes all rows that a batch recorded. The acts are first: only on their index can two batches meet. Rows are in
   * the order of their ids, which increase, so that pages of the table fill one after the other and are not split in
   * the middle.
   * @param nextId creates ids for events
   */
  async write(transaction: Transaction, workingSet: WorkingSet<Q>, nextId: () => string): Promise<void> {
    const plain = new Map<string, OperationEntry>()
    const inRows: OperationEntry[] = []
    for (const entry of workingSet.newOperations) {
      if (isPlain(entry)) plain.set(entry.row.id, entry)
      else inRows.push(entry)
    }
    const changed = [...workingSet.changedOperations.values()]
    inRows.push(...changed.filter((entry) => entry.plain))
    inRows.sort((a, b) => compare(a.row.id, b.row.id))
    const acts = workingSet.newActs
      .map((act) => {
        const entry = plain.get(act.id)
        return entry === undefined ? { ...act, ...requestColumns(act.requestId) } : plainRow(act, entry)
      })
      .sort((a, b) => compare(a.id, b.id))
    await this.insert(transaction, this.act, acts)
    await this.insert(
      transaction,
      this.operation,
      inRows.map(({ row }) => row),
    )
    const ofGroupsCap = ({ quotaId, countedAt }: AllocationRow): boolean =>
      countedAt !== null && workingSet.isOfGroup(quotaId)
    const allocations = inRows.flatMap((entry) =>
      entry.plain === true ? allocationRows(entry).filter((one) => !ofGroupsCap(one)) : allocationRows(entry),
    )
    if (workingSet.hasChains)
      for (const entry of plain.values())
        for (const row of capRows(entry)) if (workingSet.isOfGroup(row.quotaId)) allocations.push(row)
    allocations.sort((a, b) => compare(a.operationId, b.operationId) || a.position - b.position)
    await this.insert(transaction, this.allocation, allocations)
    await this.insert(transaction, this.hold, workingSet.holdRows)
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
      ...edited.map((quota) => {
        const stored = workingSet.stored(quota)
        return { id: quota.id, values: pick(searchable(stored), workingSet.columnsToWrite(stored, this.quota.updated)) }
      }),
      ...counted.map(({ id, values }) => ({ id, values: values as Partial<Q> })),
    ])
  }

  /** Changes, and the events that contain their ids. */
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

  /** The owners' rows, with the groups that they are members of. */
  ownerRows(dialect: Dialect, ownerIds: readonly number[], lock: string): Statement {
    const id = this.owner.column('ownerId')
    const sorted = [...ownerIds].sort((a, b) => a - b)
    // By the primary key, not by a plan of the server: locks are taken in the order in which rows are read.
    return {
      sql: `SELECT ${id} AS id, ${this.owner.column('groupId')} AS group_id FROM ${this.owner.readByKey(dialect)} WHERE ${id} IN (${placeholders(sorted)}) ORDER BY ${id} ${lock}`,
      values: sorted,
    }
  }

  /** Counts of members, deleted ones included: what their columns say of their settings may be outdated. */
  countsOf(dialect: Dialect, wanted: readonly WantedCounts[]): Statement {
    if (wanted.length === 0) return NOTHING
    const { quota } = this
    const [owner, followed] = [quota.column('ownerId'), quota.column('follows')]
    const conditions = wanted.map(
      ({ ownerIds, follows }) =>
        `(${owner} IN (${placeholders(ownerIds)}) AND ${followed} ` +
        `${follows === undefined ? '> 0' : `IN (${placeholders([...follows])})`})`,
    )
    return {
      sql: `SELECT ${quota.columns} FROM ${quota.readBy(dialect, ['ownerId', 'follows'])} WHERE ${conditions.join(' OR ')}`,
      values: wanted.flatMap(({ ownerIds, follows = [] }) => [...ownerIds, ...follows]),
    }
  }

  /** The same, read. */
  async counts(transaction: Transaction, wanted: readonly WantedCounts[]): Promise<Q[]> {
    if (wanted.length === 0) return []
    const { sql, values } = this.countsOf(transaction.dialect, wanted)
    return decoded(this.quota, await transaction.rows(sql, values))
  }

  /**
   * The owners' quotas that may be live at `since` or later, including disabled ones; without members' counts
   * (`countsOf`).
   */
  private liveQuotas(dialect: Dialect, ownerIds: readonly number[], since: Instant): Statement {
    const { quota } = this
    const live = this.live(since)
    return {
      sql:
        `${dialect === 'mysql' ? NO_DIVES : ''}SELECT ${quota.columns} FROM ${quota.readBy(dialect, LIVE_OF_OWNER)} WHERE ${quota.column('ownerId')} IN (${placeholders(ownerIds)}) ` +
        `AND ${live.sql} AND ${quota.column('follows')} IS NULL`,
      values: [...ownerIds, ...live.values],
    }
  }

  /** The condition that a quota may be live at `since` or later: neither deleted nor expired. */
  live(since: Instant): Condition {
    const { quota } = this
    const expireAt = quota.column('expireAt')
    return {
      sql:
        `${quota.column('deletedAt')} IS NULL AND ${quota.column('state')} IN ('active', 'disabled') ` +
        `AND (${expireAt} IS NULL OR ${expireAt} > ?)`,
      values: [quota.bind('expireAt', since)],
    }
  }

  private get holdColumns(): string {
    const { hold } = this
    return `${hold.column('operationId')} AS id, ${hold.column('ownerId')} AS owner_id, ${hold.column('expiresAt')} AS expires_at`
  }

  /**
   * Holds with their units, in one statement with few columns: an owner may have thousands.
   * @param some selects their `holdColumns`
   */
  private async holds(transaction: Transaction, some: Statement): Promise<HeldBy[]> {
    const { allocation } = this
    const rows = await transaction.rows(
      `SELECT h.id, h.owner_id, h.expires_at, a.${allocation.column('quotaId')} AS quota_id, a.${allocation.column('cycleSeq')} AS cycle_seq, ` +
        `a.${allocation.column('amount')} AS amount, a.${allocation.column('countedAt')} AS counted_at FROM (${some.sql}) h ` +
        `${straightJoin(transaction.dialect)} ${allocation.readByKey(transaction.dialect, 'a')} ON a.${allocation.column('operationId')} = h.id`,
      some.values,
    )
    const slice = new TimeSlice()
    // By owner, too: a hold has a row for each owner of whose quotas it keeps units.
    const found = new Map<string, HeldBy & { hold: MutableHold }>()
    for (const row of rows) {
      if (slice.spent) await slice.next()
      const operationId = idFromStore(row['id'])
      const name = `${String(row['owner_id'])} ${operationId}`
      let held = found.get(name)
      if (held === undefined) {
        const expiresAt = instantFromStore(row['expires_at'] as string)
        held = { ownerId: Number(row['owner_id']), hold: { operationId, expiresAt, allocations: [] } }
        found.set(name, held)
      }
      addTo(held.hold, row)
    }
    return [...found.values()]
  }

  private async expire(transaction: Transaction, operationIds: readonly string[]): Promise<void> {
    for (const ids of chunks(operationIds)) {
      await transaction.later(
        `UPDATE ${this.operation.table} SET ${this.operation.column('state')} = 'expired' WHERE ${this.operation.column('id')} IN (${placeholders(ids)})`,
        ids.map(bytesToStore),
      )
    }
  }

  private async closeHolds(transaction: Transaction, operationIds: readonly string[]): Promise<void> {
    for (const ids of chunks(operationIds)) {
      await transaction.later(
        `DELETE FROM ${this.hold.table} WHERE ${this.hold.column('operationId')} IN (${placeholders(ids)})`,
        ids.map(bytesToStore),
      )
    }
  }

  private whole(act: ActRow): Act {
    return wholeAct(this.channel, act)
  }

  /**
   * The plain consumes `p` that a quota paid, or that a cap of a group counted: a table in the order of `id`, and the
   * condition on the quota.
   */
  plainOf(dialect: Dialect, isCap: boolean): { from: string; id: string; cycleSeq: string; ofQuota: string } {
    const { act, allocation } = this
    const p = (property: 'id' | 'cycleSeq' | 'plainOwnerId' | 'plainQuotaId'): string => `p.${act.column(property)}`
    const a = (property: 'operationId' | 'cycleSeq' | 'quotaId'): string => `a.${allocation.column(property)}`
    const isPlain = `${p('plainOwnerId')} IS NOT NULL`
    if (!isCap) {
      const from = act.readBy(dialect, ['plainQuotaId', 'id'], 'p')
      return { from, id: p('id'), cycleSeq: p('cycleSeq'), ofQuota: `${p('plainQuotaId')} = ? AND ${isPlain}` }
    }
    const from =
      `${allocation.readBy(dialect, ['quotaId', 'operationId'], 'a')} ` +
      `${straightJoin(dialect)} ${act.readByKey(dialect, 'p')} ON ${p('id')} = ${a('operationId')}`
    return { from, id: a('operationId'), cycleSeq: a('cycleSeq'), ofQuota: `${a('quotaId')} = ? AND ${isPlain}` }
  }

  /** The acts of those operations that are plain consumes. */
  private async plainActs(transaction: Transaction, ids: readonly string[]): Promise<ActRow[]> {
    return (await this.byIds(transaction, this.act, 'id', ids)).filter(({ plainOwnerId }) => plainOwnerId !== null)
  }

  /** Those operations that have no rows of their own. */
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

  /** Inserts rows, none of which exists. */
  async insert<T extends object>(
    transaction: Transaction,
    codec: RowCodec<T>,
    rows: readonly Partial<T>[],
  ): Promise<void> {
    for (const { sql, values } of codec.inserts(rows, transaction)) await transaction.later(sql, values)
  }

  /** Sets absolute values on many rows in one statement: `SET used = CASE id WHEN … END`, only if they differ. */
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
      const ids = part.map((row) => codec.bind('id', row.id))
      const sets = [...properties].map((property) => {
        const column = codec.column(property)
        const values = part.map(({ values }) =>
          property in values ? codec.bind(property, values[property]) : undefined,
        )
        const [first] = values
        // A CASE is searched for each row: not for members' counts that follow the same edit.
        if (first !== undefined && values.every((value) => value === first))
          return `${column} = ${literal(first, bound)}`
        let cases = ''
        for (const [n, value] of values.entries())
          if (value !== undefined) cases += ` WHEN ${literal(ids[n] ?? null, bound)} THEN ${literal(value, bound)}`
        return `${column} = CASE ${id}${cases} ELSE ${column} END`
      })
      const these = ids.map((one) => literal(one, bound)).join(', ')
      await transaction.later(`UPDATE ${codec.table} SET ${sets.join(', ')} WHERE ${id} IN (${these})`, bound)
    }
  }
}

/** No statement; it is not sent. */
const NOTHING: Statement = { sql: '', values: [] }

/** The state of the gate before its row exists. */
const NO_GATE = { closedTo: '', defaultGroupId: null, chainsVersion: 0 }

/** The groups that owners are members of, null for none, by owner; from `ownerRows`. */
export function groupsIn(rows: readonly RawRow[]): Map<number, number | null> {
  return new Map(rows.map((row) => [Number(row['id']), row['group_id'] == null ? null : Number(row['group_id'])]))
}

/** The clause that locks rows, or those of them that are free. On SQLite, a transaction holds the only write lock. */
export function lockOf(dialect: Dialect, skipLocked: boolean): string {
  return dialect === 'sqlite' ? '' : skipLocked ? 'FOR UPDATE SKIP LOCKED' : 'FOR UPDATE'
}

/** The keyword that joins tables in the given order, whatever the planner estimates for tables that have just grown. */
export function straightJoin(dialect: Dialect): string {
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
    values: keys.map((key) => codec.bind(property, key)),
  }
}

/** A value in the text of a statement: an integer as it is, since it costs less; any other as a placeholder. */
function literal(value: Scalar, bound: Scalar[]): string {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value)
  bound.push(value)
  return '?'
}

/** The rows of each statement; statements with empty lists are not sent. */
async function sent(transaction: Transaction, statements: readonly Statement[]): Promise<RawRow[][]> {
  const withValues = statements.filter(({ values = [] }) => values.length > 0)
  const results = await transaction.all(withValues)
  return statements.map((statement) => results[withValues.indexOf(statement)] ?? [])
}

function addToList<T>(lists: Map<string, T[]>, name: string, one: T): void {
  const list = lists.get(name)
  if (list === undefined) lists.set(name, [one])
  else list.push(one)
}

/** Operations with their allocations in draw-down order, and the caps that counted them. */
function withAllocations(rows: readonly OperationRow[], allocations: AllocationRow[]): OperationEntry[] {
  const paid = new Map<string, Allocation[]>()
  const counted = new Map<string, CapCount[]>()
  for (const row of allocations.sort((a, b) => a.position - b.position)) {
    const { operationId, quotaId, cycleSeq, amount, countedAt } = row
    if (countedAt === null) addToList(paid, operationId, { quotaId, cycleSeq, amount })
    else addToList(counted, operationId, { quotaId, cycleSeq })
  }
  return rows.map((row) => ({ row, allocations: paid.get(row.id) ?? [], caps: counted.get(row.id) ?? NO_CAPS }))
}

/** A CASE costs each row a comparison with half of the ids. */
const MAX_ROWS_UPDATED = 100

/** The number of an operation's acts that are shown. */
const MOST_ACTS_SHOWN = 10_000

/** Rows as entities. 500 owners may have 100,000 of them, so the conversion yields to other tasks. */
export async function decoded<T extends object>(codec: RowCodec<T>, rows: readonly RawRow[]): Promise<T[]> {
  const slice = new TimeSlice()
  const found: T[] = []
  for (const row of rows) {
    if (slice.spent) await slice.next()
    found.push(codec.decode(row))
  }
  return found
}

/** A hold during the read of its rows. */
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

/** A quota with the value that the label filter compares. */
function searchable<Q extends QuotaRow>(quota: Q): Q {
  return { ...quota, labelSearch: storedForSearch(quota.label) }
}

function compare<T extends string | number>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function pick<T extends object>(from: T, names: readonly (keyof T & string)[]): Partial<T> {
  return Object.fromEntries(names.map((name) => [name, from[name]])) as Partial<T>
}
