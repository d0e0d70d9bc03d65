import { Column, Entity } from 'typeorm'
import { INTEGER } from '../database/column.js'
import { QuotaRow } from '../ledger/rows/quota.entity.js'

/** How many SMS a user may send. Soft delete and all that SMS shares with other channels stands in `QuotaRow`. */
@Entity('sms_quota')
export class SmsQuota extends QuotaRow {
  /** The user. */
  @Column({ ...INTEGER, name: 'user_id', update: false })
  ownerId!: number
}
