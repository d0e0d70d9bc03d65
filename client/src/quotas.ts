import { Listing } from './listing.js'
import { isProblem } from './problem.js'
import type { Call, CallOptions, MaybeKeyedOptions, Transport } from './transport.js'
import type {
  AnyChannel,
  ChangesOfFilter,
  ExpiringFilter,
  OwnersFilter,
  Refusal,
  Reset,
  TopRefusalsFilter,
} from './types.js'

/** Where a channel's calls are. */
export interface Paths {
  readonly quotas: string
  readonly list: string
  readonly usage: string
  /** Where an owner's summary is, and what of the owner goes into the query. */
  summary(owner: object): { path: string; query?: object }
}

const MAX_ROWS = 100

/** The quotas of a channel, for those who look after them. */
export class Quotas<Channel extends AnyChannel> {
  constructor(
    private readonly transport: Transport,
    private readonly paths: Paths,
  ) {}

  /**
   * Makes a quota. With a key it may be tried again and takes effect once; without one it is not tried again once it
   * may have taken effect.
   * @throws Problem of the codes `too_many_quotas`, `validation_failed`, …
   */
  create(quota: Channel['create'], options: MaybeKeyedOptions = {}): Promise<Channel['quota']> {
    return this.call({ ...options, method: 'POST', path: this.paths.quotas, body: quota })
  }

  /** @throws Problem `quota_not_found`: there is none, or it is deleted */
  get(id: number, options: CallOptions = {}): Promise<Channel['quota']> {
    return this.call({ ...options, method: 'GET', path: this.at(id) })
  }

  /**
   * Changes settings; what is absent stays, and the fields of a record that was read may be sent back with it. With
   * `version` somebody else's edit is not overwritten.
   *
   * It is tried again like a call with a key. Where an attempt without an answer had taken effect, the next is refused
   * for its `version`: the history of changes tells then whose edit that was, and one's own is a success.
   * @throws Problem `version_mismatch`: somebody else was first; its `version` is the current one
   */
  update(id: number, settings: Channel['update'], options: CallOptions = {}): Promise<Channel['quota']> {
    return this.call({
      ...options,
      method: 'PUT',
      path: this.at(id),
      body: settings,
      repeatable: true,
      confirm: async (problem, requestId) =>
        isProblem(problem, 'version_mismatch') && (await this.wrote(id, 'update', requestId, options))
          ? this.get(id, options)
          : undefined,
    })
  }

  /**
   * Deletes a quota; it can be restored. Tried again as `update` is.
   * @param version where given, it must be the current one
   */
  async delete(
    id: number,
    { version }: { version?: number | undefined } = {},
    options: CallOptions = {},
  ): Promise<void> {
    await this.call({
      ...options,
      method: 'DELETE',
      path: this.at(id),
      query: { version },
      repeatable: true,
      confirm: async (problem, requestId) =>
        isProblem(problem, 'quota_not_found') && (await this.wrote(id, 'delete', requestId, options)) ? {} : undefined,
    })
  }

  /** Undoes a delete; of a live quota it changes nothing. */
  restore(id: number, options: CallOptions = {}): Promise<Channel['quota']> {
    return this.call({ ...options, method: 'POST', path: this.at(id, 'restore'), repeatable: true })
  }

  /** Begins a new count at 0, without moving the next reset. With a key it may be tried again, as `create`. */
  reset(id: number, reset: Reset = {}, options: MaybeKeyedOptions = {}): Promise<Channel['quota']> {
    return this.call({ ...options, method: 'POST', path: this.at(id, 'reset'), body: reset })
  }

  /**
   * Newest first. Walking over it goes on by `beforeId`: it reaches any depth, and what is made or deleted meanwhile
   * makes it show nothing twice and leave nothing out.
   */
  list(filter: Channel['list'] = {}, options: CallOptions = {}): Listing<Channel['quotaPage']> {
    return this.listing(this.paths.list, filter, options, ({ items, pageSize }) => {
      const last = items.at(-1)
      return last === undefined || items.length < pageSize ? undefined : { page: undefined, beforeId: last.id }
    })
  }

  /** What an owner's active quotas add up to; zeros where there are none. */
  summary(owner: Channel['owner'], options: CallOptions = {}): Promise<Channel['summary']> {
    return this.call({ ...options, method: 'GET', ...this.paths.summary(owner) })
  }

  /** The changes of all quotas, deleted ones too, newest first. */
  changes(filter: Channel['changes'] = {}, options: CallOptions = {}): Listing<Channel['changesPage']> {
    return this.listing(this.at('changes'), filter, options, ({ nextBefore }) => given({ before: nextBefore }))
  }

  /** The changes of one quota, of a deleted one too, newest first. */
  changesOf(id: number, filter: ChangesOfFilter = {}, options: CallOptions = {}): Listing<Channel['changePage']> {
    // It knows no `before`: pages move on as changes are made.
    return this.listing(
      this.at(id, 'changes'),
      filter,
      options,
      ({ items, page, pageSize }) => (items.length < pageSize ? undefined : { page: page + 1 }),
      true,
    )
  }

  /** Everyone who ever had a quota, each as in its summary, ids ascending. */
  owners(filter: OwnersFilter = {}, options: CallOptions = {}): Listing<Channel['ownersPage']> {
    return this.listing(this.at('owners'), filter, options, ({ nextAfter }) => given({ after: nextAfter }))
  }

  /** Active quotas that end within `days`, soonest first. */
  expiring(filter: ExpiringFilter = {}, options: CallOptions = {}): Listing<Channel['expiringPage']> {
    return this.listing(this.at('expiring'), filter, options, ({ nextCursor }) => given({ cursor: nextCursor }))
  }

  /** How often an owner was refused, hour by hour, newest first; of the last 31 days at most. */
  refusals(filter: Channel['refusals'], options: CallOptions = {}): Promise<Refusal[]> {
    return this.items({ ...options, method: 'GET', path: this.at('refusals'), query: filter })
  }

  /** Who was refused most in the last hours. */
  topRefusals(filter: TopRefusalsFilter = {}, options: CallOptions = {}): Promise<Channel['topRefusal'][]> {
    return this.items({ ...options, method: 'GET', path: this.at('refusals', 'top'), query: filter })
  }

  private listing<Page extends { items: unknown[] }>(
    path: string,
    filter: object,
    options: CallOptions,
    next: (page: Page) => object | undefined,
    newestFirst = false,
  ): Listing<Page> {
    return new Listing<Page>(
      (more) => this.call({ ...options, method: 'GET', path, query: { ...filter, ...more } }),
      next,
      newestFirst,
    )
  }

  /** Did that request change the quota so? */
  private async wrote(id: number, action: string, requestId: string, options: CallOptions): Promise<boolean> {
    const { items } = await this.changesOf(id, { pageSize: MAX_ROWS }, { ...options, requestId: undefined }).page()
    return items.some((change) => change.requestId === requestId && change.action === action)
  }

  private async items<Item>(call: Call): Promise<Item[]> {
    return (await this.call<{ items: Item[] }>(call)).items
  }

  private async call<Body>(call: Call): Promise<Body> {
    return (await this.transport.send(call)).body as Body
  }

  private at(...parts: (string | number)[]): string {
    return [this.paths.quotas, ...parts.map((part) => encodeURIComponent(part))].join('/')
  }
}

/** What leads to the next page, where there is one. */
export function given(next: Record<string, string | number | null>): object | undefined {
  return Object.values(next).includes(null) ? undefined : next
}
