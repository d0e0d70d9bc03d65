import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { UsageAuth } from '../auth/access.decorator.js'
import { usageController } from '../channel-api/usage.controller.js'
import { SMS_API } from './sms.channel.js'

/** The usage of SMS quotas. */
@ApiTags('SMS usage')
@Controller('api/sms/quota/usage')
@UsageAuth('sms')
export class SmsUsageController extends usageController(SMS_API) {}
