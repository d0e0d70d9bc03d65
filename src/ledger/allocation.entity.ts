import { Column, PrimaryColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER } from '../database/column.js'
import type { Allocation } from '../quota/draw-down.js'
import type { Instant } from '../quota/instant.js'

/**
 * What one quota paid of an operation. Immutable: what an operation keeps is always a prefix of its allocations (see
 * `cut`).
 */
export abstract class AllocationRow implements Allocation {
  @PrimaryColumn({ ...ascii(36), name: 'operation_id' })
  operationId!: string

  /** The place in draw-down order, from 0. */
  @PrimaryColumn({ type: 'smallint' })
  position!: number

  @Column({ ...INTEGER, name: 'quota_id' })
  quotaId!: number

  @Column({ ...INTEGER, name: 'cycle_seq' })
  cycleSeq!: number

  @Column(INTEGER)
  amount!: number

  /** Until when a rolling cap counts it; null for all other quotas. */
  @Column({ ...INSTANT, name: 'counts_until', nullable: true })
  countsUntil!: Instant | null
}
