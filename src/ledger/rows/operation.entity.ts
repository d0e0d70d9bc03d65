import { Column, Index, PrimaryColumn } from 'typeorm'
import { ID, INSTANT, INTEGER, oneOf } from '../../database/column.js'
import type { Instant } from '../../common/instant.js'

export const OPERATION_KINDS = ['consume', 'reserve'] as const
export type OperationKind = (typeof OPERATION_KINDS)[number]

export const OPERATION_STATES = ['consumed', 'reserved', 'committed', 'released', 'expired'] as const
export type OperationState = (typeof OPERATION_STATES)[number]

/**
 * A consume or a reservation with the effects of its acts, which update every column without `update: false`.
 */
@Index(['ownerId', 'id'])
export abstract class OperationRow {
  /** UUIDv7, so that newest first is by id. */
  @PrimaryColumn(ID)
  id!: string

  @Column({ ...INTEGER, name: 'owner_id', update: false })
  ownerId!: number

  @Column({ ...oneOf(OPERATION_KINDS), update: false })
  kind!: OperationKind

  /** The recorded state: a due hold may still be `reserved` here. */
  @Column(oneOf(OPERATION_STATES))
  state!: OperationState

  /** Units requested. */
  @Column({ ...INTEGER, update: false })
  amount!: number

  /** Units spent, gross: including units refunded later. */
  @Column(INTEGER)
  charged!: number

  /** Refunded units of `charged`; 0 … charged. */
  @Column(INTEGER)
  refunded!: number

  /** The owner's remaining amount right after the operation's last act. */
  @Column({ ...INTEGER, name: 'owner_remaining' })
  ownerRemaining!: number

  /** The expiry of the hold; null for a consume. */
  @Column({ ...INSTANT, name: 'expires_at', nullable: true, update: false })
  expiresAt!: Instant | null

  @Column({ ...INSTANT, name: 'created_at', update: false })
  createdAt!: Instant
}
