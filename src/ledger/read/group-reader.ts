import type { DataSource } from 'typeorm'
import { instantFromStore } from '../../database/column.js'
import type { TransactionRunner } from '../../database/transaction-runner.js'
import { formatInstant } from '../../common/instant.js'
import type { FieldError } from '../../common/service-error.js'
import type { Channel } from '../rows/channel.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { changeView, type ChangeView, groupView, type GroupView } from '../store/answers.js'
import { groupNotFound } from '../store/errors.js'
import { groupOwner } from '../rows/group.entity.js'
import { GroupStore } from '../store/group-store.js'
import { beginsWith, LedgerStore } from '../store/ledger-store.js'
import type { Page } from './list-reader.js'
import { allOf, beforeOf, type PageRequest } from './list-statements.js'
import { counted, type Counted, countedIn, countOf, isPageRow, pageWithCount } from './quota-statements.js'
import { EXACT_UP_TO, type RecentCounts, type Total } from './recent-counts.js'

/** The conditions on groups; absent members are no condition. */
export interface GroupFilter {
  /** The beginning of the name, compared as labels are. */
  readonly name?: string | undefined
  readonly parentId?: number | undefined
}

/** A page of members, in the form of answers; each item begins with its owner. */
export interface MembersPage {
  items: { since: string }[]
  /** The start of the next page, or null at the end. */
  next_after: number | null
}

/** Reads groups, their changes and their members, without the engine. */
export class GroupReader<Q extends QuotaRow> {
  private readonly store: LedgerStore<Q>
  private readonly groups: GroupStore<Q>

  constructor(
    private readonly channel: Channel<Q>,
    dataSource: DataSource,
    private readonly transactions: TransactionRunner,
    private readonly counts: RecentCounts,
  ) {
    this.store = new LedgerStore(dataSource, channel)
    this.groups = new GroupStore(this.store)
  }

  /** One group. @throws ServiceError group_not_found if it does not exist or is deleted */
  async get(principalId: string, id: number): Promise<GroupView> {
    const reads = this.transactions.readsOf(principalId)
    const group = await reads.read(async (transaction) => this.groups.group(transaction, id))
    if (group === undefined || group.deletedAt !== null) throw groupNotFound(id)
    return groupView(group)
  }

  /**
   * The mistakes of a body with that of its parent, which only the groups tell (contract, §7).
   * @param id undefined for a new group
   */
  async violationsBy(
    principalId: string,
    id: number | undefined,
    parentId: number | null | undefined,
    mistakes: readonly FieldError[],
  ): Promise<readonly FieldError[]> {
    if (parentId == null) return mistakes
    const message = await this.transactions.readsOf(principalId).read(async (transaction) => {
      const group = id === undefined ? undefined : await this.groups.group(transaction, id)
      const isGone = id !== undefined && (group === undefined || group.deletedAt !== null)
      if (isGone || group?.parentId === parentId) return undefined
      return this.groups.parentMistake(transaction, id, parentId)
    })
    return message === undefined ? mistakes : [...mistakes, { field: 'parent_id', message }]
  }

  /** A live group and those above it, nearest first. @throws ServiceError group_not_found */
  async chainOf(principalId: string, id: number): Promise<number[]> {
    const reads = this.transactions.readsOf(principalId)
    const chain = await reads.read(async (transaction) => this.groups.chainOf(transaction, id))
    if (chain.length === 0) throw groupNotFound(id)
    return chain
  }

  /** A page of live groups, newest first. */
  async list(principalId: string, { name, parentId }: GroupFilter, page: PageRequest): Promise<Page<GroupView>> {
    const { group } = this.store
    const all = allOf([
      { sql: `${group.column('deletedAt')} IS NULL`, values: [] },
      ...(parentId === undefined ? [] : [{ sql: `${group.column('parentId')} = ?`, values: [parentId] }]),
      ...(name === undefined ? [] : [beginsWith(group, 'liveName', name)]),
    ])
    const found = await this.page(
      principalId,
      group.table,
      group.columns,
      all,
      page,
      `groups ${JSON.stringify([name, parentId])}`,
    )
    return { ...found, items: found.items.map((row) => groupView(group.decode(row))) }
  }

  /** A page of the changes of a group's settings and members, newest first; also for a deleted group. */
  async changes(principalId: string, id: number, page: PageRequest): Promise<Page<ChangeView>> {
    const { change } = this.store
    const reads = this.transactions.readsOf(principalId)
    if ((await reads.read(async (transaction) => this.groups.group(transaction, id))) === undefined)
      throw groupNotFound(id)
    // By the owner that a group is: by the group, changes of all members' counts would be examined.
    const sql = `WHERE ${change.column('ownerId')} = ? AND ${change.column('quotaId')} IS NULL`
    const from = change.readBy(this.transactions.dialect, ['ownerId', 'id'])
    const where = { sql, values: [groupOwner(id)] }
    const found = await this.page(principalId, from, change.columns, where, page, `group ${id}`)
    return { ...found, items: found.items.map((row) => changeView(this.channel, change.decode(row))) }
  }

  /**
   * A page of the members of a group, ids ascending.
   * @param after only members with a larger id
   */
  async members(principalId: string, id: number, after: number | undefined, size: number): Promise<MembersPage> {
    const { owner } = this.store
    await this.get(principalId, id)
    const [ownerId, groupId] = [owner.column('ownerId'), owner.column('groupId')]
    const rows = await this.transactions
      .readsOf(principalId)
      .read((transaction) =>
        transaction.rows(
          `SELECT ${ownerId} AS id, ${owner.column('memberSince')} AS since FROM ${owner.readBy(transaction.dialect, ['groupId', 'ownerId'])} ` +
            `WHERE ${groupId} = ? AND ${ownerId} > ? ORDER BY ${ownerId} LIMIT ${size + 1}`,
          [id, after ?? 0],
        ),
      )
    const [{ field }] = this.channel.subjects
    const items = rows.slice(0, size).map((row) => ({
      [field]: Number(row['id']),
      since: formatInstant(instantFromStore(row['since'] as string)),
    }))
    const last = rows[size - 1]
    return {
      items: items as unknown as MembersPage['items'],
      next_after: rows.length > size ? Number(last?.['id']) : null,
    }
  }

  /** The number of members of a group. */
  async memberCount(principalId: string, id: number): Promise<Total> {
    const { owner } = this.store
    const where = { sql: `WHERE ${owner.column('groupId')} = ?`, values: [id] }
    return this.count(`members ${id}`, owner.table, where, this.transactions.readsOf(principalId))
  }

  /** The number of live groups, for metrics; beyond 10,000 at most 60 s old, as the other two. */
  async groupCount(): Promise<number> {
    const { group } = this.store
    return this.measured('groups', group.table, { sql: `WHERE ${group.column('deletedAt')} IS NULL`, values: [] })
  }

  /** The number of owners that were added to a group by name. */
  async allMembers(): Promise<number> {
    const { owner } = this.store
    return this.measured('members', owner.table, { sql: `WHERE ${owner.column('groupId')} > 0`, values: [] })
  }

  /** The number of members' counts whose copies for lists are behind the quotas that they follow. */
  async copiesBehind(): Promise<number> {
    const from = this.groups.copiesBehind(this.transactions.dialect)
    return this.measured('copies behind', from.table, { sql: from.where, values: [] })
  }

  private async measured(name: string, table: string, where: Counted): Promise<number> {
    return (await this.count(name, table, where, this.transactions)).total
  }

  private async count(
    name: string,
    table: string,
    where: Counted,
    reads: Pick<TransactionRunner, 'read'>,
  ): Promise<Total> {
    const count = async (limit?: number): Promise<number> => counted(reads, countOf(table, [where], limit))
    return this.counts.total(name, await count(EXACT_UP_TO + 1), count)
  }

  private async page(
    principalId: string,
    table: string,
    columns: string,
    { sql, values }: Counted,
    { page, pageSize, beforeId }: PageRequest,
    name: string,
  ): Promise<Page<Record<string, unknown>>> {
    const before = beforeOf(beforeId)
    const statement = pageWithCount(
      {
        sql: `SELECT ${columns} FROM ${table} ${sql}${before.sql} ORDER BY \`id\` DESC LIMIT ? OFFSET ?`,
        values: [...values, ...before.values, pageSize, (page - 1) * pageSize],
        order: 'page.`id` DESC',
      },
      countOf(table, [{ sql, values }], EXACT_UP_TO + 1),
    )
    const reads = this.transactions.readsOf(principalId)
    const rows = await reads.read((transaction) => transaction.rows(statement.sql, statement.values))
    const total = await this.counts.total(name, countedIn(rows), async () =>
      counted(this.transactions, countOf(table, [{ sql, values }])),
    )
    return { items: rows.filter(isPageRow), page, page_size: pageSize, ...total }
  }
}
