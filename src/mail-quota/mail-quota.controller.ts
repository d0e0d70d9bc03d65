import { Body, Controller, Delete, Get, HttpCode, Post, Put, Query, Res } from '@nestjs/common'
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger'
import type { Response } from 'express'
import { ServiceAuth } from '../auth/access.decorator.js'
import { Caller } from '../auth/caller.decorator.js'
import { answer } from '../channel-api/answer.js'
import { DeleteQuery, ResetDto } from '../channel-api/quota.dto.js'
import { IdParam } from '../http/id-param.decorator.js'
import { OptionalIdempotencyKey } from '../http/idempotency-key.decorator.js'
import { PageQuery } from '../http/page.dto.js'
import { Problems } from '../http/problem.decorator.js'
import { addHeader } from '../http/reply.js'
import type { Page } from '../ledger/read/list-reader.js'
import type { SummaryView } from '../ledger/read/quota-reader.js'
import type { ChangeView, QuotaView } from '../ledger/store/answers.js'
import { MailChangePageDto } from './mail-office.dto.js'
import {
  CreateMailQuotaDto,
  MailQuotaDto,
  MailQuotaListQuery,
  MailQuotaPageDto,
  MailSummaryDto,
  UpdateMailQuotaDto,
} from './mail-quota.dto.js'
import { MailQuotaService } from './mail-quota.service.js'

/** The quotas of mail accounts, for services and administrators. */
@ApiTags('Mail quotas')
@Controller('api/v1/quotas')
@ServiceAuth('mail')
export class MailQuotaController {
  constructor(private readonly quotas: MailQuotaService) {}

  /** Make a quota */
  @Post()
  @ApiCreatedResponse({
    type: MailQuotaDto,
    headers: { Location: { description: 'The new quota.', schema: { type: 'string' } } },
  })
  @Problems('too_many_quotas')
  async create(
    @Caller() caller: Caller,
    @Body() dto: CreateMailQuotaDto,
    @OptionalIdempotencyKey() key: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<string> {
    const outcome = await this.quotas.create(caller, dto, key)
    addHeader(response, 'Location', `/api/v1/quotas/${outcome.subject}`)
    return answer(response, outcome)
  }

  /** List quotas, newest first */
  @Get()
  @ApiOkResponse({ type: MailQuotaPageDto })
  async list(@Caller() caller: Caller, @Query() query: MailQuotaListQuery): Promise<string> {
    return this.quotas.list(caller, query)
  }

  /** Add up an account's active quotas */
  @Get('summary/:accountID')
  @ApiOkResponse({ type: MailSummaryDto })
  async summary(@IdParam('accountID') accountId: number): Promise<SummaryView> {
    return this.quotas.summary(accountId)
  }

  /** Read one quota */
  @Get(':id')
  @ApiOkResponse({ type: MailQuotaDto })
  @Problems('quota_not_found')
  async get(@IdParam('id') id: number): Promise<QuotaView> {
    return this.quotas.get(id)
  }

  /** Change a quota's settings */
  @Put(':id')
  @ApiOkResponse({ type: MailQuotaDto })
  @Problems('quota_not_found', 'version_mismatch', 'too_many_quotas')
  async update(
    @Caller() caller: Caller,
    @IdParam('id') id: number,
    @Body() dto: UpdateMailQuotaDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<string> {
    return answer(response, await this.quotas.update(caller, id, dto))
  }

  /** Delete a quota softly */
  @Delete(':id')
  @HttpCode(204)
  @ApiNoContentResponse({ description: 'Deleted.' })
  @Problems('quota_not_found', 'version_mismatch')
  async remove(@Caller() caller: Caller, @IdParam('id') id: number, @Query() { version }: DeleteQuery): Promise<void> {
    await this.quotas.remove(caller, id, version)
  }

  /** Undo a delete */
  @Post(':id/restore')
  @HttpCode(200)
  @ApiOkResponse({ type: MailQuotaDto })
  @Problems('quota_not_found', 'too_many_quotas')
  async restore(
    @Caller() caller: Caller,
    @IdParam('id') id: number,
    @Res({ passthrough: true }) response: Response,
  ): Promise<string> {
    return answer(response, await this.quotas.restore(caller, id))
  }

  /** Begin a new count: used and reserved 0, the next reset as it was */
  @Post(':id/reset')
  @HttpCode(200)
  @ApiOkResponse({ type: MailQuotaDto })
  @Problems('quota_not_found', 'version_mismatch')
  async reset(
    @Caller() caller: Caller,
    @IdParam('id') id: number,
    @Body() dto: ResetDto,
    @OptionalIdempotencyKey() key: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<string> {
    return answer(response, await this.quotas.reset(caller, id, dto.version, key))
  }

  /** List the changes of a quota's settings, newest first */
  @Get(':id/changes')
  @ApiOkResponse({ type: MailChangePageDto })
  @Problems('quota_not_found')
  async changes(
    @Caller() caller: Caller,
    @IdParam('id') id: number,
    @Query() query: PageQuery,
  ): Promise<Page<ChangeView>> {
    return this.quotas.changes(caller, id, query)
  }
}
