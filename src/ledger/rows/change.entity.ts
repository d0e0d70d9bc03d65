import { Column, Index, PrimaryGeneratedColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER, unicode, UNICODE_TEXT } from '../../database/column.js'
import type { Instant } from '../../common/instant.js'

export const CHANGE_ACTIONS = ['create', 'update', 'delete', 'restore', 'reset', 'members', 'erase'] as const
export type ChangeAction = (typeof CHANGE_ACTIONS)[number]

/**
 * A change of the settings of a quota or a group, with its actor and the values before and after, a reset of a
 * quota's counters, a change of a group's members, or the erasure of an owner; written with the change.
 */
@Index(['quotaId', 'id'])
@Index(['ownerId', 'id'])
@Index(['groupId', 'id'])
@Index(['actor', 'id'])
@Index(['action', 'id'])
@Index(['requestId', 'id'])
@Index(['at', 'id'])
@Index(['changeSetId', 'quotaId'])
export abstract class ChangeRow {
  @PrimaryGeneratedColumn('increment', { type: 'bigint' })
  id!: number

  /** Null for a change of a group, and for the erasure of an owner. */
  @Column({ ...INTEGER, name: 'quota_id', nullable: true })
  quotaId!: number | null

  /** The changed group, or the group of the quota; null if there is none. */
  @Column({ ...INTEGER, name: 'group_id', nullable: true })
  groupId!: number | null

  /** The quota's owner. */
  @Column({ ...INTEGER, name: 'owner_id' })
  ownerId!: number

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
  @Column({ ...UNICODE_TEXT, name: 'before_json' })
  before!: string

  /** JSON: the same settings, after. */
  @Column({ ...UNICODE_TEXT, name: 'after_json' })
  after!: string

  /** Its change set; null for a change outside of one. */
  @Column({ ...INTEGER, name: 'change_set_id', nullable: true })
  changeSetId!: number | null
}
