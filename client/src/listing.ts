/** A page of any list. */
interface AnyPage {
  readonly items: readonly unknown[]
}

type ItemOf<Page extends AnyPage> = Page['items'][number]

/**
 * A list, before any request. `await list.page()` reads the one page that the filter selects, with all members of the
 * answer; `for await (const item of list)` iterates over all items from there on, and requests page after page. Each
 * iteration is independent.
 */
export class Listing<Page extends AnyPage> implements AsyncIterable<ItemOf<Page>> {
  /**
   * @param read requests a page; `more` overrides the filter's own members
   * @param next the position of the page after one; undefined after the last
   * @param newestFirst skips, in an iteration, items that have moved to a later page because of new ones
   */
  constructor(
    private readonly read: (more?: object) => Promise<Page>,
    private readonly next: (page: Page) => object | undefined,
    private readonly newestFirst = false,
  ) {}

  /** @throws Problem, OutcomeUnknown */
  page(): Promise<Page> {
    return this.read()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ItemOf<Page>, void, undefined> {
    let page = await this.read()
    let last = Infinity
    for (;;) {
      for (const item of page.items as readonly ItemOf<Page>[]) {
        if (this.newestFirst) {
          const { id } = item as { id: number }
          if (id >= last) continue
          last = id
        }
        yield item
      }
      const more = this.next(page)
      if (more === undefined) return
      page = await this.read(more)
    }
  }
}

/** The position of the next page, if there is one. */
export function given(next: Record<string, string | number | null>): object | undefined {
  return Object.values(next).includes(null) ? undefined : next
}
