import { Column, Index, PrimaryColumn } from 'typeorm'
import { isId } from '../../database/bytes.js'
import { ascii, COUNT_NUMBER, HASH, ID, INSTANT, INTEGER, oneOf, unicode, UNICODE_TEXT } from '../../database/column.js'
import type { Instant } from '../../common/instant.js'

/** The kinds of acts. */
export const ACT_KINDS = [
  'create',
  'update',
  'delete',
  'restore',
  'reset',
  'group',
  'members',
  'erase',
  'consume',
  'reserve',
  'commit',
  'release',
  'refund',
] as const
export type ActKind = (typeof ACT_KINDS)[number]

/** The kinds of acts on an operation. */
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
 * A plain consume (`plain-consume.ts`) has no other row: its operation, its allocation and its answer are derived from
 * the last columns, which are null in every other act.
 */
@Index(['operationId'])
@Index(['plainOwnerId', 'id'])
@Index(['plainQuotaId', 'id'])
export abstract class ActRow {
  /**
   * UUIDv7, created when the request arrived, so that a rerun recognizes its own act. A consume's or reserve's act and
   * operation share it.
   */
  @PrimaryColumn(ID)
  id!: string

  @Column(oneOf(ACT_KINDS))
  kind!: ActKind

  @Column({ ...INTEGER, name: 'owner_id' })
  ownerId!: number

  @Column({ ...INTEGER, name: 'quota_id', nullable: true })
  quotaId!: number | null

  @Column({ ...ID, name: 'operation_id', nullable: true })
  operationId!: string | null

  /** The principal's name, for display (`storedName`). */
  @Column(ascii(64))
  caller!: string

  /** The same in Unicode, if it differs (`unicodeName`). */
  @Column({ ...unicode(64), name: 'caller_name', nullable: true })
  callerName!: string | null

  /** The owner of the act, if that is not the name: a principal of the identity provider. */
  @Column({ ...ascii(37), name: 'caller_id', nullable: true })
  callerId!: string | null

  /** The caller's Idempotency-Key, for look-ups by people. */
  @Column({ ...ascii(255), name: 'idempotency_key', nullable: true })
  idempotencyKey!: string | null

  /**
   * 128 bits of SHA-256: of a caller's key with its caller, or of the settlement of a hold. Null if the act may repeat.
   * Among 10^12 keys of a channel, the probability that two are equal is 10^-15; a caller who looks for two of its own
   * keys with one hash needs 2^64 attempts, and then gets the first answer for the second.
   */
  @Index({ unique: true })
  @Column({ ...HASH, name: 'deduplication_key', nullable: true })
  deduplicationKey!: string | null

  /**
   * 128 bits of the hash of the request without its amount; null in a plain consume, whose owner determines it, and if
   * it was erased.
   */
  @Column({ ...HASH, name: 'request_hash', nullable: true })
  requestHash!: string | null

  /** The units of the act; null for acts on settings. */
  @Column({ ...INTEGER, nullable: true })
  amount!: number | null

  /**
   * The meaning of an absent `amount` at that time: the held or the refundable amount. Null for a consume and a
   * reserve, which always have an amount.
   */
  @Column({ ...INTEGER, name: 'default_amount', nullable: true })
  defaultAmount!: number | null

  /** The body of the answer, byte for byte; empty in a plain consume, whose answer is rebuilt. */
  @Column(UNICODE_TEXT)
  answer!: string

  /** The request's id, if it is a UUID in lower case: every one that the service generates is. */
  @Column({ ...ID, name: 'request_id', nullable: true })
  requestId!: string | null

  /** The request's id, if it is any other text. */
  @Column({ ...ascii(128), name: 'request_text', nullable: true })
  requestText!: string | null

  @Column(INSTANT)
  at!: Instant

  /** The owner of a plain consume, a second time: its index contains only plain consumes. */
  @Column({ ...INTEGER, name: 'plain_owner_id', nullable: true })
  plainOwnerId!: number | null

  /** The quota that paid a plain consume. */
  @Column({ ...INTEGER, name: 'plain_quota_id', nullable: true })
  plainQuotaId!: number | null

  /** That quota's cycle. */
  @Column({ ...COUNT_NUMBER, name: 'cycle_seq', nullable: true })
  cycleSeq!: number | null

  /** The owner's remaining amount right after a plain consume. */
  @Column({ ...INTEGER, name: 'owner_remaining', nullable: true })
  ownerRemaining!: number | null

  /** The caps that counted a plain consume, in the format of `capsText`; null if there were none. */
  @Column({ ...ascii(600), nullable: true })
  caps!: string | null
}

/** An act in the form of answers, however it is stored. */
export type Act = Omit<
  ActRow,
  'requestId' | 'requestText' | 'plainOwnerId' | 'plainQuotaId' | 'cycleSeq' | 'ownerRemaining' | 'caps'
> & { readonly requestId: string }

/** The columns of a request's id. */
export function requestColumns(requestId: string): Pick<ActRow, 'requestId' | 'requestText'> {
  return isId(requestId) ? { requestId, requestText: null } : { requestId: null, requestText: requestId }
}
