import { Module } from '@nestjs/common'
import { ChangeSetModule } from '../change-set/change-set.module.js'
import { LedgerModule } from '../channel-api/ledger.module.js'
import { SmsChangeSetController } from './sms-change-set.controller.js'
import { SmsGroupController } from './sms-group.controller.js'
import { SmsLinkController } from './sms-link.controller.js'
import { SmsReportController } from './sms-report.controller.js'
import { SmsQuotaController } from './sms-quota.controller.js'
import { SmsQuotaService } from './sms-quota.service.js'
import { SmsUsageController } from './sms-usage.controller.js'
import { SMS, SMS_CHANGE_SETS } from './sms.channel.js'

const ledger = LedgerModule.forChannel(SMS, SmsQuotaService)

/** The SMS channel: quotas and their usage. */
@Module({
  imports: [ledger, ChangeSetModule.forChannel(SMS_CHANGE_SETS, ledger)],
  controllers: [
    SmsUsageController,
    SmsReportController,
    SmsChangeSetController,
    SmsGroupController,
    SmsLinkController,
    SmsQuotaController,
  ],
})
export class SmsQuotaModule {}
