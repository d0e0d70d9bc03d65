import type { DataSource } from 'typeorm'
import { placeholders, RowCodec, type Scalar } from '../database/row-codec.js'
import type { Transaction } from '../database/unit-of-work.js'
import type { Allocation } from '../quota/draw-down.js'
import type { Instant } from '../quota/instant.js'
import type { Hold } from '../quota/refill.js'
import type { ActRow } from './act.entity.js'
import type { AllocationRow } from './allocation.entity.js'
import { allocationRows, type Book, type OperationEntry } from './book.js'
import type { ChangeRow } from './change.entity.js'
import type { Channel } from './channel.js'
import type { HoldRow } from './hold.entity.js'
import type { OperationRow } from './operation.entity.js'
import type { OwnerRow } from './owner.entity.js'
import type { QuotaRow } from './quota.entity.js'

const NEW_QUOTA = [
  'ownerId',
  'quotaType',
  'total',
  'used',
  'reserved',
  'state',
  'expireAt',
  'cycleUnit',
  'cycleTimeZone',
  'cycleAnchorAt',
  'cycleEndsAt',
  'cycleSeq',
  'holdDueAt',
  'version',
  'createdAt',
  'updatedAt',
  'deletedAt',
] as const
const EDITED_QUOTA = [
  'total',
  'state',
  'expireAt',
  'cycleUnit',
  'cycleTimeZone',
  'cycleAnchorAt',
  'cycleEndsAt',
  'cycleSeq',
  'used',
  'reserved',
  'holdDueAt',
  'version',
  'updatedAt',
  'deletedAt',
] as const
const ACT = [
  'id',
  'kind',
  'ownerId',
  'quotaId',
  'operationId',
  'caller',
  'idempotencyKey',
  'once',
  'request',
  'amount',
  'defaultAmount',
  'answer',
  'requestId',
  'at',
] as const
const OPERATION = [
  'id',
  'ownerId',
  'kind',
  'state',
  'amount',
  'charged',
  'refunded',
  'ownerRemaining',
  'expiresAt',
  'createdAt',
] as const
const SETTLED_OPERATION = ['state', 'charged', 'refunded', 'ownerRemaining'] as const
const ALLOCATION = ['operationId', 'position', 'quotaId', 'cycleSeq', 'amount'] as const
const HOLD = ['operationId', 'ownerId', 'expiresAt'] as const
const CHANGE = ['quotaId', 'action', 'actor', 'requestId', 'at', 'before', 'after'] as const

/** The index by which an owner's live quotas are found. */
export const LIVE_OF_OWNER = ['ownerId', 'deletedAt', 'state', 'id'] as const

/** Lists of ids in one statement are cut at this length. */
const MOST_IDS = 10_000

/** The statements of one channel's ledger. Knows tables, and nothing of what they are for. */
export class LedgerStore<Q extends QuotaRow> {
  readonly quota: RowCodec<Q>
  readonly operation: RowCodec<OperationRow>
  readonly allocation: RowCodec<AllocationRow>
  readonly hold: RowCodec<HoldRow>
  readonly change: RowCodec<ChangeRow>
  readonly owner: RowCodec<OwnerRow>
  private readonly act: RowCodec<ActRow>
  private readonly newQuotaColumns: readonly (keyof Q & string)[]

  constructor(dataSource: DataSource, channel: Channel<Q>) {
    this.quota = RowCodec.of(dataSource, channel.quota)
    this.owner = RowCodec.of(dataSource, channel.owner)
    this.act = RowCodec.of(dataSource, channel.act)
    this.operation = RowCodec.of(dataSource, channel.operation)
    this.allocation = RowCodec.of(dataSource, channel.allocation)
    this.hold = RowCodec.of(dataSource, channel.hold)
    this.change = RowCodec.of(dataSource, channel.change)
    this.newQuotaColumns = [
      ...new Set<keyof Q & string>([...NEW_QUOTA, ...channel.people.map(({ property }) => property)]),
    ]
  }

  /** Makes sure that the owners have the rows that serve as their locks. Harmless where nothing follows. */
  async ensureOwners(transaction: Transaction, ownerIds: readonly number[]): Promise<void> {
    const id = this.owner.column('ownerId')
    // An upsert and not INSERT IGNORE, which would take a shared lock that two instances cannot both trade for an exclusive one.
    const conflict =
      transaction.dialect === 'mysql' ? `ON DUPLICATE KEY UPDATE ${id} = ${id}` : `ON CONFLICT (${id}) DO NOTHING`
    await transaction.execute(
      `INSERT INTO ${this.owner.table} (${id}) VALUES ${ownerIds.map(() => '(?)').join(', ')} ${conflict}`,
      [...ownerIds].sort((a, b) => a - b),
    )
  }

  /**
   * Takes the owners' locks, in id order. SQLite needs none: its transaction holds the one write lock.
   * @returns the owners that are locked. One without a row is not, and has no quota: its first create may be under way elsewhere, and what
   *   that makes must not be touched here.
   */
  async lockOwners(transaction: Transaction, ownerIds: readonly number[]): Promise<number[]> {
    if (transaction.dialect === 'sqlite') return [...ownerIds]
    const id = this.owner.column('ownerId')
    const sorted = [...ownerIds].sort((a, b) => a - b)
    const rows = await transaction.rows(
      `SELECT ${id} AS id FROM ${this.owner.table} FORCE INDEX (PRIMARY) WHERE ${id} IN (${placeholders(sorted)}) ORDER BY ${id} FOR UPDATE`,
      sorted,
    )
    return rows.map((row) => Number(row['id']))
  }

  /**
   * Counts a batch on the owners' rows. A cluster's other node does not see the locks of this one, but two batches that wrote the same row
   * collide there: who holds the row's lock is thrown out, and who comes late to the commit too.
   */
  async touchOwners(transaction: Transaction, ownerIds: readonly number[]): Promise<void> {
    const edits = this.owner.column('edits')
    await transaction.execute(
      `UPDATE ${this.owner.table} SET ${edits} = ${edits} + 1 WHERE ${this.owner.column('ownerId')} IN (${placeholders(ownerIds)})`,
      ownerIds,
    )
  }

  /** The owners' quotas that may be live at `now`, disabled ones among them. */
  async liveQuotas(transaction: Transaction, ownerIds: readonly number[], now: Instant): Promise<Q[]> {
    if (ownerIds.length === 0) return []
    const { quota } = this
    const rows = await transaction.rows(
      `SELECT ${quota.columns} FROM ${quota.readBy(transaction.dialect, LIVE_OF_OWNER)} WHERE ${quota.column('ownerId')} IN (${placeholders(ownerIds)}) ` +
        `AND ${quota.column('deletedAt')} IS NULL AND ${quota.column('state')} IN ('active', 'disabled') ` +
        `AND (${quota.column('expireAt')} IS NULL OR ${quota.column('expireAt')} > ?)`,
      [...ownerIds, quota.bind('expireAt', now)],
    )
    return rows.map((row) => quota.decode(row))
  }

  /** Quotas by id, deleted ones too. */
  async quotasById(transaction: Transaction, ids: readonly number[]): Promise<Q[]> {
    return this.byIds(transaction, this.quota, 'id', ids)
  }

  async actsByOnce(transaction: Transaction, once: readonly string[]): Promise<ActRow[]> {
    return this.byIds(transaction, this.act, 'once', once)
  }

  async actsById(transaction: Transaction, ids: readonly string[]): Promise<ActRow[]> {
    return this.byIds(transaction, this.act, 'id', ids)
  }

  /** Operations with their allocations in draw-down order. */
  async operationsById(transaction: Transaction, ids: readonly string[]): Promise<OperationEntry[]> {
    const rows = await this.byIds(transaction, this.operation, 'id', ids)
    const allocations = await this.allocationsOf(
      transaction,
      rows.map((row) => row.id),
    )
    return rows.map((row) => ({ row, allocations: allocations.get(row.id) ?? [] }))
  }

  /** All open holds of the owners. */
  async openHolds(transaction: Transaction, ownerIds: readonly number[]): Promise<{ ownerId: number; hold: Hold }[]> {
    const rows = await this.byIds(transaction, this.hold, 'ownerId', ownerIds)
    const allocations = await this.allocationsOf(
      transaction,
      rows.map((row) => row.operationId),
    )
    return rows.map(({ ownerId, operationId, expiresAt }) => ({
      ownerId,
      hold: { operationId, expiresAt, allocations: allocations.get(operationId) ?? [] },
    }))
  }

  /** Inserts one quota and answers its id. */
  async insertQuota(transaction: Transaction, quota: Omit<Q, 'id'>): Promise<number> {
    const [statement] = this.quota.inserts([quota as Partial<Q>], this.newQuotaColumns)
    if (statement === undefined) throw new Error('no row, no statement')
    return (await transaction.execute(statement.sql, statement.values)).insertId
  }

  /** Writes everything that a batch recorded. The acts go first and sorted: theirs is the one index on which two batches can meet. */
  async write(transaction: Transaction, book: Book<Q>): Promise<void> {
    const acts = [...book.newActs].sort((a, b) => compare(a.once ?? '', b.once ?? ''))
    const entries = book.newOperations
    const holds = [...book.newHolds.values()].map(({ ownerId, hold }) => ({ ...hold, ownerId }))
    await this.insert(transaction, this.act, acts, ACT)
    await this.insert(
      transaction,
      this.operation,
      entries.map(({ row }) => row),
      OPERATION,
    )
    await this.insert(
      transaction,
      this.allocation,
      entries.flatMap(({ row, allocations }) => allocationRows(row.id, allocations)),
      ALLOCATION,
    )
    await this.insert(transaction, this.hold, holds, HOLD)
    await this.insert(transaction, this.change, book.changes, CHANGE)
    await this.expire(transaction, book.expiredOperations)
    await this.closeHolds(transaction, book.closedHolds)
    await this.update(
      transaction,
      this.operation,
      [...book.changedOperations.values()].map((row) => ({ id: row.id, values: pick(row, SETTLED_OPERATION) })),
    )
    const edited = [...book.editedQuotas.values()]
    const moved = book.movedCounters().filter(({ id }) => !book.editedQuotas.has(id))
    await this.update(transaction, this.quota, [
      ...edited.map((quota) => ({ id: quota.id, values: pick(quota, EDITED_QUOTA) as Partial<Q> })),
      ...moved.map(({ id, values }) => ({ id, values: values as Partial<Q> })),
    ])
  }

  private async expire(transaction: Transaction, operationIds: readonly string[]): Promise<void> {
    for (const ids of chunks(operationIds)) {
      await transaction.execute(
        `UPDATE ${this.operation.table} SET ${this.operation.column('state')} = 'expired' WHERE ${this.operation.column('id')} IN (${placeholders(ids)})`,
        ids,
      )
    }
  }

  private async closeHolds(transaction: Transaction, operationIds: readonly string[]): Promise<void> {
    for (const ids of chunks(operationIds)) {
      await transaction.execute(
        `DELETE FROM ${this.hold.table} WHERE ${this.hold.column('operationId')} IN (${placeholders(ids)})`,
        ids,
      )
    }
  }

  private async allocationsOf(
    transaction: Transaction,
    operationIds: readonly string[],
  ): Promise<Map<string, Allocation[]>> {
    const rows = await this.byIds(transaction, this.allocation, 'operationId', operationIds)
    const found = new Map<string, Allocation[]>()
    for (const { operationId, quotaId, cycleSeq, amount } of rows.sort((a, b) => a.position - b.position)) {
      const list = found.get(operationId)
      if (list === undefined) found.set(operationId, [{ quotaId, cycleSeq, amount }])
      else list.push({ quotaId, cycleSeq, amount })
    }
    return found
  }

  private async byIds<T extends object>(
    transaction: Transaction,
    codec: RowCodec<T>,
    property: keyof T & string,
    ids: readonly (string | number)[],
  ): Promise<T[]> {
    const found: T[] = []
    for (const part of chunks(ids)) {
      const rows = await transaction.rows(
        `SELECT ${codec.columns} FROM ${codec.table} WHERE ${codec.column(property)} IN (${placeholders(part)})`,
        part,
      )
      for (const row of rows) found.push(codec.decode(row))
    }
    return found
  }

  private async insert<T extends object>(
    transaction: Transaction,
    codec: RowCodec<T>,
    rows: readonly Partial<T>[],
    properties: readonly (keyof T & string)[],
  ): Promise<void> {
    for (const { sql, values } of codec.inserts(rows, properties)) await transaction.execute(sql, values)
  }

  /** Sets absolute values on many rows in one statement: `SET used = CASE id WHEN … END`, only where they differ. */
  private async update<T extends { id: string | number }>(
    transaction: Transaction,
    codec: RowCodec<T>,
    rows: readonly { id: T['id']; values: Partial<T> }[],
  ): Promise<void> {
    for (const part of chunks(
      [...rows].sort((a, b) => compare(a.id, b.id)),
      MOST_ROWS_UPDATED,
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
      await transaction.execute(`UPDATE ${codec.table} SET ${sets.join(', ')} WHERE ${id} IN (${placeholders(ids)})`, [
        ...bound,
        ...ids,
      ])
    }
  }
}

/** Each row may need two placeholders a column. */
const MOST_ROWS_UPDATED = 1_000

function* chunks<T>(values: readonly T[], size: number = MOST_IDS): Generator<readonly T[]> {
  for (let start = 0; start < values.length; start += size) yield values.slice(start, start + size)
}

function compare<T extends string | number>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function pick<T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.map((name) => [name, from[name]])) as Pick<T, K>
}
