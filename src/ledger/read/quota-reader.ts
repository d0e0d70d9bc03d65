import type { DataSource } from 'typeorm'
import type { Clock } from '../../common/clock.js'
import { placeholders } from '../../database/row-codec.js'
import { sharedMap, SharedReads } from '../../database/shared-reads.js'
import type { Reads, Transaction, TransactionRunner } from '../../database/transaction-runner.js'
import { ServiceError } from '../../common/service-error.js'
import { available, refusingCaps, type Limits, payable } from '../../domain/cap.js'
import { inForce } from '../../domain/chain.js'
import { follow, isFollowed, overridesViolations, unbornCounts } from '../../domain/follow.js'
import { type QuotaState, roll, type Summary, summarise } from '../../domain/quota.js'
import { Refills } from '../../domain/refill.js'
import { patchViolations, type Violation, type SettingsPatch } from '../../domain/settings.js'
import { type Instant, timeOrNull } from '../../common/instant.js'
import type { Channel } from '../rows/channel.js'
import { groupBy } from '../../common/group-by.js'
import { groupOwner } from '../rows/group.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import {
  type CapView,
  capView,
  changeView,
  type ChangeView,
  ownerLimitView,
  type OwnerLimitView,
  quotaView,
  type QuotaView,
} from '../store/answers.js'
import { quotaNotFound } from '../store/errors.js'
import { GroupChains, GroupStore } from '../store/group-store.js'
import { LedgerStore, LIVE_OF_OWNER, OPEN_HOLDS_AT_FIRST, OPEN_HOLDS_FACTOR } from '../store/ledger-store.js'
import { countsWanted, followedByGroup } from '../store/wanted-counts.js'
import type { OpenHoldsOf } from '../store/working-set.js'
import { ListReader, type Page } from './list-reader.js'
import type { PageRequest, QuotaFilter } from './list-statements.js'
import { counted, countedIn, countOf, isPageRow, pageWithCount, readQuotas, readRows } from './quota-statements.js'
import { EXACT_UP_TO, type RecentCounts } from './recent-counts.js'

/** An owner's sums in an answer; the owner's field comes first. */
export interface SummaryView {
  /** The group that it belongs to; null: none. */
  group_id: number | null
  total: number
  used: number
  reserved: number
  remaining: number
  quota_count: number
  /** The largest amount that one consume can take now. */
  available: number
}

/** A summary with the owner's active caps, ids ascending. */
export interface SummaryWithCaps extends SummaryView {
  caps: CapView[]
}

/** The answer of a check: does the amount fit now? */
export interface CheckView {
  allowed: boolean
  requested: number
  /** The largest amount that one consume can take now. */
  remaining: number
  /** The sum that the payers can pay. */
  payable: number
  refills_at: string | null
  /** The caps that refuse the amount; none if it is allowed. */
  caps: CapView[]
}

const NEWEST_FIRST = 'page.`id` DESC'

/** An owner's active quotas, and those of its groups, as read for all requests in one turn of the event loop. */
interface OwnerNow<Q> {
  /** The time for which they were read: due holds are subtracted as of then. */
  readonly at: Instant
  /** Its own, without its counts of groups' quotas. */
  readonly quotas: Q[]
  /** Its counts, whatever their status, deleted ones included. */
  counts: readonly Q[]
  groupId: number | null
  /** The quotas of its groups, nearest first. */
  groups: readonly Q[][]
}

/** Owners of one statement. */
interface OwnersNow<Q> {
  readonly at: Instant
  readonly byOwner: Map<number, OwnerNow<Q>>
  /** The version of the chains of groups. */
  readonly version: number
}

/** An owner's quotas, rolled. */
interface RolledOwner<Q extends QuotaRow> {
  readonly now: OwnerNow<Q>
  readonly groupId: number | null
  /** Its own quotas and its counts. */
  readonly own: readonly Q[]
  /** What is in force for it over its chain. */
  readonly limits: Limits<Q>
}

/** An owner, with the earliest `limit` open holds of each owner and group whose quotas it may use. */
interface HoldsWanted {
  readonly ownerId: number
  readonly limit: number
}

/** What is in force for an owner, and the times when it can take more, by its holds of the same moment. */
interface LimitsAndHolds<Q extends QuotaState> {
  readonly limits: Limits<Q>
  readonly refills: Refills
}

/** The maximum number of owners whose holds are read together. */
const HOLDERS_AT_ONCE = 50

/**
 * Reads quotas without the engine: every read shows committed data, rolled to the present, with due holds subtracted
 * from `reserved`. Reads that arrive while others of their kind are at the database share the next statement. Data that
 * must be consistent comes from one statement: a list's page and its total with all its sources, and quotas with the
 * units of their due holds.
 */
export class QuotaReader<Q extends QuotaRow> {
  private readonly store: LedgerStore<Q>
  private readonly one: SharedReads<number, Q | undefined>
  private readonly ofOwner: SharedReads<number, OwnerNow<Q>>
  private readonly withHolds: SharedReads<HoldsWanted, LimitsAndHolds<Q>>
  private readonly lists: ListReader<Q>
  private readonly groups: GroupStore<Q>
  private readonly chains: GroupChains<Q>
  /** The reads that all checks and summaries share. */
  private readonly checks: Reads

  constructor(
    private readonly channel: Channel<Q>,
    dataSource: DataSource,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
    private readonly counts: RecentCounts,
  ) {
    this.store = new LedgerStore(dataSource, channel)
    this.groups = new GroupStore(this.store)
    this.chains = new GroupChains(this.groups)
    this.lists = new ListReader(channel, this.store, transactions, clock, counts)
    const { quota } = this.store
    const shared = (kind: string): Reads => transactions.readsOf(`(${channel.name} ${kind})`)
    const ones = shared('quotas')
    this.checks = shared('checks')
    this.one = sharedMap(async (ids) => {
      const quotas = await readQuotas(ones, this.store, this.clock.now(), {
        sql: `SELECT ${quota.columns} FROM ${quota.table} WHERE ${quota.column('id')} IN (${placeholders(ids)})`,
        values: ids,
      })
      return new Map(quotas.map((row) => [row.id, row]))
    })
    this.ofOwner = new SharedReads(async (ownerIds) => this.readOwners(ownerIds))
    this.withHolds = new SharedReads(async (wanted) => this.readWithHolds(wanted), {
      most: HOLDERS_AT_ONCE,
      keyOf: ({ ownerId, limit }) => `${ownerId} ${limit}`,
    })
  }

  /** One quota. @throws ServiceError quota_not_found if it does not exist or is deleted */
  async get(id: number): Promise<QuotaView> {
    const quota = await this.one.get(id)
    if (quota === undefined || quota.deletedAt !== null) throw quotaNotFound(id)
    const now = this.clock.now()
    await this.bring([quota], now)
    return quotaView(this.channel, quota, now)
  }

  /**
   * The mistakes of an update with those that the record adds; none are added if the quota does not exist, or cannot be
   * read.
   * @param mistakes of the update alone
   * @param overrides of a member's count: the settings that stay its own; undefined: those that are
   */
  async violationsBy(
    id: number,
    patch: SettingsPatch,
    mistakes: readonly Violation[],
    overrides?: readonly string[],
  ): Promise<readonly Violation[]> {
    const quota = await this.one.get(id).catch((error: unknown) => {
      if (error instanceof ServiceError) return undefined
      throw error
    })
    if (quota === undefined || quota.deletedAt !== null) return mistakes
    const now = this.clock.now()
    await this.bring([quota], now)
    return [...patchViolations(quota, patch, now, mistakes), ...overridesViolations(quota, overrides)]
  }

  /** The sums of the owner's active payers, zeros if there are none, and the caps. */
  async summary(ownerId: number): Promise<SummaryWithCaps> {
    const owner = await this.rolled(ownerId)
    return { ...this.sums(ownerId, owner), caps: owner.limits.caps.map(capView) }
  }

  /** Only the sums of the owner's active payers. */
  async sumsOf(ownerId: number): Promise<SummaryView> {
    return this.sums(ownerId, await this.rolled(ownerId))
  }

  /** What the owner itself sees of its limits (contract, §14): the payers in paying order, then the caps. */
  async ownLimits(ownerId: number): Promise<{ available: number; limits: OwnerLimitView[] }> {
    const { limits } = await this.rolled(ownerId)
    const left = available(limits)
    return { available: left, limits: [...limits.payers, ...limits.caps].map((quota) => ownerLimitView(quota, left)) }
  }

  private sums(ownerId: number, owner: RolledOwner<Q>): SummaryView {
    const sums = sumsView(summarise(owner.own, owner.now.at), owner.limits)
    return { [this.channel.subjects[0].field]: ownerId, group_id: owner.groupId, ...sums }
  }

  /**
   * The sums of a group's active shared payers, its shared caps, and what a new member could take.
   * @param chain the group and those above it, nearest first
   */
  async summaryOfGroup(chain: readonly number[]): Promise<Omit<SummaryWithCaps, 'group_id'>> {
    const now = this.clock.now()
    const ofGroups = await this.quotasOfGroups(this.checks, now, chain)
    const groups = chain.map((groupId) => ofGroups.get(groupId) ?? [])
    for (const quota of groups.flat()) roll(quota, now)
    const own = inForce([groups[0] ?? []], now)
    const limits = inForce([unbornCounts([], groups, now), ...groups], now)
    return { ...sumsView(summarise(own.payers, now), limits), caps: own.caps.map(capView) }
  }

  /**
   * Does `amount` fit now, and if not, when may it? It charges nothing, so the answer may be outdated when it arrives.
   */
  async check(ownerId: number, amount: number): Promise<CheckView> {
    const { limits, refill } = await this.fitting(ownerId, amount)
    const left = available(limits)
    const allowed = left >= amount
    return {
      allowed,
      requested: amount,
      remaining: left,
      payable: payable(limits.payers),
      refills_at: timeOrNull(refill),
      caps: allowed ? [] : refusingCaps(limits.caps, amount).map(capView),
    }
  }

  /** A page of live quotas, or of deleted ones, newest first. */
  async list(principalId: string, filter: QuotaFilter<Q>, page: PageRequest): Promise<Page<QuotaView>> {
    return (await this.lists.get(principalId, filter, page)).page
  }

  /** The same as the JSON of the answer. */
  async listAsJson(principalId: string, filter: QuotaFilter<Q>, page: PageRequest): Promise<string> {
    return (await this.lists.get(principalId, filter, page)).json
  }

  /**
   * The next step of an iteration over a list, newest first, as stored.
   * @param flow the principal, or other flow, whose turn it takes
   * @param beforeId the last id of the previous step
   */
  async step(flow: string, filter: QuotaFilter<Q>, beforeId: number | undefined, size: number): Promise<Q[]> {
    return this.lists.step(flow, filter, beforeId, size)
  }

  /** The same at the present, in the form of answers. */
  async stepShown(
    principalId: string,
    filter: QuotaFilter<Q>,
    beforeId: number | undefined,
    size: number,
  ): Promise<QuotaView[]> {
    const quotas = await this.lists.step(principalId, filter, beforeId, size)
    const now = this.clock.now()
    await this.bring(quotas, now)
    return quotas.map((quota) => this.lists.view(quota, now))
  }

  /**
   * A page of the changes of a quota's settings, newest first; also for deleted quotas.
   * @throws ServiceError quota_not_found if it never existed
   */
  async changes(principalId: string, quotaId: number, { page, pageSize }: PageRequest): Promise<Page<ChangeView>> {
    const { change, quota } = this.store
    const ofQuota = { sql: `WHERE ${change.column('quotaId')} = ?`, values: [quotaId] }
    const { sql, values } = pageWithCount(
      {
        sql: `SELECT ${change.columns} FROM ${change.table} ${ofQuota.sql} ORDER BY ${change.column('id')} DESC LIMIT ? OFFSET ?`,
        values: [quotaId, pageSize, (page - 1) * pageSize],
        order: NEWEST_FIRST,
      },
      countOf(change.table, [ofQuota], EXACT_UP_TO + 1),
    )
    const rows = await this.transactions.readsOf(principalId).read(async (transaction) => {
      const [known] = await transaction.rows(`SELECT 1 AS one FROM ${quota.table} WHERE ${quota.column('id')} = ?`, [
        quotaId,
      ])
      if (known === undefined) throw quotaNotFound(quotaId)
      return transaction.rows(sql, values)
    })
    const total = await this.counts.total(`changes ${quotaId}`, countedIn(rows), async () =>
      counted(this.transactions, countOf(change.table, [ofQuota])),
    )
    const items = rows.filter(isPageRow).map((row) => changeView(this.channel, change.decode(row)))
    return { items, page, page_size: pageSize, ...total }
  }

  private async rolled(ownerId: number): Promise<RolledOwner<Q>> {
    return this.toPresent(await this.ofOwner.get(ownerId))
  }

  private toPresent(now: OwnerNow<Q>): RolledOwner<Q> {
    const { at, quotas, counts, groups, groupId } = now
    for (const quota of quotas) roll(quota, at)
    if (groups.length === 0) return { now, groupId, own: quotas, limits: inForce([quotas], at) }
    const followed = new Map<number | null, Q>()
    for (const quota of groups.flat()) {
      roll(quota, at)
      if (isFollowed(quota)) followed.set(quota.id, quota)
    }
    const own = [...quotas, ...unbornCounts(counts, groups, at)]
    for (const count of counts) {
      // Counts of inactive quotas, and of other groups, are not in force.
      const quota = followed.get(count.follows)
      if (quota === undefined) continue
      follow(count, quota, true, at)
      own.push(count)
    }
    return { now, groupId, own, limits: inForce([own, ...groups], at) }
  }

  /**
   * The active quotas of owners, for those in groups with the quotas of the groups. These take several statements, and
   * so a snapshot: an act that draws on both is seen wholly or not at all.
   */
  private async readOwners(ownerIds: readonly number[]): Promise<OwnerNow<Q>[]> {
    const { byOwner } = await this.readOwn(this.checks, ownerIds)
    const members = ownerIds.filter((ownerId) => byOwner.get(ownerId)?.groupId !== null)
    if (members.length > 0)
      await this.transactions.snapshot(async (transaction) => {
        const again = await this.readAll(transaction, members)
        for (const [ownerId, owner] of again.byOwner) byOwner.set(ownerId, owner)
      })
    return [...byOwner.values()]
  }

  /** The active quotas of owners, and those of their groups. */
  private async readAll(transaction: Transaction, ownerIds: readonly number[]): Promise<OwnersNow<Q>> {
    const reads: Reads = { dialect: transaction.dialect, read: async (unit) => unit(transaction) }
    const owners = await this.readOwn(reads, ownerIds)
    await this.readGroups(reads, owners)
    return owners
  }

  /** The active quotas of owners, and their groups, without what these have. */
  private async readOwn(reads: Reads, ownerIds: readonly number[]): Promise<OwnersNow<Q>> {
    const { owner, gate, quota } = this.store
    const at = this.clock.now()
    const nothing = quota.nulls
    const active = this.activeOf(ownerIds, 'NULL AS owner_read, NULL AS group_read, NULL AS version_read, ')
    const found = await readRows(reads, this.store, at, {
      sql:
        `${active.sql} UNION ALL SELECT ${owner.column('ownerId')}, ${owner.column('groupId')}, NULL, ${nothing} FROM ${owner.readByKey(this.transactions.dialect)} ` +
        `WHERE ${owner.column('ownerId')} IN (${placeholders(ownerIds)}) AND ${owner.column('groupId')} IS NOT NULL ` +
        `UNION ALL SELECT 0, ${gate.column('defaultGroupId')}, ${gate.column('chainsVersion')}, ${nothing} FROM ${gate.table} WHERE ${gate.column('id')} = 1`,
      values: [...active.values, ...ownerIds],
    })
    const rows = found.filter((one) => one.quota === undefined).map(({ row }) => row)
    const groupOf = new Map(rows.map((row) => [Number(row['owner_read']), Number(row['group_read'])]))
    const version = Number(rows.find((row) => Number(row['owner_read']) === 0)?.['version_read'] ?? 0)
    const byOwner = new Map<number, OwnerNow<Q>>()
    for (const ownerId of ownerIds) {
      const groupId = groupOf.get(ownerId) ?? groupOf.get(0) ?? 0
      byOwner.set(ownerId, {
        at,
        quotas: [],
        counts: [],
        groupId: groupId === 0 ? null : groupId,
        groups: [],
      })
    }
    for (const { quota: one } of found) if (one !== undefined) byOwner.get(one.ownerId)?.quotas.push(one)
    return { at, byOwner, version }
  }

  private async readGroups(reads: Reads, { at, byOwner: members, version }: OwnersNow<Q>): Promise<void> {
    const chains = new Map<number, readonly number[]>()
    await reads.read(async (transaction) => {
      for (const { groupId } of members.values())
        if (groupId !== null && !chains.has(groupId))
          chains.set(groupId, await this.chains.of(transaction, groupId, version))
    })
    const ofGroups = await this.quotasOfGroups(reads, at, [...new Set([...chains.values()].flat())])
    const counts = await this.countsOf(
      reads,
      at,
      new Map([...members].map(([ownerId, { groupId }]) => [ownerId, chains.get(groupId ?? 0) ?? []])),
      [...ofGroups.values()].flat(),
    )
    for (const [ownerId, owner] of members) {
      owner.counts = counts.get(ownerId) ?? []
      owner.groups = (chains.get(owner.groupId ?? 0) ?? []).map((groupId) => ofGroups.get(groupId) ?? [])
    }
  }

  /** The counts of those active quotas of groups that owners follow by their chains, by owner. */
  private async countsOf(
    reads: Reads,
    at: Instant,
    chains: ReadonlyMap<number, readonly number[]>,
    ofGroups: readonly Q[],
  ): Promise<Map<number, Q[]>> {
    const wanted = countsWanted(chains, followedByGroup(ofGroups), [])
    if (wanted.length === 0) return new Map()
    const { sql, values = [] } = this.store.countsOf(this.transactions.dialect, wanted)
    return groupBy(await readQuotas(reads, this.store, at, { sql, values }), ({ ownerId }) => ownerId)
  }

  /** The active quotas of groups, by group. */
  private async quotasOfGroups(reads: Reads, at: Instant, groupIds: readonly number[]): Promise<Map<number, Q[]>> {
    if (groupIds.length === 0) return new Map()
    const quotas = await readQuotas(reads, this.store, at, this.activeOf(groupIds.map(groupOwner)))
    return groupBy(quotas, ({ groupId }) => groupId ?? 0)
  }

  /** @param before further expressions, each with a comma */
  private activeOf(ownerIds: readonly number[], before = ''): { sql: string; values: readonly number[] } {
    const { quota } = this.store
    return {
      sql:
        `SELECT ${before}${quota.columns} FROM ${quota.readBy(this.transactions.dialect, LIVE_OF_OWNER)} ` +
        `WHERE ${quota.column('ownerId')} IN (${placeholders(ownerIds)}) AND ${quota.column('deletedAt')} IS NULL ` +
        `AND ${quota.column('state')} = 'active' AND ${quota.column('follows')} IS NULL`,
      values: ownerIds,
    }
  }

  /**
   * What is in force for an owner, and the earliest instant from which `amount` fits: null if it fits now, or never.
   * Where that depends on holds, limits and holds are read in one snapshot: a hold that ends between two reads would be
   * in one of them alone, and hide the time of its end.
   */
  private async fitting(ownerId: number, amount: number): Promise<{ limits: Limits<Q>; refill: Instant | null }> {
    const { limits } = await this.rolled(ownerId)
    if (available(limits) >= amount) return { limits, refill: null }
    if (holdersOf(limits).length === 0)
      return { limits, refill: new Refills(limits.payers, [], limits.caps).at(amount) ?? null }
    for (let limit = OPEN_HOLDS_AT_FIRST; ; limit *= OPEN_HOLDS_FACTOR) {
      const present = await this.withHolds.get({ ownerId, limit })
      const refill = available(present.limits) >= amount ? null : present.refills.at(amount)
      if (refill !== undefined) return { limits: present.limits, refill }
    }
  }

  private async readWithHolds(wanted: readonly HoldsWanted[]): Promise<LimitsAndHolds<Q>[]> {
    return this.transactions.snapshot(async (transaction) => {
      const { at, byOwner } = await this.readAll(transaction, [...new Set(wanted.map(({ ownerId }) => ownerId))])
      const limitsOf = new Map([...byOwner].map(([ownerId, owner]) => [ownerId, this.toPresent(owner).limits]))
      const some = wanted.map(({ ownerId, limit }) => {
        const limits = limitsOf.get(ownerId) ?? { payers: [], caps: [] }
        return { limits, limit, holders: holdersOf(limits) }
      })
      const open = new Map<string, OpenHoldsOf>()
      for (const [limit, equal] of groupBy(some, (one) => one.limit)) {
        const holders = [...new Set(equal.flatMap((one) => one.holders))]
        for (const of of await this.store.openHolds(transaction, holders, at, limit))
          open.set(`${of.ownerId} ${limit}`, of)
      }
      return some.map(({ limits, limit, holders }) => {
        const own = holders.flatMap((holder) => open.get(`${holder} ${limit}`) ?? [])
        // A hold may keep units of several of them.
        const holds = new Map(own.flatMap((of) => of.holds.map((hold) => [hold.operationId, hold] as const)))
        const knownUntil = Math.min(...own.map((of) => of.knownUntil))
        const refills = new Refills(limits.payers, { values: () => holds.values(), knownUntil }, limits.caps)
        return { limits, refills }
      })
    })
  }

  /** Brings quotas to the present: rolls them; counts of members follow. */
  private async bring(quotas: readonly Q[], now: Instant): Promise<void> {
    const counts = quotas.filter(({ follows }) => follows !== null)
    for (const quota of quotas) if (quota.follows === null) roll(quota, now)
    if (counts.length === 0) return
    const followedIds = [...new Set(counts.map(({ follows }) => follows ?? 0))]
    const ownerIds = [...new Set(counts.map(({ ownerId }) => ownerId))]
    const { followed, chains } = await this.checks.read(async (transaction) => ({
      followed: await this.store.quotasById(transaction, followedIds),
      chains: await this.groups.chainsOf(transaction, ownerIds),
    }))
    const byId = new Map<number | null, Q>(followed.map((quota) => [quota.id, quota]))
    for (const quota of followed) roll(quota, now)
    for (const count of counts) {
      const quota = byId.get(count.follows)
      const isInChain = chains.get(count.ownerId)?.includes(count.groupId ?? 0) === true
      if (quota !== undefined) follow(count, quota, isInChain, now)
    }
  }
}

/** The owners, and groups, whose holds keep units of these quotas. */
function holdersOf({ payers, caps }: Limits<QuotaRow>): number[] {
  return [...new Set([...payers, ...caps].filter(({ reserved }) => reserved > 0).map(({ ownerId }) => ownerId))]
}

function sumsView({ quotaCount, ...sums }: Summary, limits: Limits<QuotaState>): Omit<SummaryView, 'group_id'> {
  return { ...sums, quota_count: quotaCount, available: available(limits) }
}
