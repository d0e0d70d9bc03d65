import { Module } from '@nestjs/common'
import { LedgerModule } from '../channel-api/ledger.module.js'
import { MailOfficeController } from './mail-office.controller.js'
import { MailQuotaController } from './mail-quota.controller.js'
import { MailQuotaService } from './mail-quota.service.js'
import { MailUsageController } from './mail-usage.controller.js'
import { MAIL } from './mail.channel.js'

/** Mail: quotas and their usage. */
@Module({
  imports: [LedgerModule.forChannel(MAIL, MailQuotaService)],
  // Usage first: its paths would otherwise be taken for a quota's id.
  controllers: [MailUsageController, MailOfficeController, MailQuotaController],
})
export class MailQuotaModule {}
