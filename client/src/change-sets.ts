import type { ChannelClient } from './channel.js'
import { bytesOf, cellText, recordsOf } from './csv.js'
import { Listing } from './listing.js'
import { isProblem, type Problem } from './problem.js'
import { given } from './quotas.js'
import type { Call, CallOptions, MaybeKeyedOptions } from './transport.js'
import type { AnyChangeSet, AnyChannel, ChangeSetsFilter, RowsFilter } from './types.js'
import { camelName } from './wire.js'

export type { RowProblem } from './types.js'

/** Which quotas: at least one of the filters, or all. */
export type ChangeSetFilter<Channel extends AnyChannel> = Channel['newChangeSet']['filter']

type Settings<Channel extends AnyChannel> = NonNullable<Channel['newChangeSet']['change']['update']>

/** A new total: itself, so much more or less, or so many per cent more or less, rounded half up. */
export type TotalChange = NonNullable<Settings<AnyChannel>['total']>

/** What is to be done with each of them: one of these. */
export type QuotaChange<Channel extends AnyChannel> =
  { readonly update: Settings<Channel> } | { readonly delete: true } | { readonly reset: true }

/** Many quotas that are changed as one. */
export type ChangeSet<Channel extends AnyChannel = AnyChannel> = Omit<AnyChangeSet, 'filter' | 'change'> & {
  readonly filter: ChangeSetFilter<Channel> | null
  readonly change: QuotaChange<Channel> | null
}

/** Where a change set stands. */
export type ChangeSetState = AnyChangeSet['state']

interface ChangeSetPage<Channel extends AnyChannel> {
  readonly items: ChangeSet<Channel>[]
  readonly nextBefore: number | null
}

/** One quota of a change set. */
export type ChangeSetRow<Channel extends AnyChannel = AnyChannel> = Channel['changeSetRowsPage']['items'][number]

/** What became of a row. */
export type RowOutcome = ChangeSetRow['outcome']

/** A CSV file. What is no stream may be sent again where an answer is lost. */
export type CsvFile = string | Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>

/** How long a set is waited for. */
export interface Waiting {
  readonly signal?: AbortSignal | undefined
  /** In milliseconds; 10 minutes by default. */
  readonly deadlineMs?: number | undefined
}

/** A file of 50 MB, and 100,000 rows, take their time. */
const FILE_TIMEOUT_MS = 300_000
const WAIT_MS = 600_000
/** Between two looks at a set: at first, and at most; each takes half as long again as the one before. */
const FIRST_LOOK_MS = 250
const MAX_LOOK_MS = 5_000
const AT_WORK: readonly ChangeSetState[] = ['preparing', 'applying', 'reverting']
/** Columns that hold numbers. */
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
])

/**
 * Change sets of a channel, import and export: many quotas, looked at first, applied once, undone as a whole.
 *
 * ```ts
 * const sets = changeSets(quota.mail)
 * const made = await sets.create({ filter: { label: 'Trial' }, change: { update: { total: { percent: 20 } } } })
 * const ready = await sets.wait(made)
 * const applied = await sets.wait(await sets.apply(ready))
 * await sets.revert(applied)
 * ```
 */
export class ChangeSets<Channel extends AnyChannel> {
  constructor(private readonly channel: ChannelClient<Channel>) {}

  /** Pins the quotas of a filter and what is to become of each. It is `preparing`; `wait` for it to be `ready`. */
  create(
    body: { readonly filter: ChangeSetFilter<Channel>; readonly change: QuotaChange<Channel> },
    options: MaybeKeyedOptions = {},
  ): Promise<ChangeSet<Channel>> {
    return this.call({ ...options, method: 'POST', path: this.at(), body })
  }

  /**
   * Pins the rows of a file, at most 50 MB: with an `id` a change, without one a new quota. A failed attempt is tried
   * again where there is a key and the file is no stream.
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

  /** Newest first. */
  list(filter: ChangeSetsFilter = {}, options: CallOptions = {}): Listing<ChangeSetPage<Channel>> {
    return this.listing(this.at(), filter, options, ({ nextBefore }) => given({ before: nextBefore }))
  }

  /** What each row was and is to be, in order. @throws Problem `change_set_state` while it is `preparing` */
  rows(id: number, filter: RowsFilter = {}, options: CallOptions = {}): Listing<Channel['changeSetRowsPage']> {
    return this.listing(this.at(id, 'rows'), filter, options, ({ nextAfter }) => given({ after: nextAfter }))
  }

  /** The rows as an import takes them, with `outcome` and `problem` besides. */
  rowsCsv(
    id: number,
    filter: { readonly outcome?: RowOutcome } = {},
    options: CallOptions = {},
  ): Promise<ReadableStream<Uint8Array>> {
    return this.file(this.at(id, 'rows.csv'), filter, options)
  }

  /**
   * Applies the rows that were seen as `planned`. Where an attempt without an answer had taken effect, it is a success.
   * @param seen the set as it was looked at
   * @throws Problem `change_set_differs`, `version_mismatch`, `change_set_state`: look at it anew
   */
  apply({ id, version, counts }: ChangeSet<Channel>, options: CallOptions = {}): Promise<ChangeSet<Channel>> {
    return this.change(id, 'apply', { version, rows: counts.planned }, ['applying', 'applied'], options)
  }

  /** Undoes what was applied, row by row; rows that were edited since are `kept`. As `apply`. */
  revert({ id, version }: ChangeSet<Channel>, options: CallOptions = {}): Promise<ChangeSet<Channel>> {
    return this.change(id, 'revert', { version }, ['reverting', 'reverted'], options)
  }

  /** Drops one that was not applied. @throws Problem `change_set_state` */
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
   * Asks until it is at rest: `ready`, `applied`, `reverted` or `failed`.
   * @param set itself, or its id
   * @throws DOMException `TimeoutError` it is still at work
   */
  async wait(
    set: number | ChangeSet<Channel>,
    { signal, deadlineMs = WAIT_MS }: Waiting = {},
  ): Promise<ChangeSet<Channel>> {
    const { transport } = this.channel
    const until = transport.timing.now() + deadlineMs
    let seen = typeof set === 'number' ? await this.get(set, { signal }) : set
    for (let pauseMs = FIRST_LOOK_MS; AT_WORK.includes(seen.state); pauseMs = Math.min(pauseMs * 1.5, MAX_LOOK_MS)) {
      if (transport.timing.now() + pauseMs > until)
        throw new DOMException(`change set ${seen.id} is still ${seen.state}`, 'TimeoutError')
      await transport.sleep(pauseMs, signal)
      seen = await this.get(seen.id, { signal })
    }
    return seen
  }

  /**
   * Every quota that a filter names, newest first, as it stands in the list; the answer is read as the loop goes on.
   * @throws Problem; an Error of the network where it breaks off, before the last one
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

  /** The same as the file that it is. */
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

  private listing<Page extends { readonly items: readonly unknown[] }>(
    path: string,
    filter: object,
    options: CallOptions,
    next: (page: Page) => object | undefined,
  ): Listing<Page> {
    return new Listing<Page>(
      (more) => this.call({ ...options, method: 'GET', path, query: { ...filter, ...more } }),
      next,
    )
  }

  private async file(path: string, query: object, options: CallOptions): Promise<ReadableStream<Uint8Array>> {
    return this.call({ ...options, method: 'GET', path, query, streams: true })
  }

  private async call<Body>(call: Call): Promise<Body> {
    return (await this.channel.transport.send(call)).body as Body
  }

  private at(...parts: (string | number)[]): string {
    return [this.channel.paths.quotas, 'change-sets', ...parts.map(encodeURIComponent)].join('/')
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
  if (name === 'thresholds' && text !== null) return text === 'none' ? [] : text.split(' ').map(Number)
  return text !== null && NUMBERS.has(name) ? Number(text) : text
}
