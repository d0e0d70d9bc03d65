import { Controller, Get, Query } from '@nestjs/common'
import { ApiOkResponse, ApiTags } from '@nestjs/swagger'
import { AdminAuth } from '../auth/access.decorator.js'
import { Caller } from '../auth/caller.decorator.js'
import { ExpiringQuery, OwnersQuery, RefusalsDto, TopRefusalsQuery } from '../channel-api/office.dto.js'
import { OfficeService } from '../channel-api/office.service.js'
import { Problems } from '../http/problem.decorator.js'
import type { ChangesPage } from '../ledger/read/change-reader.js'
import type { EventsPage } from '../ledger/feed/event-reader.js'
import type { ExpiringPage } from '../ledger/read/expiring-reader.js'
import type { OwnersPage } from '../ledger/read/owner-reader.js'
import type { RefusalView, TopRefusalView } from '../ledger/read/refusal-reader.js'
import {
  SmsChangesPageDto,
  SmsChangesQuery,
  SmsEventsPageDto,
  SmsEventsQuery,
  SmsExpiringPageDto,
  SmsOwnersPageDto,
  SmsRefusalsQuery,
  SmsTopRefusalsDto,
} from './sms-office.dto.js'
import type { SmsQuota } from './sms-quota.entity.js'

/** The SMS quotas of all users, for those who look after them. */
@ApiTags('SMS quotas')
@Controller('api/sms/admin/quota')
@AdminAuth('sms')
export class SmsOfficeController {
  constructor(private readonly office: OfficeService<SmsQuota>) {}

  /** List everybody who ever had a quota */
  @Get('owners')
  @ApiOkResponse({ type: SmsOwnersPageDto })
  async owners(@Caller() caller: Caller, @Query() query: OwnersQuery): Promise<OwnersPage> {
    return this.office.owners(caller, query)
  }

  /** List the changes of all quotas, newest first */
  @Get('changes')
  @ApiOkResponse({ type: SmsChangesPageDto })
  async changes(@Caller() caller: Caller, @Query() query: SmsChangesQuery): Promise<ChangesPage> {
    return this.office.changes(caller, query)
  }

  /** Say who was refused most */
  @Get('refusals/top')
  @ApiOkResponse({ type: SmsTopRefusalsDto })
  async topRefusals(@Caller() caller: Caller, @Query() query: TopRefusalsQuery): Promise<{ items: TopRefusalView[] }> {
    return this.office.topRefusals(caller, query)
  }

  /** Say how often a user was refused, hour by hour, newest first */
  @Get('refusals')
  @ApiOkResponse({ type: RefusalsDto })
  async refusals(@Caller() caller: Caller, @Query() query: SmsRefusalsQuery): Promise<{ items: RefusalView[] }> {
    return this.office.refusals(caller, query)
  }

  /** List the quotas that end soon, soonest first */
  @Get('expiring')
  @ApiOkResponse({ type: SmsExpiringPageDto })
  async expiring(@Caller() caller: Caller, @Query() query: ExpiringQuery): Promise<ExpiringPage> {
    return this.office.expiring(caller, query)
  }

  /** List what happened to quotas, oldest first */
  @Get('events')
  @ApiOkResponse({ type: SmsEventsPageDto })
  @Problems('cursor_expired')
  async events(@Caller() caller: Caller, @Query() query: SmsEventsQuery): Promise<EventsPage> {
    return this.office.events(caller, query)
  }
}
