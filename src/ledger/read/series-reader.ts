import type { DataSource } from 'typeorm'
import type { Clock } from '../../common/clock.js'
import { instantFromStore } from '../../database/column.js'
import { sumIn } from '../../database/row-codec.js'
import { SharedReads } from '../../database/shared-reads.js'
import type { Transaction, TransactionRunner } from '../../database/transaction-runner.js'
import { Unavailable } from '../../common/service-error.js'
import { isFollowed } from '../../domain/follow.js'
import { formatInstant, type Instant } from '../../common/instant.js'
import type { Channel } from '../rows/channel.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { OBSERVED } from '../rows/refusal.entity.js'
import { ALL_OWNERS, type SeriesStep } from '../rows/usage-total.entity.js'
import { beginningOf, STEP_MS } from '../rows/utc-step.js'
import type { Charge } from '../store/charge.js'
import { LedgerStore, straightJoin } from '../store/ledger-store.js'
import { TotalsUpdater } from '../totals/totals-updater.js'
import type { LedgerOf } from './usage-reader.js'

/** The usage within one hour or day, in the form of answers. */
export interface UsageStepView {
  began_at: string
  charged: number
  refunded: number
  refused: number | null
  refusals: number | null
}

/** A series of usage, oldest step first. */
export interface SeriesView {
  step: SeriesStep
  items: UsageStepView[]
}

/**
 * If the totals lag by more than this, they are updated first: otherwise the reader would have to add up too many acts.
 */
const MAX_REST_MS = 900_000
/** How long a reader updates the totals. */
const PATIENCE_MS = 1_000
/** Totals advance every few seconds, and a read takes much less, so a few attempts suffice. */
const MAX_TRIES = 10

interface Sums {
  charged: number
  refunded: number
  refused: number
  refusals: number
}

/** Selects the usage of an owner, of one of its quotas, or of all owners, in the steps that begin in `[from, end)`. */
interface Question {
  /** The principal whose turn it takes. */
  readonly principalId: string
  readonly ownerId: number
  readonly quotaId: number | undefined
  /** Is it a quota that members' counts follow? The series is then that of the counts. */
  readonly isFollowed: boolean
  readonly step: SeriesStep
  readonly from: Instant
  readonly end: Instant
}

/**
 * Reads usage over time: the totals, and the acts after them. The result equals the ledger at one moment: if the totals
 * advance during a read, it is repeated.
 */
export class SeriesReader<Q extends QuotaRow> {
  private readonly store: LedgerStore<Q>
  private readonly totals: TotalsUpdater<Q>
  private readonly caughtUp = new SharedReads<void, void>(async () => Promise.all([this.catchUp()]), { alone: true })
  private readonly found = new SharedReads<Question, [Instant, Sums][]>(
    async (questions) => Promise.all(questions.map(async (question) => this.sums(question))),
    { keyOf: (question) => JSON.stringify(question), alone: true },
  )

  constructor(
    channel: Channel<Q>,
    dataSource: DataSource,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
  ) {
    this.store = new LedgerStore(dataSource, channel)
    this.totals = new TotalsUpdater(this.store, transactions, clock)
  }

  /**
   * Every step that begins in `[from, to)` and is not in the future, including those without usage.
   * @param of refusals are counted for one owner, not for a quota or for all owners
   * @throws ServiceError unavailable while the totals are built for the first time
   */
  async series(principalId: string, of: LedgerOf, step: SeriesStep, from: Instant, to: Instant): Promise<SeriesView> {
    const first = beginningOf(step, from) < from ? beginningOf(step, from) + STEP_MS[step] : from
    const end = Math.min(to, this.clock.now() + 1)
    const sums = new Map<Instant, Sums>()
    for (let beganAt = first; beganAt < end; beganAt += STEP_MS[step]) {
      sums.set(beganAt, { charged: 0, refunded: 0, refused: 0, refusals: 0 })
    }
    const reads = this.transactions.readsOf(principalId)
    // The totals of all owners name no quota.
    const quotaId = 'quotaId' in of ? of.quotaId : 'all' in of ? 0 : undefined
    const [quota] =
      'quotaId' in of ? await reads.read((transaction) => this.store.quotasById(transaction, [of.quotaId])) : []
    const ownerId = 'ownerId' in of ? of.ownerId : 'all' in of ? ALL_OWNERS : quota?.ownerId
    if (ownerId !== undefined && sums.size > 0) {
      await this.caughtUp.get()
      const after = first + sums.size * STEP_MS[step]
      const found = await this.found.get({
        ...{ principalId, ownerId, quotaId, step, from: first, end: after },
        isFollowed: quota !== undefined && isFollowed(quota),
      })
      for (const [beganAt, more] of found) {
        const sum = sums.get(beganAt)
        if (sum !== undefined) for (const name of NAMES) sum[name] = Math.min(sum[name] + more[name], MAX)
      }
    }
    return {
      step,
      items: [...sums].map(([beganAt, { charged, refunded, refused, refusals }]) => ({
        began_at: formatInstant(beganAt),
        charged,
        refunded,
        ...(quotaId === undefined ? { refused, refusals } : { refused: null, refusals: null }),
      })),
    }
  }

  /** Updates the totals if they lag by more than MAX_REST_MS. */
  private async catchUp(): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS
    const oldest = this.clock.now() - MAX_REST_MS
    while (((await this.totals.behindSince()) ?? oldest) < oldest) {
      const more = await this.totals.fold()
      // Acts that cannot be added now, for example while the time is in doubt, are read from the ledger, unless there
      // are too many.
      if (!more && (this.clock.steady || !(await this.totals.isFarBehind()))) break
      if (!more || performance.now() > deadline) throw new Unavailable('totals_behind')
    }
  }

  private async sums(question: Question): Promise<[Instant, Sums][]> {
    const { principalId, step } = question
    const reads = this.transactions.readsOf(principalId)
    for (let tries = 1; ; tries += 1) {
      const found = await reads.read(async (transaction) => {
        const { foldedTo } = await this.totals.rows.state(transaction)
        const { ownerIds, isOf } = await this.countedIn(transaction, question)
        const rest = await this.totals.rows.rest(transaction, foldedTo, ownerIds)
        const stored = await this.stored(transaction, question)
        const { foldedTo: now } = await this.totals.rows.state(transaction)
        if (now !== foldedTo) return undefined
        const since = rest
          .filter(isOf)
          .map(({ at, charged, refunded }): [Instant, Sums] => [
            beginningOf(step, at),
            { charged, refunded, refused: 0, refusals: 0 },
          ])
        return [...stored, ...since]
      })
      if (found !== undefined) return found
      if (tries === MAX_TRIES) throw new Unavailable('totals_behind')
    }
  }

  /** The owners whose charges are in a series, and which of these are. */
  private async countedIn(
    transaction: Transaction,
    { ownerId, quotaId, isFollowed: ofCounts }: Question,
  ): Promise<{ ownerIds: readonly number[]; isOf: (charge: Charge) => boolean }> {
    if (quotaId === undefined) return { ownerIds: [ownerId], isOf: ({ byCap }) => !byCap }
    if (!ofCounts) return { ownerIds: [ownerId], isOf: (charge) => charge.quotaId === quotaId }
    const { quota } = this.store
    const rows = await transaction.rows(
      `SELECT ${quota.column('id')} AS id, ${quota.column('ownerId')} AS owner_id FROM ${quota.readBy(transaction.dialect, ['follows', 'id'])} WHERE ${quota.column('follows')} = ?`,
      [quotaId],
    )
    const counts = new Set(rows.map((row) => Number(row['id'])))
    return { ownerIds: rows.map((row) => Number(row['owner_id'])), isOf: (charge) => counts.has(charge.quotaId) }
  }

  /**
   * Reads the totals and the refusals that still have rows of their own, in one statement, since rows move from the
   * latter to the former.
   */
  private async stored(
    transaction: Transaction,
    { ownerId, quotaId, isFollowed: ofCounts, step, from, end }: Question,
  ): Promise<[Instant, Sums][]> {
    const { usageTotal, refusal, quota } = this.store
    const column = (property: 'ownerId' | 'step' | 'beganAt' | 'quotaId' | keyof Sums): string =>
      `t.${usageTotal.column(property)}`
    const { dialect } = transaction
    const [of, counts] = ofCounts
      ? [
          `q.${quota.column('follows')} = ? AND ${column('ownerId')} = q.${quota.column('ownerId')} AND ${column('quotaId')} = q.${quota.column('id')}`,
          `${quota.readBy(dialect, ['follows', 'id'], 'q')} ${straightJoin(dialect)} `,
        ]
      : [`${column('ownerId')} = ? AND ${column('quotaId')} = ?`, '']
    // The totals of caps are excluded, so that each unit counts once.
    const paid =
      `${column('quotaId')} NOT IN (SELECT ${quota.column('id')} FROM ${quota.table} ` +
      `WHERE ${quota.column('ownerId')} = ? AND ${quota.column('cap')} IS NOT NULL)`
    const totals =
      `SELECT ${column('beganAt')} AS began_at, ${sumIn(dialect, column('charged'))} AS charged, ${sumIn(dialect, column('refunded'))} AS refunded, ` +
      `${sumIn(dialect, column('refused'))} AS refused, SUM(${column('refusals')}) AS refusals FROM ${counts}${usageTotal.readByKey(dialect, 't')} ` +
      `WHERE ${quotaId === undefined ? `${column('ownerId')} = ? AND ${paid}` : of} AND ${column('step')} = ? ` +
      `AND ${column('beganAt')} >= ? AND ${column('beganAt')} < ? GROUP BY ${column('beganAt')}`
    const bounds = [step, usageTotal.bind('beganAt', from), usageTotal.bind('beganAt', end)]
    if (quotaId !== undefined) {
      const rows = await transaction.rows(totals, [...(ofCounts ? [] : [ownerId]), quotaId, ...bounds])
      return rows.map(sumsOf)
    }
    const hour = refusal.column('hour')
    const refusals =
      `SELECT ${hour}, 0, 0, ${sumIn(dialect, refusal.column('requested'))}, SUM(${refusal.column('count')}) ` +
      `FROM ${refusal.readBy(transaction.dialect, ['ownerId', 'hour'])} ` +
      `WHERE ${refusal.column('ownerId')} = ? AND ${hour} >= ? AND ${hour} < ? AND ${refusal.column('code')} <> '${OBSERVED}' GROUP BY ${hour}`
    const rows = await transaction.rows(`${totals} UNION ALL ${refusals}`, [
      ownerId,
      ownerId,
      ...bounds,
      ownerId,
      refusal.bind('hour', from),
      refusal.bind('hour', end),
    ])
    return rows.map(sumsOf).map(([beganAt, sums]) => [beginningOf(step, beganAt), sums])
  }
}

const NAMES = ['charged', 'refunded', 'refused', 'refusals'] as const satisfies readonly (keyof Sums)[]

/** The sum of refunded and charged amounts has no limit, so it stops at the largest exact JSON number. */
const MAX = Number.MAX_SAFE_INTEGER

function sumsOf(row: Record<string, unknown>): [Instant, Sums] {
  const sum = (name: keyof Sums): number => Math.min(Number(row[name]), MAX)
  return [
    instantFromStore(row['began_at'] as string),
    { charged: sum('charged'), refunded: sum('refunded'), refused: sum('refused'), refusals: sum('refusals') },
  ]
}
