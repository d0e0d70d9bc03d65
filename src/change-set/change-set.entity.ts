import { Column, Index, PrimaryGeneratedColumn } from 'typeorm'
import { ascii, INSTANT, INTEGER, unicode } from '../database/column.js'
import type { Instant } from '../time/instant.js'

/** What callers see of a change set's life. */
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

/** The states that nobody sees: a file is still arriving; the set was dropped. */
export type HiddenState = 'arriving' | 'dropped'

/** What is left to be done in the background; `clear` removes the rows of a set that has failed or was dropped. */
export type ChangeSetWork = 'prepare' | 'apply' | 'revert' | 'clear'

/** What may become of a row; `pending` before it is decided, which nobody sees. */
export const OUTCOMES = ['planned', 'unchanged', 'invalid', 'applied', 'conflict', 'reverted', 'kept'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** How many rows there are, in all and of each outcome. */
export type Counts = Record<Outcome, number>

/** A set of changes to many quotas. Its rows are of another table (`ChangeSetItemRow`). */
@Index(['hidden', 'id'])
@Index(['state', 'id'])
@Index(['work', 'id'])
export abstract class ChangeSetRow implements Counts {
  @PrimaryGeneratedColumn('increment', { type: 'bigint' })
  id!: number

  @Column(ascii(9))
  state!: ChangeSetState | HiddenState

  /** Is its state one that nobody sees? 0 or 1. */
  @Column(INTEGER)
  hidden!: number

  @Column({ ...ascii(7), nullable: true })
  work!: ChangeSetWork | null

  /** The instance that does it at present; null: nobody. */
  @Column({ ...ascii(36), nullable: true })
  holder!: string | null

  /** Until when, unless it says so again. */
  @Column({ ...INSTANT, name: 'held_until', nullable: true })
  heldUntil!: Instant | null

  @Column(ascii(6))
  source!: 'filter' | 'import'

  /** JSON: the filter as it was sent; null of an import. */
  @Column({ type: 'text', nullable: true })
  filter!: string | null

  /** JSON: the change as it was sent; null of an import. */
  @Column({ type: 'text', nullable: true })
  change!: string | null

  /** JSON: an import's columns, in order. */
  @Column({ type: 'text', nullable: true })
  columns!: string | null

  /** Who made it (`storedName`). */
  @Column(ascii(64))
  actor!: string

  /** The same in Unicode, where it differs (`unicodeName`). */
  @Column({ ...unicode(64), name: 'actor_name', nullable: true })
  actorName!: string | null

  /** Who had it applied, or after that reverted: name (`storedName`, and `unicodeName`), principal and request. */
  @Column({ ...ascii(64), name: 'acting_name', nullable: true })
  actingName!: string | null

  @Column({ ...unicode(64), name: 'acting_unicode_name', nullable: true })
  actingUnicodeName!: string | null

  @Column({ ...ascii(64), name: 'acting_id', nullable: true })
  actingId!: string | null

  @Column({ ...ascii(128), name: 'acting_request_id', nullable: true })
  actingRequestId!: string | null

  /** Begins at 1 and counts the states. */
  @Column(INTEGER)
  version!: number

  @Column({ ...INSTANT, name: 'created_at' })
  createdAt!: Instant

  @Column({ ...INSTANT, name: 'applied_at', nullable: true })
  appliedAt!: Instant | null

  @Column({ ...INSTANT, name: 'reverted_at', nullable: true })
  revertedAt!: Instant | null

  /** JSON: why it has failed, or will. */
  @Column({ type: 'text', nullable: true })
  problem!: string | null

  /** The hash of the caller's key; null without one. */
  @Index({ unique: true })
  @Column({ ...ascii(32), name: 'once', nullable: true })
  once!: string | null

  /** What of a request with the same key must be equal, as a hash. */
  @Column({ ...ascii(64), nullable: true })
  request!: string | null

  /** What the request was answered. */
  @Column({ type: 'text', nullable: true })
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
