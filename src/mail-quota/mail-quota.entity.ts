import { Column, Entity, Index } from 'typeorm'
import { INTEGER } from '../database/column.js'
import { QuotaRow } from '../ledger/rows/quota.entity.js'

/** A quota of a mail account. `QuotaRow` has the columns that all channels share. */
@Entity('mail_quota')
@Index(['userId', 'deletedAt', 'id'])
@Index(['userId', 'deletedAt', 'state', 'id'])
export class MailQuota extends QuotaRow {
  /** The mail account. */
  @Column({ ...INTEGER, name: 'account_id', update: false })
  ownerId!: number

  /** The user who owns the account; null if the create named none. */
  @Column({ ...INTEGER, name: 'user_id', nullable: true, update: false })
  userId!: number | null
}
