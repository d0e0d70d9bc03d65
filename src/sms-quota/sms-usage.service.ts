import { Inject, Injectable } from '@nestjs/common'
import { UsageService } from '../channel-api/usage.service.js'
import { ItemChecker } from '../http/dto.pipe.js'
import { Ledger } from '../ledger/ledger.js'
import { QuotaReader } from '../ledger/quota-reader.js'
import { UsageReader } from '../ledger/usage-reader.js'
import type { SmsQuota } from './sms-quota.entity.js'
import { SMS_TOKENS } from './sms.channel.js'

/** What a user uses of its quotas. */
@Injectable()
export class SmsUsageService extends UsageService<SmsQuota> {
  constructor(
    @Inject(SMS_TOKENS.ledger) ledger: Ledger<SmsQuota>,
    @Inject(SMS_TOKENS.quotas) quotas: QuotaReader<SmsQuota>,
    @Inject(SMS_TOKENS.usage) usage: UsageReader<SmsQuota>,
    checker: ItemChecker,
  ) {
    super(ledger, quotas, usage, checker)
  }
}
