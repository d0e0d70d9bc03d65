import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { AdminAuth } from '../auth/access.decorator.js'
import { changeSetController } from '../change-set/change-set.controller.js'
import { SMS_API } from './sms.channel.js'

/** Many SMS quotas changed as one: looked at first, applied once, undone as a whole. */
@ApiTags('SMS quotas')
@Controller(SMS_API.path)
@AdminAuth('sms')
export class SmsChangeSetController extends changeSetController(SMS_API) {}
