import type { Clock } from '../../common/clock.js'
import { SharedReads } from '../../database/shared-reads.js'
import type { Reads, TransactionRunner } from '../../database/transaction-runner.js'
import { comparedLabel } from '../../domain/label.js'
import { type QuotaState, roll } from '../../domain/quota.js'
import { formatInstant, type Instant } from '../../common/instant.js'
import type { Channel } from '../rows/channel.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { quotaView, type QuotaView } from '../store/answers.js'
import type { LedgerStore } from '../store/ledger-store.js'
import {
  beforeOf,
  isNamed,
  ListSources,
  pageOf,
  type PageRequest,
  type QuotaFilter,
  type Sources,
  type Where,
} from './list-statements.js'
import { counted, countOf, countOfLong, type ListPart, readLists, type Statement } from './quota-statements.js'
import { EXACT_UP_TO, type RecentCounts, type Total } from './recent-counts.js'

/** A page of a list, in the form of answers. */
export interface Page<T> extends Total {
  readonly items: readonly T[]
  readonly page: number
  readonly page_size: number
}

/** A page that concurrent requests share. */
export class SharedPage {
  private text: string | undefined

  constructor(readonly page: Page<QuotaView>) {}

  /** The JSON of the answer, written once for all. */
  get json(): string {
    return (this.text ??= JSON.stringify(this.page))
  }
}

/** The number of rows that are sorted without a search for a cheaper way, if no index has them in order of id. */
const MAX_SORTED = 10_000

/** The minimum number of rows of a list that are examined before the rows of a label are sorted instead. */
const LEAST_WALKED = 5_000

/** The additional number for each row that the page reaches: examining a row costs as much as sorting some. */
const WALKED_FOR_EACH = 4

/**
 * The maximum number of lists in one statement: with more, a list costs no less, and each waits for more of the others.
 */
const MAX_LISTS = 50

/** Pages that reach at most this far into their list share statements; none of them waits for a deep page. */
const SHALLOW_ROWS = 1_000

/** A requested page. */
interface Ask<Q extends QuotaRow> {
  /** The flow whose turn it takes, if it is read alone. */
  readonly flow: string
  readonly filter: QuotaFilter<Q>
  readonly page: PageRequest
  /** Filter and page as JSON: the same key means the same page. */
  readonly key: string
}

/**
 * Reads pages of quotas for all concurrent requests.
 *
 * - Lists of one subject are collected, for all subjects: up to 50 of them share one statement. If the page shows the
 *   end of its list, the total is known.
 * - Every other page has its own statement, with its count, which only equal requests share: a longer list, one of all
 *   subjects or by a label, and a deep page.
 */
export class ListReader<Q extends QuotaRow> {
  private readonly sources: ListSources<Q>
  private readonly ends: SharedReads<Ask<Q>, SharedPage | undefined>
  private readonly alone: SharedReads<Ask<Q>, SharedPage>

  constructor(
    private readonly channel: Channel<Q>,
    private readonly store: LedgerStore<Q>,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
    private readonly counts: RecentCounts,
  ) {
    this.sources = new ListSources(channel, store.quota, transactions.dialect)
    const ends = transactions.readsOf(`(${channel.name} lists)`)
    this.ends = new SharedReads(async (asks) => this.readUpToEnd(ends, asks), {
      most: MAX_LISTS,
      keyOf: ({ key }) => key,
    })
    this.alone = new SharedReads(async (asks) => Promise.all(asks.map(async (ask) => this.readAlone(ask))), {
      keyOf: ({ flow, key }) => `${flow} ${key}`,
      alone: true,
    })
  }

  /**
   * A page of live quotas, or of deleted ones, newest first.
   * @param principalId the principal whose turn it takes. Only this principal's requests share a list that is read
   * alone: another principal's read might wait for all other requests of that principal
   */
  async get(principalId: string, filter: QuotaFilter<Q>, page: PageRequest): Promise<SharedPage> {
    const ask = { flow: principalId, filter, page, key: JSON.stringify([filter, page]) }
    // The total includes the rows before the page's first row, which the page does not read.
    const found = isShareable(ask) && page.beforeId === undefined ? await this.ends.get(ask) : undefined
    return found ?? this.alone.get(ask)
  }

  /**
   * The quotas of a list with smaller ids, newest first, without a total: one step of an iteration over the whole list.
   * @param size rows of a step
   */
  async step(flow: string, filter: QuotaFilter<Q>, beforeId: number | undefined, size: number): Promise<Q[]> {
    const [reads, now] = [this.transactions.readsOf(flow), this.clock.now()]
    const page = { page: 1, pageSize: size, beforeId }
    const ask = { flow, filter, page, key: '' }
    const sources = await this.bestSources(reads, filter, now, page)
    const [found] = await readLists(reads, this.store, now, [this.part(ask, sources.page, size)])
    return found?.quotas ?? []
  }

  /** A quota in the form of its list. */
  view(quota: Q, now: Instant): QuotaView {
    const view = quotaView(this.channel, quota, now)
    if (quota.deletedAt !== null) view.deleted_at = formatInstant(quota.deletedAt)
    return view
  }

  /** Pages that show the end of their list, and so its length; undefined if there is more. */
  private async readUpToEnd(reads: Reads, asks: readonly Ask<Q>[]): Promise<(SharedPage | undefined)[]> {
    const now = this.clock.now()
    const found = await readLists(
      reads,
      this.store,
      now,
      // One row more than requested shows whether there are more.
      asks.map((ask) => this.part(ask, this.sources.of(ask.filter, now), ask.page.pageSize + 1)),
    )
    await this.readEndsOfFollowed(
      reads,
      found.flatMap(({ quotas }) => quotas),
      now,
    )
    return asks.map(({ page }, place) => {
      const quotas = found[place]?.quotas ?? []
      const before = offsetOf(page)
      const isEnd = quotas.length <= page.pageSize && (quotas.length > 0 || before === 0)
      return isEnd
        ? this.shown(page, quotas, now, { total: before + quotas.length, total_relation: 'exact' })
        : undefined
    })
  }

  private async readAlone(ask: Ask<Q>): Promise<SharedPage> {
    const { flow, filter, page } = ask
    const [reads, now] = [this.transactions.readsOf(flow), this.clock.now()]
    const sources = await this.bestSources(reads, filter, now, page)
    const part = this.part(ask, sources.page, page.pageSize, this.count(filter, sources.total))
    const [found] = await readLists(reads, this.store, now, [part])
    await this.readEndsOfFollowed(reads, found?.quotas ?? [], now)
    const total = await this.counts.total(countNameOf(filter), found?.counted ?? 0, async () =>
      // A later count is for a different time, so the sources are built again.
      counted(
        this.transactions,
        countOf(this.store.quota.table, (await this.bestSources(this.transactions, filter, this.clock.now())).total),
      ),
    )
    return this.shown(page, found?.quotas ?? [], now, total)
  }

  private count(filter: QuotaFilter<Q>, sources: readonly Where[]): Statement {
    const count = this.counts.knows(countNameOf(filter)) ? countOfLong : countOf
    return count(this.store.quota.table, sources, EXACT_UP_TO + 1)
  }

  private part({ page }: Ask<Q>, sources: readonly Where[], size: number, all?: Statement): ListPart {
    return { page: (columns) => pageOf(sources, columns, offsetOf(page), size, page.beforeId), all }
  }

  /** Counts whose cycle is over get the end of the quota that they follow: they stand still from then on. */
  private async readEndsOfFollowed(reads: Reads, quotas: readonly Q[], now: Instant): Promise<void> {
    const counts: QuotaState[] = quotas.filter(
      ({ follows, cycleEndsAt }) => follows !== null && (cycleEndsAt ?? Infinity) <= now,
    )
    if (counts.length === 0) return
    const ids = [...new Set(counts.map(({ follows }) => follows ?? 0))]
    const followed = await reads.read((transaction) => this.store.quotasById(transaction, ids))
    const ends = new Map(followed.map(({ id, expireAt }) => [id, expireAt]))
    for (const count of counts) count.followedEndsAt = ends.get(count.follows ?? 0) ?? null
  }

  private shown({ page, pageSize }: PageRequest, quotas: readonly Q[], now: Instant, total: Total): SharedPage {
    const items = quotas.map((quota) => {
      roll(quota, now)
      return this.view(quota, now)
    })
    return new SharedPage({ items, page, page_size: pageSize, ...total })
  }

  /**
   * Selects how to read a list. Labels with the same beginning are adjacent in their index, but not in order of id. A
   * few are sorted. If many match, the list is examined in its own order if that soon finds matches; otherwise they are
   * sorted anyway, since reading them from their index costs less than skipping all newer rows.
   */
  private async bestSources(reads: Reads, filter: QuotaFilter<Q>, now: Instant, page?: PageRequest): Promise<Sources> {
    const sources = this.sources.of(filter, now)
    const { label, ...unlabelled } = filter
    if (label === undefined || isNamed(filter)) return sameSources(sources)
    const { table } = this.store.quota
    const { subjects, deleted = false, ...conditions } = unlabelled
    const alone = this.sources.byLabel({ subjects: {}, status: undefined, deleted, label }, now)
    const count = await counted(reads, countOf(table, [alone], MAX_SORTED + 1))
    const others = this.sources.of(unlabelled, now)
    const narrowed = Object.values<unknown>({ ...subjects, ...conditions }).some((value) => value !== undefined)
    const most = Math.min(count, MAX_SORTED)
    if (narrowed && (await counted(reads, countOf(table, others, most + 1))) <= most) return sameSources(sources)
    const named = [this.sources.byLabel(filter, now)]
    if (count <= MAX_SORTED || page === undefined || !(await this.isNear(reads, sources[0], others[0], page))) {
      return sameSources(named)
    }
    // For the label alone, its own index gives the number; with further conditions, examining the list soon finds
    // enough of them.
    return { page: sources, total: narrowed ? sources : named }
  }

  /**
   * Does examining a list in its own order soon find the rows of a page?
   * @param wanted the rows to find
   * @param all the rows to examine
   */
  private async isNear(
    reads: Reads,
    wanted: Where | undefined,
    all: Where | undefined,
    page: PageRequest,
  ): Promise<boolean> {
    if (wanted === undefined || all === undefined) return false
    const reach = page.page * page.pageSize
    const before = beforeOf(page.beforeId)
    const offset = LEAST_WALKED + WALKED_FOR_EACH * reach
    const end = await reads.read((transaction) =>
      transaction.rows(
        `SELECT \`id\` FROM ${all.from} ${all.sql}${before.sql} ORDER BY \`id\` DESC LIMIT 1 OFFSET ${offset}`,
        [...all.values, ...before.values],
      ),
    )
    // As a separate value: the planner finds no range in a subquery's value.
    const near = { sql: `${wanted.sql}${before.sql} AND \`id\` > ?`, values: [...wanted.values, ...before.values] }
    const found = await counted(reads, {
      sql: `SELECT COUNT(*) AS counted FROM (SELECT 1 AS one FROM ${wanted.from} ${near.sql} ORDER BY \`id\` DESC LIMIT ${reach}) near`,
      values: [...near.values, Number(end[0]?.['id'] ?? 0)],
    })
    return found === reach
  }
}

/**
 * May the page share a statement with others? Its read is fast: live quotas of one subject, which an index has in order
 * of id, near the start of the list.
 */
function isShareable<Q extends QuotaRow>({ filter, page }: Ask<Q>): boolean {
  const { subjects, deleted, label, follows } = filter
  const named = Object.values(subjects).filter((id) => id !== undefined).length
  return (
    named === 1 &&
    deleted !== true &&
    label === undefined &&
    follows === undefined &&
    page.page * page.pageSize <= SHALLOW_ROWS
  )
}

function sameSources(sources: readonly Where[]): Sources {
  return { page: sources, total: sources }
}

/**
 * The name under which the count of a long list is shared. It contains the whole filter, so that lists that differ in
 * any member never share a count. Equal filters with another order of members only cost a count of their own.
 */
function countNameOf<Q extends QuotaRow>({ label, ...filter }: QuotaFilter<Q>): string {
  return JSON.stringify({ ...filter, label: label === undefined ? undefined : comparedLabel(label) })
}

function offsetOf({ page, pageSize }: PageRequest): number {
  return (page - 1) * pageSize
}
