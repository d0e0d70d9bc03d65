import { Column, PrimaryColumn } from 'typeorm'
import { INTEGER } from '../../database/column.js'

/** How far a channel's events are numbered, and from where on they are kept; one row. */
export abstract class EventFeedRow {
  /** Always 1. */
  @PrimaryColumn(INTEGER)
  id!: number

  /** The position of the last event that has one; 0 before the first. */
  @Column({ ...INTEGER, name: 'last_position' })
  lastPosition!: number

  /** Events up to this position are removed; 0 where none is. */
  @Column({ ...INTEGER, name: 'removed_to' })
  removedTo!: number
}
