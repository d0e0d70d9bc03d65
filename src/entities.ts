import { InstanceRow } from './database/instance.entity.js'
import { entitiesOf } from './ledger/rows/channel.js'
import { MAIL_CHANGE_SETS } from './mail-quota/mail.channel.js'
import { SMS_CHANGE_SETS } from './sms-quota/sms.channel.js'
import { WebhookDeliveryRow, WebhookReaderRow, WebhookRow } from './webhook/webhook.entity.js'

/** Every channel of the service, with its change sets. */
const CHANNELS = [MAIL_CHANGE_SETS, SMS_CHANGE_SETS]

/** Every entity of the service. */
export const ENTITIES = [
  ...CHANNELS.flatMap(({ channel, set, item }) => [...entitiesOf(channel), set, item]),
  InstanceRow,
  WebhookRow,
  WebhookDeliveryRow,
  WebhookReaderRow,
]
