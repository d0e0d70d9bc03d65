import { Column, Index, PrimaryColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER } from '../../database/column.js'
import type { Instant } from '../../common/instant.js'

/**
 * One row for each owner, created with its first quota or membership: the lock that every write takes first. The row
 * with the negative id of a group is the lock of its shared counters.
 */
@Index(['groupId', 'ownerId'])
@Index(['broughtBy', 'broughtAt'])
export abstract class OwnerRow {
  @PrimaryColumn({ ...INTEGER, name: 'owner_id' })
  ownerId!: number

  /**
   * Counts the batches that edited the owner's quotas, on a cluster all that wrote, so that concurrent ones on
   * different nodes conflict.
   */
  @Column({ ...INTEGER, default: 0 })
  edits!: number

  /** The group that the owner is a member of; null: none. */
  @Column({ ...INTEGER, name: 'group_id', nullable: true })
  groupId!: number | null

  /** The time since which it is a member. */
  @Column({ ...INSTANT, name: 'member_since', nullable: true })
  memberSince!: Instant | null

  /**
   * The principal that brought the owner in through the default group, by its first consume or reserve (`storedName`).
   * Null for an owner that an administrator made known.
   */
  @Column({ ...ascii(64), name: 'brought_by', nullable: true })
  broughtBy!: string | null

  /** The time of that. */
  @Column({ ...INSTANT, name: 'brought_at', nullable: true })
  broughtAt!: Instant | null

  /** Counts how often the owner's links were revoked: a link opens only in the generation in which it was made. */
  @Column({ ...INTEGER, name: 'link_generation', default: 0 })
  linkGeneration!: number
}
