import type { DataSource } from 'typeorm'
import { placeholders, RowCodec, type Scalar } from '../database/row-codec.js'
import type { Transaction } from '../database/transaction-runner.js'
import { validationFailed } from '../common/service-error.js'
import type { Instant } from '../common/instant.js'
import type { ChangeSetChannel } from './change-set-channel.js'
import type { ChangeSetItemRow } from './change-set-item.entity.js'
import type { ChangeSetRow, ChangeSetState, Outcome } from './change-set.entity.js'

/** The number of rows that one step writes or removes. */
export const ITEMS_AT_ONCE = 500

/** Selects rows of a change set. */
export interface ItemsWanted {
  readonly outcome?: Outcome | undefined
  /** Only rows after this one; with `newestFirst`, before it. */
  readonly after?: number | undefined
  readonly newestFirst?: boolean
  readonly limit: number
}

/** The SQL statements of one channel's change sets. */
export class ChangeSetStore {
  readonly set: RowCodec<ChangeSetRow>
  readonly item: RowCodec<ChangeSetItemRow>

  constructor(dataSource: DataSource, { set, item }: Pick<ChangeSetChannel, 'set' | 'item'>) {
    this.set = RowCodec.of(dataSource, set)
    this.item = RowCodec.of(dataSource, item)
  }

  /** @returns its id */
  async insert(transaction: Transaction, row: Omit<ChangeSetRow, 'id'>): Promise<number> {
    const [statement] = this.set.inserts([row], transaction)
    if (statement === undefined) throw new Error('nothing to insert')
    return (await transaction.execute(statement.sql, statement.values)).insertId
  }

  async find(transaction: Transaction, id: number): Promise<ChangeSetRow | undefined> {
    return this.one(transaction, 'id', id, '')
  }

  /** Reads a change set and locks its row until the end of the transaction. */
  async lock(transaction: Transaction, id: number): Promise<ChangeSetRow | undefined> {
    return this.one(transaction, 'id', id, transaction.dialect === 'sqlite' ? '' : 'FOR UPDATE')
  }

  /**
   * The same for one whose file arrives.
   * @throws ServiceError validation_failed if it was removed, since that took too long
   */
  async lockArriving(transaction: Transaction, id: number): Promise<ChangeSetRow> {
    const set = await this.lock(transaction, id)
    if (set?.state === 'arriving') return set
    throw validationFailed([{ field: 'body', message: 'took too long to arrive' }])
  }

  async byKey(transaction: Transaction, deduplicationKey: string): Promise<ChangeSetRow | undefined> {
    return this.one(transaction, 'deduplicationKey', deduplicationKey, '')
  }

  /** Returns those of the deduplication keys that change sets have. */
  async takenKeys(transaction: Transaction, deduplicationKeys: readonly string[]): Promise<Set<string>> {
    const key = this.set.column('deduplicationKey')
    const rows = await transaction.rows(
      `SELECT ${key} AS taken FROM ${this.set.table} WHERE ${key} IN (${placeholders(deduplicationKeys)})`,
      deduplicationKeys,
    )
    return new Set(rows.map((row) => String(row['taken'])))
  }

  /** Returns the principals that have created change sets. */
  async creators(transaction: Transaction): Promise<string[]> {
    const creatorId = this.set.column('creatorId')
    const from = this.set.readBy(transaction.dialect, ['creatorId', 'waitingRows'])
    const rows = await transaction.rows(`SELECT DISTINCT ${creatorId} AS id FROM ${from}`)
    return rows.map((row) => String(row['id']))
  }

  async update(transaction: Transaction, id: number, values: Partial<ChangeSetRow>): Promise<void> {
    const names = Object.keys(values) as (keyof ChangeSetRow)[]
    await transaction.later(
      `UPDATE ${this.set.table} SET ${names.map((name) => `${this.set.column(name)} = ?`).join(', ')} WHERE ${this.set.column('id')} = ?`,
      [...names.map((name) => this.set.bind(name, values[name])), id],
    )
  }

  /** Returns a page of visible change sets, newest first. */
  async page(
    transaction: Transaction,
    state: ChangeSetState | undefined,
    before: number | undefined,
    limit: number,
  ): Promise<ChangeSetRow[]> {
    const { set } = this
    const property = state === undefined ? 'hidden' : 'state'
    const conditions = [`${set.column(property)} = ?`]
    const values: Scalar[] = [state ?? 0]
    if (before !== undefined) {
      conditions.push(`${set.column('id')} < ?`)
      values.push(before)
    }
    const rows = await transaction.rows(
      `SELECT ${set.columns} FROM ${set.readBy(transaction.dialect, [property, 'id'])} WHERE ${conditions.join(' AND ')} ORDER BY ${set.column('id')} DESC LIMIT ${limit}`,
      values,
    )
    return rows.map((row) => set.decode(row))
  }

  /** Returns the change set of each creator whose work was requested first, and the number of all with pending work. */
  async firstOfEach(transaction: Transaction): Promise<{ first: ChangeSetRow[]; count: number }> {
    const { set } = this
    const [workAt, creatorId] = [set.column('workAt'), set.column('creatorId')]
    const from = set.readBy(transaction.dialect, ['workAt', 'creatorId'])
    const rows = await transaction.rows(
      `SELECT ${set.columnsOf('s')}, f.n FROM (SELECT ${creatorId} AS creator, MIN(${workAt}) AS since, COUNT(*) AS n FROM ${from} ` +
        `WHERE ${workAt} IS NOT NULL GROUP BY ${creatorId}) f ` +
        `JOIN ${set.readBy(transaction.dialect, ['workAt', 'creatorId'], 's')} ON s.${workAt} = f.since AND s.${creatorId} = f.creator ` +
        `ORDER BY s.${set.column('id')}`,
    )
    const first = new Map<string, ChangeSetRow>()
    let count = 0
    for (const row of rows) {
      const one = set.decode(row)
      // Others of the creator were requested in the same millisecond.
      if (first.has(one.creatorId)) continue
      first.set(one.creatorId, one)
      count += Number(row['n'])
    }
    return { first: [...first.values()], count }
  }

  /** Returns the number of rows in a creator's change sets that count towards its limit. */
  async waitingRows(transaction: Transaction, creatorId: string): Promise<number> {
    const { set } = this
    const [row] = await transaction.rows(
      `SELECT SUM(${set.column('waitingRows')}) AS n FROM ${set.readBy(transaction.dialect, ['creatorId', 'waitingRows'])} ` +
        `WHERE ${set.column('creatorId')} = ? AND ${set.column('waitingRows')} > 0`,
      [creatorId],
    )
    return Number(row?.['n'] ?? 0)
  }

  /** Returns the visible change sets with most of these rows. */
  async largestWaiting(transaction: Transaction, creatorId: string, limit: number): Promise<ChangeSetRow[]> {
    const { set } = this
    const rows = await transaction.rows(
      `SELECT ${set.columns} FROM ${set.readBy(transaction.dialect, ['creatorId', 'waitingRows'])} WHERE ${set.column('creatorId')} = ? ` +
        `AND ${set.column('waitingRows')} > 0 AND ${set.column('hidden')} = 0 ORDER BY ${set.column('waitingRows')} DESC LIMIT ${limit}`,
      [creatorId],
    )
    return rows.map((row) => set.decode(row))
  }

  /** Returns rows of a change set, in order. */
  async items(transaction: Transaction, setId: number, wanted: ItemsWanted): Promise<ChangeSetItemRow[]> {
    const { outcome, after, newestFirst = false, limit } = wanted
    const { item } = this
    const row = item.column('row')
    const conditions = [`${item.column('setId')} = ?`]
    const values: Scalar[] = [setId]
    if (outcome !== undefined) {
      conditions.push(`${item.column('outcome')} = ?`)
      values.push(outcome)
    }
    if (after !== undefined) {
      conditions.push(`${row} ${newestFirst ? '<' : '>'} ?`)
      values.push(after)
    }
    const from =
      outcome === undefined
        ? item.readByKey(transaction.dialect)
        : item.readBy(transaction.dialect, ['setId', 'outcome', 'row'])
    const rows = await transaction.rows(
      `SELECT ${item.columns} FROM ${from} WHERE ${conditions.join(' AND ')} ORDER BY ${row}${newestFirst ? ' DESC' : ''} LIMIT ${limit}`,
      values,
    )
    return rows.map((one) => item.decode(one))
  }

  /** Returns rows with an owner, in order of owner and row. */
  async itemsByOwner(
    transaction: Transaction,
    setId: number,
    after: { readonly ownerId: number; readonly row: number } | undefined,
    limit: number,
  ): Promise<ChangeSetItemRow[]> {
    const { item } = this
    const [ownerId, row] = [item.column('ownerId'), item.column('row')]
    const [condition, values]: [string, Scalar[]] =
      after === undefined
        ? [`${ownerId} IS NOT NULL`, []]
        : [`${ownerId} >= ? AND (${ownerId} > ? OR ${row} > ?)`, [after.ownerId, after.ownerId, after.row]]
    const rows = await transaction.rows(
      `SELECT ${item.columns} FROM ${item.readBy(transaction.dialect, ['setId', 'ownerId', 'row'])} ` +
        `WHERE ${item.column('setId')} = ? AND ${condition} ORDER BY ${ownerId}, ${row} LIMIT ${limit}`,
      [setId, ...values],
    )
    return rows.map((one) => item.decode(one))
  }

  /** Writes complete rows by their key. */
  async writeItems(transaction: Transaction, items: readonly ChangeSetItemRow[]): Promise<void> {
    const clause = this.item.overwriting(transaction.dialect, ['setId', 'row'], this.item.updated)
    for (const { sql, values } of this.item.inserts(items, transaction)) await transaction.later(sql + clause, values)
  }

  /** Removes the first rows. @returns whether there are more */
  async removeItems(transaction: Transaction, setId: number): Promise<boolean> {
    const { item } = this
    const [set, row] = [item.column('setId'), item.column('row')]
    const rows = await transaction.rows(
      `SELECT ${row} AS n FROM ${item.readByKey(transaction.dialect)} WHERE ${set} = ? ORDER BY ${row} LIMIT ${ITEMS_AT_ONCE}`,
      [setId],
    )
    const last = rows.at(-1)
    if (last === undefined) return false
    await transaction.later(`DELETE FROM ${item.table} WHERE ${set} = ? AND ${row} <= ?`, [setId, Number(last['n'])])
    return rows.length === ITEMS_AT_ONCE
  }

  async remove(transaction: Transaction, id: number): Promise<void> {
    await transaction.later(`DELETE FROM ${this.set.table} WHERE ${this.set.column('id')} = ?`, [id])
  }

  /** Returns a change set that is to be removed, and has no pending work. */
  async expired(transaction: Transaction, now: Instant): Promise<ChangeSetRow | undefined> {
    const { set } = this
    const rows = await transaction.rows(
      `SELECT ${set.columns} FROM ${set.readBy(transaction.dialect, ['expiresAt'])} WHERE ${set.column('expiresAt')} < ? ` +
        `AND ${set.column('workAt')} IS NULL ORDER BY ${set.column('expiresAt')} LIMIT 1`,
      [set.bind('expiresAt', now)],
    )
    return rows[0] === undefined ? undefined : set.decode(rows[0])
  }

  /**
   * Returns, for each quota, pairs of versions of change sets that have been reverted: the version before the change
   * set, and the one after its revert. The settings are equal at both.
   */
  async undone(transaction: Transaction, quotaIds: readonly number[]): Promise<Map<number, Map<number, number>>> {
    const { item } = this
    const found = new Map<number, Map<number, number>>()
    if (quotaIds.length === 0) return found
    const rows = await transaction.rows(
      `SELECT ${item.column('quotaId')} AS quota_id, ${item.column('version')} AS version, ${item.column('revertedVersion')} AS reverted_version ` +
        `FROM ${item.readBy(transaction.dialect, ['quotaId', 'version'])} WHERE ${item.column('quotaId')} IN (${placeholders(quotaIds)}) ` +
        `AND ${item.column('outcome')} = 'reverted' AND ${item.column('version')} IS NOT NULL`,
      quotaIds,
    )
    for (const row of rows) {
      const quotaId = Number(row['quota_id'])
      const steps = found.get(quotaId) ?? new Map<number, number>()
      found.set(quotaId, steps.set(Number(row['version']), Number(row['reverted_version'])))
    }
    return found
  }

  private async one(
    transaction: Transaction,
    property: 'id' | 'deduplicationKey',
    value: string | number,
    lock: string,
  ): Promise<ChangeSetRow | undefined> {
    const { set } = this
    const rows = await transaction.rows(
      `SELECT ${set.columns} FROM ${set.table} WHERE ${set.column(property)} = ? ${lock}`,
      [value],
    )
    return rows[0] === undefined ? undefined : set.decode(rows[0])
  }
}
