import { chunks, type Dialect, placeholders, type Scalar } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import { MAX_LEVELS } from '../../domain/chain.js'
import { storedForSearch } from '../../domain/label.js'
import { SETTING_COLUMNS } from '../../domain/settings.js'
import { roll, statusAt } from '../../domain/quota.js'
import { nextPassAt } from '../../domain/threshold.js'
import type { Instant } from '../../common/instant.js'
import type { Act } from '../rows/act.entity.js'
import { type Group, groupOwner } from '../rows/group.entity.js'
import type { LedgerGateRow } from '../rows/ledger-gate.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { groupsIn, type LedgerStore, lockOf, straightJoin } from './ledger-store.js'

/** What an act on groups needs. */
export interface GroupWanted {
  /** Owners whose membership changes. */
  readonly ownerIds: readonly number[]
  readonly skipLocked: boolean
  /** Is the gate locked exclusively, for a change of a group's settings? */
  readonly exclusive: boolean
  readonly deduplicationKey: string | null
  readonly actId: string
}

/** The columns of a count that are copies of the quota that it follows. */
const COPIED = [...SETTING_COLUMNS, 'labelSearch', 'state', 'copiesVersion'] as const

/**
 * Those that, with `cycleSeq`, change where a count begins anew: it begins with what the followed quota has, whose
 * counters are always 0.
 */
const BEGUN = ['used', 'reserved', 'holdDueAt', 'passed', 'window', 'countBeganAt'] as const

/** The statements on groups and their members. */
export class GroupStore<Q extends QuotaRow> {
  constructor(private readonly store: LedgerStore<Q>) {}

  /** Takes the locks of an act on groups: its owners by id, then the gate. Reads the acts that may be its own. */
  async lock(
    transaction: Transaction,
    { ownerIds, skipLocked, exclusive, deduplicationKey, actId }: GroupWanted,
  ): Promise<{ owners: Map<number, number | null>; gate: LedgerGateRow; acts: Act[] }> {
    const { dialect } = transaction
    const statements = [exclusive ? this.store.gateRow(dialect, 'FOR UPDATE') : this.store.keptGate(dialect)]
    if (ownerIds.length > 0) statements.unshift(this.store.ownerRows(dialect, ownerIds, lockOf(dialect, skipLocked)))
    const found = await transaction.all(statements)
    const [row] = found.at(-1) ?? []
    if (row === undefined) throw new Error('the row of the ledger gate is missing')
    const owners = groupsIn(ownerIds.length === 0 ? [] : (found[0] ?? []))
    const acts = [
      ...(await this.store.actsById(transaction, [actId])),
      ...(deduplicationKey === null ? [] : await this.store.actsByDeduplicationKey(transaction, [deduplicationKey])),
    ]
    return { owners, gate: this.store.gate.decode(row), acts }
  }

  /** The members' counts `c` whose copies are behind the quotas `f` that they follow: a table and its condition. */
  copiesBehind(dialect: Dialect): { table: string; where: string } {
    const { quota } = this.store
    const [ownerId, version] = [quota.column('ownerId'), quota.column('copiesVersion')]
    return {
      table:
        `${quota.readBy(dialect, ['ownerId', 'deletedAt', 'id'], 'f')} ${straightJoin(dialect)} ` +
        `${quota.readBy(dialect, ['follows', 'copiesVersion'], 'c')} ` +
        `ON c.${quota.column('follows')} = f.${quota.column('id')} AND c.${version} < f.${version}`,
      where: `WHERE f.${ownerId} < 0 AND f.${quota.column('per')} = 'member'`,
    }
  }

  /**
   * Writes the settings of followed quotas into counts that have none of their own, and that pass no threshold by them:
   * one statement for many. One more is for those that begin anew, since they were not used in the present cycle, or a
   * window has changed. To the others applies `follow`, count by count.
   * @param from how many such counts to leave out, since other instances look for them, too
   * @returns how many were written; those of owners whom another session keeps locked are not
   */
  async copySettings(transaction: Transaction, now: Instant, limit: number, from: number): Promise<number> {
    const { quota } = this.store
    const { dialect } = transaction
    const c = (property: keyof QuotaRow): string => `c.${quota.column(property)}`
    const isSame = dialect === 'mysql' ? '<=>' : 'IS'
    const { table, where } = this.copiesBehind(dialect)
    const rows = await transaction.rows(
      `SELECT ${c('id')} AS id, ${c('ownerId')} AS owner_id, ${c('follows')} AS follows FROM ${table} ` +
        `${where} AND ${c('overrides')} = '' AND (${c('passed')} IS NULL OR ${c('countBeganAt')} < f.${quota.column('countBeganAt')}) ` +
        `LIMIT ${limit} OFFSET ${from}`,
    )
    if (rows.length === 0) return 0
    const counts = rows.map((row) => ({
      id: Number(row['id']),
      ownerId: Number(row['owner_id']),
      follows: Number(row['follows']),
    }))
    // Before the chains: a chain that changes meanwhile makes these settings outdated.
    const quotas = await this.store.quotasById(transaction, [...new Set(counts.map(({ follows }) => follows))])
    const owners = this.store.ownerRows(
      dialect,
      [...new Set(counts.map(({ ownerId }) => ownerId))],
      lockOf(dialect, true),
    )
    const locked = groupsIn(await transaction.rows(owners.sql, owners.values))
    const chains = await this.chainsOf(transaction, [...locked.keys()])
    let written = 0
    for (const quotaOfGroup of quotas) {
      const { id, groupId } = quotaOfGroup
      const ids = counts
        .filter(({ follows, ownerId }) => follows === id && chains.get(ownerId)?.includes(groupId ?? 0) === true)
        .map((count) => count.id)
      if (ids.length === 0) continue
      roll(quotaOfGroup, now)
      const state = quotaOfGroup.deletedAt === null ? statusAt(quotaOfGroup, now) : 'left'
      const passAt = nextPassAt({ ...quotaOfGroup, passed: null })
      const copy = { ...quotaOfGroup, labelSearch: storedForSearch(quotaOfGroup.label), state }
      const set = (properties: readonly (keyof QuotaRow)[]): string =>
        properties.map((property) => `${quota.column(property)} = ?`).join(', ')
      const values = (properties: readonly (keyof QuotaRow)[]): Scalar[] =>
        properties.map((property) => quota.bind(property, copy[property]))
      const these = `WHERE ${c('id')} IN (${placeholders(ids)}) AND ${c('overrides')} = '' AND ${c('countBeganAt')}`
      const began = quota.bind('countBeganAt', quotaOfGroup.countBeganAt)
      const goingOn = await transaction.execute(
        `UPDATE ${quota.table} AS c SET ${set(COPIED)} ${these} ${isSame} ? AND ${c('passed')} IS NULL AND ${c('used')} < ?`,
        [...values(COPIED), ...ids, began, Math.min(passAt, Number.MAX_SAFE_INTEGER)],
      )
      const seq = quota.column('cycleSeq')
      const begun = await transaction.execute(
        `UPDATE ${quota.table} AS c SET ${set([...COPIED, ...BEGUN])}, ${seq} = ${seq} + 1 ${these} < ?`,
        [...values([...COPIED, ...BEGUN]), ...ids, began],
      )
      written += goingOn.affected + begun.affected
    }
    return written
  }

  /** A group, deleted or not. */
  async group(transaction: Transaction, id: number): Promise<Group | undefined> {
    return (await this.store.groupsById(transaction, [id]))[0]
  }

  /**
   * A group that the transaction changes, or whose members it changes. On a cluster, its row is locked before it is
   * read: a write of it by another node ends this transaction.
   */
  async changingGroup(transaction: Transaction, id: number): Promise<Group | undefined> {
    if (transaction.clustered) {
      const { group } = this.store
      const row = `SELECT 1 AS one FROM ${group.table} WHERE ${group.column('id')} = ?`
      await transaction.rows(`${row} ${lockOf(transaction.dialect, false)}`, [id])
    }
    return this.group(transaction, id)
  }

  /** A group and those above it, nearest first; empty if it is deleted. */
  async chainOf(transaction: Transaction, groupId: number): Promise<number[]> {
    const chain: number[] = []
    for (let next: number | null = groupId; next !== null && !chain.includes(next);) {
      const group: Group | undefined = await this.group(transaction, next)
      if (group === undefined || group.deletedAt !== null) break
      chain.push(group.id)
      next = group.parentId
    }
    return chain
  }

  /** The group that each owner belongs to, by name or by default; null: none. */
  async groupsOf(transaction: Transaction, ownerIds: readonly number[]): Promise<Map<number, number | null>> {
    if (ownerIds.length === 0) return new Map()
    const { sql, values } = this.store.ownerRows(transaction.dialect, ownerIds, '')
    const groups = groupsIn(await transaction.rows(sql, values))
    const byDefault = await this.defaultGroup(transaction)
    return new Map(ownerIds.map((ownerId) => [ownerId, groups.get(ownerId) ?? byDefault]))
  }

  /** The groups of each owner's chain, nearest first; owners in no group are omitted. */
  async chainsOf(transaction: Transaction, ownerIds: readonly number[]): Promise<Map<number, readonly number[]>> {
    const chains = new Map<number, readonly number[]>()
    const known = new Map<number, readonly number[]>()
    for (const [ownerId, groupId] of await this.groupsOf(transaction, ownerIds)) {
      if (groupId === null) continue
      const chain = known.get(groupId) ?? (await this.chainOf(transaction, groupId))
      known.set(groupId, chain)
      chains.set(ownerId, chain)
    }
    return chains
  }

  /**
   * What is wrong with a live group as a parent: a chain through it has no circle, and at most MAX_LEVELS groups, from
   * its root down to the lowest group below.
   * @param groupId undefined for a new group
   */
  async parentMistake(
    transaction: Transaction,
    groupId: number | undefined,
    parentId: number,
  ): Promise<string | undefined> {
    const above = await this.chainOf(transaction, parentId)
    if (groupId !== undefined && above.includes(groupId)) return 'is the group itself or below it'
    const height = groupId === undefined ? 1 : await this.heightOf(transaction, groupId)
    return above.length + height > MAX_LEVELS ? `would make a chain of more than ${MAX_LEVELS} groups` : undefined
  }

  /** The number of levels of live groups from this one down. */
  async heightOf(transaction: Transaction, groupId: number): Promise<number> {
    let height = 1
    for (let level = [groupId]; ; height += 1) {
      level = await this.childrenOf(transaction, level)
      if (level.length === 0 || height > MAX_HEIGHT) return height
    }
  }

  /** The live groups directly below these. */
  async childrenOf(transaction: Transaction, groupIds: readonly number[]): Promise<number[]> {
    const children: number[] = []
    for (const part of chunks(groupIds)) {
      const rows = await transaction.rows(this.liveChildren(transaction.dialect, part), part)
      for (const row of rows) children.push(Number(row['id']))
    }
    return children
  }

  private liveChildren(dialect: Dialect, parents: readonly number[]): string {
    const { group } = this.store
    return (
      `SELECT ${group.column('id')} AS id FROM ${group.readBy(dialect, ['parentId', 'deletedAt', 'id'])} ` +
      `WHERE ${group.column('parentId')} IN (${placeholders(parents)}) AND ${group.column('deletedAt')} IS NULL`
    )
  }

  /** A group and the live groups below it. Is the group of every owner that is in none among them? */
  async family(transaction: Transaction, groupId: number): Promise<{ groupIds: number[]; hasDefault: boolean }> {
    const levels: number[][] = []
    for (let level = [groupId]; level.length > 0; level = await this.childrenOf(transaction, level)) levels.push(level)
    const groupIds = levels.flat()
    const byDefault = await this.defaultGroup(transaction)
    return { groupIds, hasDefault: byDefault !== null && groupIds.includes(byDefault) }
  }

  /** Does a live group have this name, in the form of `storedForSearch`? */
  async hasName(transaction: Transaction, liveName: string): Promise<boolean> {
    const { group } = this.store
    const rows = await transaction.rows(
      `SELECT 1 AS one FROM ${group.table} WHERE ${group.column('liveName')} = ? LIMIT 1`,
      [liveName],
    )
    return rows.length > 0
  }

  /** What keeps a group from being deleted, for people; empty if nothing does. */
  async contentsOf(transaction: Transaction, groupId: number, now: Instant): Promise<string[]> {
    const { owner, quota } = this.store
    const live = this.store.live(now)
    const members = await transaction.rows(
      `SELECT 1 AS one FROM ${owner.readBy(transaction.dialect, ['groupId', 'ownerId'])} WHERE ${owner.column('groupId')} = ? LIMIT 1`,
      [groupId],
    )
    const children = await transaction.rows(`${this.liveChildren(transaction.dialect, [groupId])} LIMIT 1`, [groupId])
    const quotas = await transaction.rows(
      `SELECT 1 AS one FROM ${quota.readBy(transaction.dialect, ['ownerId', 'deletedAt', 'state', 'id'])} WHERE ${quota.column('ownerId')} = ? ` +
        `AND ${live.sql} LIMIT 1`,
      [groupOwner(groupId), ...live.values],
    )
    const kept = { members, 'child groups': children, quotas }
    return Object.entries(kept).flatMap(([name, rows]) => (rows.length > 0 ? [name] : []))
  }

  /** Inserts a group. @returns its id */
  async insertGroup(transaction: Transaction, group: Omit<Group, 'id'>): Promise<number> {
    const [statement] = this.store.group.inserts([group], transaction)
    if (statement === undefined) throw new Error('no statement')
    return (await transaction.execute(statement.sql, statement.values)).insertId
  }

  /** Writes the settings of a group. */
  async updateGroup(transaction: Transaction, row: Group): Promise<void> {
    const { group } = this.store
    const written = ['name', 'liveName', 'parentId', 'isDefault', 'version', 'updatedAt', 'deletedAt'] as const
    await transaction.later(
      `UPDATE ${group.table} SET ${written.map((property) => `${group.column(property)} = ?`).join(', ')} WHERE ${group.column('id')} = ?`,
      [...written.map((property) => group.bind(property, row[property])), row.id],
    )
  }

  /** Makes owners members of a group, or of none. */
  async setMembers(
    transaction: Transaction,
    ownerIds: readonly number[],
    groupId: number | null,
    since: Instant | null,
  ): Promise<void> {
    const { owner } = this.store
    await transaction.later(
      `UPDATE ${owner.table} SET ${owner.column('groupId')} = ?, ${owner.column('memberSince')} = ?, ` +
        `${owner.column('edits')} = ${owner.column('edits')} + 1 WHERE ${owner.column('ownerId')} IN (${placeholders(ownerIds)})`,
      [groupId, owner.bind('memberSince', since), ...ownerIds],
    )
    const { quota } = this.store
    await transaction.later(
      `UPDATE ${quota.table} SET ${quota.column('copiesVersion')} = 0 WHERE ${quota.column('ownerId')} IN (${placeholders(ownerIds)}) AND ${quota.column('follows')} > 0`,
      ownerIds,
    )
  }

  /** Makes the columns of all counts of these groups' quotas outdated: chains have changed. */
  async outdateCounts(transaction: Transaction, groupIds: readonly number[]): Promise<void> {
    if (groupIds.length === 0) return
    const { quota } = this.store
    const version = quota.column('copiesVersion')
    await transaction.later(
      `UPDATE ${quota.table} SET ${version} = ${version} + 1 WHERE ${quota.column('ownerId')} IN (${placeholders(groupIds)}) AND ${quota.column('per')} = 'member'`,
      groupIds.map(groupOwner),
    )
  }

  /**
   * Makes the overridden counts of quotas that have ended outdated: the end of what they follow beats what they
   * override, which may be their own end. The others end by themselves.
   */
  async outdateOverridden(transaction: Transaction, quotaIds: readonly number[]): Promise<void> {
    const { quota } = this.store
    const rows = await transaction.rows(
      `SELECT ${quota.column('id')} AS id FROM ${quota.table} WHERE ${quota.column('follows')} IN (${placeholders(quotaIds)}) ` +
        `AND ${quota.column('overrides')} <> '' AND ${quota.column('state')} <> 'expired'`,
      quotaIds,
    )
    const ids = rows.map((row) => Number(row['id'])).sort((a, b) => a - b)
    // One change set may have given 100,000 counts settings of their own.
    for (const part of chunks(ids, OUTDATED_AT_ONCE)) {
      await transaction.execute(
        `UPDATE ${quota.table} SET ${quota.column('copiesVersion')} = 0 WHERE ${quota.column('id')} IN (${placeholders(part)})`,
        part,
      )
    }
  }

  /** Writes the state of the chains. The transaction holds the gate exclusively. */
  async setGate(
    transaction: Transaction,
    { defaultGroupId, chainsVersion }: Pick<LedgerGateRow, 'defaultGroupId' | 'chainsVersion'>,
  ): Promise<void> {
    const { gate } = this.store
    await transaction.later(
      `UPDATE ${gate.table} SET ${gate.column('defaultGroupId')} = ?, ${gate.column('chainsVersion')} = ? WHERE ${gate.column('id')} = 1`,
      [defaultGroupId, chainsVersion],
    )
  }

  /** Counts a change of groups in the gate. */
  async touchGate(transaction: Transaction): Promise<void> {
    const { gate } = this.store
    const version = gate.column('chainsVersion')
    await transaction.later(`UPDATE ${gate.table} SET ${version} = ${version} + 1 WHERE ${gate.column('id')} = 1`)
  }

  /** Counts an act on the members of a group in its row. */
  async touchGroup(transaction: Transaction, groupId: number): Promise<void> {
    await this.store.touchGroups(transaction, [groupId])
  }

  private async defaultGroup(transaction: Transaction): Promise<number | null> {
    const { sql, values } = this.store.gateRow(transaction.dialect, '')
    const [row] = await transaction.rows(sql, values)
    return row === undefined ? null : this.store.gate.decode(row).defaultGroupId
  }
}

/**
 * The chains of groups, remembered for one state of the gate (`chainsVersion`): a batch that keeps the gate may rely on
 * them.
 */
export class GroupChains<Q extends QuotaRow> {
  private version: number | undefined
  private readonly chains = new Map<number, readonly number[]>()

  constructor(private readonly groups: GroupStore<Q>) {}

  /** The chain as it was at the last version seen; undefined if it is not remembered. */
  last(groupId: number): readonly number[] | undefined {
    return this.chains.get(groupId)
  }

  /** The chain that begins with a group, if it is remembered for this version. */
  known(groupId: number, version: number): readonly number[] | undefined {
    return version === this.version ? this.chains.get(groupId) : undefined
  }

  /** The chain that begins with a group, nearest first. */
  async of(transaction: Transaction, groupId: number, version: number): Promise<readonly number[]> {
    const known = this.known(groupId, version)
    if (known !== undefined) return known
    if (version !== this.version || this.chains.size >= MAX_CHAINS) this.chains.clear()
    this.version = version
    const chain = await this.groups.chainOf(transaction, groupId)
    // Another batch may have seen a later version meanwhile.
    if (chain.length > 0 && this.version === version) this.chains.set(groupId, chain)
    return chain
  }
}

/** The maximum number of counts that one statement makes outdated: SQLite accepts 32,766 placeholders. */
const OUTDATED_AT_ONCE = 10_000

/** The maximum number of chains in memory. */
const MAX_CHAINS = 100_000

/** More levels than any chain has; stops at a circle, which no act makes. */
const MAX_HEIGHT = 8
