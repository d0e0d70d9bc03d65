import type { ChangeSetChannel } from '../change-set/change-set-channel.js'
import { SmsChangeSet, SmsChangeSetItem } from './sms-change-set.entity.js'
import { CreateSmsQuotaDto, UpdateSmsQuotaDto } from './sms-quota.dto.js'
import type { SmsQuota } from './sms-quota.entity.js'
import { SMS } from './sms.channel.js'

/** What is sms in change sets. */
export const SMS_CHANGE_SETS: ChangeSetChannel<SmsQuota> = {
  channel: SMS,
  set: SmsChangeSet,
  item: SmsChangeSetItem,
  create: CreateSmsQuotaDto,
  update: UpdateSmsQuotaDto,
}

export const SMS_CHANGE_SET_ENTITIES = [SmsChangeSet, SmsChangeSetItem]
