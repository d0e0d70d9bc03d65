import { Logger } from '@nestjs/common'
import type { Clock } from '../common/clock.js'
import { TimeSlice } from '../common/time-slice.js'
import { ServiceError, validationFailed } from '../common/service-error.js'
import type { ItemChecker } from '../http/dto.pipe.js'
import { DEFAULT_PAGE_SIZE } from '../http/field.decorator.js'
import { problemOf } from '../http/problem.js'
import type { CheckView, QuotaReader } from '../ledger/read/quota-reader.js'
import type { SeriesReader, SeriesView } from '../ledger/read/series-reader.js'
import type { LedgerOf, LedgerPage, UsageReader } from '../ledger/read/usage-reader.js'
import type { Channel } from '../ledger/rows/channel.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import type { ActView, OperationView } from '../ledger/store/answers.js'
import type { Caller, Outcome } from '../ledger/store/command.js'
import type { Upkeep } from '../ledger/upkeep/upkeep.js'
import type { Ledger } from '../ledger/write/ledger.js'
import { formatInstant } from '../common/instant.js'
import { optionalOwnerOf, ownerOf } from './subjects.js'
import { periodOf } from './period.js'
import type { SeriesFields } from './series.dto.js'
import {
  type BatchItemFields,
  type CheckFields,
  type CommitDto,
  type ConsumeFields,
  DEFAULT_TTL_SECONDS,
  EVERY_CALLER,
  type LedgerFields,
  type RefundDto,
  type ReserveFields,
} from './usage.dto.js'

/** The readers of one channel's usage. */
export interface UsageReaders<Q extends QuotaRow> {
  readonly quotas: QuotaReader<Q>
  readonly usage: UsageReader<Q>
  readonly series: SeriesReader<Q>
  /** Knows the time from which the ledger is complete. */
  readonly upkeep: Upkeep<Q>
}

/** Senders' operations on one channel's quotas: takes DTOs, returns domain values. Every error is a ServiceError. */
export class UsageService<Q extends QuotaRow> {
  private readonly logger = new Logger('Usage')

  constructor(
    private readonly channel: Channel<Q>,
    private readonly ledger: Ledger<Q>,
    private readonly readers: UsageReaders<Q>,
    private readonly checker: ItemChecker,
    private readonly clock: Clock,
  ) {}

  /** Spends units at once. */
  async consume(caller: Caller, dto: ConsumeFields, key: string): Promise<Outcome> {
    return this.ledger.consume(caller, ownerOf(this.channel, dto), dto.amount, key)
  }

  /** Holds units for a while. */
  async reserve(caller: Caller, dto: ReserveFields, key: string): Promise<Outcome> {
    const ttlSeconds = dto.ttl_seconds ?? DEFAULT_TTL_SECONDS
    return this.ledger.reserve(caller, ownerOf(this.channel, dto), dto.amount, ttlSeconds, key)
  }

  /** Spends a hold, or a part of it. */
  async commit(caller: Caller, operationId: string, { amount }: CommitDto): Promise<Outcome> {
    return this.ledger.commit(caller, operationId, amount)
  }

  /** Returns a whole hold. */
  async release(caller: Caller, operationId: string): Promise<Outcome> {
    return this.ledger.release(caller, operationId)
  }

  /** Refunds a charge, or a part of it. */
  async refund(caller: Caller, operationId: string, { amount }: RefundDto, key: string): Promise<Outcome> {
    return this.ledger.refund(caller, operationId, amount, key)
  }

  /** Would the amount fit now? It charges nothing. */
  async check(query: CheckFields): Promise<CheckView> {
    return this.readers.quotas.check(ownerOf(this.channel, query), query.amount)
  }

  /** One operation. */
  async get(caller: Caller, operationId: string): Promise<OperationView> {
    return this.readers.usage.get(caller, operationId)
  }

  /** A page of the ledger: of an owner, of a quota, of the channel, or the one operation of a key. */
  async list(principal: Caller, query: LedgerFields): Promise<LedgerPage> {
    const { idempotency_key: key, caller, before, state, kind } = query
    const { usage, upkeep } = this.readers
    const shown = async (page: LedgerPage): Promise<LedgerPage> =>
      query.made_by === undefined ? page : usage.withMakers(principal, page)
    if (key !== undefined) return shown(await usage.byKey(principal, await this.callersOf(principal, caller), key))
    const size = query.page_size ?? DEFAULT_PAGE_SIZE
    const of = this.ledgerOf(query)
    const page = await shown(await usage.ledger(principal, of, before, size, { state, kind, ...periodOf(query) }))
    return upkeep.beginsAt === null ? page : { ...page, begins_at: formatInstant(upkeep.beginsAt) }
  }

  /** What a query by owner, quota or `all` selects. */
  private ledgerOf(query: LedgerFields | SeriesFields): LedgerOf {
    const ownerId = optionalOwnerOf(this.channel, query)
    if (ownerId !== undefined) return { ownerId }
    return query.quota_id === undefined ? { all: true } : { quotaId: query.quota_id }
  }

  /** The callers whose keys are searched: the caller itself, a named one, or all. */
  private async callersOf(principal: Caller, name: string | undefined): Promise<readonly string[]> {
    if (name === undefined || name === principal.name) return [principal.id]
    return name === EVERY_CALLER ? this.ledger.callers.recent() : this.ledger.callers.named(name)
  }

  /** Usage by hour or by day, oldest first. */
  async series({ id: principalId }: Caller, query: SeriesFields): Promise<SeriesView> {
    const now = this.clock.now()
    const violations = query.violationsAt(now)
    if (violations.length > 0) throw validationFailed(violations)
    const { step, from, to } = query.rangeAt(now)
    return this.readers.series.series(principalId, this.ledgerOf(query), step, from, to)
  }

  /** The acts on an operation, oldest first. */
  async acts(caller: Caller, operationId: string): Promise<{ items: ActView[] }> {
    return { items: await this.readers.usage.acts(caller, operationId) }
  }

  /**
   * Consumes item by item, each with its own key and its own answer, in order. The items are independent: the failure
   * of one does not affect another. If the database is unavailable for all of them, the whole request is refused.
   * @param itemType the DTO of an item
   * @returns the body
   */
  async consumeBatch<T extends BatchItemFields>(
    caller: Caller,
    items: readonly unknown[],
    itemType: new () => T,
  ): Promise<string> {
    return this.ledger.withCapacity(caller, items.length, async () => this.consumeItems(caller, items, itemType))
  }

  private async consumeItems<T extends BatchItemFields>(
    caller: Caller,
    items: readonly unknown[],
    itemType: new () => T,
  ): Promise<string> {
    const slice = new TimeSlice()
    const ownerOfKey = new Map<string, number>()
    const answers: (Promise<Outcome | Failed> | Failed)[] = []
    let open: Promise<unknown>[] = []
    for (const [place, raw] of items.entries()) {
      if (slice.spent) await slice.next()
      const { value: item, errors } = this.checker.check(itemType, raw, `items[${place}]`)
      if (errors !== undefined) {
        answers.push(new Failed(validationFailed(errors)))
        continue
      }
      const [key, ownerId] = [item.idempotency_key, ownerOf(this.channel, item)]
      // The ledger keeps the order of one owner's requests. If a key names another owner than before, the earlier
      // items are settled first.
      if ((ownerOfKey.get(key) ?? ownerId) !== ownerId) {
        await Promise.all(open)
        open = []
      }
      ownerOfKey.set(key, ownerId)
      const answer = this.ledger.consume(caller, ownerId, item.amount, key, true).catch(failed)
      answers.push(answer)
      open.push(answer)
    }
    const results: (Outcome | Failed)[] = []
    for (const answer of answers) results.push(await answer)
    const [first] = results
    const isAway = (one: Outcome | Failed): boolean =>
      one instanceof Failed && one.reason instanceof ServiceError && one.reason.code === 'unavailable'
    if (first instanceof Failed && results.every(isAway)) throw first.reason
    const parts: string[] = []
    for (const result of results) {
      if (slice.spent) await slice.next()
      if (result instanceof Failed) {
        const problem = problemOf(this.reported(result.reason, caller.requestId), caller.requestId)
        parts.push(JSON.stringify({ status: problem.status, problem }))
      } else {
        // The bytes of the operation are those of its first answer, so they are inserted unchanged.
        parts.push(`{"status":200,"replayed":${result.replayed},"operation":${result.body}}`)
      }
    }
    return `{"results":[${parts.join(',')}]}`
  }

  /** The problem that an item's caller gets; internal details stay in the log. */
  private reported(reason: unknown, requestId: string): ServiceError {
    if (reason instanceof ServiceError) return reason
    this.logger.error(new Error(`an item of a batch failed, request ${requestId}`, { cause: reason }))
    return new ServiceError(
      'internal_error',
      'this item has failed; the log of the service has it under the request_id',
    )
  }
}

/** The failure of an item, in place of a rejected promise: many wait at once, and one promise for each is enough. */
class Failed {
  constructor(readonly reason: unknown) {}
}

const failed = (reason: unknown): Failed => new Failed(reason)
