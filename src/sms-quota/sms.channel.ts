import { type Channel, entitiesOf } from '../ledger/rows/channel.js'
import {
  SmsAct,
  SmsAllocation,
  SmsCaller,
  SmsChange,
  SmsEvent,
  SmsEventFeed,
  SmsHold,
  SmsLedgerGate,
  SmsLedgerState,
  SmsOperation,
  SmsOwner,
  SmsRefusal,
  SmsUsageTotal,
} from './sms-ledger.entity.js'
import { SmsQuota } from './sms-quota.entity.js'

/** SMS: a user is limited. */
export const SMS: Channel<SmsQuota> = {
  name: 'sms',
  people: [{ field: 'user_id', property: 'ownerId' }],
  quota: SmsQuota,
  owner: SmsOwner,
  act: SmsAct,
  operation: SmsOperation,
  allocation: SmsAllocation,
  hold: SmsHold,
  change: SmsChange,
  refusal: SmsRefusal,
  usageTotal: SmsUsageTotal,
  ledgerState: SmsLedgerState,
  caller: SmsCaller,
  ledgerGate: SmsLedgerGate,
  event: SmsEvent,
  eventFeed: SmsEventFeed,
}

export const SMS_ENTITIES = entitiesOf(SMS)
