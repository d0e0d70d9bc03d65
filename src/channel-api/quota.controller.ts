import { Body, Delete, Get, HttpCode, Injectable, Post, Put, Query, Res } from '@nestjs/common'
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger'
import type { Response } from 'express'
import { Caller } from '../auth/caller.decorator.js'
import { IdParam } from '../http/id-param.decorator.js'
import { OptionalIdempotencyKey } from '../http/idempotency-key.decorator.js'
import { PageQuery } from '../http/page.dto.js'
import type { DtoClass } from '../http/dto.js'
import { Problems } from '../http/problem.decorator.js'
import { addHeader } from '../http/reply.js'
import type { Page } from '../ledger/read/list-reader.js'
import type { SummaryView } from '../ledger/read/quota-reader.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import type { ChangeView, QuotaView } from '../ledger/store/answers.js'
import { answer } from './answer.js'
import type { ChannelApi } from './channel-api.js'
import { DeleteQuery, type OwnSummaryFields, type PageFields, type QuotaListFields, ResetDto } from './quota.dto.js'
import { QuotaService } from './quota.service.js'
import type { NewSettingsFields, QuotaFields, SettingsPatchFields } from './settings.dto.js'

/** A channel's DTO classes of quotas. */
export interface QuotaDtos {
  readonly Create: DtoClass<NewSettingsFields>
  readonly Update: DtoClass<SettingsPatchFields>
  readonly Quota: DtoClass<QuotaFields>
  readonly ChangePage: DtoClass<PageFields>
}

/** Those of the list and of the summary. */
export interface QuotaListDtos {
  readonly ListQuery: DtoClass<QuotaListFields>
  readonly QuotaPage: DtoClass<PageFields>
  readonly Summary: DtoClass<OwnSummaryFields>
}

/**
 * The routes of a channel's quotas without the list and the summary, whose paths differ in SMS. The channel's
 * controller extends the class, and declares its path and access rule.
 */
export function quotaController<Q extends QuotaRow>({ path }: ChannelApi, dto: QuotaDtos) {
  // Each is a value and a type, as a class is: Nest takes the class of a parameter from its type.
  const { Create, Update } = dto
  type Create = InstanceType<typeof Create>
  type Update = InstanceType<typeof Update>

  @Injectable()
  class QuotaController {
    constructor(protected readonly quotas: QuotaService<Q>) {}

    /** Create a quota */
    @Post()
    @ApiCreatedResponse({
      type: dto.Quota,
      headers: { Location: { description: 'The new quota.', schema: { type: 'string' } } },
    })
    @Problems('group_not_found', 'too_many_quotas')
    async create(
      @Caller() caller: Caller,
      @Body() body: Create,
      @OptionalIdempotencyKey() key: string | undefined,
      @Res({ passthrough: true }) response: Response,
    ): Promise<string> {
      const outcome = await this.quotas.create(caller, body, key)
      addHeader(response, 'Location', `${path}/${outcome.subject}`)
      return answer(response, outcome)
    }

    /** Read one quota */
    @Get(':id')
    @ApiOkResponse({ type: dto.Quota })
    @Problems('quota_not_found')
    async get(@IdParam('id') id: number): Promise<QuotaView> {
      return this.quotas.get(id)
    }

    /** Change a quota's settings */
    @Put(':id')
    @ApiOkResponse({ type: dto.Quota })
    @Problems('quota_not_found', 'group_not_found', 'version_mismatch', 'too_many_quotas')
    async update(
      @Caller() caller: Caller,
      @IdParam('id') id: number,
      @Body() body: Update,
      @Res({ passthrough: true }) response: Response,
    ): Promise<string> {
      return answer(response, await this.quotas.update(caller, id, body))
    }

    /** Delete a quota; it can be restored */
    @Delete(':id')
    @HttpCode(204)
    @ApiNoContentResponse({ description: 'Deleted.' })
    @Problems('quota_not_found', 'version_mismatch')
    async remove(
      @Caller() caller: Caller,
      @IdParam('id') id: number,
      @Query() { version }: DeleteQuery,
    ): Promise<void> {
      await this.quotas.remove(caller, id, version)
    }

    /** Restore a deleted quota */
    @Post(':id/restore')
    @HttpCode(200)
    @ApiOkResponse({ type: dto.Quota })
    @Problems('quota_not_found', 'group_not_found', 'too_many_quotas')
    async restore(
      @Caller() caller: Caller,
      @IdParam('id') id: number,
      @Res({ passthrough: true }) response: Response,
    ): Promise<string> {
      return answer(response, await this.quotas.restore(caller, id))
    }

    /** Reset a quota: set used and reserved to 0, keep the next reset */
    @Post(':id/reset')
    @HttpCode(200)
    @ApiOkResponse({ type: dto.Quota })
    @Problems('quota_not_found', 'version_mismatch', 'nothing_to_reset')
    async reset(
      @Caller() caller: Caller,
      @IdParam('id') id: number,
      @Body() { version }: ResetDto,
      @OptionalIdempotencyKey() key: string | undefined,
      @Res({ passthrough: true }) response: Response,
    ): Promise<string> {
      return answer(response, await this.quotas.reset(caller, id, version, key))
    }

    /** List the changes of a quota's settings, newest first */
    @Get(':id/changes')
    @ApiOkResponse({ type: dto.ChangePage })
    @Problems('quota_not_found')
    async changes(
      @Caller() caller: Caller,
      @IdParam('id') id: number,
      @Query() query: PageQuery,
    ): Promise<Page<ChangeView>> {
      return this.quotas.changes(caller, id, query)
    }
  }

  return QuotaController
}

/** The same with the list, at the path of the quotas, and the summary. */
export function listedQuotaController<Q extends QuotaRow>(api: ChannelApi, dto: QuotaDtos & QuotaListDtos) {
  const { owner } = api
  // Each is a value and a type, as a class is: Nest takes the class of a parameter from its type.
  const { ListQuery } = dto
  type ListQuery = InstanceType<typeof ListQuery>

  class ListedQuotaController extends quotaController<Q>(api, dto) {
    /** List quotas, newest first */
    @Get()
    @ApiOkResponse({ type: dto.QuotaPage })
    async list(@Caller() caller: Caller, @Query() query: ListQuery): Promise<string> {
      return this.quotas.list(caller, query)
    }

    /** Add up an owner's active quotas */
    @Get(`summary/:${owner.noun}ID`)
    @ApiOperation({ summary: `Add up ${owner.one}'s active quotas` })
    @ApiOkResponse({ type: dto.Summary })
    async summary(@IdParam(`${owner.noun}ID`) ownerId: number): Promise<SummaryView> {
      return this.quotas.summary(ownerId)
    }
  }

  return ListedQuotaController
}
