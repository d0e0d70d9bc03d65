import { Column, Entity, Index } from 'typeorm'
import { INTEGER } from '../database/column.js'
import { QuotaRow } from '../ledger/rows/quota.entity.js'

/** How many SMS a user may send. The indexes end in the id, so that every list is read newest first without sorting. */
@Entity('sms_quota')
@Index(['deletedAt', 'id'])
@Index(['deletedAt', 'state', 'id'])
@Index(['deletedAt', 'state', 'expireAt'])
@Index(['deleted', 'id'])
@Index(['deleted', 'labelSearch', 'id'])
@Index(['deleted', 'cap', 'id'])
@Index(['deleted', 'cap', 'state', 'id'])
@Index(['deleted', 'cap', 'state', 'expireAt'])
@Index(['ownerId', 'deletedAt', 'id'])
@Index(['ownerId', 'deletedAt', 'state', 'id'])
export class SmsQuota extends QuotaRow {
  /** The user. */
  @Column({ ...INTEGER, name: 'user_id', update: false })
  ownerId!: number
}
