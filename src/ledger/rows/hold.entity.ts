import { Column, Index, PrimaryColumn } from 'typeorm'
import { ID, INSTANT, INTEGER } from '../../database/column.js'
import type { Instant } from '../../common/instant.js'

/**
 * An open reservation: one row for the operation's owner, and one for each group of whose quotas it keeps units. The
 * rows are removed when the hold is settled. The table is small, so that due holds are found at low cost, however long
 * the ledger is.
 */
@Index(['ownerId', 'expiresAt'])
@Index(['expiresAt'])
export abstract class HoldRow {
  @PrimaryColumn({ ...ID, name: 'operation_id' })
  operationId!: string

  @PrimaryColumn({ ...INTEGER, name: 'owner_id' })
  ownerId!: number

  @Column({ ...INSTANT, name: 'expires_at' })
  expiresAt!: Instant
}
