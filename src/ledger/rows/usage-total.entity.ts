import { Column, Index, PrimaryColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER } from '../../database/column.js'
import type { Instant } from '../../time/instant.js'

/** How long the stretches of time are that usage is added up by; both begin where UTC says. */
export const SERIES_STEPS = ['day', 'hour'] as const
export type SeriesStep = (typeof SERIES_STEPS)[number]

/**
 * What acts of one stretch of time add up to, for each quota and each of its cycles. A row has refusals alone where
 * `quotaId` is 0: they are of an owner, and of no quota. In order of the owner and of time, so that a series is one
 * stretch of the table.
 */
@Index(['step', 'beganAt'])
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

  @PrimaryColumn({ ...INTEGER, name: 'cycle_seq' })
  cycleSeq!: number

  /** Units that consumes and commits charged, gross. */
  @Column(INTEGER)
  charged!: number

  /** Units that refunds gave back. */
  @Column(INTEGER)
  refunded!: number

  /** Refused attempts, once their own rows are dropped. */
  @Column(INTEGER)
  refusals!: number

  /** Units that they asked for. */
  @Column(INTEGER)
  refused!: number
}
