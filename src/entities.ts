import type { ChangeSetChannel } from './change-set/change-set-channel.js'
import { InstanceRow } from './database/instance.entity.js'
import { type AnyChannel, entitiesOf } from './ledger/rows/channel.js'
import { MAIL, MAIL_CHANGE_SETS } from './mail-quota/mail.channel.js'
import { SMS, SMS_CHANGE_SETS } from './sms-quota/sms.channel.js'
import { WebhookDeliveryRow, WebhookReaderRow, WebhookRow } from './webhook/webhook.entity.js'

const ofChannel = (channel: AnyChannel, { set, item }: Pick<ChangeSetChannel, 'set' | 'item'>) => [
  ...entitiesOf(channel),
  set,
  item,
]

/** Every entity of the service. */
export const ENTITIES = [
  ...ofChannel(MAIL, MAIL_CHANGE_SETS),
  ...ofChannel(SMS, SMS_CHANGE_SETS),
  InstanceRow,
  WebhookRow,
  WebhookDeliveryRow,
  WebhookReaderRow,
]
