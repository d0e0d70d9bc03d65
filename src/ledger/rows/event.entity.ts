import { Column, Index, PrimaryGeneratedColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER } from '../../database/column.js'
import type { EventType } from '../../quota/event-type.js'
import type { Instant } from '../../time/instant.js'

/**
 * What happened to a quota, written in the transaction of the act that brought it about. Only `position` changes after
 * that, once: from null to the event's place in the feed (`EventSequencer`).
 *
 * An act has at most one event of each type for each quota; each channel's entity says so by a unique index.
 */
@Index(['position'], { unique: true })
@Index(['actId', 'quotaId', 'type'], { unique: true })
@Index(['quotaId', 'type', 'position'])
@Index(['quotaId', 'position'])
@Index(['ownerId', 'type', 'position'])
@Index(['ownerId', 'position'])
@Index(['type', 'position'])
@Index(['at'])
export abstract class EventRow {
  /**
   * In the order in which events were written, but for those of transactions that ran side by side. An owner's
   * transactions run one after another, so events of one quota stand in the order of its acts.
   */
  @PrimaryGeneratedColumn('increment', { type: 'bigint' })
  seq!: number

  /** Its place in the channel's feed, from 1; null until its transaction is committed and it was numbered. */
  @Column({ ...INTEGER, nullable: true })
  position!: number | null

  /** A UUIDv7. */
  @Column(ascii(36))
  id!: string

  @Column(ascii(32))
  type!: EventType

  @Column(INSTANT)
  at!: Instant

  @Column({ ...INTEGER, name: 'owner_id' })
  ownerId!: number

  @Column({ ...INTEGER, name: 'quota_id' })
  quotaId!: number

  /** The act that brought it about. */
  @Column({ ...ascii(36), name: 'act_id' })
  actId!: string

  /** The change that it tells of; null for a threshold. */
  @Column({ ...INTEGER, name: 'change_id', nullable: true })
  changeId!: number | null

  /** JSON: its `data`, but for the change's id. */
  @Column({ type: 'text', name: 'data_json' })
  data!: string
}
