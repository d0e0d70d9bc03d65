import { changeSetsOf } from '../change-set/change-set-channel.js'
import type { ChannelApi } from '../channel-api/channel-api.js'
import type { Channel } from '../ledger/rows/channel.js'
import { ledgerTables } from '../ledger/rows/ledger-tables.js'
import { CreateSmsQuota, UpdateSmsQuota } from './sms-quota.dto.js'
import { SmsQuota } from './sms-quota.entity.js'

/** The SMS channel: limits users. */
export const SMS: Channel<SmsQuota> = {
  name: 'sms',
  subjects: [{ field: 'user_id', property: 'ownerId' }],
  quota: SmsQuota,
  ...ledgerTables('sms'),
}

/** The SMS channel's part of the API. */
export const SMS_API: ChannelApi = {
  channel: SMS,
  path: '/api/sms/admin/quota',
  quotasRule: 'admin',
  owner: { noun: 'user', one: 'a user' },
}

/** The SMS channel's part of change sets. */
export const SMS_CHANGE_SETS = changeSetsOf(SMS, { create: CreateSmsQuota, update: UpdateSmsQuota })
