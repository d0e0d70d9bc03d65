import type { DataSource } from 'typeorm'
import type { Clock } from '../../clock/clock.js'
import { placeholders } from '../../database/row-codec.js'
import { SharedReads } from '../../database/shared-reads.js'
import type { Reads, TransactionRunner } from '../../database/transaction-runner.js'
import { ServiceError } from '../../error/service-error.js'
import { available, refusingCaps, type Limits, limitsAt, payable } from '../../quota/cap.js'
import { roll, summarise } from '../../quota/quota.js'
import { Refills } from '../../quota/refill.js'
import { patchViolations, type Violation, type SettingsPatch } from '../../quota/settings.js'
import { formatInstant, type Instant } from '../../time/instant.js'
import type { Channel } from '../rows/channel.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { type CapView, capView, changeView, type ChangeView, quotaView, type QuotaView } from '../store/answers.js'
import { quotaNotFound } from '../store/errors.js'
import { LedgerStore, LIVE_OF_OWNER } from '../store/ledger-store.js'
import { ListReader, type Page } from './list-reader.js'
import type { PageRequest, QuotaFilter } from './list-statements.js'
import { countedIn, countOf, isPageRow, pageWithCount, readQuotas } from './quota-statements.js'
import { EXACT_UP_TO, RecentCounts } from './recent-counts.js'

/** An owner's sums in an answer; the owner's field comes first. */
export interface SummaryView {
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

/** An owner's active quotas, as read for all requests in one turn of the event loop. */
interface OwnerNow<Q> {
  readonly quotas: Q[]
  /** The times when they can pay more; undefined until a check needs them. */
  refills: Promise<Refills> | undefined
}

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
  private readonly lists: ListReader<Q>
  private readonly counts: RecentCounts
  /** The reads that all checks and summaries share. */
  private readonly checks: Reads

  constructor(
    private readonly channel: Channel<Q>,
    dataSource: DataSource,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
  ) {
    this.store = new LedgerStore(dataSource, channel)
    this.counts = new RecentCounts(clock)
    this.lists = new ListReader(channel, this.store, transactions, clock, this.counts)
    const { quota } = this.store
    const shared = (kind: string): Reads => transactions.readsOf(`(${channel.name} ${kind})`)
    const ones = shared('quotas')
    const checks = (this.checks = shared('checks'))
    this.one = new SharedReads(async (ids) => {
      const quotas = await readQuotas(ones, this.store, this.clock.now(), {
        sql: `SELECT ${quota.columns} FROM ${quota.table} WHERE ${quota.column('id')} IN (${placeholders(ids)})`,
        values: ids,
      })
      const byId = new Map(quotas.map((row) => [row.id, row]))
      return ids.map((id) => byId.get(id))
    })
    this.ofOwner = new SharedReads(async (ownerIds) => {
      const quotas = await readQuotas(checks, this.store, this.clock.now(), {
        sql:
          `SELECT ${quota.columns} FROM ${quota.readBy(transactions.dialect, LIVE_OF_OWNER)} ` +
          `WHERE ${quota.column('ownerId')} IN (${placeholders(ownerIds)}) AND ${quota.column('deletedAt')} IS NULL ` +
          `AND ${quota.column('state')} = 'active'`,
        values: ownerIds,
      })
      const byOwner = new Map<number, OwnerNow<Q>>()
      for (const ownerId of ownerIds) byOwner.set(ownerId, { quotas: [], refills: undefined })
      for (const row of quotas) byOwner.get(row.ownerId)?.quotas.push(row)
      return ownerIds.map((ownerId) => byOwner.get(ownerId) ?? { quotas: [], refills: undefined })
    })
  }

  /** One quota. @throws ServiceError quota_not_found if it does not exist or is deleted */
  async get(id: number): Promise<QuotaView> {
    const quota = await this.one.get(id)
    if (quota === undefined || quota.deletedAt !== null) throw quotaNotFound(id)
    return this.view(quota, this.clock.now())
  }

  /**
   * The rules that a patch would violate, as far as they depend on the record; none if the quota does not exist, or
   * cannot be read.
   */
  async violationsBy(id: number, patch: SettingsPatch): Promise<Violation[]> {
    const quota = await this.one.get(id).catch((error: unknown) => {
      if (error instanceof ServiceError) return undefined
      throw error
    })
    if (quota === undefined || quota.deletedAt !== null) return []
    return patchViolations(quota, patch, this.clock.now())
  }

  /** The sums of the owner's active payers, zeros if there are none, and the caps. */
  async summary(ownerId: number): Promise<SummaryWithCaps> {
    const now = this.clock.now()
    const { quotas } = await this.rolled(ownerId, now)
    const limits = limitsAt(quotas, now)
    return { ...this.sums(ownerId, limits, now), caps: limits.caps.map(capView) }
  }

  /** Only the sums of the owner's active payers. */
  async sumsOf(ownerId: number): Promise<SummaryView> {
    const now = this.clock.now()
    return this.sums(ownerId, limitsAt((await this.rolled(ownerId, now)).quotas, now), now)
  }

  private sums(ownerId: number, limits: Limits<Q>, now: Instant): SummaryView {
    const { total, used, reserved, remaining: left, quotaCount } = summarise(limits.payers, now)
    return {
      [this.channel.subjects[0].field]: ownerId,
      total,
      used,
      reserved,
      remaining: left,
      quota_count: quotaCount,
      available: available(limits),
    }
  }

  /**
   * Does `amount` fit now, and if not, when may it? It charges nothing, so the answer may be outdated when it arrives.
   */
  async check(ownerId: number, amount: number): Promise<CheckView> {
    const now = this.clock.now()
    const owner = await this.rolled(ownerId, now)
    const limits = limitsAt(owner.quotas, now)
    const left = available(limits)
    const allowed = left >= amount
    let refill: Instant | null = null
    if (!allowed) {
      owner.refills ??= this.refills(ownerId, limits, now)
      refill = (await owner.refills).at(amount)
    }
    return {
      allowed,
      requested: amount,
      remaining: left,
      payable: payable(limits.payers),
      refills_at: refill === null ? null : formatInstant(refill),
      caps: allowed ? [] : refusingCaps(limits.caps, amount).map(capView),
    }
  }

  /**
   * A page of live quotas, or of deleted ones, newest first.
   * @param principalId the principal whose turn it takes
   */
  async list(principalId: string, filter: QuotaFilter<Q>, page: PageRequest): Promise<Page<QuotaView>> {
    return (await this.lists.get(principalId, filter, page)).page
  }

  /** The same as the JSON of the answer. */
  async listAsJson(principalId: string, filter: QuotaFilter<Q>, page: PageRequest): Promise<string> {
    return (await this.lists.get(principalId, filter, page)).json
  }

  /**
   * The next step of an iteration over a list, newest first.
   * @param party the principal whose turn it takes
   * @param beforeId the last id of the previous step
   */
  async step(party: string, filter: QuotaFilter<Q>, beforeId: number | undefined, size: number): Promise<Q[]> {
    return this.lists.step(party, filter, beforeId, size)
  }

  /** The same in the form of answers. */
  async stepShown(
    principalId: string,
    filter: QuotaFilter<Q>,
    beforeId: number | undefined,
    size: number,
  ): Promise<QuotaView[]> {
    const quotas = await this.lists.step(principalId, filter, beforeId, size)
    const now = this.clock.now()
    return quotas.map((quota) => this.lists.view(quota, now))
  }

  /**
   * A page of the changes of a quota's settings, newest first; also for deleted quotas.
   * @param principalId the principal whose turn it takes
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
    const [rows, ownerId] = await this.transactions.readsOf(principalId).read(async (transaction) => {
      const [known] = await transaction.rows(
        `SELECT ${quota.column('ownerId')} AS owner_id FROM ${quota.table} WHERE ${quota.column('id')} = ?`,
        [quotaId],
      )
      if (known === undefined) throw quotaNotFound(quotaId)
      return [await transaction.rows(sql, values), Number(known['owner_id'])]
    })
    const total = await this.counts.total(`changes ${quotaId}`, countedIn(rows), async () => {
      const all = countOf(change.table, [ofQuota])
      return countedIn(await this.transactions.read((transaction) => transaction.rows(all.sql, all.values)))
    })
    const items = rows.filter(isPageRow).map((row) => changeView(this.channel, change.decode(row), ownerId))
    return { items, page, page_size: pageSize, ...total }
  }

  /** Renews shared counts that are still in use. */
  async refreshCounts(): Promise<void> {
    await this.counts.refresh()
  }

  private async rolled(ownerId: number, now: Instant): Promise<OwnerNow<Q>> {
    const owner = await this.ofOwner.get(ownerId)
    for (const quota of owner.quotas) roll(quota, now)
    return owner
  }

  private async refills(ownerId: number, { payers, caps }: Limits<Q>, now: Instant): Promise<Refills> {
    const reserved = [...payers, ...caps].some((quota) => quota.reserved > 0)
    const open = reserved
      ? await this.checks.read((transaction) => this.store.openHolds(transaction, [ownerId], now))
      : []
    return new Refills(
      payers,
      open.map(({ hold }) => hold),
      caps,
    )
  }

  private view(quota: Q, now: Instant): QuotaView {
    roll(quota, now)
    return quotaView(this.channel, quota, now)
  }
}
