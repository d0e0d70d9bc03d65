import { Column, Index, PrimaryColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER, UNICODE_TEXT } from '../database/column.js'
import type { Instant } from '../common/instant.js'
import type { Outcome } from './change-set.entity.js'

/** The actions of rows. */
export const ITEM_ACTIONS = ['create', 'update', 'delete', 'reset'] as const
export type ItemAction = (typeof ITEM_ACTIONS)[number]

/** One row of a change set: the change of one quota, and its outcome. */
@Index(['setId', 'outcome', 'row'])
@Index(['setId', 'ownerId', 'row'])
@Index(['quotaId', 'version'])
export abstract class ChangeSetItemRow {
  @PrimaryColumn({ ...INTEGER, name: 'set_id' })
  setId!: number

  /** From 1, in order of `quota_id` or of the file. */
  @PrimaryColumn({ ...INTEGER, name: 'row_number' })
  row!: number

  /** The line at which the record begins; null without a file. */
  @Column({ ...INTEGER, nullable: true })
  line!: number | null

  /** Null for a create that was not applied, and if the record names none. */
  @Column({ ...INTEGER, name: 'quota_id', nullable: true })
  quotaId!: number | null

  @Column({ ...INTEGER, name: 'owner_id', nullable: true })
  ownerId!: number | null

  @Column(ascii(6))
  action!: ItemAction

  @Column(ascii(9))
  outcome!: Outcome | 'pending'

  /** The version of the quota at the time of the decision. */
  @Column({ ...INTEGER, nullable: true })
  version!: number | null

  /** The anchor of the quota's cycle at that time, for a revert. */
  @Column({ ...INSTANT, name: 'anchor_at', nullable: true })
  anchorAt!: Instant | null

  /** The version of the quota right after the row was applied. */
  @Column({ ...INTEGER, name: 'applied_version', nullable: true })
  appliedVersion!: number | null

  /** The version of the quota right after the row was reverted. */
  @Column({ ...INTEGER, name: 'reverted_version', nullable: true })
  revertedVersion!: number | null

  /** JSON: the cells of the record, in order of the change set's columns; null without a file. */
  @Column({ ...UNICODE_TEXT, nullable: true })
  given!: string | null

  /** JSON: the command that applies the row; null if there is none. */
  @Column({ ...UNICODE_TEXT, nullable: true })
  command!: string | null

  @Column({ ...UNICODE_TEXT, name: 'before_json', nullable: true })
  before!: string | null

  @Column({ ...UNICODE_TEXT, name: 'after_json', nullable: true })
  after!: string | null

  /** JSON: the reason why it was not applied or reverted. */
  @Column({ ...UNICODE_TEXT, nullable: true })
  problem!: string | null
}
