import { Column, Index, PrimaryGeneratedColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER, unicode, UNICODE_TEXT } from '../database/column.js'
import type { Instant } from '../common/instant.js'

/** The states that callers see. */
export const CHANGE_SET_STATES = [
  'preparing',
  'ready',
  'applying',
  'applied',
  'reverting',
  'reverted',
  'failed',
] as const
export type ChangeSetState = (typeof CHANGE_SET_STATES)[number]

/** The states that callers do not see: a file is arriving, or the change set was dropped. */
export type HiddenState = 'arriving' | 'dropped'

/** The pending background work. `clear` removes the rows of a failed or dropped change set. */
export type ChangeSetWork = 'prepare' | 'apply' | 'revert' | 'clear'

/** The outcomes of rows that callers see. A row is `pending` until it is decided. */
export const OUTCOMES = ['planned', 'unchanged', 'invalid', 'applied', 'conflict', 'reverted', 'kept'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** The number of rows with each outcome. */
export type Counts = Record<Outcome, number>

/** A change set. Its rows are in another table (`ChangeSetItemRow`). */
@Index(['hidden', 'id'])
@Index(['state', 'id'])
@Index(['workAt', 'creatorId'])
@Index(['creatorId', 'waitingRows'])
@Index(['expiresAt'])
export abstract class ChangeSetRow implements Counts {
  @PrimaryGeneratedColumn('increment', { type: 'bigint' })
  id!: number

  @Column(ascii(9))
  state!: ChangeSetState | HiddenState

  /** 1 in a state that callers do not see, otherwise 0. */
  @Column(INTEGER)
  hidden!: number

  @Column({ ...ascii(7), nullable: true })
  work!: ChangeSetWork | null

  /** When the pending work was requested, which orders the work of a creator; null if there is none. */
  @Column({ ...INSTANT, name: 'work_at', nullable: true })
  workAt!: Instant | null

  /** How often the present step has failed, or has been begun and not ended: written before it, to survive a crash. */
  @Column(INTEGER)
  attempts!: number

  /** The instance that has the lease; null: none. */
  @Column({ ...ascii(36), nullable: true })
  holder!: string | null

  /** The expiry of the lease. */
  @Column({ ...INSTANT, name: 'held_until', nullable: true })
  heldUntil!: Instant | null

  @Column(ascii(6))
  source!: 'filter' | 'import'

  /** JSON: the filter, as sent; null for an import. */
  @Column({ ...UNICODE_TEXT, nullable: true })
  filter!: string | null

  /** JSON: the change, as sent; null for an import. */
  @Column({ ...UNICODE_TEXT, nullable: true })
  change!: string | null

  /** JSON: an import's columns, in order. */
  @Column({ ...UNICODE_TEXT, nullable: true })
  columns!: string | null

  /** The name of its creator (`storedName`). */
  @Column(ascii(64))
  actor!: string

  /** The same in Unicode, if it differs (`unicodeName`). */
  @Column({ ...unicode(64), name: 'actor_name', nullable: true })
  actorName!: string | null

  /** The principal that created it, whose turn its work takes. */
  @Column({ ...ascii(64), name: 'creator_id' })
  creatorId!: string

  /** The stored rows that count towards the creator's limit; 0 once it is to be applied. */
  @Column({ ...INTEGER, name: 'waiting_rows' })
  waitingRows!: number

  /** The caller of the last apply or revert: name (`storedName` and `unicodeName`), principal and request. */
  @Column({ ...ascii(64), name: 'acting_name', nullable: true })
  actingName!: string | null

  @Column({ ...unicode(64), name: 'acting_unicode_name', nullable: true })
  actingUnicodeName!: string | null

  @Column({ ...ascii(64), name: 'acting_id', nullable: true })
  actingId!: string | null

  @Column({ ...ascii(128), name: 'acting_request_id', nullable: true })
  actingRequestId!: string | null

  /** Starts at 1 and is incremented by each change of the state. */
  @Column(INTEGER)
  version!: number

  @Column({ ...INSTANT, name: 'created_at' })
  createdAt!: Instant

  /** From when on it is removed. */
  @Column({ ...INSTANT, name: 'expires_at' })
  expiresAt!: Instant

  @Column({ ...INSTANT, name: 'applied_at', nullable: true })
  appliedAt!: Instant | null

  @Column({ ...INSTANT, name: 'reverted_at', nullable: true })
  revertedAt!: Instant | null

  /** JSON: the reason why it failed, or will fail once it is prepared. */
  @Column({ ...UNICODE_TEXT, nullable: true })
  problem!: string | null

  /** The deduplication key of its creation: the hash of the caller's key, or random; null for an arriving file. */
  @Index({ unique: true })
  @Column({ ...ascii(32), name: 'deduplication_key', nullable: true })
  deduplicationKey!: string | null

  /** The hash of the request, which must be equal in a request with the same key. */
  @Column({ ...ascii(64), name: 'request_hash', nullable: true })
  requestHash!: string | null

  /** The answer to the request that created it. */
  @Column({ ...UNICODE_TEXT, nullable: true })
  answer!: string | null

  @Column(INTEGER)
  planned!: number

  @Column(INTEGER)
  unchanged!: number

  @Column(INTEGER)
  invalid!: number

  @Column(INTEGER)
  applied!: number

  @Column(INTEGER)
  conflict!: number

  @Column(INTEGER)
  reverted!: number

  @Column(INTEGER)
  kept!: number
}

/** The numbers of a change set's rows. */
export function countsOf(set: Counts): Counts {
  return Object.fromEntries(OUTCOMES.map((outcome) => [outcome, set[outcome]])) as Counts
}

/** Their sum. */
export function rowsIn(set: Counts): number {
  return OUTCOMES.reduce((sum, outcome) => sum + set[outcome], 0)
}

/** Zero for each outcome. */
export function noCounts(): Counts {
  return Object.fromEntries(OUTCOMES.map((outcome) => [outcome, 0])) as Counts
}

/** Returns the values of a change set whose next work is this; it is nobody's yet. */
export function nextWork(
  work: ChangeSetWork,
  now: Instant,
): Pick<ChangeSetRow, 'work' | 'workAt' | 'attempts' | 'holder' | 'heldUntil'> {
  return { work, workAt: now, attempts: 0, holder: null, heldUntil: null }
}

/** The values of a change set without pending work. */
export const NO_WORK = { work: null, workAt: null, attempts: 0, holder: null, heldUntil: null } as const
