import { Column, Index, PrimaryColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER } from '../../database/column.js'
import type { Allocation } from '../../quota/draw-down.js'
import type { Instant } from '../../time/instant.js'

/**
 * What one quota paid of an operation, or in which count a cap counted it, with its whole amount. Immutable: what an
 * operation keeps is always a prefix of what was paid (see `cut`). Caps come after those that paid, ids ascending.
 */
@Index(['quotaId', 'operationId'])
export abstract class AllocationRow implements Allocation {
  @PrimaryColumn({ ...ascii(36), name: 'operation_id' })
  operationId!: string

  /** The place, from 0: those that paid in draw-down order, then caps. */
  @PrimaryColumn({ type: 'smallint' })
  position!: number

  @Column({ ...INTEGER, name: 'quota_id' })
  quotaId!: number

  @Column({ ...INTEGER, name: 'cycle_seq' })
  cycleSeq!: number

  @Column(INTEGER)
  amount!: number

  /** Of a cap: when it counted the operation, which is when that was made. Null where the quota paid. */
  @Column({ ...INSTANT, name: 'counted_at', nullable: true })
  countedAt!: Instant | null
}
