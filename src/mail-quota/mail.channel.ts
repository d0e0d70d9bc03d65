import { changeSetsOf } from '../change-set/change-set-channel.js'
import type { ChannelApi } from '../channel-api/channel-api.js'
import type { Channel } from '../ledger/rows/channel.js'
import { ledgerTables } from '../ledger/rows/ledger-tables.js'
import { CreateMailQuota, UpdateMailQuota } from './mail-quota.dto.js'
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

/** The mail channel's part of the API. */
export const MAIL_API: ChannelApi = {
  channel: MAIL,
  path: '/api/v1/quotas',
  quotasRule: 'service',
  owner: { noun: 'account', one: 'an account' },
}

/** The mail channel's part of change sets. */
export const MAIL_CHANGE_SETS = changeSetsOf(MAIL, { create: CreateMailQuota, update: UpdateMailQuota })
