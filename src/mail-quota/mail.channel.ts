import { type Channel, entitiesOf } from '../ledger/rows/channel.js'
import {
  MailAct,
  MailAllocation,
  MailCaller,
  MailChange,
  MailEvent,
  MailEventFeed,
  MailHold,
  MailLedgerGate,
  MailLedgerState,
  MailOperation,
  MailOwner,
  MailRefusal,
  MailUsageTotal,
} from './mail-ledger.entity.js'
import { MailQuota } from './mail-quota.entity.js'

/** Mail: an account is limited; its user may be named. */
export const MAIL: Channel<MailQuota> = {
  name: 'mail',
  people: [
    { field: 'account_id', property: 'ownerId' },
    { field: 'user_id', property: 'userId' },
  ],
  quota: MailQuota,
  owner: MailOwner,
  act: MailAct,
  operation: MailOperation,
  allocation: MailAllocation,
  hold: MailHold,
  change: MailChange,
  refusal: MailRefusal,
  usageTotal: MailUsageTotal,
  ledgerState: MailLedgerState,
  caller: MailCaller,
  ledgerGate: MailLedgerGate,
  event: MailEvent,
  eventFeed: MailEventFeed,
}

export const MAIL_ENTITIES = entitiesOf(MAIL)
