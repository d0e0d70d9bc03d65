import { Column, PrimaryColumn } from 'typeorm'
import { INTEGER } from '../../database/column.js'

/** One row for each owner, created with its first quota: the lock that every write takes first. */
export abstract class OwnerRow {
  @PrimaryColumn({ ...INTEGER, name: 'owner_id' })
  ownerId!: number

  /**
   * Counts the batches that edited the owner's quotas, on a cluster all that wrote, so that concurrent ones on
   * different nodes conflict.
   */
  @Column({ ...INTEGER, default: 0 })
  edits!: number
}
