import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { ServiceAuth } from '../auth/access.decorator.js'
import { officeController } from '../channel-api/office.controller.js'
import { MAIL_API } from './mail.channel.js'

/** The quotas of all mail accounts, for those who look after them. */
@ApiTags('Mail quotas')
@Controller(MAIL_API.path)
@ServiceAuth('mail')
export class MailOfficeController extends officeController(MAIL_API) {}
