import { type BatchResult, consumeInBatches } from './batch.js'
import { Listing } from './listing.js'
import { HoldOpen, HoldSettled } from './problem.js'
import { given, type Paths, Quotas } from './quotas.js'
import { type Call, type CallOptions, type KeyedOptions, newRequestId, type Transport } from './transport.js'
import type { Act, AnyChannel, Check, Commit, Refund, Series } from './types.js'

/** A hold while the work under it is done. */
export type Hold<Channel extends AnyChannel> = Channel['operation'] & {
  /** Says how much of the hold to commit in the end, 0 for nothing; else all of it is. */
  spend(amount: number): void
}

/** An operation as a call that changes it answers. */
export type Answered<Channel extends AnyChannel> = Channel['operation'] & {
  /**
   * Is it the repeated answer of an earlier call, or of an attempt whose answer was lost? Nothing was done again; what
   * has become of the operation since is not in it.
   */
  readonly replayed: boolean
}

/** The usage of a channel: what senders call. */
export class ChannelClient<Channel extends AnyChannel> {
  /** Quotas, their settings and their history. */
  readonly quotas: Quotas<Channel>

  /** Made by `QuotaClient`; what it is given is for the package's other entries. */
  constructor(
    readonly transport: Transport,
    readonly paths: Paths,
  ) {
    this.quotas = new Quotas(transport, paths)
  }

  /**
   * Spends units, all of them or none.
   * @throws Problem `quota_exceeded` with `remaining`, `refillsAt` and `quotas`; `no_active_quota`; …
   * @throws OutcomeUnknown no answer until the deadline; call again later with the same key
   */
  consume(consume: Channel['consume'], options: KeyedOptions): Promise<Answered<Channel>> {
    return this.change({ ...options, method: 'POST', path: this.at('consume'), body: consume })
  }

  /**
   * Spends for many at once, each with a key of its own and for itself: one that is refused stops no other. Any number
   * of items; they go in requests of 1,000 and 1 MB, one after the other, each with a deadline of its own. Items that
   * meet `unavailable` are sent again, and only these.
   * @returns one result for each item, in order: `status` 200, that of a refusal, or `'unknown'`
   * @throws Problem where a request is refused as a whole (`unauthenticated`); send all again, then what took effect is
   *   `replayed`
   */
  consumeBatch(items: readonly Channel['item'][], options: CallOptions = {}): Promise<BatchResult<Channel>[]> {
    return consumeInBatches<Channel>(this.transport, this.at('consume', 'batch'), items, options)
  }

  /** Holds units until they are committed, released, or `expiresAt` comes. @throws like consume */
  reserve(reserve: Channel['reserve'], options: KeyedOptions): Promise<Answered<Channel>> {
    return this.change({ ...options, method: 'POST', path: this.at('reserve'), body: reserve })
  }

  /**
   * Spends what is held, or `amount` of it; the rest returns.
   * @throws Problem `operation_already_settled`, `commit_exceeds_hold`
   */
  commit(operationId: string, commit: Commit = {}, options: CallOptions = {}): Promise<Answered<Channel>> {
    return this.change({
      ...options,
      method: 'POST',
      path: this.at(operationId, 'commit'),
      body: commit,
      repeatable: true,
    })
  }

  /** Returns all that is held. @throws Problem `operation_already_settled` */
  release(operationId: string, options: CallOptions = {}): Promise<Answered<Channel>> {
    return this.change({ ...options, method: 'POST', path: this.at(operationId, 'release'), repeatable: true })
  }

  /**
   * Gives back what was spent, or `amount` of it.
   * @throws Problem `refund_exceeds_charge`, `operation_already_settled`
   */
  refund(operationId: string, refund: Refund, options: KeyedOptions): Promise<Answered<Channel>> {
    return this.change({ ...options, method: 'POST', path: this.at(operationId, 'refund'), body: refund })
  }

  /**
   * Holds units, does the work, and commits; releases where the work throws, and throws the same. What the work returns
   * is returned.
   *
   * The work is done once for a key. Called again with it, by a second worker or after a crash, this throws: while the
   * hold is open nobody knows whether the other run is at work, and work done twice would be charged once. An aborted
   * signal is the work's to look at; the hold is settled all the same.
   *
   * `requestId` begins the request ids of the calls; each run ends them in its own way, which tells its hold from
   * another run's.
   * @throws HoldOpen another run holds under this key; the work was not begun
   * @throws HoldSettled the key's hold is not open any more; the work was not begun
   * @throws Problem like reserve and commit: `operation_already_settled` where the hold has expired during the work
   */
  async withHold<Result>(
    reserve: Channel['reserve'],
    options: KeyedOptions,
    work: (hold: Hold<Channel>) => Promise<Result>,
  ): Promise<Result> {
    const requestId = `${options.requestId?.slice(0, 95) ?? 'hold'}-${newRequestId()}`
    const call: Call = { ...options, requestId, method: 'POST', path: this.at('reserve'), body: reserve }
    const answer = await this.transport.send(call)
    const operation = answer.body as Channel['operation']
    if (answer.replayed) await this.ensureOwn(operation.id, { ...options, requestId })
    const after: CallOptions = { timeoutMs: options.timeoutMs, deadlineMs: options.deadlineMs }
    let amount = operation.amount
    let result: Result
    try {
      result = await work({ ...operation, spend: (units) => (amount = units) })
    } catch (error) {
      // Where the release fails, the hold ends by itself.
      await this.release(operation.id, after).catch(() => undefined)
      throw error
    }
    if (amount === 0) await this.release(operation.id, after)
    else await this.commit(operation.id, { amount }, after)
    return result
  }

  /** Would an amount fit now? It takes nothing and promises nothing: consuming is the check. */
  check(question: Channel['check'], options: CallOptions = {}): Promise<Check> {
    return this.call({ ...options, method: 'GET', path: this.at('check'), query: question })
  }

  /** @throws Problem `operation_not_found` */
  operation(operationId: string, options: CallOptions = {}): Promise<Channel['operation']> {
    return this.call({ ...options, method: 'GET', path: this.at(operationId) })
  }

  /** The ledger of an owner or of a quota, newest first; or the one operation of an `idempotencyKey`. */
  operations(filter: Channel['ledger'], options: CallOptions = {}): Listing<Channel['ledgerPage']> {
    return new Listing<Channel['ledgerPage']>(
      (more) => this.call({ ...options, method: 'GET', path: this.paths.usage, query: { ...filter, ...more } }),
      ({ nextBefore }) => given({ before: nextBefore }),
    )
  }

  /** What an owner or a quota used, by day or by hour, oldest first: the last 30 days unless said otherwise. */
  series(question: Channel['series'], options: CallOptions = {}): Promise<Series> {
    return this.call({ ...options, method: 'GET', path: this.at('series'), query: question })
  }

  /** What was done with an operation, oldest first. @throws Problem `operation_not_found` */
  async acts(operationId: string, options: CallOptions = {}): Promise<Act[]> {
    return (await this.call<{ items: Act[] }>({ ...options, method: 'GET', path: this.at(operationId, 'acts') })).items
  }

  /** @throws HoldOpen, HoldSettled the hold is of another run, not of an attempt of this one whose answer was lost */
  private async ensureOwn(operationId: string, options: KeyedOptions): Promise<void> {
    const [made] = await this.acts(operationId, options)
    if (made?.requestId === options.requestId) return
    const operation = await this.operation(operationId, options)
    throw operation.state === 'reserved'
      ? new HoldOpen(options.key, operation)
      : new HoldSettled(options.key, operation)
  }

  private async change(call: Call): Promise<Answered<Channel>> {
    const { body, replayed } = await this.transport.send(call)
    return { ...(body as Channel['operation']), replayed }
  }

  private async call<Body>(call: Call): Promise<Body> {
    return (await this.transport.send(call)).body as Body
  }

  private at(...parts: string[]): string {
    return [this.paths.usage, ...parts.map((part) => encodeURIComponent(part))].join('/')
  }
}
