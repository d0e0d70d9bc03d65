import { changeSetsOf } from '../change-set/change-set-channel.js'
import { channelApi } from '../channel-api/channel-api.js'
import type { Channel } from '../ledger/rows/channel.js'
import { ledgerTables } from '../ledger/rows/ledger-tables.js'
import { SmsQuota } from './sms-quota.entity.js'

/** SMS: a user is limited. */
export const SMS: Channel<SmsQuota> = {
  name: 'sms',
  subjects: [{ field: 'user_id', property: 'ownerId' }],
  quota: SmsQuota,
  ...ledgerTables('sms'),
}

/** How SMS is spoken of on the wire. */
export const SMS_API = channelApi({
  channel: SMS,
  schema: 'Sms',
  path: '/api/sms/admin/quota',
  quotasRule: 'admin',
  owner: { noun: 'user', one: 'a user', limited: 'The user whom the quota limits.' },
  others: {},
})

/** What is SMS in change sets. */
export const SMS_CHANGE_SETS = changeSetsOf(SMS, SMS_API)
