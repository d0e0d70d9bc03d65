import { Body, Get, HttpCode, Injectable, Post, Query } from '@nestjs/common'
import { ApiOkResponse, ApiOperation } from '@nestjs/swagger'
import { Caller } from '../auth/caller.decorator.js'
import type { DtoClass } from '../http/dto.js'
import { Problems } from '../http/problem.decorator.js'
import type { EventsPage } from '../ledger/feed/event-reader.js'
import type { CapTrialView } from '../ledger/read/cap-trial-reader.js'
import type { ChangesPage } from '../ledger/read/change-reader.js'
import type { ExpiringPage } from '../ledger/read/expiring-reader.js'
import type { OwnersPage } from '../ledger/read/owner-reader.js'
import type { RefusalView, TopRefusalView } from '../ledger/read/refusal-reader.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { CapTrialDto, type CapTrialFields } from './cap-trial.dto.js'
import type { ChannelApi } from './channel-api.js'
import type { EventsFields, EventsPageFields } from './event.dto.js'
import {
  type ChangesFields,
  type ChangesPageFields,
  type ExpiringPageFields,
  ExpiringQuery,
  type OwnersPageFields,
  OwnersQuery,
  RefusalsDto,
  type RefusalsFields,
  TopRefusalsQuery,
} from './report.dto.js'
import { ReportService } from './report.service.js'

/** A channel's DTO classes of reports. */
export interface ReportDtos {
  readonly OwnersPage: DtoClass<OwnersPageFields>
  readonly ChangesQuery: DtoClass<ChangesFields>
  readonly ChangesPage: DtoClass<ChangesPageFields>
  readonly TopRefusals: DtoClass
  readonly RefusalsQuery: DtoClass<RefusalsFields>
  readonly ExpiringPage: DtoClass<ExpiringPageFields>
  readonly CapTrial: DtoClass<CapTrialFields>
  readonly EventsQuery: DtoClass<EventsFields>
  readonly EventsPage: DtoClass<EventsPageFields>
}

/**
 * The reports on all quotas of a channel, for administrators. The channel's controller extends the class and declares
 * its path and access rule.
 */
export function reportController({ owner }: ChannelApi, dto: ReportDtos) {
  // Each is a value and a type, as a class is: Nest takes the class of a parameter from its type.
  const { ChangesQuery, RefusalsQuery, CapTrial, EventsQuery } = dto
  type ChangesQuery = InstanceType<typeof ChangesQuery>
  type RefusalsQuery = InstanceType<typeof RefusalsQuery>
  type CapTrial = InstanceType<typeof CapTrial>
  type EventsQuery = InstanceType<typeof EventsQuery>

  @Injectable()
  class ReportController {
    constructor(protected readonly reports: ReportService<QuotaRow>) {}

    /** List all owners that ever had a quota */
    @Get('owners')
    @ApiOkResponse({ type: dto.OwnersPage })
    async owners(@Caller() caller: Caller, @Query() query: OwnersQuery): Promise<OwnersPage> {
      return this.reports.owners(caller, query)
    }

    /** List the changes of all quotas, newest first */
    @Get('changes')
    @ApiOkResponse({ type: dto.ChangesPage })
    async changes(@Caller() caller: Caller, @Query() query: ChangesQuery): Promise<ChangesPage> {
      return this.reports.changes(caller, query)
    }

    /** List the owners with most refusals */
    @Get('refusals/top')
    @ApiOkResponse({ type: dto.TopRefusals })
    async topRefusals(
      @Caller() caller: Caller,
      @Query() query: TopRefusalsQuery,
    ): Promise<{ items: TopRefusalView[] }> {
      return this.reports.topRefusals(caller, query)
    }

    /** List the refusals of one owner, or of all, by hour, newest first */
    @Get('refusals')
    @ApiOperation({ summary: `List the refusals of ${owner.one}, or of all, by hour, newest first` })
    @ApiOkResponse({ type: RefusalsDto })
    async refusals(@Caller() caller: Caller, @Query() query: RefusalsQuery): Promise<{ items: RefusalView[] }> {
      return this.reports.refusals(caller, query)
    }

    /** List the quotas that expire soon, soonest first */
    @Get('expiring')
    @ApiOkResponse({ type: dto.ExpiringPage })
    async expiring(@Caller() caller: Caller, @Query() query: ExpiringQuery): Promise<ExpiringPage> {
      return this.reports.expiring(caller, query)
    }

    /** Tell what a cap would have refused of an owner in the last days; nothing changes */
    @Post('caps/preview')
    @HttpCode(200)
    @ApiOperation({ summary: `Tell what a cap would have refused of ${owner.one} in the last days; nothing changes` })
    @ApiOkResponse({ type: CapTrialDto })
    async capTrial(@Caller() caller: Caller, @Body() body: CapTrial): Promise<CapTrialView> {
      return this.reports.capTrial(caller, body)
    }

    /** List the events of quotas and owners, oldest first */
    @Get('events')
    @ApiOkResponse({ type: dto.EventsPage })
    @Problems('cursor_expired')
    async events(@Caller() caller: Caller, @Query() query: EventsQuery): Promise<EventsPage> {
      return this.reports.events(caller, query)
    }
  }

  return ReportController
}
