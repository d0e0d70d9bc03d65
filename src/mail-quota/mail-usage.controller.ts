import { Body, Controller, Get, HttpCode, Post, Query, Res } from '@nestjs/common'
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger'
import type { Response } from 'express'
import { ClosedTo, OthersKeys, UsageAuth } from '../auth/access.decorator.js'
import { Caller } from '../auth/caller.decorator.js'
import { answer } from '../channel-api/answer.js'
import { SeriesDto } from '../channel-api/series.dto.js'
import { ActsDto, BATCH_BYTES, CheckDto, CommitDto, RefundDto } from '../channel-api/usage.dto.js'
import { UsageService } from '../channel-api/usage.service.js'
import { BodyLimit } from '../http/body-limit.decorator.js'
import { OperationIdParam } from '../http/id-param.decorator.js'
import { IdempotencyKey } from '../http/idempotency-key.decorator.js'
import { Problems } from '../http/problem.decorator.js'
import type { CheckView } from '../ledger/read/quota-reader.js'
import type { SeriesView } from '../ledger/read/series-reader.js'
import type { LedgerPage } from '../ledger/read/usage-reader.js'
import type { ActView, OperationView } from '../ledger/store/answers.js'
import {
  MailBatchAnswerDto,
  MailBatchDto,
  MailBatchItemDto,
  MailCheckQuery,
  MailConsumeDto,
  MailLedgerPageDto,
  MailLedgerQuery,
  MailOperationDto,
  MailReserveDto,
  MailSeriesQuery,
} from './mail-usage.dto.js'
import type { MailQuota } from './mail-quota.entity.js'

/** What a mail account uses, asked before every message goes out. */
@ApiTags('Mail usage')
@Controller('api/v1/quotas/usage')
@UsageAuth('mail')
export class MailUsageController {
  constructor(private readonly usage: UsageService<MailQuota>) {}

  /** Spend units */
  @Post('consume')
  @HttpCode(200)
  @ApiOkResponse({ type: MailOperationDto })
  @Problems('quota_exceeded', 'no_active_quota')
  async consume(
    @Caller() caller: Caller,
    @Body() dto: MailConsumeDto,
    @IdempotencyKey() key: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<string> {
    return answer(response, await this.usage.consume(caller, dto, key))
  }

  /** Spend units, many at a time */
  @Post('consume/batch')
  @HttpCode(200)
  @BodyLimit(BATCH_BYTES)
  @ApiOkResponse({ type: MailBatchAnswerDto })
  async consumeBatch(@Caller() caller: Caller, @Body() dto: MailBatchDto): Promise<string> {
    return this.usage.consumeBatch(caller, dto.items, MailBatchItemDto)
  }

  /** Hold units for a while */
  @Post('reserve')
  @ApiCreatedResponse({ type: MailOperationDto })
  @Problems('quota_exceeded', 'no_active_quota')
  async reserve(
    @Caller() caller: Caller,
    @Body() dto: MailReserveDto,
    @IdempotencyKey() key: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<string> {
    return answer(response, await this.usage.reserve(caller, dto, key))
  }

  /** Ask whether an amount would fit */
  @Get('check')
  @ApiOkResponse({ type: CheckDto })
  async check(@Query() query: MailCheckQuery): Promise<CheckView> {
    return this.usage.check(query)
  }

  /** Say what was used, hour by hour or day by day, oldest first */
  @Get('series')
  @ClosedTo('own')
  @ApiOkResponse({ type: SeriesDto })
  async series(@Caller() caller: Caller, @Query() query: MailSeriesQuery): Promise<SeriesView> {
    return this.usage.series(caller, query)
  }

  /** List operations, newest first */
  @Get()
  @ApiOkResponse({ type: MailLedgerPageDto })
  @OthersKeys('service')
  @Problems('forbidden')
  async list(@Caller() caller: Caller, @Query() query: MailLedgerQuery): Promise<LedgerPage> {
    return this.usage.list(caller, query)
  }

  /** Read one operation */
  @Get(':operationId')
  @ApiOkResponse({ type: MailOperationDto })
  @Problems('operation_not_found')
  async get(@Caller() caller: Caller, @OperationIdParam('operationId') operationId: string): Promise<OperationView> {
    return this.usage.get(caller, operationId)
  }

  /** List what was done with an operation, oldest first */
  @Get(':operationId/acts')
  @ApiOkResponse({ type: ActsDto })
  @Problems('operation_not_found')
  async acts(
    @Caller() caller: Caller,
    @OperationIdParam('operationId') operationId: string,
  ): Promise<{ items: ActView[] }> {
    return this.usage.acts(caller, operationId)
  }

  /** Spend what a hold keeps */
  @Post(':operationId/commit')
  @HttpCode(200)
  @ApiOkResponse({ type: MailOperationDto })
  @Problems('operation_not_found', 'operation_already_settled', 'commit_exceeds_hold')
  async commit(
    @Caller() caller: Caller,
    @OperationIdParam('operationId') operationId: string,
    @Body() dto: CommitDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<string> {
    return answer(response, await this.usage.commit(caller, operationId, dto))
  }

  /** Return a whole hold */
  @Post(':operationId/release')
  @HttpCode(200)
  @ApiOkResponse({ type: MailOperationDto })
  @Problems('operation_not_found', 'operation_already_settled')
  async release(
    @Caller() caller: Caller,
    @OperationIdParam('operationId') operationId: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<string> {
    return answer(response, await this.usage.release(caller, operationId))
  }

  /** Return what was charged */
  @Post(':operationId/refund')
  @HttpCode(200)
  @ApiOkResponse({ type: MailOperationDto })
  @Problems('operation_not_found', 'refund_exceeds_charge')
  async refund(
    @Caller() caller: Caller,
    @OperationIdParam('operationId') operationId: string,
    @Body() dto: RefundDto,
    @IdempotencyKey() key: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<string> {
    return answer(response, await this.usage.refund(caller, operationId, dto, key))
  }
}
