import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { ServiceAuth } from '../auth/access.decorator.js'
import { groupController } from '../channel-api/group.controller.js'
import { MailAddMembers, MailMembersPage } from './mail-group.dto.js'
import { MailChangePage } from './mail-report.dto.js'
import { MAIL_API } from './mail.channel.js'

/** The groups of mail accounts. */
@ApiTags('Mail quotas')
@Controller(`${MAIL_API.path}/groups`)
@ServiceAuth('mail')
export class MailGroupController extends groupController(MAIL_API, {
  AddMembers: MailAddMembers,
  MembersPage: MailMembersPage,
  ChangePage: MailChangePage,
}) {}
