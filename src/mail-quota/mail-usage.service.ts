import { Inject, Injectable } from '@nestjs/common'
import { UsageService } from '../channel-api/usage.service.js'
import { ItemChecker } from '../http/dto.pipe.js'
import { Ledger } from '../ledger/ledger.js'
import { QuotaReader } from '../ledger/quota-reader.js'
import { UsageReader } from '../ledger/usage-reader.js'
import type { MailQuota } from './mail-quota.entity.js'
import { MAIL_TOKENS } from './mail.channel.js'

/** What a mail account uses of its quotas. */
@Injectable()
export class MailUsageService extends UsageService<MailQuota> {
  constructor(
    @Inject(MAIL_TOKENS.ledger) ledger: Ledger<MailQuota>,
    @Inject(MAIL_TOKENS.quotas) quotas: QuotaReader<MailQuota>,
    @Inject(MAIL_TOKENS.usage) usage: UsageReader<MailQuota>,
    checker: ItemChecker,
  ) {
    super(ledger, quotas, usage, checker)
  }
}
