import { Column, Index, PrimaryGeneratedColumn } from 'typeorm'
import { ascii, ID, INSTANT, INTEGER, UNICODE_TEXT, unicode } from '../../database/column.js'
import type { EventType } from '../../domain/event-type.js'
import { MAX_LABEL_LENGTH } from '../../domain/label.js'
import type { Instant } from '../../common/instant.js'

/**
 * An event of a quota, written in the transaction of its act, or one of an owner's refusals, written with its spell
 * (`Spells`). Later only `position` changes, once: from null to the event's place in the feed (`EventSequencer`).
 *
 * An act has at most one event of each type for each quota; a unique index of each channel's entity enforces this.
 */
@Index(['position'], { unique: true })
@Index(['actId', 'quotaId', 'type'], { unique: true })
@Index(['quotaId', 'type', 'position'])
@Index(['quotaId', 'position'])
@Index(['ownerId', 'type', 'position'])
@Index(['ownerId', 'position'])
@Index(['groupId', 'position'])
@Index(['type', 'position'])
@Index(['at'])
export abstract class EventRow {
  /**
   * In the order in which events were written, except for concurrent transactions. An owner's transactions run one
   * after another, so events of one quota are in the order of its acts.
   */
  @PrimaryGeneratedColumn('increment', { type: 'bigint' })
  seq!: number

  /** Its place in the channel's feed, from 1; null until its transaction is committed and it is numbered. */
  @Column({ ...INTEGER, nullable: true })
  position!: number | null

  /** A UUIDv7. */
  @Column(ID)
  id!: string

  @Column(ascii(32))
  type!: EventType

  @Column(INSTANT)
  at!: Instant

  @Column({ ...INTEGER, name: 'owner_id' })
  ownerId!: number

  /** The group of the quota, or that the owner belongs to; null: none. */
  @Column({ ...INTEGER, name: 'group_id', nullable: true })
  groupId!: number | null

  /** Null for an event of an owner. */
  @Column({ ...INTEGER, name: 'quota_id', nullable: true })
  quotaId!: number | null

  /** Its act; null for an event of an owner, and of a count that passes a threshold by following an edit. */
  @Column({ ...ID, name: 'act_id', nullable: true })
  actId!: string | null

  /** Its change; null if it tells of none. */
  @Column({ ...INTEGER, name: 'change_id', nullable: true })
  changeId!: number | null

  /** The quota's label right after the act, or one of the owner's; for texts, which must not change later. */
  @Column({ ...unicode(MAX_LABEL_LENGTH), nullable: true })
  label!: string | null

  /** The end of the quota's count right after the act, or its own end; null: none, or an event of an owner. */
  @Column({ ...INSTANT, name: 'until_at', nullable: true })
  until!: Instant | null

  /** JSON: its `data`, without the change's id. */
  @Column({ ...UNICODE_TEXT, name: 'data_json' })
  data!: string
}
