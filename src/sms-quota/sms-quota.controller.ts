import { Controller, Get, Query } from '@nestjs/common'
import { ApiOkResponse, ApiTags } from '@nestjs/swagger'
import { AdminAuth } from '../auth/access.decorator.js'
import { Caller } from '../auth/caller.decorator.js'
import { quotaController } from '../channel-api/quota.controller.js'
import type { SummaryView } from '../ledger/read/quota-reader.js'
import {
  CreateSmsQuota,
  SmsQuotaDto,
  SmsQuotaListQuery,
  SmsQuotaPage,
  SmsSummary,
  SmsSummaryQuery,
  UpdateSmsQuota,
} from './sms-quota.dto.js'
import type { SmsQuota } from './sms-quota.entity.js'
import { SmsQuotaService } from './sms-quota.service.js'
import { SmsChangePage } from './sms-report.dto.js'
import { SMS_API } from './sms.channel.js'

/** The SMS quotas of users, for administrators. The base class has the routes that all channels share. */
@ApiTags('SMS quotas')
@Controller(SMS_API.path)
@AdminAuth('sms')
export class SmsQuotaController extends quotaController<SmsQuota>(SMS_API, {
  Create: CreateSmsQuota,
  Update: UpdateSmsQuota,
  Quota: SmsQuotaDto,
  ChangePage: SmsChangePage,
}) {
  constructor(protected override readonly quotas: SmsQuotaService) {
    super(quotas)
  }

  /** List quotas, newest first */
  @Get('list')
  @ApiOkResponse({ type: SmsQuotaPage })
  async list(@Caller() caller: Caller, @Query() query: SmsQuotaListQuery): Promise<string> {
    return this.quotas.list(caller, query)
  }

  /** Add up a user's active quotas */
  @Get('summary')
  @ApiOkResponse({ type: SmsSummary })
  async summary(@Query() { user_id }: SmsSummaryQuery): Promise<SummaryView> {
    return this.quotas.summary(user_id)
  }
}
