import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { AdminAuth } from '../auth/access.decorator.js'
import { changeSetController } from '../change-set/change-set.controller.js'
import { NewSmsChangeSet, SmsChangeSetRowsPage, SmsExportQuery } from './sms-change-set.dto.js'
import { SMS_API } from './sms.channel.js'

/** The change sets of SMS quotas. */
@ApiTags('SMS quotas')
@Controller(SMS_API.path)
@AdminAuth('sms')
export class SmsChangeSetController extends changeSetController({
  New: NewSmsChangeSet,
  RowsPage: SmsChangeSetRowsPage,
  ExportQuery: SmsExportQuery,
}) {}
