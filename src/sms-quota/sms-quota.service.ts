import { Injectable } from '@nestjs/common'
import { QuotaService } from '../channel-api/quota.service.js'
import type { SmsQuota } from './sms-quota.entity.js'

/** The quotas of SMS users. */
@Injectable()
export class SmsQuotaService extends QuotaService<SmsQuota> {}
