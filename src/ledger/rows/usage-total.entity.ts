import { Column, Index, PrimaryColumn } from 'typeorm'
import { ascii, COUNT_NUMBER, INSTANT, INTEGER } from '../../database/column.js'
import type { Instant } from '../../common/instant.js'

/** The steps of a series of usage; they begin in UTC. */
export const SERIES_STEPS = ['day', 'hour'] as const
export type SeriesStep = (typeof SERIES_STEPS)[number]

/**
 * The owner of the totals of the whole channel, which no quota has: what all owners' quotas were charged, caps aside.
 * Its rows have `quotaId` and `cycleSeq` 0, and no refusals.
 */
export const ALL_OWNERS = 0

/** The index in the order of time, then of owners. */
export const TOTALS_OF_TIME = ['step', 'beganAt', 'ownerId'] as const

/**
 * The totals of the acts of one step, for each quota and each of its cycles. Of an owner, the row with `quotaId` 0
 * contains only refusals, which belong to no quota. The key is in order of owner and time, so that a series is one
 * range of the table.
 */
@Index([...TOTALS_OF_TIME])
export abstract class UsageTotalRow {
  @PrimaryColumn({ ...INTEGER, name: 'owner_id' })
  ownerId!: number

  @PrimaryColumn(ascii(4))
  step!: SeriesStep

  /** The beginning of the UTC hour or day. */
  @PrimaryColumn({ ...INSTANT, name: 'began_at' })
  beganAt!: Instant

  @PrimaryColumn({ ...INTEGER, name: 'quota_id' })
  quotaId!: number

  @PrimaryColumn({ ...COUNT_NUMBER, name: 'cycle_seq' })
  cycleSeq!: number

  /** Units that consumes and commits charged, gross. This sum and the next ones stop at 2^62. */
  @Column(INTEGER)
  charged!: number

  /** Units that refunds returned. */
  @Column(INTEGER)
  refunded!: number

  /** Refused attempts whose own rows have been removed. */
  @Column(INTEGER)
  refusals!: number

  /** Units that these attempts requested. */
  @Column(INTEGER)
  refused!: number
}
