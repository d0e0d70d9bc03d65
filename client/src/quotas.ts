import { Groups } from './groups.js'
import { given, type Listing } from './listing.js'
import type { Paths } from './paths.js'
import { Records } from './records.js'
import type { Call, CallOptions, MaybeKeyedOptions, Transport } from './transport.js'
import type {
  AnyChannel,
  CapTrial,
  ChangesOfFilter,
  ExpiringFilter,
  OwnersFilter,
  Refusal,
  Reset,
  TopRefusalsFilter,
} from './types.js'

/** The quotas of a channel, for administrators. */
export class Quotas<Channel extends AnyChannel> extends Records<
  Channel['quota'],
  Channel['update'],
  Channel['changePage']
> {
  /** Groups of owners, and their members. */
  readonly groups: Groups<Channel>

  constructor(
    transport: Transport,
    private readonly paths: Paths,
  ) {
    super(transport, paths.quotas, 'quota_not_found')
    this.groups = new Groups(transport, paths)
  }

  /**
   * Creates a quota. With a key, the client retries it and it takes effect once; without a key, the client does not
   * retry it after an attempt that may have taken effect.
   * @throws Problem with a code such as `too_many_quotas` or `validation_failed`
   */
  create(quota: Channel['create'], options: MaybeKeyedOptions = {}): Promise<Channel['quota']> {
    return this.call({ ...options, method: 'POST', path: this.paths.quotas, body: quota })
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
    return this.newest(this.paths.list, filter, options)
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
    return this.history(id, filter, options)
  }

  /** Lists all owners that ever had a quota, each with its summary, ids ascending. */
  owners(filter: OwnersFilter = {}, options: CallOptions = {}): Listing<Channel['ownersPage']> {
    return this.listing(this.at('owners'), filter, options, ({ nextAfter }) => given({ after: nextAfter }))
  }

  /** Lists active quotas that expire within `days`, soonest first. */
  expiring(filter: ExpiringFilter = {}, options: CallOptions = {}): Listing<Channel['expiringPage']> {
    return this.listing(this.at('expiring'), filter, options, ({ nextCursor }) => given({ cursor: nextCursor }))
  }

  /** Refusals by hour, newest first: of an owner, 31 days at most; of all owners, 7 days. */
  refusals(filter: Channel['refusals'], options: CallOptions = {}): Promise<Refusal[]> {
    return this.items({ ...options, method: 'GET', path: this.at('refusals'), query: filter })
  }

  /** The owners with most refusals in the last hours. */
  topRefusals(filter: TopRefusalsFilter = {}, options: CallOptions = {}): Promise<Channel['topRefusal'][]> {
    return this.items({ ...options, method: 'GET', path: this.at('refusals', 'top'), query: filter })
  }

  /**
   * What a cap would have refused of an owner in the last days; nothing changes. It may take a minute for a million
   * operations: raise `timeoutMs` for such owners.
   */
  tryCap(cap: Channel['capTrial'], options: CallOptions = {}): Promise<CapTrial> {
    return this.call({ ...options, method: 'POST', path: this.at('caps', 'preview'), body: cap, repeatable: true })
  }

  private async items<Item>(call: Call): Promise<Item[]> {
    return (await this.call<{ items: Item[] }>(call)).items
  }
}
