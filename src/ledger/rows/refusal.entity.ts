import { Column, Index, PrimaryColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER } from '../../database/column.js'
import type { ErrorCode } from '../../error/service-error.js'
import type { Instant } from '../../time/instant.js'
import { STEP_MS } from './utc-step.js'

/** The refusals that are counted. */
export const REFUSED = ['quota_exceeded', 'no_active_quota'] as const satisfies readonly ErrorCode[]
/** What is counted beside them: what was taken although a cap that only observes would have refused it. */
export const OBSERVED = 'quota_observed'
export const REFUSAL_CODES = [...REFUSED, OBSERVED] as const
export type RefusalCode = (typeof REFUSAL_CODES)[number]

/** Counts of an hour are kept for so long. */
const KEPT_MS = 31 * STEP_MS.day

/** Nothing from before this instant is kept. */
export function oldestKept(now: Instant): Instant {
  return now - KEPT_MS
}

/**
 * How often an owner was refused within an hour, over all instances. In order of the hour, so that the newest hours lie
 * together and the oldest are dropped from one end.
 */
@Index(['ownerId', 'hour'])
export abstract class RefusalRow {
  /** The beginning of the UTC hour. */
  @PrimaryColumn(INSTANT)
  hour!: Instant

  @PrimaryColumn({ ...INTEGER, name: 'owner_id' })
  ownerId!: number

  @PrimaryColumn(ascii(16))
  code!: RefusalCode

  @Column(INTEGER)
  count!: number

  /** The sum of the amounts asked for; it stays at 2^53-1 where it would pass that. */
  @Column(INTEGER)
  requested!: number

  /**
   * The least, the greatest and the latest of these amounts; null where all of them were counted before amounts were
   * kept.
   */
  @Column({ ...INTEGER, nullable: true })
  smallest!: number | null

  @Column({ ...INTEGER, nullable: true })
  largest!: number | null

  @Column({ ...INTEGER, name: 'last_amount', nullable: true })
  lastAmount!: number | null

  @Column({ ...INSTANT, name: 'last_at' })
  lastAt!: Instant
}
