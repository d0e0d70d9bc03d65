import { Column, Entity } from 'typeorm'
import { INTEGER } from '../database/column.js'
import { QuotaRow } from '../ledger/rows/quota.entity.js'

/** A quota of an SMS user. `QuotaRow` has the columns that all channels share. */
@Entity('sms_quota')
export class SmsQuota extends QuotaRow {
  /** The user. */
  @Column({ ...INTEGER, name: 'user_id', update: false })
  ownerId!: number
}
