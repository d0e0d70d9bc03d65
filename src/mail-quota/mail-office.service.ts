import { Inject, Injectable } from '@nestjs/common'
import { type OfficeReaders, OfficeService } from '../channel-api/office.service.js'
import { Clock } from '../clock/clock.js'
import type { MailQuota } from './mail-quota.entity.js'
import { MAIL_TOKENS } from './mail.channel.js'

/** The quotas of all mail accounts, as those see them who look after them. */
@Injectable()
export class MailOfficeService extends OfficeService<MailQuota> {
  constructor(@Inject(MAIL_TOKENS.office) readers: OfficeReaders<MailQuota>, clock: Clock) {
    super(readers, clock)
  }
}
