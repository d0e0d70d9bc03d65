import { Logger } from '@nestjs/common'
import type { CallerInfo } from '../auth/principal.js'
import { ServiceError, validationFailed } from '../error/service-error.js'
import type { ItemChecker } from '../http/dto.pipe.js'
import { problemOf } from '../http/problem.js'
import type { Outcome } from '../ledger/command.js'
import type { Ledger } from '../ledger/ledger.js'
import type { QuotaRow } from '../ledger/quota.entity.js'
import type { CheckView, QuotaReader } from '../ledger/quota-reader.js'
import type { LedgerPage, UsageReader } from '../ledger/usage-reader.js'
import type { OperationView } from '../ledger/view.js'
import { callerOf } from './quota.service.js'
import type { BatchItemFields, LedgerFields } from './usage.dto.js'
import { DEFAULT_TTL_SECONDS } from './usage.dto.js'

const DEFAULT_PAGE_SIZE = 20

/** What services do with one channel's quotas: requests in, the domain's terms out. Every error is a ServiceError. */
export abstract class UsageService<Q extends QuotaRow> {
  private readonly logger = new Logger('Usage')

  protected constructor(
    private readonly ledger: Ledger<Q>,
    private readonly quotas: QuotaReader<Q>,
    private readonly usage: UsageReader<Q>,
    private readonly checker: ItemChecker,
  ) {}

  /** Spends units at once. */
  async consume(caller: CallerInfo, ownerId: number, amount: number, key: string): Promise<Outcome> {
    return this.ledger.consume(callerOf(caller), ownerId, amount, key)
  }

  /** Holds units for a while. */
  async reserve(
    caller: CallerInfo,
    ownerId: number,
    amount: number,
    ttlSeconds: number | undefined,
    key: string,
  ): Promise<Outcome> {
    return this.ledger.reserve(callerOf(caller), ownerId, amount, ttlSeconds ?? DEFAULT_TTL_SECONDS, key)
  }

  /** Spends what a hold keeps, or a part of it. */
  async commit(caller: CallerInfo, operationId: string, amount: number | undefined): Promise<Outcome> {
    return this.ledger.commit(callerOf(caller), operationId, amount)
  }

  /** Returns a whole hold. */
  async release(caller: CallerInfo, operationId: string): Promise<Outcome> {
    return this.ledger.release(callerOf(caller), operationId)
  }

  /** Returns what was charged, or a part of it. */
  async refund(caller: CallerInfo, operationId: string, amount: number | undefined, key: string): Promise<Outcome> {
    return this.ledger.refund(callerOf(caller), operationId, amount, key)
  }

  /** Would the amount fit now? Takes nothing. */
  async check(ownerId: number, amount: number): Promise<CheckView> {
    return this.quotas.check(ownerId, amount)
  }

  /** One operation. */
  async get(operationId: string): Promise<OperationView> {
    return this.usage.get(operationId)
  }

  /** A page of the ledger, of an owner or of a quota. */
  async list(
    ownerField: string,
    ownerId: number | undefined,
    { quota_id: quotaId, before, page_size: size }: LedgerFields,
  ): Promise<LedgerPage> {
    if ((ownerId === undefined) === (quotaId === undefined)) {
      throw validationFailed([
        { field: ownerField, message: `exactly one of ${ownerField} and quota_id must be given` },
      ])
    }
    const of = ownerId === undefined ? { quotaId: quotaId ?? 0 } : { ownerId }
    return this.usage.ledger(of, before, size ?? DEFAULT_PAGE_SIZE)
  }

  /**
   * Consumes item by item, each with its own key and its own answer, in order. They are one request only on the wire: what one item meets
   * is no other item's concern. A database that is away for all of them is told once, for the whole.
   * @param itemType the DTO of an item
   * @param ownerOf whom an item names
   * @returns the body
   */
  async consumeBatch<T extends BatchItemFields>(
    caller: CallerInfo,
    items: readonly unknown[],
    itemType: new () => T,
    ownerOf: (item: T) => number,
  ): Promise<string> {
    const results = await Promise.allSettled(
      items.map(async (raw, place) => {
        const { value: item, errors } = this.checker.check(itemType, raw, `items[${place}]`)
        if (errors !== undefined) throw validationFailed(errors)
        return this.consume(caller, ownerOf(item), item.amount, item.idempotency_key)
      }),
    )
    const failures = results.filter((result) => result.status === 'rejected').map((result): unknown => result.reason)
    const [first] = failures
    const away = failures.every((failure) => failure instanceof ServiceError && failure.code === 'unavailable')
    if (failures.length === results.length && away) throw first
    const parts = results.map((result) => {
      if (result.status === 'fulfilled') {
        // The operation's bytes are those of its first answer, so they are set in as they are.
        return `{"status":200,"replayed":${result.value.replayed},"operation":${result.value.body}}`
      }
      const problem = problemOf(this.told(result.reason), caller.requestId)
      return JSON.stringify({ status: problem.status, problem })
    })
    return `{"results":[${parts.join(',')}]}`
  }

  /** What an item's caller is told of its failure; what broke inside stays in the log. */
  private told(reason: unknown): ServiceError {
    if (reason instanceof ServiceError) return reason
    this.logger.error(reason instanceof Error ? reason.stack : reason)
    return new ServiceError(
      'internal_error',
      'this item has failed; the log of the service has it under the request_id',
    )
  }
}
