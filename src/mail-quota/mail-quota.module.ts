import { Module } from '@nestjs/common'
import { channelProviders } from '../channel-api/channel.providers.js'
import { MailOfficeController } from './mail-office.controller.js'
import { MailOfficeService } from './mail-office.service.js'
import { MailQuotaController } from './mail-quota.controller.js'
import { MailQuotaService } from './mail-quota.service.js'
import { MailUsageController } from './mail-usage.controller.js'
import { MailUsageService } from './mail-usage.service.js'
import { MAIL, MAIL_TOKENS } from './mail.channel.js'

/** Mail: quotas and their usage. */
@Module({
  // Usage first: its paths would otherwise be taken for a quota's id.
  controllers: [MailUsageController, MailOfficeController, MailQuotaController],
  providers: [...channelProviders(MAIL, MAIL_TOKENS), MailOfficeService, MailQuotaService, MailUsageService],
  exports: [MAIL_TOKENS.ledger, MAIL_TOKENS.sweeper],
})
export class MailQuotaModule {}
