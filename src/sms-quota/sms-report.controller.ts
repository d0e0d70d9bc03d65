import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { AdminAuth } from '../auth/access.decorator.js'
import { reportController } from '../channel-api/report.controller.js'
import {
  SmsCapTrial,
  SmsChangesPage,
  SmsChangesQuery,
  SmsEventsPage,
  SmsEventsQuery,
  SmsExpiringPage,
  SmsOwnersPage,
  SmsRefusalsQuery,
  SmsTopRefusals,
} from './sms-report.dto.js'
import { SMS_API } from './sms.channel.js'

/** The reports on all SMS quotas, for administrators. */
@ApiTags('SMS quotas')
@Controller(SMS_API.path)
@AdminAuth('sms')
export class SmsReportController extends reportController(SMS_API, {
  OwnersPage: SmsOwnersPage,
  ChangesQuery: SmsChangesQuery,
  ChangesPage: SmsChangesPage,
  TopRefusals: SmsTopRefusals,
  RefusalsQuery: SmsRefusalsQuery,
  ExpiringPage: SmsExpiringPage,
  CapTrial: SmsCapTrial,
  EventsQuery: SmsEventsQuery,
  EventsPage: SmsEventsPage,
}) {}
