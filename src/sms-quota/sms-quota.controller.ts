import { Controller, Get, Query } from '@nestjs/common'
import { ApiOkResponse, ApiTags } from '@nestjs/swagger'
import { AdminAuth } from '../auth/access.decorator.js'
import { Caller } from '../auth/caller.decorator.js'
import { QueryAs } from '../channel-api/dto-class.js'
import { quotaController } from '../channel-api/quota.controller.js'
import type { QuotaListFields } from '../channel-api/quota.dto.js'
import type { SummaryView } from '../ledger/read/quota-reader.js'
import { SmsSummaryQuery } from './sms-quota.dto.js'
import type { SmsQuota } from './sms-quota.entity.js'
import { SmsQuotaService } from './sms-quota.service.js'
import { SMS_API } from './sms.channel.js'

/** The SMS quotas of users, for administrators. The base class has the routes that all channels share. */
@ApiTags('SMS quotas')
@Controller(SMS_API.path)
@AdminAuth('sms')
export class SmsQuotaController extends quotaController<SmsQuota>(SMS_API) {
  constructor(protected override readonly quotas: SmsQuotaService) {
    super(quotas)
  }

  /** List quotas, newest first */
  @Get('list')
  @ApiOkResponse({ type: SMS_API.dto.QuotaPage })
  async list(@Caller() caller: Caller, @QueryAs(SMS_API.dto.ListQuery) query: QuotaListFields): Promise<string> {
    return this.quotas.list(caller, query)
  }

  /** Add up a user's active quotas */
  @Get('summary')
  @ApiOkResponse({ type: SMS_API.dto.Summary })
  async summary(@Query() { user_id }: SmsSummaryQuery): Promise<SummaryView> {
    return this.quotas.summary(user_id)
  }
}
