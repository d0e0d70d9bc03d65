import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { ServiceAuth } from '../auth/access.decorator.js'
import { reportController } from '../channel-api/report.controller.js'
import { MAIL_API } from './mail.channel.js'

/** The reports on all mail quotas, for administrators. */
@ApiTags('Mail quotas')
@Controller(MAIL_API.path)
@ServiceAuth('mail')
export class MailReportController extends reportController(MAIL_API) {}
