import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { UsageAuth } from '../auth/access.decorator.js'
import { usageController } from '../channel-api/usage.controller.js'
import { SMS_API } from './sms.channel.js'

/** What a user uses, asked before every message goes out. */
@ApiTags('SMS usage')
@Controller('api/sms/quota/usage')
@UsageAuth('sms')
export class SmsUsageController extends usageController(SMS_API) {}
