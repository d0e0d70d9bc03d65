import { Body, Delete, Get, HttpCode, Injectable, Post, Query, Req, Res } from '@nestjs/common'
import { ApiAcceptedResponse, ApiNoContentResponse, ApiOkResponse, ApiProduces } from '@nestjs/swagger'
import type { Request, Response } from 'express'
import { Caller } from '../auth/caller.decorator.js'
import { answer } from '../channel-api/answer.js'
import { StreamedBodyParam, StreamsBody } from '../http/body-stream.decorator.js'
import type { BodyStream } from '../http/body-stream.js'
import { CSV, CSV_BODY, CSV_SCHEMA, stream } from '../http/csv.js'
import type { DtoClass } from '../http/dto.js'
import { IdParam } from '../http/id-param.decorator.js'
import { OptionalIdempotencyKey } from '../http/idempotency-key.decorator.js'
import { Problems } from '../http/problem.decorator.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import {
  ApplyDto,
  ChangeSetDto,
  ChangeSetsPageDto,
  ChangeSetsQuery,
  type NewChangeSetFields,
  RevertDto,
  RowsCsvQuery,
  type RowsPageFields,
  RowsQuery,
} from './change-set.dto.js'
import { type ChangeSetsPage, ChangeSetService, type RowsPage } from './change-set.service.js'
import type { ChangeSetView } from './change-set.view.js'

/** A channel's DTO classes of change sets. */
export interface ChangeSetDtos {
  readonly New: DtoClass<NewChangeSetFields>
  readonly RowsPage: DtoClass<RowsPageFields>
  readonly ExportQuery: DtoClass
}

/**
 * The routes of a channel's change sets. The channel's controller extends the class and declares its path and access
 * rule.
 */
export function changeSetController(dto: ChangeSetDtos) {
  // Each is a value and a type, as a class is: Nest takes the class of a parameter from its type.
  const { New, ExportQuery } = dto
  type New = InstanceType<typeof New>
  type ExportQuery = InstanceType<typeof ExportQuery>

  @Injectable()
  class ChangeSetController {
    constructor(protected readonly sets: ChangeSetService<QuotaRow>) {}

    /** Create a change set from a filter */
    @Post('change-sets')
    @HttpCode(202)
    @ApiAcceptedResponse({ type: ChangeSetDto })
    @Problems('too_many_rows')
    async create(
      @Caller() caller: Caller,
      @Body() body: New,
      @OptionalIdempotencyKey() key: string | undefined,
      @Res({ passthrough: true }) response: Response,
    ): Promise<string> {
      return answer(response, await this.sets.create(caller, body, key))
    }

    /** Create a change set from a CSV file */
    @Post('import')
    @HttpCode(202)
    @StreamsBody(CSV_BODY)
    @ApiAcceptedResponse({ type: ChangeSetDto })
    @Problems('too_many_rows', 'unsupported_media_type', 'payload_too_large')
    async import(
      @Caller() caller: Caller,
      @StreamedBodyParam() body: BodyStream,
      @OptionalIdempotencyKey() key: string | undefined,
      @Res({ passthrough: true }) response: Response,
    ): Promise<string> {
      return answer(response, await this.sets.import(caller, body, key))
    }

    /** List change sets, newest first */
    @Get('change-sets')
    @ApiOkResponse({ type: ChangeSetsPageDto })
    async list(@Caller() caller: Caller, @Query() query: ChangeSetsQuery): Promise<ChangeSetsPage> {
      return this.sets.list(caller, query)
    }

    /** Read one change set */
    @Get('change-sets/:id')
    @ApiOkResponse({ type: ChangeSetDto })
    @Problems('change_set_not_found')
    async get(@Caller() caller: Caller, @IdParam('id') id: number): Promise<ChangeSetView> {
      return this.sets.get(caller, id)
    }

    /** List the rows of a change set, in order */
    @Get('change-sets/:id/rows')
    @ApiOkResponse({ type: dto.RowsPage })
    @Problems('change_set_not_found', 'change_set_state')
    async rows(@Caller() caller: Caller, @IdParam('id') id: number, @Query() query: RowsQuery): Promise<RowsPage> {
      return this.sets.rows(caller, id, query)
    }

    /** Export the rows of a change set as CSV */
    @Get('change-sets/:id/rows.csv')
    @ApiProduces(CSV)
    @ApiOkResponse(CSV_SCHEMA)
    @Problems('change_set_not_found', 'change_set_state')
    async rowsCsv(
      @Caller() caller: Caller,
      @IdParam('id') id: number,
      @Query() query: RowsCsvQuery,
      @Req() request: Request,
      @Res() response: Response,
    ): Promise<void> {
      await stream(request, response, await this.sets.rowsCsv(caller, id, query))
    }

    /** Apply a change set */
    @Post('change-sets/:id/apply')
    @HttpCode(202)
    @ApiAcceptedResponse({ type: ChangeSetDto })
    @Problems('change_set_not_found', 'version_mismatch', 'change_set_state', 'change_set_differs')
    async apply(@Caller() caller: Caller, @IdParam('id') id: number, @Body() body: ApplyDto): Promise<ChangeSetView> {
      return this.sets.apply(caller, id, body)
    }

    /** Revert a change set */
    @Post('change-sets/:id/revert')
    @HttpCode(202)
    @ApiAcceptedResponse({ type: ChangeSetDto })
    @Problems('change_set_not_found', 'version_mismatch', 'change_set_state')
    async revert(@Caller() caller: Caller, @IdParam('id') id: number, @Body() body: RevertDto): Promise<ChangeSetView> {
      return this.sets.revert(caller, id, body)
    }

    /** Drop a change set that was not applied */
    @Delete('change-sets/:id')
    @HttpCode(204)
    @ApiNoContentResponse({ description: 'Dropped.' })
    @Problems('change_set_not_found', 'change_set_state')
    async remove(@IdParam('id') id: number): Promise<void> {
      await this.sets.remove(id)
    }

    /** Export a list of quotas as CSV, newest first */
    @Get('export.csv')
    @ApiProduces(CSV)
    @ApiOkResponse(CSV_SCHEMA)
    async export(
      @Caller() caller: Caller,
      @Query() query: ExportQuery,
      @Req() request: Request,
      @Res() response: Response,
    ): Promise<void> {
      await stream(request, response, this.sets.export(caller, query))
    }
  }

  return ChangeSetController
}
