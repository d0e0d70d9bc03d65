import { Module } from '@nestjs/common'
import { LedgerModule } from '../channel-api/ledger.module.js'
import { SmsOfficeController } from './sms-office.controller.js'
import { SmsQuotaController } from './sms-quota.controller.js'
import { SmsQuotaService } from './sms-quota.service.js'
import { SmsUsageController } from './sms-usage.controller.js'
import { SMS } from './sms.channel.js'

/** SMS: quotas and their usage. */
@Module({
  imports: [LedgerModule.forChannel(SMS, SmsQuotaService)],
  // Usage first: its paths would otherwise be taken for a quota's id.
  controllers: [SmsUsageController, SmsOfficeController, SmsQuotaController],
})
export class SmsQuotaModule {}
