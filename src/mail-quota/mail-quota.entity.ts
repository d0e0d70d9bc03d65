import { Column, Entity, Index } from 'typeorm'
import { INTEGER } from '../database/column.js'
import { QuotaRow } from '../ledger/rows/quota.entity.js'

/**
 * How much a mail account may send. The indexes end in the id, so that every list is read newest first without sorting.
 */
@Entity('mail_quota')
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
@Index(['userId', 'deletedAt', 'id'])
@Index(['userId', 'deletedAt', 'state', 'id'])
export class MailQuota extends QuotaRow {
  /** The mail account. */
  @Column({ ...INTEGER, name: 'account_id', update: false })
  ownerId!: number

  /** The user who owns the account; null where the create named none. */
  @Column({ ...INTEGER, name: 'user_id', nullable: true, update: false })
  userId!: number | null
}
