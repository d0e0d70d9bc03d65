import { Column, Index, PrimaryColumn } from 'typeorm'
import { COUNT_NUMBER, ID, INSTANT, INTEGER } from '../../database/column.js'
import type { Allocation } from '../../domain/draw-down.js'
import type { Instant } from '../../common/instant.js'

/**
 * The units of an operation that one quota paid, or the count in which a cap counted its whole amount. Immutable: an
 * operation always keeps a prefix of its allocations (see `cut`). Caps follow the payers, ids ascending.
 */
@Index(['quotaId', 'operationId'])
export abstract class AllocationRow implements Allocation {
  @PrimaryColumn({ ...ID, name: 'operation_id' })
  operationId!: string

  /** The position, from 0: payers in draw-down order, then caps. */
  @PrimaryColumn({ type: 'smallint' })
  position!: number

  @Column({ ...INTEGER, name: 'quota_id' })
  quotaId!: number

  @Column({ ...COUNT_NUMBER, name: 'cycle_seq' })
  cycleSeq!: number

  @Column(INTEGER)
  amount!: number

  /** For a cap: the time when it counted the operation, its creation. Null if the quota paid. */
  @Column({ ...INSTANT, name: 'counted_at', nullable: true })
  countedAt!: Instant | null
}
