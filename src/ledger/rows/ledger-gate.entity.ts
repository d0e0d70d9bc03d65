import { Column, PrimaryColumn } from 'typeorm'
import { ID, INTEGER } from '../../database/column.js'

/**
 * The id up to which a channel's acts are closed, and the state of its groups' chains; one row, which each writing
 * batch keeps unchanged until it is committed.
 */
export abstract class LedgerGateRow {
  /** Always 1. */
  @PrimaryColumn(INTEGER)
  id!: number

  /** New acts have greater ids. */
  @Column({ ...ID, name: 'closed_to' })
  closedTo!: string

  /** The group of every owner that is in none; null: there is no default group. */
  @Column({ ...INTEGER, name: 'default_group_id', nullable: true })
  defaultGroupId!: number | null

  /** Counts changes of groups' parents and of the default group; 0 while there never was a group. */
  @Column({ ...INTEGER, name: 'chains_version', default: 0 })
  chainsVersion!: number
}
