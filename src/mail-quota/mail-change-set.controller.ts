import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { ServiceAuth } from '../auth/access.decorator.js'
import { changeSetController } from '../change-set/change-set.controller.js'
import { MailChangeSetRowsPage, MailExportQuery, NewMailChangeSet } from './mail-change-set.dto.js'
import { MAIL_API } from './mail.channel.js'

/** The change sets of mail quotas. */
@ApiTags('Mail quotas')
@Controller(MAIL_API.path)
@ServiceAuth('mail')
export class MailChangeSetController extends changeSetController({
  New: NewMailChangeSet,
  RowsPage: MailChangeSetRowsPage,
  ExportQuery: MailExportQuery,
}) {}
