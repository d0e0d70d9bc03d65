import { Controller, Get } from '@nestjs/common'
import { ApiOkResponse, ApiTags } from '@nestjs/swagger'
import { ServiceAuth } from '../auth/access.decorator.js'
import { Caller } from '../auth/caller.decorator.js'
import { QueryAs } from '../channel-api/dto-class.js'
import { quotaController } from '../channel-api/quota.controller.js'
import type { QuotaListFields } from '../channel-api/quota.dto.js'
import { IdParam } from '../http/id-param.decorator.js'
import type { SummaryView } from '../ledger/read/quota-reader.js'
import type { MailQuota } from './mail-quota.entity.js'
import { MailQuotaService } from './mail-quota.service.js'
import { MAIL_API } from './mail.channel.js'

/** The quotas of mail accounts, for services and administrators. The routes that all channels have are inherited. */
@ApiTags('Mail quotas')
@Controller(MAIL_API.path)
@ServiceAuth('mail')
export class MailQuotaController extends quotaController<MailQuota>(MAIL_API) {
  constructor(protected override readonly quotas: MailQuotaService) {
    super(quotas)
  }

  /** List quotas, newest first */
  @Get()
  @ApiOkResponse({ type: MAIL_API.dto.QuotaPage })
  async list(@Caller() caller: Caller, @QueryAs(MAIL_API.dto.ListQuery) query: QuotaListFields): Promise<string> {
    return this.quotas.list(caller, query)
  }

  /** Add up an account's active quotas */
  @Get('summary/:accountID')
  @ApiOkResponse({ type: MAIL_API.dto.Summary })
  async summary(@IdParam('accountID') accountId: number): Promise<SummaryView> {
    return this.quotas.summary(accountId)
  }
}
