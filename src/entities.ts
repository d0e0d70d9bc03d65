import { InstanceRow } from './database/instance.entity.js'
import { MAIL_CHANGE_SET_ENTITIES } from './mail-quota/mail-change-set.channel.js'
import { MAIL_ENTITIES } from './mail-quota/mail.channel.js'
import { SMS_CHANGE_SET_ENTITIES } from './sms-quota/sms-change-set.channel.js'
import { SMS_ENTITIES } from './sms-quota/sms.channel.js'
import { WebhookDeliveryRow, WebhookReaderRow, WebhookRow } from './webhook/webhook.entity.js'

const WEBHOOK_ENTITIES = [WebhookRow, WebhookDeliveryRow, WebhookReaderRow]

/** Every entity of the service. */
export const ENTITIES = [
  ...MAIL_ENTITIES,
  ...SMS_ENTITIES,
  ...MAIL_CHANGE_SET_ENTITIES,
  ...SMS_CHANGE_SET_ENTITIES,
  InstanceRow,
  ...WEBHOOK_ENTITIES,
]
