import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { AdminAuth } from '../auth/access.decorator.js'
import { reportController } from '../channel-api/report.controller.js'
import { SMS_API } from './sms.channel.js'

/** The reports on all SMS quotas, for administrators. */
@ApiTags('SMS quotas')
@Controller(SMS_API.path)
@AdminAuth('sms')
export class SmsReportController extends reportController(SMS_API) {}
