import { type BatchResult, consumeInBatches } from './batch.js'
import { Calls } from './calls.js'
import { given, type Listing } from './listing.js'
import { HoldOpen, HoldSettled } from './problem.js'
import type { Paths } from './paths.js'
import { Owners } from './owners.js'
import { Quotas } from './quotas.js'
import { type Call, type CallOptions, type KeyedOptions, newRequestId, type Transport } from './transport.js'
import type { Act, AnyChannel, Check, Commit, Refund, Series } from './types.js'

/** A hold during the work under it. */
export type Hold<Channel extends AnyChannel> = Channel['operation'] & {
  /** Sets how much of the hold is committed at the end, 0 for nothing; default: all of it. */
  spend(amount: number): void
}

/** An operation in the answer of a call that changes it. */
export type Answered<Channel extends AnyChannel> = Channel['operation'] & {
  /**
   * Is this the repeated answer of an earlier call, or of an attempt whose answer was lost? Nothing was done again, and
   * later changes of the operation are not in it.
   */
  readonly replayed: boolean
}

/** The usage of a channel, for senders. */
export class ChannelClient<Channel extends AnyChannel> extends Calls {
  /** Quotas, their settings and their history. */
  readonly quotas: Quotas<Channel>
  /** Links with which owners see what they have left. */
  readonly owners: Owners<Channel>

  /** Created by `QuotaClient`; its parameters are for the package's other entry points. */
  constructor(
    override readonly transport: Transport,
    readonly paths: Paths,
  ) {
    super(transport, paths.usage)
    this.quotas = new Quotas(transport, paths)
    this.owners = new Owners(transport, `${paths.quotas}/owners`)
  }

  /**
   * Spends units, all or none.
   * @throws Problem `quota_exceeded` with `remaining`, `refillsAt` and `quotas`; `no_active_quota`; …
   * @throws OutcomeUnknown no answer until the deadline; call again later with the same key
   */
  consume(consume: Channel['consume'], options: KeyedOptions): Promise<Answered<Channel>> {
    return this.change({ ...options, method: 'POST', path: this.at('consume'), body: consume })
  }

  /**
   * Spends units for many items, each with its own key and independent of the others. Any number of items: they are
   * sent in requests of 1,000 items and 1 MB, one after the other, each with its own deadline. Only items that meet
   * `unavailable` are retried.
   * @returns one result for each item, in order: `status` 200, that of a refusal, or `'unknown'`; 503, met until the
   * deadline, is unknown, too: send it again with the same key
   * @throws Problem if a request is refused as a whole (`unauthenticated`); send all items again: those that took
   * effect are `replayed`
   */
  consumeBatch(items: readonly Channel['item'][], options: CallOptions = {}): Promise<BatchResult<Channel>[]> {
    return consumeInBatches<Channel>(this.transport, this.at('consume', 'batch'), items, options)
  }

  /** Holds units until they are committed, released, or expire at `expiresAt`. @throws like consume */
  reserve(reserve: Channel['reserve'], options: KeyedOptions): Promise<Answered<Channel>> {
    return this.change({ ...options, method: 'POST', path: this.at('reserve'), body: reserve })
  }

  /**
   * Spends the hold, or `amount` of it; the rest returns.
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

  /** Returns the whole hold. @throws Problem `operation_already_settled` */
  release(operationId: string, options: CallOptions = {}): Promise<Answered<Channel>> {
    return this.change({ ...options, method: 'POST', path: this.at(operationId, 'release'), repeatable: true })
  }

  /**
   * Refunds the charge, or `amount` of it.
   * @throws Problem `refund_exceeds_charge`, `operation_already_settled`
   */
  refund(operationId: string, refund: Refund, options: KeyedOptions): Promise<Answered<Channel>> {
    return this.change({ ...options, method: 'POST', path: this.at(operationId, 'refund'), body: refund })
  }

  /**
   * Holds units, runs the work, and commits; if the work throws, it releases the hold and throws the same error.
   * Returns the result of the work.
   *
   * The work runs once for a key. A second call with the key, by another worker or after a crash, throws: while the
   * hold is open, the other run may still be working, and work that is done twice would be charged once. The work
   * itself must check an aborted signal; the hold is settled in any case.
   *
   * `requestId` begins the request ids of the calls; each run adds a suffix of its own, by which it recognizes its
   * hold.
   * @throws HoldOpen another run holds units under this key; the work did not begin
   * @throws HoldSettled the key's hold is no longer open; the work did not begin
   * @throws Problem like reserve and commit: `operation_already_settled` if the hold expired during the work
   * @throws RangeError the work has spent more than is held: the whole hold was committed, the rest is not charged
   */
  async withHold<Result>(
    reserve: Channel['reserve'],
    options: KeyedOptions,
    work: (hold: Hold<Channel>) => Promise<Result>,
  ): Promise<Result> {
    const requestId = newRequestId(options.requestId)
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
      // If the release fails, the hold expires by itself.
      await this.release(operation.id, after).catch(() => undefined)
      throw error
    }
    if (amount === 0) await this.release(operation.id, after)
    else await this.commit(operation.id, { amount: Math.min(amount, operation.amount) }, after)
    if (amount > operation.amount) throw new RangeError(`spent ${amount} of ${operation.amount}`)
    return result
  }

  /** Checks whether an amount fits now. It charges and reserves nothing: to be sure, consume. */
  check(question: Channel['check'], options: CallOptions = {}): Promise<Check> {
    return this.call({ ...options, method: 'GET', path: this.at('check'), query: question })
  }

  /** @throws Problem `operation_not_found` */
  operation(operationId: string, options: CallOptions = {}): Promise<Channel['operation']> {
    return this.call({ ...options, method: 'GET', path: this.at(operationId) })
  }

  /** Lists the operations of an owner or of a quota, newest first; or the one operation of an `idempotencyKey`. */
  operations(filter: Channel['ledger'], options: CallOptions = {}): Listing<Channel['ledgerPage']> {
    return this.listing(this.at(), filter, options, ({ nextBefore }) => given({ before: nextBefore }))
  }

  /** The usage of an owner or a quota, by day or by hour, oldest first; by default of the last 30 days. */
  series(question: Channel['series'], options: CallOptions = {}): Promise<Series> {
    return this.call({ ...options, method: 'GET', path: this.at('series'), query: question })
  }

  /** The acts on an operation, oldest first. @throws Problem `operation_not_found` */
  async acts(operationId: string, options: CallOptions = {}): Promise<Act[]> {
    return (await this.call<{ items: Act[] }>({ ...options, method: 'GET', path: this.at(operationId, 'acts') })).items
  }

  /**
   * @throws HoldOpen, HoldSettled if the hold belongs to another run, and not to an attempt of this one whose answer
   * was lost
   */
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
}
