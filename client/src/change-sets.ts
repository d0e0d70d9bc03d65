import { Calls } from './calls.js'
import type { ChannelClient } from './channel.js'
import { bytesOf, cellText, recordsOf } from './csv.js'
import { given, type Listing } from './listing.js'
import { isProblem, type Problem } from './problem.js'
import type { CallOptions, MaybeKeyedOptions } from './transport.js'
import type { AnyChangeSet, AnyChannel, ChangeSetsFilter, RowsFilter } from './types.js'
import { camelName } from './wire.js'

export type { RowProblem } from './types.js'

/** Selects quotas: at least one of the filters, or all. */
export type ChangeSetFilter<Channel extends AnyChannel> = Channel['newChangeSet']['filter']

type Settings<Channel extends AnyChannel> = NonNullable<Channel['newChangeSet']['change']['update']>

/** A new total: the total itself, or its change by a number of units or by per cent, rounded half up. */
export type TotalChange = NonNullable<Settings<AnyChannel>['total']>

/** The change of each quota: one of these. */
export type QuotaChange<Channel extends AnyChannel> =
  { readonly update: Settings<Channel> } | { readonly delete: true } | { readonly reset: true }

/** A change set: a change of many quotas. */
export type ChangeSet<Channel extends AnyChannel = AnyChannel> = Omit<AnyChangeSet, 'filter' | 'change'> & {
  readonly filter: ChangeSetFilter<Channel> | null
  readonly change: QuotaChange<Channel> | null
}

/** The state of a change set. */
export type ChangeSetState = AnyChangeSet['state']

interface ChangeSetPage<Channel extends AnyChannel> {
  readonly items: ChangeSet<Channel>[]
  readonly nextBefore: number | null
}

/** One quota of a change set. */
export type ChangeSetRow<Channel extends AnyChannel = AnyChannel> = Channel['changeSetRowsPage']['items'][number]

/** The outcome of a row. */
export type RowOutcome = ChangeSetRow['outcome']

/** A CSV file. The client can send it again after a lost answer, unless it is a stream. */
export type CsvFile = string | Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>

/** The options of a wait. */
export interface Waiting {
  readonly signal?: AbortSignal | undefined
  /** In milliseconds; default 10 minutes. */
  readonly deadlineMs?: number | undefined
}

/** A file of 50 MB, or 100,000 rows, takes long. */
const FILE_TIMEOUT_MS = 300_000
const WAIT_MS = 600_000
/** The first and the maximum pause between two reads of a change set; each is half as long again as the one before. */
const FIRST_LOOK_MS = 250
const MAX_LOOK_MS = 5_000
const AT_WORK: readonly ChangeSetState[] = ['preparing', 'applying', 'reverting']
/** Columns that contain numbers. */
const NUMBERS = new Set([
  'id',
  'accountId',
  'userId',
  'quotaType',
  'total',
  'used',
  'reserved',
  'remaining',
  'version',
  'windowSeconds',
  'groupId',
  'follows',
])
const NO_ITEMS = 'none'

/**
 * The change sets of a channel, import and export: a change of many quotas is previewed, applied once, and can be
 * reverted.
 *
 * ```ts
 * const sets = changeSets(quota.mail)
 * const made = await sets.create({ filter: { label: 'Trial' }, change: { update: { total: { percent: 20 } } } })
 * const ready = await sets.wait(made)
 * const applied = await sets.wait(await sets.apply(ready))
 * await sets.revert(applied)
 * ```
 */
export class ChangeSets<Channel extends AnyChannel> extends Calls {
  constructor(private readonly channel: ChannelClient<Channel>) {
    super(channel.transport, `${channel.paths.quotas}/change-sets`)
  }

  /**
   * Creates a change set from a filter: it selects the quotas and decides each. It is `preparing`; `wait` until it is
   * `ready`.
   */
  create(
    body: { readonly filter: ChangeSetFilter<Channel>; readonly change: QuotaChange<Channel> },
    options: MaybeKeyedOptions = {},
  ): Promise<ChangeSet<Channel>> {
    return this.call({ ...options, method: 'POST', path: this.at(), body })
  }

  /**
   * Creates a change set from a file of at most 50 MB: a record with an `id` is a change, one without is a new quota. A
   * failed attempt is retried if there is a key and the file is not a stream.
   */
  import(file: CsvFile, { timeoutMs, deadlineMs, ...options }: MaybeKeyedOptions = {}): Promise<ChangeSet<Channel>> {
    return this.call({
      ...options,
      method: 'POST',
      path: `${this.channel.paths.quotas}/import`,
      file,
      timeoutMs: timeoutMs ?? FILE_TIMEOUT_MS,
      deadlineMs: deadlineMs ?? FILE_TIMEOUT_MS,
    })
  }

  /** @throws Problem `change_set_not_found` */
  get(id: number, options: CallOptions = {}): Promise<ChangeSet<Channel>> {
    return this.call({ ...options, method: 'GET', path: this.at(id) })
  }

  /** Lists change sets, newest first. */
  list(filter: ChangeSetsFilter = {}, options: CallOptions = {}): Listing<ChangeSetPage<Channel>> {
    return this.listing(this.at(), filter, options, ({ nextBefore }) => given({ before: nextBefore }))
  }

  /**
   * Lists rows, with the state before and after, in order. @throws Problem `change_set_state` while it is `preparing`
   */
  rows(id: number, filter: RowsFilter = {}, options: CallOptions = {}): Listing<Channel['changeSetRowsPage']> {
    return this.listing(this.at(id, 'rows'), filter, options, ({ nextAfter }) => given({ after: nextAfter }))
  }

  /** The rows in the format of an import, with `outcome` and `problem`. */
  rowsCsv(
    id: number,
    filter: { readonly outcome?: RowOutcome } = {},
    options: CallOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    return this.file(this.at(id, 'rows.csv'), filter, options)
  }

  /**
   * Applies the rows that the caller read as `planned`. If an attempt without an answer took effect, the call succeeds.
   * @param seen the change set as read
   * @throws Problem `change_set_differs`, `version_mismatch`, `change_set_state`: read it again
   */
  apply({ id, version, counts }: ChangeSet<Channel>, options: CallOptions = {}): Promise<ChangeSet<Channel>> {
    return this.change(id, 'apply', { version, rows: counts.planned }, ['applying', 'applied'], options)
  }

  /** Reverts the applied rows, one by one; rows that were edited since are `kept`. Retried like `apply`. */
  revert({ id, version }: ChangeSet<Channel>, options: CallOptions = {}): Promise<ChangeSet<Channel>> {
    return this.change(id, 'revert', { version }, ['reverting', 'reverted'], options)
  }

  /** Drops a change set that was not applied. @throws Problem `change_set_state` */
  async delete(id: number, options: CallOptions = {}): Promise<void> {
    await this.call({
      ...options,
      method: 'DELETE',
      path: this.at(id),
      repeatable: true,
      confirm: async (problem) => (codeOf(problem) === 'change_set_not_found' ? {} : undefined),
    })
  }

  /**
   * Waits until a change set is `ready`, `applied`, `reverted` or `failed`.
   * @param set the change set, or its id
   * @throws DOMException `TimeoutError` if its work has not ended
   * @throws Problem `unavailable`, or OutcomeUnknown, if the service is away at the end of the time
   */
  async wait(
    set: number | ChangeSet<Channel>,
    { signal, deadlineMs = WAIT_MS }: Waiting = {},
  ): Promise<ChangeSet<Channel>> {
    const { transport } = this
    const until = transport.timing.now() + deadlineMs
    const look = (id: number): Promise<ChangeSet<Channel>> =>
      this.get(id, { signal, deadlineMs: until - transport.timing.now() })
    let seen = typeof set === 'number' ? await look(set) : set
    for (let pauseMs = FIRST_LOOK_MS; AT_WORK.includes(seen.state); pauseMs = Math.min(pauseMs * 1.5, MAX_LOOK_MS)) {
      if (transport.timing.now() + pauseMs > until)
        throw new DOMException(`change set ${seen.id} is still ${seen.state}`, 'TimeoutError')
      await transport.sleep(pauseMs, signal)
      seen = await look(seen.id)
    }
    return seen
  }

  /**
   * Every quota that a filter selects, newest first, as in the list; the answer is read as the loop continues.
   * @throws Problem; an Error of the network if it breaks off before the last quota
   */
  async *export(
    filter?: Omit<Channel['list'], 'page' | 'pageSize' | 'beforeId'>,
    options: CallOptions = {},
  ): AsyncGenerator<Channel['quota'], void, undefined> {
    let header: string[] | undefined
    for await (const record of recordsOf(bytesOf(await this.exportCsv(filter, options)))) {
      if (header === undefined) header = record.map(camelName)
      else yield quotaOf(header, record) as Channel['quota']
    }
  }

  /** The same as a CSV file. */
  exportCsv(
    filter?: Omit<Channel['list'], 'page' | 'pageSize' | 'beforeId'>,
    options: CallOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    return this.file(`${this.channel.paths.quotas}/export.csv`, filter ?? {}, options)
  }

  private change(
    id: number,
    what: string,
    body: object,
    done: readonly ChangeSetState[],
    options: CallOptions,
  ): Promise<ChangeSet<Channel>> {
    return this.call({
      ...options,
      method: 'POST',
      path: this.at(id, what),
      body,
      repeatable: true,
      confirm: async (problem) => {
        if (!['version_mismatch', 'change_set_state'].includes(codeOf(problem))) return undefined
        const now = await this.get(id, options)
        return done.includes(now.state) ? now : undefined
      },
    })
  }

  private file(path: string, query: object, options: CallOptions): Promise<ReadableStream<Uint8Array>> {
    return this.call({ ...options, method: 'GET', path, query, streams: true })
  }
}

/** `changeSets(quota.mail)`. */
export function changeSets<Channel extends AnyChannel>(channel: ChannelClient<Channel>): ChangeSets<Channel> {
  return new ChangeSets(channel)
}

function codeOf(problem: Problem): string {
  return isProblem(problem) ? problem.code : ''
}

function quotaOf(header: readonly string[], record: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(header.map((name, place) => [name, valueOf(name, record[place] ?? '')]))
}

function valueOf(name: string, cell: string): unknown {
  const text = cellText(cell)
  if (text !== null && (name === 'thresholds' || name === 'overrides')) {
    const items = text === NO_ITEMS ? [] : text.split(' ')
    return name === 'thresholds' ? items.map(Number) : items
  }
  return text !== null && NUMBERS.has(name) ? Number(text) : text
}
