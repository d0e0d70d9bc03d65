import type DataLoader from 'dataloader'
import type { DataSource } from 'typeorm'
import type { Clock } from '../clock/clock.js'
import { placeholders, type RowCodec, type Scalar } from '../database/row-codec.js'
import type { UnitOfWork } from '../database/unit-of-work.js'
import { ServiceError } from '../error/service-error.js'
import { byDrawDown } from '../quota/draw-down.js'
import { formatInstant, type Instant } from '../quota/instant.js'
import { rangeOf } from '../quota/label.js'
import { isActive, remaining, roll, type Status, summarise } from '../quota/quota.js'
import { Refills } from '../quota/refill.js'
import { applyPatch, brokenForType, type BrokenRule, type SettingsPatch } from '../quota/settings.js'
import type { Channel } from './channel.js'
import { gatheringLoader } from './gathering-loader.js'
import { quotaNotFound } from './judge.js'
import type { QuotaRow } from './quota.entity.js'
import { type Counted, countedIn, countOf, isThere, readQuotas, type Statement, together } from './quota-rows.js'
import { RecentCounts } from './recent-count.js'
import { SharedReads } from './shared-reads.js'
import { LedgerStore, LIVE_OF_OWNER } from './store.js'
import { changeView, type ChangeView, quotaView, type QuotaView } from './view.js'

/** Which quotas a list shows. */
export interface QuotaFilter<Q extends QuotaRow> {
  /** Values that the people named by the quota must have, by property. */
  readonly people: Partial<Record<keyof Q & string, number>>
  readonly status: Status | undefined
  /** Only soft-deleted ones; without it only the others. */
  readonly deleted?: boolean
  /** How the label begins, compared as `comparedLabel` says. */
  readonly label?: string
}

/** Which part of a list is wanted. */
export interface PageRequest {
  /** From 1. */
  readonly page: number
  /** 1 … 100. */
  readonly pageSize: number
  /** Only items with a smaller id; the total counts the whole list all the same. */
  readonly beforeId?: number | undefined
}

/** A page of a list as it is answered. */
export interface Page<T> {
  items: T[]
  page: number
  page_size: number
  total: number
  total_relation: 'exact' | 'recent'
}

/** An owner's sums as they are answered; the owner's field comes first. */
export interface SummaryView {
  total: number
  used: number
  reserved: number
  remaining: number
  quota_count: number
}

/** What a check answers: would the amount fit now? */
export interface CheckView {
  allowed: boolean
  requested: number
  remaining: number
  refills_at: string | null
}

const NEWEST_FIRST = 'page.`id` DESC'

/** Up to here a list is counted exactly, on the request's path (contract, §2). */
const EXACT_UP_TO = 10_000

/** So many rows are sorted without looking for a cheaper way, where no index has them in order of id. */
const MOST_SORTED = 10_000

/** So many rows of a list are walked at least, before those that a label finds are sorted instead. */
const LEAST_WALKED = 5_000

/** And so many for each that the page reaches: walking a row costs as much as sorting some. */
const WALKED_FOR_EACH = 4

interface Where extends Counted {
  /** The table, by the index that holds the rows in order of id. */
  readonly from: string
}

/** Where a list's rows are found: two ways to the same ones. */
interface Sources {
  /** In order of id, or few enough to be sorted. */
  readonly page: readonly Where[]
  /** By what an index covers, as far as there is one. */
  readonly total: readonly Where[]
}

/** An owner's active quotas, as one turn of the event loop reads them for all who ask in it. */
interface OwnerNow<Q> {
  readonly quotas: Q[]
  /** When they can pay more, where somebody asked. */
  refills: Promise<Refills> | undefined
}

/**
 * Reads quotas past the engine: every read shows what is committed, rolled to the present, with due holds taken off `reserved`. Reads that come while others of their kind are at the database
 * share the next statement. What must fit together comes from one statement, so that nothing moves in between: a list's page and its
 * total with all its sources, and quotas with the units of their due holds.
 */
export class QuotaReader<Q extends QuotaRow> {
  private readonly store: LedgerStore<Q>
  private readonly one: DataLoader<number, Q | undefined>
  private readonly ofOwner: DataLoader<number, OwnerNow<Q>>
  /** Pages of quotas, by what was asked for as JSON. */
  private readonly pages = new SharedReads<Page<QuotaView>>()
  private readonly counts: RecentCounts

  constructor(
    private readonly channel: Channel<Q>,
    dataSource: DataSource,
    private readonly work: UnitOfWork,
    private readonly clock: Clock,
  ) {
    this.store = new LedgerStore(dataSource, channel)
    this.counts = new RecentCounts(clock)
    const { quota } = this.store
    this.one = gatheringLoader(async (ids) => {
      const { quotas } = await readQuotas(work, this.store, this.clock.now(), {
        sql: `SELECT ${quota.columns} FROM ${quota.table} WHERE ${quota.column('id')} IN (${placeholders(ids)})`,
        values: ids,
      })
      const byId = new Map(quotas.map((row) => [row.id, row]))
      return ids.map((id) => byId.get(id))
    })
    this.ofOwner = gatheringLoader(async (ownerIds) => {
      const unique = [...new Set(ownerIds)]
      const { quotas } = await readQuotas(work, this.store, this.clock.now(), {
        sql:
          `SELECT ${quota.columns} FROM ${quota.readBy(work.dialect, LIVE_OF_OWNER)} ` +
          `WHERE ${quota.column('ownerId')} IN (${placeholders(unique)}) AND ${quota.column('deletedAt')} IS NULL ` +
          `AND ${quota.column('state')} = 'active'`,
        values: unique,
      })
      const byOwner = new Map<number, OwnerNow<Q>>()
      for (const ownerId of unique) byOwner.set(ownerId, { quotas: [], refills: undefined })
      for (const row of quotas) byOwner.get(row.ownerId)?.quotas.push(row)
      return ownerIds.map((ownerId) => byOwner.get(ownerId) ?? { quotas: [], refills: undefined })
    })
  }

  /** One quota. @throws ServiceError quota_not_found where it is absent or deleted */
  async get(id: number): Promise<QuotaView> {
    const quota = await this.one.load(id)
    if (quota === undefined || quota.deletedAt !== null) throw quotaNotFound(id)
    return this.view(quota, this.clock.now())
  }

  /** The rules that a patch would break, as far as only the record tells; none where there is no such quota, or nobody can say. */
  async brokenBy(id: number, patch: SettingsPatch): Promise<BrokenRule[]> {
    const quota = await this.one.load(id).catch((error: unknown) => {
      if (error instanceof ServiceError) return undefined
      throw error
    })
    if (quota === undefined || quota.deletedAt !== null) return []
    return [...brokenForType(quota, patch), ...(applyPatch({ ...quota }, patch, this.clock.now()).broken ?? [])]
  }

  /** The sums of the owner's active quotas; zeros where there are none. */
  async summary(ownerId: number): Promise<SummaryView> {
    const now = this.clock.now()
    const {
      total,
      used,
      reserved,
      remaining: left,
      quotaCount,
    } = summarise((await this.rolled(ownerId, now)).quotas, now)
    return {
      [this.channel.people[0].field]: ownerId,
      total,
      used,
      reserved,
      remaining: left,
      quota_count: quotaCount,
    }
  }

  /** Would `amount` fit now, and if not, when might it? Takes nothing, so the answer may be old by the time it arrives. */
  async check(ownerId: number, amount: number): Promise<CheckView> {
    const now = this.clock.now()
    const owner = await this.rolled(ownerId, now)
    const quotas = owner.quotas.filter((quota) => isActive(quota, now)).sort(byDrawDown)
    const left = quotas.reduce((sum, quota) => sum + remaining(quota), 0)
    const allowed = quotas.length > 0 && left >= amount
    let refill: Instant | null = null
    if (!allowed) {
      owner.refills ??= this.refills(ownerId, quotas, now)
      refill = (await owner.refills).at(amount)
    }
    return { allowed, requested: amount, remaining: left, refills_at: refill === null ? null : formatInstant(refill) }
  }

  /** A page of live quotas, or of deleted ones, newest first. Those who ask for the same at the same time share a page. */
  async list(filter: QuotaFilter<Q>, page: PageRequest): Promise<Page<QuotaView>> {
    return this.pages.get(JSON.stringify([filter, page]), async () => this.readPage(filter, page))
  }

  private async readPage(filter: QuotaFilter<Q>, page: PageRequest): Promise<Page<QuotaView>> {
    const { quota } = this.store
    const now = this.clock.now()
    const sources = await this.bestSources(filter, now, page)
    const ids = pageOfIds(sources.page, page, (page.page - 1) * page.pageSize)
    const { quotas, counted } = await readQuotas(
      this.work,
      this.store,
      now,
      {
        sql: `SELECT ${quota.columnsOf('q')} FROM ${quota.table} q JOIN (${ids.sql}) page_id ON page_id.id = q.${quota.column('id')}`,
        values: ids.values,
        order: NEWEST_FIRST,
      },
      countOf(quota.table, sources.total, EXACT_UP_TO + 1),
    )
    const name = JSON.stringify([filter.status, filter.people, filter.deleted ?? false, filter.label ?? null])
    const total = await this.total(name, counted, async () =>
      // Counted anew at a later time, the list is another one: its sources are made again.
      countOf(quota.table, (await this.bestSources(filter, this.clock.now())).total),
    )
    return {
      items: quotas.map((one) => {
        const { deletedAt } = one
        const view = this.view(one, now)
        return deletedAt === null ? view : { ...view, deleted_at: formatInstant(deletedAt) }
      }),
      page: page.page,
      page_size: page.pageSize,
      ...total,
    }
  }

  /** A page of what was changed in a quota's settings, newest first; deleted quotas' too. @throws ServiceError quota_not_found where it never was */
  async changes(quotaId: number, { page, pageSize }: PageRequest): Promise<Page<ChangeView>> {
    const { change, quota } = this.store
    const ofQuota = { sql: `WHERE ${change.column('quotaId')} = ?`, values: [quotaId] }
    const { sql, values } = together(
      {
        sql: `SELECT ${change.columns} FROM ${change.table} ${ofQuota.sql} ORDER BY ${change.column('id')} DESC LIMIT ? OFFSET ?`,
        values: [quotaId, pageSize, (page - 1) * pageSize],
        order: NEWEST_FIRST,
      },
      countOf(change.table, [ofQuota], EXACT_UP_TO + 1),
    )
    const [rows, ownerId] = await this.work.read(async (transaction) => {
      const [known] = await transaction.rows(
        `SELECT ${quota.column('ownerId')} AS owner_id FROM ${quota.table} WHERE ${quota.column('id')} = ?`,
        [quotaId],
      )
      if (known === undefined) throw quotaNotFound(quotaId)
      return [await transaction.rows(sql, values), Number(known['owner_id'])]
    })
    const total = await this.total(`changes ${quotaId}`, countedIn(rows), async () => countOf(change.table, [ofQuota]))
    const items = rows.filter(isThere).map((row) => changeView(this.channel, change.decode(row), ownerId))
    return { items, page, page_size: pageSize, ...total }
  }

  /** Makes shared counts anew that are still asked for. */
  async refreshCounts(): Promise<void> {
    await this.counts.refresh()
  }

  /**
   * A list's rows are those of one or two disjoint sources. `state` is stored, and `expired` in it may lag behind: quotas that are due but not
   * yet marked are found by their time, left out of the active ones and added to the expired ones, so that the filter is exact at any instant.
   */
  private sources({ people, status, deleted = false, label }: QuotaFilter<Q>, now: Instant): Where[] {
    const { quota } = this.store
    const person = this.channel.people
      .map(({ property }) => property)
      .find((property) => people[property] !== undefined)
    const first = person === undefined ? [] : [person]
    // Deleted quotas of all are read newest first by the flag; those of a person are few.
    const flagged = deleted && person === undefined
    const conditions = [
      flagged ? `${quota.column('deleted')} = 1` : `${quota.column('deletedAt')} IS ${deleted ? 'NOT NULL' : 'NULL'}`,
    ]
    const values: Scalar[] = []
    if (label !== undefined) {
      const named = labelCondition(quota, label)
      conditions.push(named.sql)
      values.push(...named.values)
    }
    for (const { property } of this.channel.people) {
      const value = people[property]
      if (value === undefined) continue
      conditions.push(`${quota.column(property)} = ?`)
      values.push(value)
    }
    const state = quota.column('state')
    const expireAt = quota.column('expireAt')
    const time = quota.bind('expireAt', now)
    const where = (properties: (keyof Q & string)[], condition?: string, ...more: Scalar[]): Where => ({
      from: quota.readBy(
        this.work.dialect,
        flagged ? ['deleted', 'id'] : [...first, 'deletedAt', ...(deleted ? (['id'] as const) : properties)],
      ),
      sql: `WHERE ${[...conditions, ...(condition === undefined ? [] : [condition])].join(' AND ')}`,
      values: [...values, ...more],
    })
    if (deleted) {
      // Nobody marks what is deleted as expired: its status is derived, row by row.
      const [condition] = statusCondition(quota, status, now)
      return [where(['id'], condition?.sql, ...(condition?.values ?? []))]
    }
    switch (status) {
      case undefined:
        return [where(['id'])]
      case 'active':
        return [where(['state', 'id'], `${state} = 'active' AND (${expireAt} IS NULL OR ${expireAt} > ?)`, time)]
      case 'disabled':
        return [where(['state', 'id'], `${state} = 'disabled'`)]
      case 'expired':
        return [
          where(['state', 'id'], `${state} = 'expired'`),
          where(['state', person === undefined ? 'expireAt' : 'id'], `${state} = 'active' AND ${expireAt} <= ?`, time),
        ]
    }
  }

  /**
   * Labels that begin alike lie together in their index, but not in order of id. A few are sorted; where many begin so, the list is walked in
   * its own order as long as it meets them soon, and else they are sorted all the same: reading them from their index costs less than walking past
   * all the rows that are newer.
   */
  private async bestSources(filter: QuotaFilter<Q>, now: Instant, page?: PageRequest): Promise<Sources> {
    const sources = this.sources(filter, now)
    const { people, status, deleted = false, label } = filter
    if (label === undefined) return { page: sources, total: sources }
    const { quota } = this.store
    const alone = this.byLabel({ people: {}, status: undefined, deleted, label }, now)
    const count = await this.countedBy(countOf(quota.table, [alone], MOST_SORTED + 1))
    const others = this.sources({ people, status, deleted }, now)
    const narrowed = status !== undefined || Object.values(people).some((id) => id !== undefined)
    const most = Math.min(count, MOST_SORTED)
    if (narrowed && (await this.countedBy(countOf(quota.table, others, most + 1))) <= most) {
      return { page: sources, total: sources }
    }
    const named = [this.byLabel(filter, now)]
    if (count <= MOST_SORTED || page === undefined || !(await this.isNear(sources[0], others[0], page))) {
      return { page: named, total: named }
    }
    // By the label alone its own index tells how many there are; of what is narrowed further, walking meets enough of them soon.
    return { page: sources, total: narrowed ? sources : named }
  }

  /**
   * Does a list meet the rows of a page soon, walked in its own order?
   * @param wanted the rows that it looks for
   * @param all those it meets on its way
   */
  private async isNear(wanted: Where | undefined, all: Where | undefined, page: PageRequest): Promise<boolean> {
    if (wanted === undefined || all === undefined) return false
    const reach = page.page * page.pageSize
    const before = beforeOf(page)
    const offset = LEAST_WALKED + WALKED_FOR_EACH * reach
    const end = await this.work.read((transaction) =>
      transaction.rows(
        `SELECT \`id\` FROM ${all.from} ${all.sql}${before.sql} ORDER BY \`id\` DESC LIMIT 1 OFFSET ${offset}`,
        [...all.values, ...before.values],
      ),
    )
    // As a value of its own: the planner finds no range in a subquery's.
    const near = { sql: `${wanted.sql}${before.sql} AND \`id\` > ?`, values: [...wanted.values, ...before.values] }
    const found = await this.countedBy({
      sql: `SELECT COUNT(*) AS counted FROM (SELECT 1 AS one FROM ${wanted.from} ${near.sql} ORDER BY \`id\` DESC LIMIT ${reach}) near`,
      values: [...near.values, Number(end[0]?.['id'] ?? 0)],
    })
    return found === reach
  }

  /** A list's rows by their label, in no order. */
  private byLabel({ people, status, deleted = false, label = '' }: QuotaFilter<Q>, now: Instant): Where {
    const { quota } = this.store
    const conditions = [
      { sql: `${quota.column('deleted')} = ?`, values: [deleted ? 1 : 0] },
      labelCondition(quota, label),
      ...this.channel.people.flatMap(({ property }) => {
        const value = people[property]
        return value === undefined ? [] : [{ sql: `${quota.column(property)} = ?`, values: [value] }]
      }),
      ...statusCondition(quota, status, now),
    ]
    const from = quota.readBy(this.work.dialect, ['deleted', 'labelSearch', 'id'])
    return {
      from,
      countedFrom: from,
      sql: `WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}`,
      values: conditions.flatMap(({ values }) => values),
    }
  }

  /** A list's total: as it was counted, or where that reached its limit, the shared count of it. */
  private async total(
    name: string,
    counted: number,
    all: () => Promise<Statement>,
  ): Promise<Pick<Page<unknown>, 'total' | 'total_relation'>> {
    if (counted <= EXACT_UP_TO) return { total: counted, total_relation: 'exact' }
    const recent = await this.counts.get(name, async () => this.countedBy(await all()))
    // As many have just been counted, and there is at least one more than the list tells exactly.
    return { total: Math.max(recent ?? 0, counted), total_relation: 'recent' }
  }

  private async countedBy({ sql, values }: Statement): Promise<number> {
    return countedIn(await this.work.read((transaction) => transaction.rows(sql, values)))
  }

  private async rolled(ownerId: number, now: Instant): Promise<OwnerNow<Q>> {
    const owner = await this.ofOwner.load(ownerId)
    for (const quota of owner.quotas) roll(quota, now)
    return owner
  }

  private async refills(ownerId: number, quotas: readonly Q[], now: Instant): Promise<Refills> {
    const reserved = quotas.some((quota) => quota.reserved > 0)
    const open = reserved
      ? await this.work.read((transaction) => this.store.openHolds(transaction, [ownerId], now))
      : []
    return new Refills(
      quotas,
      open.map(({ hold }) => hold),
    )
  }

  private view(quota: Q, now: Instant): QuotaView {
    roll(quota, now)
    return quotaView(this.channel, quota, now)
  }
}

function labelCondition<Q extends QuotaRow>(quota: RowCodec<Q>, label: string): Statement {
  const column = quota.column('labelSearch')
  const { from, to } = rangeOf(label)
  return to === undefined
    ? { sql: `${column} >= ?`, values: [from] }
    : { sql: `${column} >= ? AND ${column} < ?`, values: [from, to] }
}

/** What a quota of that status is stored like at `now`, whether or not it has been marked as expired; nothing for any. */
function statusCondition<Q extends QuotaRow>(
  quota: RowCodec<Q>,
  status: Status | undefined,
  now: Instant,
): Statement[] {
  const state = quota.column('state')
  const expireAt = quota.column('expireAt')
  const time = quota.bind('expireAt', now)
  switch (status) {
    case undefined:
      return []
    case 'active':
      return [{ sql: `${state} = 'active' AND (${expireAt} IS NULL OR ${expireAt} > ?)`, values: [time] }]
    case 'disabled':
      return [{ sql: `${state} = 'disabled'`, values: [] }]
    case 'expired':
      return [{ sql: `(${state} = 'expired' OR (${state} = 'active' AND ${expireAt} <= ?))`, values: [time] }]
  }
}

/** The condition of a page that lists quotas with smaller ids alone; it follows others. */
function beforeOf({ beforeId }: PageRequest): Statement {
  return beforeId === undefined ? { sql: '', values: [] } : { sql: ' AND `id` < ?', values: [beforeId] }
}

/** The ids of one page: each source is read newest first and no further than the page reaches. */
function pageOfIds(sources: readonly Where[], page: PageRequest, offset: number): Statement {
  const before = beforeOf(page)
  const window = `LIMIT ${page.pageSize} OFFSET ${offset}`
  const ids = ({ from, sql }: Where, limit: string): string =>
    `SELECT \`id\` FROM ${from} ${sql}${before.sql} ORDER BY \`id\` DESC ${limit}`
  const values = sources.flatMap((source) => [...source.values, ...before.values])
  const [only, ...others] = sources
  if (only !== undefined && others.length === 0) return { sql: ids(only, window), values }
  const parts = sources.map(
    (source, place) => `SELECT \`id\` FROM (${ids(source, `LIMIT ${offset + page.pageSize}`)}) source_${place}`,
  )
  return { sql: `${parts.join(' UNION ALL ')} ORDER BY \`id\` DESC ${window}`, values }
}
