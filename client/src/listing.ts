/** A page of a list, whatever the list. */
interface AnyPage {
  readonly items: readonly unknown[]
}

type ItemOf<Page extends AnyPage> = Page['items'][number]

/**
 * A list, not yet asked for. `await list.page()` is the one page that the filter names, with all that the service says
 * of it; `for await (const item of list)` walks over all items from there on, asking for one page after the other as it
 * goes. Every walk is one of its own.
 */
export class Listing<Page extends AnyPage> implements AsyncIterable<ItemOf<Page>> {
  /**
   * @param read asks for a page; `more` goes over the filter's own
   * @param next what leads to the page after one; undefined after the last
   * @param newestFirst leave out, while walking, what has moved to a later page because something new came meanwhile
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
