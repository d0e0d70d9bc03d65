import { Inject, Injectable } from '@nestjs/common'
import { QuotaService } from '../channel-api/quota.service.js'
import { Ledger } from '../ledger/ledger.js'
import { QuotaReader } from '../ledger/quota-reader.js'
import type { SmsQuota } from './sms-quota.entity.js'
import { SMS_TOKENS } from './sms.channel.js'

/** The SMS quotas of users. */
@Injectable()
export class SmsQuotaService extends QuotaService<SmsQuota> {
  constructor(
    @Inject(SMS_TOKENS.ledger) ledger: Ledger<SmsQuota>,
    @Inject(SMS_TOKENS.quotas) reader: QuotaReader<SmsQuota>,
  ) {
    super(ledger, reader)
  }
}
