import DataLoader from 'dataloader'
import type { DataSource } from 'typeorm'
import type { Clock } from '../clock/clock.js'
import { placeholders, type RawRow, type Scalar } from '../database/row-codec.js'
import type { UnitOfWork } from '../database/unit-of-work.js'
import { byDrawDown } from '../quota/draw-down.js'
import { formatInstant, type Instant } from '../quota/instant.js'
import { isActive, remaining, roll, type Status, summarise } from '../quota/quota.js'
import { refillsAt } from '../quota/refill.js'
import type { Channel } from './channel.js'
import { quotaNotFound } from './judge.js'
import type { QuotaRow } from './quota.entity.js'
import { RecentCounts } from './recent-count.js'
import { LedgerStore, LIVE_OF_OWNER } from './store.js'
import { changeView, type ChangeView, quotaView, type QuotaView } from './view.js'

/** Which quotas a list shows. */
export interface QuotaFilter<Q extends QuotaRow> {
  /** Values that the people named by the quota must have, by property. */
  readonly people: Partial<Record<keyof Q & string, number>>
  readonly status: Status | undefined
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

/** Up to here a list is counted exactly, on the request's path (contract, §2). */
const EXACT_UP_TO = 10_000

interface Where {
  /** The table, by the index that holds the rows in order of id. */
  readonly from: string
  readonly sql: string
  readonly values: readonly Scalar[]
}

/**
 * Reads quotas past the engine: every read shows what is committed, rolled to the present, with due holds taken off `reserved`. Concurrent reads of one
 * turn of the event loop share a statement.
 */
export class QuotaReader<Q extends QuotaRow> {
  private readonly store: LedgerStore<Q>
  private readonly one: DataLoader<number, Q | undefined>
  private readonly ofOwner: DataLoader<number, Q[]>
  private readonly counts: RecentCounts
  private readonly select: string

  constructor(
    private readonly channel: Channel<Q>,
    dataSource: DataSource,
    private readonly work: UnitOfWork,
    private readonly clock: Clock,
  ) {
    this.store = new LedgerStore(dataSource, channel)
    this.counts = new RecentCounts(clock)
    this.select = selectWithDueHolds(this.store)
    const { quota } = this.store
    this.one = new DataLoader(
      async (ids) => {
        const found = await this.load(`${quota.table} q`, `q.${quota.column('id')} IN (${placeholders(ids)})`, ids)
        const byId = new Map(found.map((row) => [row.id, row]))
        return ids.map((id) => byId.get(id))
      },
      { cache: false, maxBatchSize: 500 },
    )
    this.ofOwner = new DataLoader(
      async (ownerIds) => {
        const unique = [...new Set(ownerIds)]
        const found = await this.load(
          quota.readBy(work.dialect, LIVE_OF_OWNER, 'q'),
          `q.${quota.column('ownerId')} IN (${placeholders(unique)}) AND q.${quota.column('deletedAt')} IS NULL ` +
            `AND q.${quota.column('state')} = 'active'`,
          unique,
        )
        const byOwner = new Map<number, Q[]>(unique.map((ownerId) => [ownerId, []]))
        for (const row of found) byOwner.get(row.ownerId)?.push(row)
        return ownerIds.map((ownerId) => byOwner.get(ownerId) ?? [])
      },
      { cache: false, maxBatchSize: 500 },
    )
  }

  /** One quota. @throws ServiceError quota_not_found where it is absent or deleted */
  async get(id: number): Promise<QuotaView> {
    const quota = await this.one.load(id)
    if (quota === undefined || quota.deletedAt !== null) throw quotaNotFound(id)
    return this.view(quota, this.clock.now())
  }

  /** The sums of the owner's active quotas; zeros where there are none. */
  async summary(ownerId: number): Promise<SummaryView> {
    const now = this.clock.now()
    const { total, used, reserved, remaining: left, quotaCount } = summarise(await this.rolled(ownerId, now), now)
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
    const quotas = (await this.rolled(ownerId, now)).filter((quota) => isActive(quota, now)).sort(byDrawDown)
    const left = quotas.reduce((sum, quota) => sum + remaining(quota), 0)
    const allowed = quotas.length > 0 && left >= amount
    let refill: Instant | null = null
    if (!allowed) {
      const reserved = quotas.some((quota) => quota.reserved > 0)
      const holds = reserved ? await this.work.read((transaction) => this.store.openHolds(transaction, [ownerId])) : []
      const open = holds.map(({ hold }) => hold).filter((hold) => hold.expiresAt > now)
      refill = refillsAt(quotas, open, amount)
    }
    return { allowed, requested: amount, remaining: left, refills_at: refill === null ? null : formatInstant(refill) }
  }

  /** A page of live quotas, newest first. */
  async list(filter: QuotaFilter<Q>, page: PageRequest): Promise<Page<QuotaView>> {
    const now = this.clock.now()
    const sources = this.sources(filter, now)
    const offset = (page.page - 1) * page.pageSize
    const [ids, values] = pageOfIds(sources, page, offset)
    const [rows, count] = await Promise.all([
      this.work.read((transaction) =>
        transaction.rows(
          `${this.select}${this.store.quota.table} q JOIN (${ids}) page ON page.id = q.\`id\` ORDER BY q.\`id\` DESC`,
          [...this.dueValues(now), ...values],
        ),
      ),
      this.total(filter, sources),
    ])
    return {
      items: rows.map((row) => this.view(this.decode(row), now)),
      page: page.page,
      page_size: page.pageSize,
      ...count,
    }
  }

  /** A page of what was changed in a quota's settings, newest first; deleted quotas' too. @throws ServiceError quota_not_found where it never was */
  async changes(quotaId: number, { page, pageSize }: PageRequest): Promise<Page<ChangeView>> {
    const { change, quota } = this.store
    const where = `WHERE ${change.column('quotaId')} = ?`
    const rows = await this.work.read(async (transaction) => {
      const known = await transaction.rows(`SELECT 1 FROM ${quota.table} WHERE ${quota.column('id')} = ?`, [quotaId])
      if (known.length === 0) throw quotaNotFound(quotaId)
      return transaction.rows(
        `SELECT ${change.columns} FROM ${change.table} ${where} ORDER BY ${change.column('id')} DESC LIMIT ? OFFSET ?`,
        [quotaId, pageSize, (page - 1) * pageSize],
      )
    })
    const total = await this.boundedTotal(`changes ${quotaId}`, async (limit) =>
      this.countIn(change.table, where, [quotaId], limit),
    )
    return { items: rows.map((row) => changeView(change.decode(row))), page, page_size: pageSize, ...total }
  }

  /** Makes shared counts anew that are still asked for. */
  async refreshCounts(): Promise<void> {
    await this.counts.refresh()
  }

  /**
   * A list's rows are those of one or two disjoint sources. `state` is stored, and `expired` in it may lag behind: quotas that are due but not
   * yet marked are found by their time, left out of the active ones and added to the expired ones, so that the filter is exact at any instant.
   */
  private sources({ people, status }: QuotaFilter<Q>, now: Instant): Where[] {
    const { quota } = this.store
    const conditions = [`${quota.column('deletedAt')} IS NULL`]
    const values: Scalar[] = []
    for (const { property } of this.channel.people) {
      const value = people[property]
      if (value === undefined) continue
      conditions.push(`${quota.column(property)} = ?`)
      values.push(value)
    }
    const state = quota.column('state')
    const expireAt = quota.column('expireAt')
    const time = quota.bind('expireAt', now)
    const person = this.channel.people
      .map(({ property }) => property)
      .find((property) => people[property] !== undefined)
    const first = person === undefined ? [] : [person]
    const where = (properties: (keyof Q & string)[], condition?: string, ...more: Scalar[]): Where => ({
      from: quota.readBy(this.work.dialect, [...first, 'deletedAt', ...properties]),
      sql: `WHERE ${[...conditions, ...(condition === undefined ? [] : [condition])].join(' AND ')}`,
      values: [...values, ...more],
    })
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

  private async total(
    filter: QuotaFilter<Q>,
    sources: readonly Where[],
  ): Promise<Pick<Page<unknown>, 'total' | 'total_relation'>> {
    const { table } = this.store.quota
    const name = JSON.stringify([filter.status, filter.people])
    return this.boundedTotal(name, async (limit) => {
      // Counted anew at a later time, the list is another one: its sources are made again.
      const current = limit === Infinity ? this.sources(filter, this.clock.now()) : sources
      let sum = 0
      for (const source of current) sum += await this.countIn(table, source.sql, source.values, limit)
      return sum
    })
  }

  private async boundedTotal(
    name: string,
    count: (limit: number) => Promise<number>,
  ): Promise<Pick<Page<unknown>, 'total' | 'total_relation'>> {
    const bounded = await count(EXACT_UP_TO + 1)
    if (bounded <= EXACT_UP_TO) return { total: bounded, total_relation: 'exact' }
    const recent = await this.counts.get(name, () => count(Infinity))
    // As many have just been counted, and there is at least one more than the list tells exactly.
    return { total: Math.max(recent ?? 0, bounded), total_relation: 'recent' }
  }

  // No index is named here: nothing is ordered, and the planner finds the one that covers the condition.
  private async countIn(table: string, where: string, values: readonly Scalar[], limit: number): Promise<number> {
    const counted = limit === Infinity ? table : `(SELECT 1 AS one FROM ${table} ${where} LIMIT ${limit}) counted`
    const rows = await this.work.read((transaction) =>
      transaction.rows(`SELECT COUNT(*) AS n FROM ${counted}${limit === Infinity ? ` ${where}` : ''}`, values),
    )
    return Number(rows[0]?.['n'] ?? 0)
  }

  private async rolled(ownerId: number, now: Instant): Promise<Q[]> {
    const quotas = await this.ofOwner.load(ownerId)
    for (const quota of quotas) roll(quota, now)
    return quotas
  }

  private async load(from: string, where: string, values: readonly Scalar[]): Promise<Q[]> {
    const now = this.clock.now()
    const rows = await this.work.read((transaction) =>
      transaction.rows(`${this.select}${from} WHERE ${where}`, [...this.dueValues(now), ...values]),
    )
    return rows.map((row) => this.decode(row))
  }

  private decode(row: RawRow): Q {
    const quota = this.store.quota.decode(row)
    quota.reserved -= Number(row['due'])
    return quota
  }

  private dueValues(now: Instant): Scalar[] {
    const time = this.store.quota.bind('holdDueAt', now)
    return [time, time]
  }

  private view(quota: Q, now: Instant): QuotaView {
    roll(quota, now)
    return quotaView(this.channel, quota, now)
  }
}

/**
 * Quotas with the units of their due holds. In one statement, so that a sweep between two cannot count a hold twice; the inner one runs only for
 * quotas whose `hold_due_at` has come. What they are read from, under the alias `q`, is to follow.
 */
function selectWithDueHolds<Q extends QuotaRow>({ quota, hold, allocation }: LedgerStore<Q>): string {
  const due =
    `SELECT COALESCE(SUM(a.${allocation.column('amount')}), 0) FROM ${hold.table} h ` +
    `JOIN ${allocation.table} a ON a.${allocation.column('operationId')} = h.${hold.column('operationId')} ` +
    `WHERE h.${hold.column('ownerId')} = q.${quota.column('ownerId')} AND h.${hold.column('expiresAt')} <= ? ` +
    `AND a.${allocation.column('quotaId')} = q.${quota.column('id')} AND a.${allocation.column('cycleSeq')} = q.${quota.column('cycleSeq')}`
  return `SELECT ${quota.columnsOf('q')}, CASE WHEN q.${quota.column('holdDueAt')} <= ? THEN (${due}) ELSE 0 END AS due FROM `
}

/** The ids of one page: each source is read newest first and no further than the page reaches. */
function pageOfIds(sources: readonly Where[], page: PageRequest, offset: number): [string, Scalar[]] {
  const before = page.beforeId === undefined ? '' : ' AND `id` < ?'
  const beforeValues = page.beforeId === undefined ? [] : [page.beforeId]
  const window = `LIMIT ${page.pageSize} OFFSET ${offset}`
  const ids = ({ from, sql }: Where, limit: string): string =>
    `SELECT \`id\` FROM ${from} ${sql}${before} ORDER BY \`id\` DESC ${limit}`
  const values = sources.flatMap((source) => [...source.values, ...beforeValues])
  const [only, ...others] = sources
  if (only !== undefined && others.length === 0) return [ids(only, window), values]
  const parts = sources.map(
    (source, place) => `SELECT \`id\` FROM (${ids(source, `LIMIT ${offset + page.pageSize}`)}) source_${place}`,
  )
  return [`${parts.join(' UNION ALL ')} ORDER BY \`id\` DESC ${window}`, values]
}
