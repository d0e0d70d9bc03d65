import type { ChangeSetChannel } from './change-set/change-set-channel.js'
import { InstanceRow } from './database/instance.entity.js'
import { entitiesOf } from './ledger/rows/channel.js'
import { MAIL_CHANGE_SETS } from './mail-quota/mail.channel.js'
import { SMS_CHANGE_SETS } from './sms-quota/sms.channel.js'
import { WebhookDeliveryRow, WebhookReaderRow, WebhookRow } from './webhook/webhook.entity.js'

/**
 * Every channel of the service, with its change sets: the source of the tables and of the rows that `npm run verify`
 * examines. The type names only what the quotas of all channels have.
 */
export const CHANNELS = [MAIL_CHANGE_SETS, SMS_CHANGE_SETS] as readonly ChangeSetChannel[]

/** All entities of the service. */
export const ENTITIES = [
  ...CHANNELS.flatMap(({ channel, set, item }) => [...entitiesOf(channel), set, item]),
  InstanceRow,
  WebhookRow,
  WebhookDeliveryRow,
  WebhookReaderRow,
]
