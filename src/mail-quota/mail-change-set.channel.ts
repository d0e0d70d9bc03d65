import type { ChangeSetChannel } from '../change-set/change-set-channel.js'
import { MailChangeSet, MailChangeSetItem } from './mail-change-set.entity.js'
import { CreateMailQuotaDto, UpdateMailQuotaDto } from './mail-quota.dto.js'
import type { MailQuota } from './mail-quota.entity.js'
import { MAIL } from './mail.channel.js'

/** What is mail in change sets. */
export const MAIL_CHANGE_SETS: ChangeSetChannel<MailQuota> = {
  channel: MAIL,
  set: MailChangeSet,
  item: MailChangeSetItem,
  create: CreateMailQuotaDto,
  update: UpdateMailQuotaDto,
}

export const MAIL_CHANGE_SET_ENTITIES = [MailChangeSet, MailChangeSetItem]
