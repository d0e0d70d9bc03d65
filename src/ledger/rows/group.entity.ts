import { Column, DeleteDateColumn, Index, PrimaryGeneratedColumn } from 'typeorm'
import { INSTANT, INTEGER, unicode } from '../../database/column.js'
import { MAX_LABEL_LENGTH, MAX_STORED_LENGTH } from '../../domain/label.js'
import type { Instant } from '../../common/instant.js'

/**
 * A group of owners, which other owners draw on (contract, §13). Only `GroupActs` writes these rows, except that an
 * act on a group's quotas locks the row of the group and counts in `edits`.
 */
@Index(['deletedAt', 'id'])
@Index(['parentId', 'deletedAt', 'id'])
export abstract class GroupRow {
  @PrimaryGeneratedColumn('increment', { type: 'bigint' })
  id!: number

  @Column(unicode(MAX_LABEL_LENGTH))
  name!: string

  /** The name in the form of `storedForSearch`; null while the group is deleted, so that its name is free. */
  @Index({ unique: true })
  @Column({ ...unicode(MAX_STORED_LENGTH), name: 'live_name', nullable: true })
  liveName!: string | null

  @Column({ ...INTEGER, name: 'parent_id', nullable: true })
  parentId!: number | null

  /** 1: the group of every owner that is in none. At most one live group. */
  @Column({ type: 'tinyint', name: 'is_default', default: 0 })
  isDefault!: 0 | 1

  /** Starts at 1 and counts edits of the settings, including delete and restore. */
  @Column({ ...INTEGER, default: 1 })
  version!: number

  /** Counts acts on the group's quotas, so that concurrent ones on different nodes of a cluster conflict. */
  @Column({ ...INTEGER, default: 0 })
  edits!: number

  @Column({ ...INSTANT, name: 'created_at', update: false })
  createdAt!: Instant

  @Column({ ...INSTANT, name: 'updated_at' })
  updatedAt!: Instant

  @DeleteDateColumn({ ...INSTANT, name: 'deleted_at' })
  deletedAt!: Instant | null
}

/** The owner of a group's quotas: a negative id, which no caller can name. */
export function groupOwner(groupId: number): number {
  return -groupId
}

/** The group whose quotas this owner has; undefined for an owner that is no group. */
export function groupOf(ownerId: number): number | undefined {
  return ownerId < 0 ? -ownerId : undefined
}

/** The members of a group's row. */
export type Group = Omit<GroupRow, never>
