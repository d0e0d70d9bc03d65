import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { UsageAuth } from '../auth/access.decorator.js'
import { usageController } from '../channel-api/usage.controller.js'
import { MAIL_API } from './mail.channel.js'

/** The usage of mail quotas. */
@ApiTags('Mail usage')
@Controller('api/v1/quotas/usage')
@UsageAuth('mail')
export class MailUsageController extends usageController(MAIL_API) {}
