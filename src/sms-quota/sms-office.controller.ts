import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { AdminAuth } from '../auth/access.decorator.js'
import { officeController } from '../channel-api/office.controller.js'
import { SMS_API } from './sms.channel.js'

/** The SMS quotas of all users, for those who look after them. */
@ApiTags('SMS quotas')
@Controller(SMS_API.path)
@AdminAuth('sms')
export class SmsOfficeController extends officeController(SMS_API) {}
