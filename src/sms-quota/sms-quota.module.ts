import { Module } from '@nestjs/common'
import { channelProviders } from '../channel-api/channel.providers.js'
import { SmsOfficeController } from './sms-office.controller.js'
import { SmsOfficeService } from './sms-office.service.js'
import { SmsQuotaController } from './sms-quota.controller.js'
import { SmsQuotaService } from './sms-quota.service.js'
import { SmsUsageController } from './sms-usage.controller.js'
import { SmsUsageService } from './sms-usage.service.js'
import { SMS, SMS_TOKENS } from './sms.channel.js'

/** SMS: quotas and their usage. */
@Module({
  // Usage first: its paths would otherwise be taken for a quota's id.
  controllers: [SmsUsageController, SmsOfficeController, SmsQuotaController],
  providers: [...channelProviders(SMS, SMS_TOKENS), SmsOfficeService, SmsQuotaService, SmsUsageService],
  exports: [SMS_TOKENS.ledger, SMS_TOKENS.sweeper],
})
export class SmsQuotaModule {}
