import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { ServiceAuth } from '../auth/access.decorator.js'
import { linkController } from '../channel-api/link.controller.js'
import { MAIL_API } from './mail.channel.js'

/** The links of mail accounts, for administrators. */
@ApiTags('Mail quotas')
@Controller(`${MAIL_API.path}/owners`)
@ServiceAuth('mail')
export class MailLinkController extends linkController(MAIL_API) {}
