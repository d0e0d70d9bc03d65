import { Column, Index, PrimaryColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER } from '../../database/column.js'
import type { Instant } from '../../time/instant.js'

export const OPERATION_KINDS = ['consume', 'reserve'] as const
export type OperationKind = (typeof OPERATION_KINDS)[number]

export const OPERATION_STATES = ['consumed', 'reserved', 'committed', 'released', 'expired'] as const
export type OperationState = (typeof OPERATION_STATES)[number]

/**
 * A consume or a reservation with what became of it through its acts: they write all that does not say `update: false`.
 */
@Index(['ownerId', 'id'])
export abstract class OperationRow {
  /** UUIDv7, so that newest first is by id. */
  @PrimaryColumn(ascii(36))
  id!: string

  @Column({ ...INTEGER, name: 'owner_id', update: false })
  ownerId!: number

  @Column({ ...ascii(8), update: false })
  kind!: OperationKind

  /** As far as it is written down: a hold that is due may still say `reserved` here. */
  @Column(ascii(10))
  state!: OperationState

  /** Units asked for. */
  @Column({ ...INTEGER, update: false })
  amount!: number

  /** Units spent, gross: what was refunded later is still in here. */
  @Column(INTEGER)
  charged!: number

  /** Units of `charged` that came back; 0 … charged. */
  @Column(INTEGER)
  refunded!: number

  /** What the owner had left right after the operation's last act. */
  @Column({ ...INTEGER, name: 'owner_remaining' })
  ownerRemaining!: number

  /** When the hold ends by itself; null for a consume. */
  @Column({ ...INSTANT, name: 'expires_at', nullable: true, update: false })
  expiresAt!: Instant | null

  @Column({ ...INSTANT, name: 'created_at', update: false })
  createdAt!: Instant
}
