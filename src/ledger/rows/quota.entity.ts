import { Check, Column, DeleteDateColumn, Index, PrimaryGeneratedColumn } from 'typeorm'
import { ascii, ASCII_TEXT, COUNT_NUMBER, INSTANT, INTEGER, unicode, WINDOW } from '../../database/column.js'
import type { CycleUnit } from '../../domain/cycle.js'
import { MAX_LABEL_LENGTH, MAX_STORED_LENGTH } from '../../domain/label.js'
import type { CapMode, Per, QuotaState, QuotaType, Status } from '../../domain/quota.js'
import type { RollingWindow } from '../../domain/rolling-window.js'
import type { Instant } from '../../common/instant.js'

/**
 * A stored quota; each channel's entity adds its owner. `QuotaState` documents the columns.
 *
 * The create writes every column, and each edit those without `update: false`.
 * Only the ledger writes these rows, under the owner's lock; the one exception is the sweep that stores `expired`.
 * The indexes end in the id, so that every list is read newest first without sorting.
 */
@Check('`used` >= 0 AND `reserved` >= 0 AND `total` >= 0')
@Index(['deletedAt', 'id'])
@Index(['deletedAt', 'state', 'id'])
@Index(['deletedAt', 'state', 'expireAt'])
@Index(['deleted', 'id'])
@Index(['deleted', 'labelSearch', 'id'])
@Index(['deleted', 'cap', 'id'])
@Index(['deleted', 'cap', 'state', 'id'])
@Index(['deleted', 'cap', 'state', 'expireAt'])
@Index(['ownerId', 'deletedAt', 'id'])
@Index(['ownerId', 'deletedAt', 'state', 'id'])
@Index(['ownerId', 'follows'], { unique: true })
@Index(['follows', 'id'])
@Index(['follows', 'copiesVersion'])
export abstract class QuotaRow implements QuotaState {
  @PrimaryGeneratedColumn('increment', { type: 'bigint' })
  id!: number

  /** The owner; the negative id of a group for the quotas of a group. */
  abstract ownerId: number

  @Column({ name: 'quota_type', type: 'tinyint', update: false })
  quotaType!: QuotaType

  @Column(INTEGER)
  total!: number

  @Column({ ...INTEGER, default: 0 })
  used!: number

  @Column({ ...INTEGER, default: 0 })
  reserved!: number

  /** The opening balance of the create: the part of `used` in count 0 that no operation explains. */
  @Column({ ...INTEGER, name: 'opening_used', default: 0, update: false })
  openingUsed!: number

  @Column(ascii(8))
  state!: Status

  @Column({ ...INSTANT, name: 'expire_at', nullable: true })
  expireAt!: Instant | null

  @Column({ ...ascii(8), name: 'cycle_unit', nullable: true })
  cycleUnit!: CycleUnit | null

  @Column({ ...ascii(64), name: 'cycle_time_zone', nullable: true })
  cycleTimeZone!: string | null

  @Column({ ...INSTANT, name: 'cycle_anchor_at', nullable: true })
  cycleAnchorAt!: Instant | null

  @Column({ ...INSTANT, name: 'cycle_ends_at', nullable: true })
  cycleEndsAt!: Instant | null

  @Column({ ...COUNT_NUMBER, name: 'cycle_seq', default: 0 })
  cycleSeq!: number

  @Column({ ...INSTANT, name: 'hold_due_at', nullable: true })
  holdDueAt!: Instant | null

  /** Starts at 1 and counts edits of the settings, including delete and restore; usage does not change it. */
  @Column({ ...INTEGER, default: 1 })
  version!: number

  @Column({ ...INSTANT, name: 'created_at', update: false })
  createdAt!: Instant

  /** The time of the last edit of the settings. */
  @Column({ ...INSTANT, name: 'updated_at' })
  updatedAt!: Instant

  /** Soft delete: the row stays for its history and can be restored. */
  @DeleteDateColumn({ ...INSTANT, name: 'deleted_at' })
  deletedAt!: Instant | null

  @Column({ ...unicode(MAX_LABEL_LENGTH), nullable: true })
  label!: string | null

  @Column({ ...ascii(7), nullable: true })
  cap!: CapMode | null

  @Column({ ...INTEGER, name: 'window_seconds', nullable: true })
  windowSeconds!: number | null

  @Column({ ...ascii(40), nullable: true })
  thresholds!: string | null

  @Column({ ...ascii(320), nullable: true })
  passed!: string | null

  @Column({ ...ASCII_TEXT, name: 'window_counts', nullable: true, transformer: WINDOW })
  window!: RollingWindow | null

  @Column({ ...INTEGER, name: 'group_id', nullable: true, update: false })
  groupId!: number | null

  @Column({ ...ascii(6), nullable: true, update: false })
  per!: Per | null

  @Column({ ...INTEGER, nullable: true, update: false })
  follows!: number | null

  @Column({ ...ascii(160), nullable: true })
  overrides!: string | null

  @Column({ ...INSTANT, name: 'count_began_at', nullable: true })
  countBeganAt!: Instant | null

  /**
   * Of a quota that counts follow: how often the columns of its counts became outdated, by an edit or a changed chain.
   * Of a count: the value for which its columns are a copy. Null for other quotas.
   */
  @Column({ ...INTEGER, name: 'copies_version', nullable: true })
  copiesVersion!: number | null

  /** The label in the form that the filter compares (`storedForSearch`); only for statements. */
  @Column({ ...unicode(MAX_STORED_LENGTH), name: 'label_search', nullable: true, select: false })
  labelSearch?: string | null

  /**
   * Is `deleted_at` set? The store computes it; by it, deleted quotas are also read newest first by an index.
   */
  @Column({
    type: 'tinyint',
    generatedType: 'VIRTUAL',
    asExpression: '`deleted_at` IS NOT NULL',
    nullable: true,
    select: false,
    insert: false,
    update: false,
  })
  deleted?: 0 | 1
}
