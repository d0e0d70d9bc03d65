import { Column, Index, PrimaryColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER, unicode } from '../../database/column.js'
import type { Instant } from '../../time/instant.js'

/** What an act did. */
export const ACT_KINDS = [
  'create',
  'update',
  'delete',
  'restore',
  'reset',
  'consume',
  'reserve',
  'commit',
  'release',
  'refund',
] as const
export type ActKind = (typeof ACT_KINDS)[number]

/** What can be done with an operation. */
export const OPERATION_ACTS = [
  'consume',
  'reserve',
  'commit',
  'release',
  'refund',
] as const satisfies readonly ActKind[]
export type OperationAct = (typeof OPERATION_ACTS)[number]

/**
 * One recorded change with its caller, key and answer. Immutable: a replay is answered from here, never from rows that
 * change.
 *
 * A plain consume (`plain-consume.ts`) has no other row: what its operation, its allocation and its answer would say is
 * in the last four columns, which are null in every other act.
 */
@Index(['operationId'])
@Index(['plainOwnerId', 'id'])
@Index(['plainQuotaId', 'id'])
export abstract class ActRow {
  /**
   * UUIDv7, made when the request came in, so that a rerun recognises its own act. A consume's or reserve's act and
   * operation share it.
   */
  @PrimaryColumn(ascii(36))
  id!: string

  @Column(ascii(8))
  kind!: ActKind

  @Column({ ...INTEGER, name: 'owner_id' })
  ownerId!: number

  @Column({ ...INTEGER, name: 'quota_id', nullable: true })
  quotaId!: number | null

  @Column({ ...ascii(36), name: 'operation_id', nullable: true })
  operationId!: string | null

  /** The principal's name, for showing (`storedName`). */
  @Column(ascii(64))
  caller!: string

  /** The same in Unicode, where it differs (`nameBeside`). */
  @Column({ ...unicode(64), name: 'caller_name', nullable: true })
  callerName!: string | null

  /** Whom the act belongs to, where that is not the name: a principal of the identity provider. */
  @Column({ ...ascii(37), name: 'caller_id', nullable: true })
  callerId!: string | null

  /** The caller's Idempotency-Key, for people who look for it. */
  @Column({ ...ascii(255), name: 'idempotency_key', nullable: true })
  idempotencyKey!: string | null

  /**
   * The column `once`: what may happen once only, as 128 bits of SHA-256 in hex: a caller's key with its caller, or the
   * settling of a hold. A hash compares by bytes under any collation and is short. Null where nothing forbids a second
   * such act.
   */
  @Index({ unique: true })
  @Column({ ...ascii(32), name: 'once', nullable: true })
  deduplicationKey!: string | null

  /**
   * The column `request`: hash of what was asked, its amount left out; empty in a plain consume, where the owner says
   * it.
   */
  @Column({ ...ascii(32), name: 'request' })
  requestHash!: string

  /** The units that the act moved; null for acts on settings. */
  @Column({ ...INTEGER, nullable: true })
  amount!: number | null

  /**
   * The amount that an absent `amount` stood for at that time: what was held, or what was left to refund. Null for a
   * consume and a reserve, which always name theirs; release 0.1.0 writes it for them too, by which it is known.
   */
  @Column({ ...INTEGER, name: 'default_amount', nullable: true })
  defaultAmount!: number | null

  /** The body of the answer, byte for byte; empty in a plain consume, whose answer is rebuilt. */
  @Column({ type: 'text' })
  answer!: string

  @Column({ ...ascii(128), name: 'request_id' })
  requestId!: string

  @Column(INSTANT)
  at!: Instant

  /** The owner of a plain consume, once more: its index holds plain consumes alone. */
  @Column({ ...INTEGER, name: 'plain_owner_id', nullable: true })
  plainOwnerId!: number | null

  /** The quota that paid a plain consume. */
  @Column({ ...INTEGER, name: 'plain_quota_id', nullable: true })
  plainQuotaId!: number | null

  /** In which of that quota's cycles. */
  @Column({ ...INTEGER, name: 'cycle_seq', nullable: true })
  cycleSeq!: number | null

  /** What the owner had left right after a plain consume. */
  @Column({ ...INTEGER, name: 'owner_remaining', nullable: true })
  ownerRemaining!: number | null

  /** The caps that counted a plain consume, as `capsText` writes them; null where there were none. */
  @Column({ ...ascii(600), nullable: true })
  caps!: string | null
}

/** An act as it is told, however it is stored. */
export type Act = Omit<ActRow, 'plainOwnerId' | 'plainQuotaId' | 'cycleSeq' | 'ownerRemaining' | 'caps'>
