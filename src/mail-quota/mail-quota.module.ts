import { Module } from '@nestjs/common'
import { ChangeSetModule } from '../change-set/change-set.module.js'
import { LedgerModule } from '../channel-api/ledger.module.js'
import { MailChangeSetController } from './mail-change-set.controller.js'
import { MailGroupController } from './mail-group.controller.js'
import { MailLinkController } from './mail-link.controller.js'
import { MailReportController } from './mail-report.controller.js'
import { MailQuotaController } from './mail-quota.controller.js'
import { MailQuotaService } from './mail-quota.service.js'
import { MailUsageController } from './mail-usage.controller.js'
import { MAIL, MAIL_CHANGE_SETS } from './mail.channel.js'

const ledger = LedgerModule.forChannel(MAIL, MailQuotaService)

/** The mail channel: quotas and their usage. */
@Module({
  imports: [ledger, ChangeSetModule.forChannel(MAIL_CHANGE_SETS, ledger)],
  controllers: [
    MailUsageController,
    MailReportController,
    MailChangeSetController,
    MailGroupController,
    MailLinkController,
    MailQuotaController,
  ],
})
export class MailQuotaModule {}
