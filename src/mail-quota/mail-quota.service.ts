import { Inject, Injectable } from '@nestjs/common'
import { QuotaService } from '../channel-api/quota.service.js'
import { Ledger } from '../ledger/ledger.js'
import { QuotaReader } from '../ledger/quota-reader.js'
import type { MailQuota } from './mail-quota.entity.js'
import { MAIL_TOKENS } from './mail.channel.js'

/** The quotas of mail accounts. */
@Injectable()
export class MailQuotaService extends QuotaService<MailQuota> {
  constructor(
    @Inject(MAIL_TOKENS.ledger) ledger: Ledger<MailQuota>,
    @Inject(MAIL_TOKENS.quotas) reader: QuotaReader<MailQuota>,
  ) {
    super(ledger, reader)
  }
}
