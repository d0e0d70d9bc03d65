import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import type { Clock } from '../../common/clock.js'
import { leaseFor } from '../../database/lease.js'
import { PeriodicTask } from '../../common/periodic-task.js'
import type { TransactionRunner } from '../../database/transaction-runner.js'
import type { Instant } from '../../common/instant.js'
import { instantOfId } from '../rows/act-id.js'
import type { LedgerStateRow } from '../rows/ledger-state.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { oldestKept } from '../rows/refusal.entity.js'
import { LAZY_MS, TotalsUpdater } from '../totals/totals-updater.js'
import type { Ledger } from '../write/ledger.js'
import { Retention } from './retention.js'

const EVERY_MS = 5_000
const MAX_PAUSE_MS = 10_000
/** An instance that does not renew its lease for this time stops upkeep. */
const LEASE_MS = 60_000
/** The pause between steps, as a multiple of the step's duration, so that requests have the store to themselves. */
const REST = 9
/** The same if totals are far behind. */
const SHORT_REST = 4
/** The lag from which totals count as far behind. */
const FAR_BEHIND_MS = 600_000

/** Retention periods, in days; undefined: unlimited. */
export interface RetentionOptions {
  /** Operations and acts. */
  readonly days: number | undefined
  /** Changes of settings. */
  readonly changesDays: number | undefined
}

/** Observes upkeep; for metrics. */
export interface UpkeepObserver {
  removed(what: 'act' | 'change' | 'event', count: number): void
}

/**
 * Runs upkeep in the background, on one instance at a time: adds up acts into totals, and removes rows after their
 * retention. The lease only saves work; if two instances run it at once, the result is still correct, since each step
 * is correct on its own.
 */
export class Upkeep<Q extends QuotaRow> implements OnApplicationBootstrap, OnModuleDestroy {
  readonly totals: TotalsUpdater<Q>
  readonly retention: Retention<Q>
  private readonly logger: Logger
  /** This instance's id in the lease. */
  readonly id = randomUUID()
  private readonly task: PeriodicTask
  /** The state found last. */
  private known: LedgerStateRow | undefined
  private behindSince: Instant | undefined
  private oldestActAt: Instant | undefined
  /** When everything had been added up. */
  private addedUpAt: Instant = 0
  private aheadLogged = false
  /** An observer for metrics; at most one. */
  observer: UpkeepObserver | undefined
  /** Further removals: each runs one step, and returns whether there may be more. */
  readonly removals: (() => Promise<boolean>)[] = []

  constructor(
    private readonly ledger: Ledger<Q>,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
    private readonly options: RetentionOptions,
  ) {
    this.totals = new TotalsUpdater(ledger.store, transactions, clock)
    this.retention = new Retention(ledger.store, transactions, clock)
    const name = `${ledger.channel.name} upkeep`
    this.logger = new Logger(name)
    this.task = new PeriodicTask(transactions, name, EVERY_MS, async () => this.round())
  }

  /** The time from which the ledger is complete; null if nothing was ever removed. */
  get beginsAt(): Instant | null {
    return this.known?.beginsAt ?? null
  }

  /**
   * The age of the first act that is not in the totals, in milliseconds; 0 if all are; undefined until it is known. If
   * the watermark is in the future, the difference from the present.
   */
  get foldLagMs(): number | undefined {
    if (this.known === undefined) return undefined
    const ahead = instantOfId(this.known.foldedTo) - this.clock.now()
    return Math.max(ahead, this.clock.now() - (this.behindSince ?? Infinity), 0)
  }

  /** How long the oldest row has been due for removal, in milliseconds; undefined if everything is kept. */
  get retentionLagMs(): number | undefined {
    const { days } = this.options
    if (days === undefined || this.known === undefined) return undefined
    const reached = this.known.removedTo ?? this.oldestActAt ?? Infinity
    return Math.max(0, this.retention.cutoff(days) - reached)
  }

  async onApplicationBootstrap(): Promise<void> {
    // Before the first request, so that new ids are greater than the watermark.
    await this.look().catch((error: unknown) => this.logFailure(error))
  }

  async onModuleDestroy(): Promise<void> {
    await this.task.stop()
    if (this.known?.holder === this.id && this.transactions.reach === 'all') {
      // Otherwise the next instance waits until the lease expires.
      await this.moveLease(this.id, null).catch((error: unknown) => this.logFailure(error))
    }
  }

  /** Reads the progress of upkeep, and makes this instance assign ids greater than the watermark. */
  async look(): Promise<LedgerStateRow> {
    const state = await this.totals.state()
    this.behindSince = await this.totals.behindSince()
    this.known = state
    const reached = instantOfId(state.foldedTo)
    this.ledger.keepIdsAfter(reached)
    const ahead = reached - this.clock.now()
    if (ahead > 0 && !this.aheadLogged) {
      this.logger.error(
        `the watermark of the totals is ${Math.round(ahead / 1000)} s in the future, set by a wrong clock: no acts are added up until then. ` +
          'node dist/src/verify.js reports it',
      )
    }
    this.aheadLogged = ahead > 0
    return state
  }

  /** Runs everything that is due, step by step, unless another instance has the lease. */
  async round(): Promise<void> {
    const found = await this.look()
    if (!this.clock.steady || !(await this.lease(found))) return
    await this.addUp()
    await this.removeOld(await this.look())
  }

  private async addUp(): Promise<void> {
    await this.paced(async () => this.totals.fold())
    this.addedUpAt = this.clock.now()
  }

  private async removeOld({ removedTo, foldedTo }: LedgerStateRow): Promise<void> {
    if (!this.clock.steadyForRemoval) return
    await this.removeOthers()
    const { days } = this.options
    if (days === undefined) return
    const cutoff = this.retention.cutoff(days)
    // Once a day, after the day has been added up.
    if (removedTo !== null && removedTo >= cutoff) return
    if (this.behindSince !== undefined && this.behindSince < cutoff) return
    if (instantOfId(foldedTo) > this.clock.now()) return
    this.oldestActAt = await this.retention.oldestActAt()
    if (this.oldestActAt !== undefined && this.oldestActAt < cutoff) {
      await this.advance('beginsAt', cutoff)
      let after = ''
      let othersAt = this.clock.now()
      const done = await this.removing(async () => {
        // The acts of years take days: nothing else waits for them.
        if (Math.abs(this.clock.now() - othersAt) >= LAZY_MS) {
          await this.removeOthers()
          othersAt = this.clock.now()
        }
        const { removed, last } = await this.retention.removeActs(after, cutoff, days)
        this.observer?.removed('act', removed)
        if (last !== undefined) after = last
        return last !== undefined
      })
      if (!done) return
    }
    await this.advance('removedTo', cutoff)
  }

  /** Removes what is too old, but for acts. */
  private async removeOthers(): Promise<void> {
    await this.removing(async () => (await this.retention.removeHours(oldestKept(this.clock.now()))) > 0)
    await this.removing(async () => (await this.retention.removeSpells(oldestKept(this.clock.now()))) > 0)
    await this.removing(async () => {
      const removed = await this.retention.removeEvents()
      this.observer?.removed('event', removed)
      return removed > 0
    })
    for (const step of this.removals) await this.removing(step)
    const { changesDays } = this.options
    if (changesDays === undefined) return
    await this.removing(async () => {
      const removed = await this.retention.removeChanges(changesDays)
      this.observer?.removed('change', removed)
      return removed > 0
    })
  }

  /** Runs steps of a removal. One may take days: what happens meanwhile is added up. */
  private async removing(step: () => Promise<boolean>): Promise<boolean> {
    return this.paced(async () => {
      if (Math.abs(this.clock.now() - this.addedUpAt) >= LAZY_MS) await this.addUp()
      return step()
    })
  }

  /**
   * Runs steps with pauses until none is left, this instance stops, another one has the lease, or the time is in doubt.
   * @returns whether nothing is left
   */
  private async paced(step: () => Promise<boolean>): Promise<boolean> {
    let renewed = performance.now()
    while (!this.task.signal.aborted && this.clock.steady) {
      const began = performance.now()
      if (!(await step())) return true
      const took = performance.now() - began
      const lag = this.foldLagMs ?? Infinity
      const { signal } = this.task
      const pause = Math.min(MAX_PAUSE_MS, took * (lag > FAR_BEHIND_MS ? SHORT_REST : REST))
      await sleep(pause, undefined, { ref: false, signal }).catch(() => undefined)
      if (performance.now() - renewed > LEASE_MS / 3) {
        renewed = performance.now()
        if (!(await this.lease(await this.look()))) return false
      }
    }
    return false
  }

  /**
   * Takes or renews the lease.
   * @param found the progress of upkeep, and the holder of the lease
   */
  private async lease(found: LedgerStateRow): Promise<boolean> {
    const state = leaseFor(this.id, found, this.clock.now(), LEASE_MS)
    return state === 'held' || (state === 'free' && (await this.moveLease(found.holder, this.id)))
  }

  /** Moves the lease to a holder, or releases it. @returns whether the expected holder had it */
  private async moveLease(expected: string | null, holder: string | null): Promise<boolean> {
    const { state } = this.ledger.store
    const heldUntil = holder === null ? null : state.bind('heldUntil', this.clock.now() + LEASE_MS)
    const held = await this.transactions.write(async (transaction) => {
      if ((await this.totals.rows.lockState(transaction)).holder !== expected) return false
      await transaction.later(
        `UPDATE ${state.table} SET ${state.column('holder')} = ?, ${state.column('heldUntil')} = ? WHERE ${state.column('id')} = 1`,
        [holder, heldUntil],
      )
      return true
    })
    if (held && this.known !== undefined) this.known.holder = holder
    return held
  }

  /** Stores a time, unless the stored one is later. */
  private async advance(property: 'beginsAt' | 'removedTo', instant: Instant): Promise<void> {
    const { state } = this.ledger.store
    const column = state.column(property)
    const value = state.bind(property, instant)
    await this.transactions.write((transaction) =>
      transaction.execute(
        `UPDATE ${state.table} SET ${column} = ? WHERE ${state.column('id')} = 1 AND (${column} IS NULL OR ${column} < ?)`,
        [value, value],
      ),
    )
    await this.look()
  }

  private logFailure(error: unknown): void {
    this.logger.warn(`upkeep failed, retrying later: ${String(error)}`)
  }
}
