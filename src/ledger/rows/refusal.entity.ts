import { Column, Index, PrimaryColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER } from '../../database/column.js'
import type { ErrorCode } from '../../common/service-error.js'
import type { Instant } from '../../common/instant.js'
import { STEP_MS } from './utc-step.js'

/** The counted refusals. */
export const REFUSED = ['quota_exceeded', 'no_active_quota'] as const satisfies readonly ErrorCode[]
/** Also counted: successful attempts that an `observe` cap would have refused. */
export const OBSERVED = 'quota_observed'
export const REFUSAL_CODES = [...REFUSED, OBSERVED] as const
export type RefusalCode = (typeof REFUSAL_CODES)[number]

/** The retention of the counts. */
const KEPT_MS = 31 * STEP_MS.day

/** Returns the time before which no counts are kept. */
export function oldestKept(now: Instant): Instant {
  return now - KEPT_MS
}

/**
 * The number of an owner's refusals within one hour, over all instances. The key begins with the hour, so that the
 * newest hours are adjacent and the oldest are removed from one end.
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

  /** The sum of the requested amounts, at most 2^53-1. */
  @Column(INTEGER)
  requested!: number

  /** The smallest, the largest and the latest of these amounts. */
  @Column(INTEGER)
  smallest!: number

  @Column(INTEGER)
  largest!: number

  @Column({ ...INTEGER, name: 'last_amount' })
  lastAmount!: number

  @Column({ ...INSTANT, name: 'last_at' })
  lastAt!: Instant
}
