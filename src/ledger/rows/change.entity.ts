import { Column, Index, PrimaryGeneratedColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER, unicode } from '../../database/column.js'
import type { Instant } from '../../time/instant.js'

export const CHANGE_ACTIONS = ['create', 'update', 'delete', 'restore', 'reset'] as const
export type ChangeAction = (typeof CHANGE_ACTIONS)[number]

/**
 * A change of a quota's settings, with its actor and the values before and after, or a reset of its counters; written
 * with the change.
 */
@Index(['quotaId', 'id'])
@Index(['ownerId', 'id'])
@Index(['actor', 'id'])
@Index(['action', 'id'])
@Index(['requestId', 'id'])
@Index(['at', 'id'])
@Index(['changeSetId', 'quotaId'])
export abstract class ChangeRow {
  @PrimaryGeneratedColumn('increment', { type: 'bigint' })
  id!: number

  @Column({ ...INTEGER, name: 'quota_id' })
  quotaId!: number

  /** The quota's owner; null in rows of release 0.1.0, until the sweeper sets it. */
  @Column({ ...INTEGER, name: 'owner_id', nullable: true })
  ownerId!: number | null

  @Column(ascii(8))
  action!: ChangeAction

  /** The principal's name (`storedName`). */
  @Column(ascii(64))
  actor!: string

  /** The same in Unicode, where it differs (`unicodeName`). */
  @Column({ ...unicode(64), name: 'actor_name', nullable: true })
  actorName!: string | null

  @Column({ ...ascii(128), name: 'request_id' })
  requestId!: string

  @Column(INSTANT)
  at!: Instant

  /** JSON: the changed settings, before. */
  @Column({ type: 'text', name: 'before_json' })
  before!: string

  /** JSON: the same settings, after. */
  @Column({ type: 'text', name: 'after_json' })
  after!: string

  /** Its change set; null for a change outside of one. */
  @Column({ ...INTEGER, name: 'change_set_id', nullable: true })
  changeSetId!: number | null
}
