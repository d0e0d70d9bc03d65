import { Column, PrimaryColumn } from 'typeorm'
import { ascii, INTEGER } from '../../database/column.js'

/**
 * Up to where a channel's acts are closed; one row, which each batch that writes keeps from changing until it is
 * committed.
 */
export abstract class LedgerGateRow {
  /** Always 1. */
  @PrimaryColumn(INTEGER)
  id!: number

  /** No act is written any more whose id is this one or an earlier one. */
  @Column({ ...ascii(36), name: 'closed_to' })
  closedTo!: string
}
