import { Column, Entity, Index, PrimaryColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER } from '../database/column.js'
import type { Instant } from '../time/instant.js'

/**
 * `removed`: in the file of no live instance. Nothing is queued or sent unless it is active; deliveries that are there
 * all the same are left-overs, which are counted already and go by and by.
 */
export const WEBHOOK_STATES = ['active', 'disabled', 'removed'] as const
export type WebhookState = (typeof WEBHOOK_STATES)[number]

/** Where an endpoint stands. Its address, its secrets and what it wants are in the operator's file alone. */
@Entity('webhook')
export class WebhookRow {
  @PrimaryColumn(ascii(64))
  name!: string

  @Column(ascii(8))
  state!: WebhookState

  /** The instance that delivers to it; null: nobody. */
  @Column({ ...ascii(36), nullable: true })
  holder!: string | null

  /** Until when, unless it says so again. */
  @Column({ ...INSTANT, name: 'held_until', nullable: true })
  heldUntil!: Instant | null

  /** Events that it has received. */
  @Column(INTEGER)
  delivered!: number

  /** Events that were given up. */
  @Column(INTEGER)
  failed!: number

  /** Events that are queued, or will be by a replay. */
  @Column(INTEGER)
  waiting!: number

  /** Attempts that have failed since one was received. */
  @Column({ ...INTEGER, name: 'failures_in_row' })
  failuresInRow!: number

  @Column({ ...INSTANT, name: 'attempt_at', nullable: true })
  attemptAt!: Instant | null

  @Column({ ...INTEGER, name: 'attempt_status', nullable: true })
  attemptStatus!: number | null

  @Column({ ...ascii(200), name: 'attempt_error', nullable: true })
  attemptError!: string | null

  /** JSON (`Progress`): up to which event of each channel everything is queued, and what is to be sent again. */
  @Column({ type: 'text' })
  progress!: string
}

/** An event that waits for an endpoint. */
@Entity('webhook_delivery')
@Index(['name', 'nextAt'])
@Index(['name', 'at'])
export class WebhookDeliveryRow {
  @PrimaryColumn(ascii(64))
  name!: string

  @PrimaryColumn(ascii(8))
  channel!: string

  /** The event's, in its channel's feed. */
  @PrimaryColumn(INTEGER)
  position!: number

  /** When the event happened. */
  @Column(INSTANT)
  at!: Instant

  /** Attempts that have failed. */
  @Column(INTEGER)
  attempts!: number

  /** When it is to be tried. */
  @Column({ ...INSTANT, name: 'next_at' })
  nextAt!: Instant
}

/** A live instance that has an endpoint in its file. */
@Entity('webhook_reader')
export class WebhookReaderRow {
  @PrimaryColumn(ascii(64))
  name!: string

  @PrimaryColumn(ascii(36))
  instance!: string

  /** When it last said so. */
  @Column({ ...INSTANT, name: 'seen_at' })
  seenAt!: Instant
}
