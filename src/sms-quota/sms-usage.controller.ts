import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { UsageAuth } from '../auth/access.decorator.js'
import { usageController } from '../channel-api/usage.controller.js'
import {
  SmsBatch,
  SmsBatchAnswer,
  SmsBatchItem,
  SmsCheckQuery,
  SmsConsume,
  SmsLedgerPage,
  SmsLedgerQuery,
  SmsOperation,
  SmsReserve,
  SmsSeriesQuery,
} from './sms-usage.dto.js'
import { SMS_API } from './sms.channel.js'

/** The usage of SMS quotas. */
@ApiTags('SMS usage')
@Controller('api/sms/quota/usage')
@UsageAuth('sms')
export class SmsUsageController extends usageController(SMS_API, {
  Consume: SmsConsume,
  Batch: SmsBatch,
  BatchItem: SmsBatchItem,
  Reserve: SmsReserve,
  CheckQuery: SmsCheckQuery,
  SeriesQuery: SmsSeriesQuery,
  LedgerQuery: SmsLedgerQuery,
  Operation: SmsOperation,
  BatchAnswer: SmsBatchAnswer,
  LedgerPage: SmsLedgerPage,
}) {}
