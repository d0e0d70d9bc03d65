import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { UsageAuth } from '../auth/access.decorator.js'
import { usageController } from '../channel-api/usage.controller.js'
import {
  MailBatch,
  MailBatchAnswer,
  MailBatchItem,
  MailCheckQuery,
  MailConsume,
  MailLedgerPage,
  MailLedgerQuery,
  MailOperation,
  MailReserve,
  MailSeriesQuery,
} from './mail-usage.dto.js'
import { MAIL_API } from './mail.channel.js'

/** The usage of mail quotas. */
@ApiTags('Mail usage')
@Controller('api/v1/quotas/usage')
@UsageAuth('mail')
export class MailUsageController extends usageController(MAIL_API, {
  Consume: MailConsume,
  Batch: MailBatch,
  BatchItem: MailBatchItem,
  Reserve: MailReserve,
  CheckQuery: MailCheckQuery,
  SeriesQuery: MailSeriesQuery,
  LedgerQuery: MailLedgerQuery,
  Operation: MailOperation,
  BatchAnswer: MailBatchAnswer,
  LedgerPage: MailLedgerPage,
}) {}
