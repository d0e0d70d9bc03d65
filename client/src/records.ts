import { Calls } from './calls.js'
import type { Listing } from './listing.js'
import { isProblem } from './problem.js'
import type { CallOptions, Transport } from './transport.js'
import type { ChangesOfFilter } from './types.js'

const MAX_ROWS = 100

/** A page of changes, as far as retries read it. */
interface ChangePage {
  items: { requestId: string; action: string }[]
  page: number
  pageSize: number
}

/** A page of records with numbered ids, newest first. */
interface NewestPage {
  items: { id: number }[]
  pageSize: number
}

/** Records with versions and a history of changes: quotas and groups. */
export abstract class Records<One extends object, Update extends object, Changes extends ChangePage> extends Calls {
  /**
   * @param folder the path of the records
   * @param notFound the code of the Problem about a record that does not exist
   */
  constructor(
    transport: Transport,
    folder: string,
    private readonly notFound: 'quota_not_found' | 'group_not_found',
  ) {
    super(transport, folder)
  }

  /** @throws Problem `quota_not_found` or `group_not_found`: it does not exist, or is deleted */
  get(id: number, options: CallOptions = {}): Promise<One> {
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
  update(id: number, settings: Update, options: CallOptions = {}): Promise<One> {
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
   * Deletes a record; it can be restored. Retried like `update`.
   * @param version if given, must be the current one
   * @throws Problem `group_not_empty`: a group with members, child groups or live quotas
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
        isProblem(problem, this.notFound) && (await this.wrote(id, 'delete', requestId, options)) ? {} : undefined,
    })
  }

  /** Reverts a delete; a live record does not change. */
  restore(id: number, options: CallOptions = {}): Promise<One> {
    return this.call({ ...options, method: 'POST', path: this.at(id, 'restore'), repeatable: true })
  }

  /** Lists the changes of one record, which may be deleted, newest first. */
  protected history(id: number, filter: ChangesOfFilter, options: CallOptions): Listing<Changes> {
    // This route has no `before`: its pages shift as changes are made.
    return this.listing<Changes>(
      this.at(id, 'changes'),
      filter,
      options,
      ({ items, page, pageSize }) => (items.length < pageSize ? undefined : { page: page + 1 }),
      true,
    )
  }

  /** Lists records, newest first, by their ids. */
  protected newest<Page extends NewestPage>(path: string, filter: object, options: CallOptions): Listing<Page> {
    return this.listing<Page>(path, filter, options, ({ items, pageSize }) => {
      const last = items.at(-1)
      return last === undefined || items.length < pageSize ? undefined : { page: undefined, beforeId: last.id }
    })
  }

  /** Did that request make this change? */
  private async wrote(id: number, action: string, requestId: string, options: CallOptions): Promise<boolean> {
    const { items } = await this.history(id, { pageSize: MAX_ROWS }, options).page()
    return items.some((change) => change.requestId === requestId && change.action === action)
  }
}
