import { Inject, Injectable } from '@nestjs/common'
import { type OfficeReaders, OfficeService } from '../channel-api/office.service.js'
import { Clock } from '../clock/clock.js'
import type { SmsQuota } from './sms-quota.entity.js'
import { SMS_TOKENS } from './sms.channel.js'

/** The SMS quotas of all users, as those see them who look after them. */
@Injectable()
export class SmsOfficeService extends OfficeService<SmsQuota> {
  constructor(@Inject(SMS_TOKENS.office) readers: OfficeReaders<SmsQuota>, clock: Clock) {
    super(readers, clock)
  }
}
