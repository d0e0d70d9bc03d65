import { Controller } from '@nestjs/common'
import { ApiTags } from '@nestjs/swagger'
import { ServiceAuth } from '../auth/access.decorator.js'
import { reportController } from '../channel-api/report.controller.js'
import {
  MailCapTrial,
  MailChangesPage,
  MailChangesQuery,
  MailEventsPage,
  MailEventsQuery,
  MailExpiringPage,
  MailOwnersPage,
  MailRefusalsQuery,
  MailTopRefusals,
} from './mail-report.dto.js'
import { MAIL_API } from './mail.channel.js'

/** The reports on all mail quotas, for administrators. */
@ApiTags('Mail quotas')
@Controller(MAIL_API.path)
@ServiceAuth('mail')
export class MailReportController extends reportController(MAIL_API, {
  OwnersPage: MailOwnersPage,
  ChangesQuery: MailChangesQuery,
  ChangesPage: MailChangesPage,
  TopRefusals: MailTopRefusals,
  RefusalsQuery: MailRefusalsQuery,
  ExpiringPage: MailExpiringPage,
  CapTrial: MailCapTrial,
  EventsQuery: MailEventsQuery,
  EventsPage: MailEventsPage,
}) {}
