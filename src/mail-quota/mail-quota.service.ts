import { Injectable } from '@nestjs/common'
import { QuotaService } from '../channel-api/quota.service.js'
import type { MailQuota } from './mail-quota.entity.js'

/** The quotas of mail accounts. */
@Injectable()
export class MailQuotaService extends QuotaService<MailQuota> {}
