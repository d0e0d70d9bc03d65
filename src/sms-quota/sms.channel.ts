import { changeSetsOf } from '../change-set/change-set-channel.js'
import { channelApi } from '../channel-api/channel-api.js'
import type { Channel } from '../ledger/rows/channel.js'
import { ledgerTables } from '../ledger/rows/ledger-tables.js'
import { SmsQuota } from './sms-quota.entity.js'

/** The SMS channel: limits users. */
export const SMS: Channel<SmsQuota> = {
  name: 'sms',
  subjects: [{ field: 'user_id', property: 'ownerId' }],
  quota: SmsQuota,
  ...ledgerTables('sms'),
}

/** The options of the SMS channel's API. */
export const SMS_API = channelApi({
  channel: SMS,
  schema: 'Sms',
  path: '/api/sms/admin/quota',
  quotasRule: 'admin',
  owner: { noun: 'user', one: 'a user', limited: 'The user whom the quota limits.' },
  others: {},
})

/** The SMS channel's part of change sets. */
export const SMS_CHANGE_SETS = changeSetsOf(SMS, SMS_API)
