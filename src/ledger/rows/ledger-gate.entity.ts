import { Column, PrimaryColumn } from 'typeorm'
import { ascii, INTEGER } from '../../database/column.js'

/**
 * The id up to which a channel's acts are closed; one row, which each writing batch keeps unchanged until it is
 * committed.
 */
export abstract class LedgerGateRow {
  /** Always 1. */
  @PrimaryColumn(INTEGER)
  id!: number

  /** New acts have greater ids. */
  @Column({ ...ascii(36), name: 'closed_to' })
  closedTo!: string
}
