import { Column, Index, PrimaryColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER } from '../../database/column.js'
import type { Instant } from '../../time/instant.js'

/**
 * An open reservation; the row goes when the hold is settled. Small, so that finding the due ones stays cheap however
 * long the ledger is.
 */
@Index(['ownerId', 'expiresAt'])
@Index(['expiresAt'])
export abstract class HoldRow {
  @PrimaryColumn({ ...ascii(36), name: 'operation_id' })
  operationId!: string

  @Column({ ...INTEGER, name: 'owner_id' })
  ownerId!: number

  @Column({ ...INSTANT, name: 'expires_at' })
  expiresAt!: Instant
}
