import { Column, Entity, Index, PrimaryColumn } from 'typeorm'
import { ascii, ASCII_TEXT, INSTANT, INTEGER, UNICODE_TEXT, unicode } from '../database/column.js'
import type { Instant } from '../common/instant.js'

/**
 * `removed`: in the file of no live instance. Events are queued and sent only while it is active; other deliveries are
 * remainders, which have been counted and are removed step by step.
 */
export const WEBHOOK_STATES = ['active', 'disabled', 'removed'] as const
export type WebhookState = (typeof WEBHOOK_STATES)[number]

/** The state of an endpoint. Its address, its secrets and its selection are only in the operator's file. */
@Entity('webhook')
export class WebhookRow {
  @PrimaryColumn(ascii(64))
  name!: string

  @Column(ascii(8))
  state!: WebhookState

  /** The instance that delivers to it; null: none. */
  @Column({ ...ascii(36), nullable: true })
  holder!: string | null

  /** The end of its lease, unless renewed. */
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

  /** Failed attempts since the last received event. */
  @Column({ ...INTEGER, name: 'failures_in_row' })
  failuresInRow!: number

  @Column({ ...INSTANT, name: 'attempt_at', nullable: true })
  attemptAt!: Instant | null

  @Column({ ...INTEGER, name: 'attempt_status', nullable: true })
  attemptStatus!: number | null

  @Column({ ...unicode(200), name: 'attempt_error', nullable: true })
  attemptError!: string | null

  /** JSON (`Progress`): the queued position of each channel, and the periods to send again. */
  @Column(UNICODE_TEXT)
  progress!: string
}

/**
 * An event that waits for an endpoint, or a digest: its `channel` is DIGEST_CHANNEL, its `position` is explained there,
 * and its `at` is that of its first event.
 */
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

  /** The number of failed attempts. */
  @Column(INTEGER)
  attempts!: number

  /** The time of the next attempt. */
  @Column({ ...INSTANT, name: 'next_at' })
  nextAt!: Instant

  /** JSON: the recipients of a mail that have received it (`receiverOf`); null: none. */
  @Column({ ...ASCII_TEXT, name: 'received_by', nullable: true })
  receivedBy!: string | null

  /** JSON (`Collected`): what a digest has collected; null for an event. */
  @Column({ ...ASCII_TEXT, nullable: true })
  digest!: string | null
}

/** A live instance that has an endpoint in its file. */
@Entity('webhook_reader')
export class WebhookReaderRow {
  @PrimaryColumn(ascii(64))
  name!: string

  @PrimaryColumn(ascii(36))
  instance!: string

  /** The time of its last announcement. */
  @Column({ ...INSTANT, name: 'seen_at' })
  seenAt!: Instant
}
