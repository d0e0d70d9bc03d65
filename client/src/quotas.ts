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

/** The paths of a channel's calls. */
export interface Paths {
  readonly quotas: string
  readonly list: string
  readonly usage: string
  /** The path of an owner's summary, and its query. */
  summary(owner: object): { path: string; query?: object }
}

const MAX_ROWS = 100

/** The quotas of a channel, for administrators. */
export class Quotas<Channel extends AnyChannel> {
  constructor(
    private readonly transport: Transport,
    private readonly paths: Paths,
  ) {}

  /**
   * Creates a quota. With a key, the client retries it and it takes effect once; without a key, the client does not
   * retry it after an attempt that may have taken effect.
   * @throws Problem with a code such as `too_many_quotas` or `validation_failed`
   */
  create(quota: Channel['create'], options: MaybeKeyedOptions = {}): Promise<Channel['quota']> {
    return this.call({ ...options, method: 'POST', path: this.paths.quotas, body: quota })
  }

  /** @throws Problem `quota_not_found`: it does not exist, or is deleted */
  get(id: number, options: CallOptions = {}): Promise<Channel['quota']> {
    return this.call({ ...options, method: 'GET', path: this.at(id) })
  }

  /**
   * Changes settings; absent ones stay, and the other fields of a record may be sent back with them. With `version`,
   * the edit of another caller is not overwritten.
   *
   * The client retries it like a call with a key. If an attempt without an answer took effect, the next one is refused
   * because of its `version`: the client then reads the history of changes, and the call succeeds if the edit is its
   * own.
   * @throws Problem `version_mismatch`: another edit came first; its `version` is the current one
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
   * Deletes a quota; it can be restored. Retried like `update`.
   * @param version if given, must be the current one
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

  /** Reverts a delete; a live quota does not change. */
  restore(id: number, options: CallOptions = {}): Promise<Channel['quota']> {
    return this.call({ ...options, method: 'POST', path: this.at(id, 'restore'), repeatable: true })
  }

  /** Begins a new count at 0; the next reset does not change. With a key, the client retries it like `create`. */
  reset(id: number, reset: Reset = {}, options: MaybeKeyedOptions = {}): Promise<Channel['quota']> {
    return this.call({ ...options, method: 'POST', path: this.at(id, 'reset'), body: reset })
  }

  /**
   * Lists quotas, newest first. Iteration pages by `beforeId`: it reaches any depth, and quotas that are created or
   * deleted meanwhile cause no duplicates and no gaps.
   */
  list(filter: Channel['list'] = {}, options: CallOptions = {}): Listing<Channel['quotaPage']> {
    return this.listing(this.paths.list, filter, options, ({ items, pageSize }) => {
      const last = items.at(-1)
      return last === undefined || items.length < pageSize ? undefined : { page: undefined, beforeId: last.id }
    })
  }

  /** The sums of an owner's active quotas; zeros if there are none. */
  summary(owner: Channel['owner'], options: CallOptions = {}): Promise<Channel['summary']> {
    return this.call({ ...options, method: 'GET', ...this.paths.summary(owner) })
  }

  /** Lists the changes of all quotas, including deleted ones, newest first. */
  changes(filter: Channel['changes'] = {}, options: CallOptions = {}): Listing<Channel['changesPage']> {
    return this.listing(this.at('changes'), filter, options, ({ nextBefore }) => given({ before: nextBefore }))
  }

  /** Lists the changes of one quota, which may be deleted, newest first. */
  changesOf(id: number, filter: ChangesOfFilter = {}, options: CallOptions = {}): Listing<Channel['changePage']> {
    // This route has no `before`: its pages shift as changes are made.
    return this.listing(
      this.at(id, 'changes'),
      filter,
      options,
      ({ items, page, pageSize }) => (items.length < pageSize ? undefined : { page: page + 1 }),
      true,
    )
  }

  /** Lists all owners that ever had a quota, each with its summary, ids ascending. */
  owners(filter: OwnersFilter = {}, options: CallOptions = {}): Listing<Channel['ownersPage']> {
    return this.listing(this.at('owners'), filter, options, ({ nextAfter }) => given({ after: nextAfter }))
  }

  /** Lists active quotas that expire within `days`, soonest first. */
  expiring(filter: ExpiringFilter = {}, options: CallOptions = {}): Listing<Channel['expiringPage']> {
    return this.listing(this.at('expiring'), filter, options, ({ nextCursor }) => given({ cursor: nextCursor }))
  }

  /** An owner's refusals by hour, newest first; of the last 31 days at most. */
  refusals(filter: Channel['refusals'], options: CallOptions = {}): Promise<Refusal[]> {
    return this.items({ ...options, method: 'GET', path: this.at('refusals'), query: filter })
  }

  /** The owners with most refusals in the last hours. */
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

  /** Did that request make this change? */
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

/** The position of the next page, if there is one. */
export function given(next: Record<string, string | number | null>): object | undefined {
  return Object.values(next).includes(null) ? undefined : next
}
