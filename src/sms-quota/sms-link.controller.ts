import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { AdminAuth } from '../auth/access.decorator.js'
import { linkController } from '../channel-api/link.controller.js'
import { SMS_API } from './sms.channel.js'

/** The links of users of SMS, for administrators. */
@ApiTags('SMS quotas')
@Controller(`${SMS_API.path}/owners`)
@AdminAuth('sms')
export class SmsLinkController extends linkController(SMS_API) {}
