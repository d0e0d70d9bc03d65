import { Body, Get, HttpCode, Injectable, Post, Query, Res } from '@nestjs/common'
import { ApiCreatedResponse, ApiOkResponse } from '@nestjs/swagger'
import type { Response } from 'express'
import { ClosedTo, OthersKeys } from '../auth/access.decorator.js'
import { Caller } from '../auth/caller.decorator.js'
import { BodyLimit } from '../http/body-limit.decorator.js'
import type { DtoClass } from '../http/dto.js'
import { OperationIdParam } from '../http/id-param.decorator.js'
import { IdempotencyKey } from '../http/idempotency-key.decorator.js'
import { Problems } from '../http/problem.decorator.js'
import type { CheckView } from '../ledger/read/quota-reader.js'
import type { SeriesView } from '../ledger/read/series-reader.js'
import type { LedgerPage } from '../ledger/read/usage-reader.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import type { ActView, OperationView } from '../ledger/store/answers.js'
import { answer } from './answer.js'
import type { ChannelApi } from './channel-api.js'
import { SeriesDto, type SeriesFields } from './series.dto.js'
import {
  ActsDto,
  BATCH_BYTES,
  type BatchFields,
  type BatchItemFields,
  CheckDto,
  type CheckFields,
  CommitDto,
  type ConsumeFields,
  type LedgerFields,
  type LedgerPageFields,
  type OperationFields,
  RefundDto,
  type ReserveFields,
} from './usage.dto.js'
import { UsageService } from './usage.service.js'

/** A channel's DTO classes of usage. */
export interface UsageDtos {
  readonly Consume: DtoClass<ConsumeFields>
  readonly Batch: DtoClass<BatchFields>
  /** Checks each item of a batch by itself. */
  readonly BatchItem: DtoClass<BatchItemFields>
  readonly Reserve: DtoClass<ReserveFields>
  readonly CheckQuery: DtoClass<CheckFields>
  readonly SeriesQuery: DtoClass<SeriesFields>
  readonly LedgerQuery: DtoClass<LedgerFields>
  readonly Operation: DtoClass<OperationFields>
  readonly BatchAnswer: DtoClass
  readonly LedgerPage: DtoClass<LedgerPageFields>
}

/**
 * The routes of a channel's usage. The channel's controller extends the class and declares its path and access rule.
 */
export function usageController({ quotasRule }: ChannelApi, dto: UsageDtos) {
  // Each is a value and a type, as a class is: Nest takes the class of a parameter from its type.
  const { Consume, Batch, Reserve, CheckQuery, SeriesQuery, LedgerQuery } = dto
  type Consume = InstanceType<typeof Consume>
  type Batch = InstanceType<typeof Batch>
  type Reserve = InstanceType<typeof Reserve>
  type CheckQuery = InstanceType<typeof CheckQuery>
  type SeriesQuery = InstanceType<typeof SeriesQuery>
  type LedgerQuery = InstanceType<typeof LedgerQuery>

  @Injectable()
  class UsageController {
    constructor(protected readonly usage: UsageService<QuotaRow>) {}

    /** Spend units */
    @Post('consume')
    @HttpCode(200)
    @ApiOkResponse({ type: dto.Operation })
    @Problems('quota_exceeded', 'no_active_quota', 'too_many_new_owners')
    async consume(
      @Caller() caller: Caller,
      @Body() body: Consume,
      @IdempotencyKey() key: string,
      @Res({ passthrough: true }) response: Response,
    ): Promise<string> {
      return answer(response, await this.usage.consume(caller, body, key))
    }

    /** Spend units, many at a time */
    @Post('consume/batch')
    @HttpCode(200)
    @BodyLimit(BATCH_BYTES)
    @ApiOkResponse({ type: dto.BatchAnswer })
    async consumeBatch(@Caller() caller: Caller, @Body() { items }: Batch): Promise<string> {
      return this.usage.consumeBatch(caller, items, dto.BatchItem)
    }

    /** Reserve units for a limited time */
    @Post('reserve')
    @ApiCreatedResponse({ type: dto.Operation })
    @Problems('quota_exceeded', 'no_active_quota', 'too_many_new_owners')
    async reserve(
      @Caller() caller: Caller,
      @Body() body: Reserve,
      @IdempotencyKey() key: string,
      @Res({ passthrough: true }) response: Response,
    ): Promise<string> {
      return answer(response, await this.usage.reserve(caller, body, key))
    }

    /** Check whether an amount can be consumed */
    @Get('check')
    @ApiOkResponse({ type: CheckDto })
    async check(@Query() query: CheckQuery): Promise<CheckView> {
      return this.usage.check(query)
    }

    /** Read the usage by hour or by day, oldest first */
    @Get('series')
    @ClosedTo('own')
    @ApiOkResponse({ type: SeriesDto })
    async series(@Caller() caller: Caller, @Query() query: SeriesQuery): Promise<SeriesView> {
      return this.usage.series(caller, query)
    }

    /** List operations, newest first */
    @Get()
    @ApiOkResponse({ type: dto.LedgerPage })
    @OthersKeys(quotasRule)
    @Problems('forbidden')
    async list(@Caller() caller: Caller, @Query() query: LedgerQuery): Promise<LedgerPage> {
      return this.usage.list(caller, query)
    }

    /** Read one operation */
    @Get(':operationId')
    @ApiOkResponse({ type: dto.Operation })
    @Problems('operation_not_found')
    async get(@Caller() caller: Caller, @OperationIdParam('operationId') operationId: string): Promise<OperationView> {
      return this.usage.get(caller, operationId)
    }

    /** List the acts on an operation, oldest first */
    @Get(':operationId/acts')
    @ApiOkResponse({ type: ActsDto })
    @Problems('operation_not_found')
    async acts(
      @Caller() caller: Caller,
      @OperationIdParam('operationId') operationId: string,
    ): Promise<{ items: ActView[] }> {
      return this.usage.acts(caller, operationId)
    }

    /** Spend the units of a hold */
    @Post(':operationId/commit')
    @HttpCode(200)
    @ApiOkResponse({ type: dto.Operation })
    @Problems('operation_not_found', 'operation_already_settled', 'commit_exceeds_hold')
    async commit(
      @Caller() caller: Caller,
      @OperationIdParam('operationId') operationId: string,
      @Body() body: CommitDto,
      @Res({ passthrough: true }) response: Response,
    ): Promise<string> {
      return answer(response, await this.usage.commit(caller, operationId, body))
    }

    /** Return a whole hold */
    @Post(':operationId/release')
    @HttpCode(200)
    @ApiOkResponse({ type: dto.Operation })
    @Problems('operation_not_found', 'operation_already_settled')
    async release(
      @Caller() caller: Caller,
      @OperationIdParam('operationId') operationId: string,
      @Res({ passthrough: true }) response: Response,
    ): Promise<string> {
      return answer(response, await this.usage.release(caller, operationId))
    }

    /** Return charged units */
    @Post(':operationId/refund')
    @HttpCode(200)
    @ApiOkResponse({ type: dto.Operation })
    @Problems('operation_not_found', 'refund_exceeds_charge')
    async refund(
      @Caller() caller: Caller,
      @OperationIdParam('operationId') operationId: string,
      @Body() body: RefundDto,
      @IdempotencyKey() key: string,
      @Res({ passthrough: true }) response: Response,
    ): Promise<string> {
      return answer(response, await this.usage.refund(caller, operationId, body, key))
    }
  }

  return UsageController
}
