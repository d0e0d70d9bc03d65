import { Column, PrimaryColumn } from 'typeorm'
import { INTEGER } from '../../database/column.js'

/** The last position of a channel's feed, and the last removed one; one row. */
export abstract class EventFeedRow {
  /** Always 1. */
  @PrimaryColumn(INTEGER)
  id!: number

  /** The position of the last numbered event; 0 before the first. */
  @Column({ ...INTEGER, name: 'last_position' })
  lastPosition!: number

  /** Events up to this position are removed; 0 if none is. */
  @Column({ ...INTEGER, name: 'removed_to' })
  removedTo!: number
}
