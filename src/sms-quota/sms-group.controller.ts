import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { AdminAuth } from '../auth/access.decorator.js'
import { groupController } from '../channel-api/group.controller.js'
import { SmsAddMembers, SmsMembersPage } from './sms-group.dto.js'
import { SmsChangePage } from './sms-report.dto.js'
import { SMS_API } from './sms.channel.js'

/** The groups of SMS users. */
@ApiTags('SMS quotas')
@Controller(`${SMS_API.path}/groups`)
@AdminAuth('sms')
export class SmsGroupController extends groupController(SMS_API, {
  AddMembers: SmsAddMembers,
  MembersPage: SmsMembersPage,
  ChangePage: SmsChangePage,
}) {}
