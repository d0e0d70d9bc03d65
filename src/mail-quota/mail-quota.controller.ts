import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { ServiceAuth } from '../auth/access.decorator.js'
import { listedQuotaController } from '../channel-api/quota.controller.js'
import type { MailQuota } from './mail-quota.entity.js'
import { MailQuotaService } from './mail-quota.service.js'
import {
  CreateMailQuota,
  MailQuotaDto,
  MailQuotaListQuery,
  MailQuotaPage,
  MailSummary,
  UpdateMailQuota,
} from './mail-quota.dto.js'
import { MailChangePage } from './mail-report.dto.js'
import { MAIL_API } from './mail.channel.js'

/** The quotas of mail accounts, for services and administrators. */
@ApiTags('Mail quotas')
@Controller(MAIL_API.path)
@ServiceAuth('mail')
export class MailQuotaController extends listedQuotaController<MailQuota>(MAIL_API, {
  Create: CreateMailQuota,
  Update: UpdateMailQuota,
  Quota: MailQuotaDto,
  ChangePage: MailChangePage,
  ListQuery: MailQuotaListQuery,
  QuotaPage: MailQuotaPage,
  Summary: MailSummary,
}) {
  constructor(protected override readonly quotas: MailQuotaService) {
    super(quotas)
  }
}
