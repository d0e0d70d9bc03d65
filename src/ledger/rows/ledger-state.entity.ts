import { Column, PrimaryColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER } from '../../database/column.js'
import type { Instant } from '../../time/instant.js'

/** What a channel's upkeep has done, and who does it; one row. */
export abstract class LedgerStateRow {
  /** Always 1. */
  @PrimaryColumn(INTEGER)
  id!: number

  /** Acts up to this id are in the totals, those after it are not. */
  @Column({ ...ascii(36), name: 'folded_to' })
  foldedTo!: string

  /** From this instant on the ledger is whole; null: it is from its first act on. */
  @Column({ ...INSTANT, name: 'begins_at', nullable: true })
  beginsAt!: Instant | null

  /** What was due to go before this instant is gone; null before the first round. */
  @Column({ ...INSTANT, name: 'removed_to', nullable: true })
  removedTo!: Instant | null

  /** The instance that keeps house at present; null: nobody. */
  @Column({ ...ascii(36), nullable: true })
  holder!: string | null

  /** Until when, unless it says so again. */
  @Column({ ...INSTANT, name: 'held_until', nullable: true })
  heldUntil!: Instant | null
}
