import { Entity, Index } from 'typeorm'
import { ChangeSetItemRow } from '../change-set/change-set-item.entity.js'
import { ChangeSetRow } from '../change-set/change-set.entity.js'

@Entity('mail_change_set')
@Index(['hidden', 'id'])
@Index(['state', 'id'])
@Index(['work', 'id'])
export class MailChangeSet extends ChangeSetRow {}

@Entity('mail_change_set_item')
@Index(['setId', 'outcome', 'row'])
@Index(['setId', 'ownerId', 'row'])
@Index(['quotaId', 'version'])
export class MailChangeSetItem extends ChangeSetItemRow {}
