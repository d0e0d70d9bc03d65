import { changeSetsOf } from '../change-set/change-set-channel.js'
import { channelApi } from '../channel-api/channel-api.js'
import type { Channel } from '../ledger/rows/channel.js'
import { ledgerTables } from '../ledger/rows/ledger-tables.js'
import { MailQuota } from './mail-quota.entity.js'

/** The mail channel: limits accounts; a quota may also name the account's user. */
export const MAIL: Channel<MailQuota> = {
  name: 'mail',
  subjects: [
    { field: 'account_id', property: 'ownerId' },
    { field: 'user_id', property: 'userId' },
  ],
  quota: MailQuota,
  ...ledgerTables('mail'),
}

/** The options of the mail channel's API. */
export const MAIL_API = channelApi({
  channel: MAIL,
  schema: 'Mail',
  path: '/api/v1/quotas',
  quotasRule: 'service',
  owner: { noun: 'account', one: 'an account', limited: 'The mail account that the quota limits.' },
  others: {
    user_id: {
      example: 3,
      create: 'The user who owns the account.',
      list: 'Only those that name this user.',
      quota: 'The user who owns the account; null where the create named none.',
    },
  },
})

/** The mail channel's part of change sets. */
export const MAIL_CHANGE_SETS = changeSetsOf(MAIL, MAIL_API)
