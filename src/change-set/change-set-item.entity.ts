import { Column, Index, PrimaryColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER } from '../database/column.js'
import type { Instant } from '../time/instant.js'
import type { Outcome } from './change-set.entity.js'

/** What a row does. */
export const ITEM_ACTIONS = ['create', 'update', 'delete', 'reset'] as const
export type ItemAction = (typeof ITEM_ACTIONS)[number]

/** One row of a change set: what is to be done with one quota, and what became of it. */
@Index(['setId', 'outcome', 'row'])
@Index(['setId', 'ownerId', 'row'])
@Index(['quotaId', 'version'])
export abstract class ChangeSetItemRow {
  @PrimaryColumn({ ...INTEGER, name: 'set_id' })
  setId!: number

  /** From 1, by quota or in the order of the file. */
  @PrimaryColumn({ ...INTEGER, name: 'row_number' })
  row!: number

  /** Where the record begins in its file; null without a file. */
  @Column({ ...INTEGER, nullable: true })
  line!: number | null

  /** Null of a create that was not applied, and where the file names none. */
  @Column({ ...INTEGER, name: 'quota_id', nullable: true })
  quotaId!: number | null

  @Column({ ...INTEGER, name: 'owner_id', nullable: true })
  ownerId!: number | null

  @Column(ascii(6))
  action!: ItemAction

  @Column(ascii(9))
  outcome!: Outcome | 'pending'

  /** The quota's that it was decided on. */
  @Column({ ...INTEGER, nullable: true })
  version!: number | null

  /** The quota's anchor by then, for whoever takes the change back. */
  @Column({ ...INSTANT, name: 'anchor_at', nullable: true })
  anchorAt!: Instant | null

  /** The quota's version right after it was applied. */
  @Column({ ...INTEGER, name: 'applied_version', nullable: true })
  appliedVersion!: number | null

  /** The quota's version right after it was taken back. */
  @Column({ ...INTEGER, name: 'reverted_version', nullable: true })
  revertedVersion!: number | null

  /** JSON: the record's cells, in the order of the set's columns; null without a file. */
  @Column({ type: 'text', nullable: true })
  given!: string | null

  /** JSON: the command that does it; null where there is none. */
  @Column({ type: 'text', nullable: true })
  command!: string | null

  @Column({ type: 'text', name: 'before_json', nullable: true })
  before!: string | null

  @Column({ type: 'text', name: 'after_json', nullable: true })
  after!: string | null

  /** JSON: why it was not done. */
  @Column({ type: 'text', nullable: true })
  problem!: string | null
}
