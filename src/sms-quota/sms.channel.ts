import { type ChannelTokens } from '../channel-api/channel.providers.js'
import { type Channel, entitiesOf } from '../ledger/channel.js'
import { SmsAct, SmsAllocation, SmsChange, SmsHold, SmsOperation, SmsOwner, SmsRefusal } from './sms-ledger.entity.js'
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
}

export const SMS_ENTITIES = entitiesOf(SMS)

export const SMS_TOKENS = {
  ledger: Symbol('sms ledger'),
  quotas: Symbol('sms quotas'),
  usage: Symbol('sms usage'),
  sweeper: Symbol('sms sweeper'),
  office: Symbol('sms office'),
} satisfies ChannelTokens<SmsQuota>
