import type DataLoader from 'dataloader'
import type { Clock } from '../clock/clock.js'
import type { UnitOfWork } from '../database/unit-of-work.js'
import { formatInstant, type Instant } from '../quota/instant.js'
import { roll } from '../quota/quota.js'
import type { Channel } from './channel.js'
import { gatheringLoader } from './gathering-loader.js'
import { ListSources, pageOf, type PageRequest, type QuotaFilter, type Where } from './list-sources.js'
import type { QuotaRow } from './quota.entity.js'
import {
  countedIn,
  countOf,
  countOfLong,
  type ListFound,
  type ListPart,
  readLists,
  type Statement,
} from './quota-rows.js'
import { EXACT_UP_TO, type RecentCounts, type Total } from './recent-count.js'
import { SharedReads } from './shared-reads.js'
import type { LedgerStore } from './store.js'
import { quotaView, type QuotaView } from './view.js'

/** A page of a list as it is answered. */
export interface Page<T> extends Total {
  readonly items: readonly T[]
  readonly page: number
  readonly page_size: number
}

/** A page that all who asked for it share. */
export class SharedPage {
  private text: string | undefined

  constructor(readonly page: Page<QuotaView>) {}

  /** The page as it is answered, written once for all. */
  get json(): string {
    return (this.text ??= JSON.stringify(this.page))
  }
}

/** So many rows are sorted where no index has them in order of id. */
const MOST_SORTED = 10_000

/** Lists that one statement reads at most: with more of them a list costs no less, and each waits for more of the others. */
const MOST_LISTS = 50

/** A page that reaches no further than this into its list is read with others: nobody waits for a deep one. */
const SHALLOW_ROWS = 1_000

/** A page that somebody asks for. */
interface Ask<Q extends QuotaRow> {
  readonly filter: QuotaFilter<Q>
  readonly page: PageRequest
  /** Both as JSON: the same key, the same page. */
  readonly key: string
}

/**
 * Reads pages of quotas for all who ask for them.
 *
 * - Lists of one person gather, whoever it is: up to 50 of them go in one statement. Where the page shows the end of its list the total is known by that; where
 *   it does not, the page is read once more together with its count, with others of which that is true.
 * - A list of everybody, or by a label, and a deep page may cost many times as much, so each of them is a statement of its own, shared by those who ask for the
 *   very same.
 */
export class ListReader<Q extends QuotaRow> {
  private readonly sources: ListSources<Q>
  private readonly ends: DataLoader<Ask<Q>, SharedPage | undefined>
  /** What is found comes as promises: a count that takes its time is waited for by those alone who asked for it. */
  private readonly counted: DataLoader<Ask<Q>, Promise<SharedPage>>
  private readonly alone = new SharedReads<SharedPage>()

  constructor(
    private readonly channel: Channel<Q>,
    private readonly store: LedgerStore<Q>,
    private readonly work: UnitOfWork,
    private readonly clock: Clock,
    private readonly counts: RecentCounts,
  ) {
    this.sources = new ListSources(channel, store.quota, work.dialect)
    const options = { most: MOST_LISTS, keyOf: ({ key }: Ask<Q>): string => key }
    this.ends = gatheringLoader(async (asks) => this.readEnds(asks), options)
    this.counted = gatheringLoader(async (asks) => this.readCounted(asks), options)
  }

  /** A page of live quotas, or of deleted ones, newest first. */
  async get(filter: QuotaFilter<Q>, page: PageRequest): Promise<SharedPage> {
    const ask = { filter, page, key: JSON.stringify([filter, page]) }
    if (!gathers(ask)) return this.alone.get(ask.key, async () => this.readAlone(ask))
    // The total counts what comes before the page's first row too, of which the page knows nothing.
    const found = page.beforeId === undefined ? await this.ends.load(ask) : undefined
    return found ?? this.counted.load(ask)
  }

  /** Pages that show the end of their list, by which its length is known; undefined where there is more. */
  private async readEnds(asks: readonly Ask<Q>[]): Promise<(SharedPage | undefined)[]> {
    const now = this.clock.now()
    const found = await readLists(
      this.work,
      this.store,
      now,
      // A row more than is shown tells whether there are more.
      asks.map((ask) => this.part(ask, this.sources.of(ask.filter, now), ask.page.pageSize + 1)),
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

  private async readCounted(asks: readonly Ask<Q>[]): Promise<Promise<SharedPage>[]> {
    const now = this.clock.now()
    return this.read(
      now,
      asks.map((ask) => ({ ask, sources: this.sources.of(ask.filter, now) })),
    )
  }

  private async readAlone(ask: Ask<Q>): Promise<SharedPage> {
    const now = this.clock.now()
    const [page] = await this.read(now, [{ ask, sources: await this.bestSources(ask.filter, now) }])
    return page as Promise<SharedPage>
  }

  private async read(
    now: Instant,
    lists: readonly { readonly ask: Ask<Q>; readonly sources: readonly Where[] }[],
  ): Promise<Promise<SharedPage>[]> {
    const found = await readLists(
      this.work,
      this.store,
      now,
      lists.map(({ ask, sources }) => this.part(ask, sources, ask.page.pageSize, this.count(ask.filter, sources))),
    )
    return lists.map(async ({ ask }, place) => this.counting(ask, found[place], now))
  }

  private async counting({ filter, page }: Ask<Q>, found: ListFound<Q> | undefined, now: Instant): Promise<SharedPage> {
    const total = await this.counts.total(nameOf(filter), found?.counted ?? 0, async () =>
      // Counted anew at a later time, the list is another one: its sources are made again.
      this.countedBy(countOf(this.store.quota.table, await this.bestSources(filter, this.clock.now()))),
    )
    return this.shown(page, found?.quotas ?? [], now, total)
  }

  private count(filter: QuotaFilter<Q>, sources: readonly Where[]): Statement {
    const count = this.counts.knows(nameOf(filter)) ? countOfLong : countOf
    return count(this.store.quota.table, sources, EXACT_UP_TO + 1)
  }

  private part({ page }: Ask<Q>, sources: readonly Where[], size: number, all?: Statement): ListPart {
    return { page: (columns) => pageOf(sources, columns, offsetOf(page), size, page.beforeId), all }
  }

  private shown({ page, pageSize }: PageRequest, quotas: readonly Q[], now: Instant, total: Total): SharedPage {
    const items = quotas.map((quota) => {
      roll(quota, now)
      const view = quotaView(this.channel, quota, now)
      if (quota.deletedAt !== null) view.deleted_at = formatInstant(quota.deletedAt)
      return view
    })
    return new SharedPage({ items, page, page_size: pageSize, ...total })
  }

  /**
   * Labels that begin alike lie together in their index, but not in order of id. A few are sorted; where many begin so, the list is walked in
   * its own order instead and meets them soon.
   */
  private async bestSources(filter: QuotaFilter<Q>, now: Instant): Promise<Where[]> {
    const sources = this.sources.of(filter, now)
    const { people, label } = filter
    if (label === undefined) return sources
    const { table } = this.store.quota
    const deleted = filter.deleted ?? false
    const named = this.sources.byLabel({ people: {}, status: undefined, deleted, label }, now)
    const count = await this.countedBy(countOf(table, [named], MOST_SORTED + 1))
    if (count > MOST_SORTED) return sources
    if (Object.values(people).some((id) => id !== undefined)) {
      const theirs = this.sources.of({ people, status: undefined, deleted }, now)
      if ((await this.countedBy(countOf(table, theirs, count + 1))) <= count) return sources
    }
    return [this.sources.byLabel(filter, now)]
  }

  private async countedBy({ sql, values }: Statement): Promise<number> {
    return countedIn(await this.work.read((transaction) => transaction.rows(sql, values)))
  }
}

/** Is it surely read within a moment: live quotas of one person, which an index has in order of id, from not far into the list? */
function gathers<Q extends QuotaRow>({ filter, page }: Ask<Q>): boolean {
  const { people, deleted, label } = filter
  const named = Object.values(people).filter((id) => id !== undefined).length
  return named === 1 && deleted !== true && label === undefined && page.page * page.pageSize <= SHALLOW_ROWS
}

/** Under this name the count of a long list is shared. */
function nameOf<Q extends QuotaRow>({ status, people, deleted = false, label }: QuotaFilter<Q>): string {
  return JSON.stringify([status, people, deleted, label])
}

function offsetOf({ page, pageSize }: PageRequest): number {
  return (page - 1) * pageSize
}
