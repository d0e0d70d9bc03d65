import { Column, PrimaryColumn } from 'typeorm'
import { ascii, ID, INSTANT, INTEGER } from '../../database/column.js'
import type { Instant } from '../../common/instant.js'

/** The progress of a channel's upkeep, and its lease; one row. */
export abstract class LedgerStateRow {
  /** Always 1. */
  @PrimaryColumn(INTEGER)
  id!: number

  /** Acts up to this id are in the totals, later ones are not. */
  @Column({ ...ID, name: 'folded_to' })
  foldedTo!: string

  /** The ledger is complete from this instant on; null: from its first act on. */
  @Column({ ...INSTANT, name: 'begins_at', nullable: true })
  beginsAt!: Instant | null

  /** Everything due for removal before this instant is removed; null before the first round. */
  @Column({ ...INSTANT, name: 'removed_to', nullable: true })
  removedTo!: Instant | null

  /** The instance that runs upkeep; null: none. */
  @Column({ ...ascii(36), nullable: true })
  holder!: string | null

  /** The end of its lease, unless renewed. */
  @Column({ ...INSTANT, name: 'held_until', nullable: true })
  heldUntil!: Instant | null
}
