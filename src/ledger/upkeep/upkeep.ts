import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import type { Clock } from '../../clock/clock.js'
import { leaseFor } from '../../database/lease.js'
import type { UnitOfWork } from '../../database/unit-of-work.js'
import type { Instant } from '../../time/instant.js'
import { instantOfId } from '../rows/act-id.js'
import type { LedgerStateRow } from '../rows/ledger-state.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { oldestKept } from '../rows/refusal.entity.js'
import { TotalsUpdater } from '../totals/totals-updater.js'
import type { Ledger } from '../write/ledger.js'
import { Retention } from './retention.js'

const EVERY_MS = 5_000
const MAX_PAUSE_MS = 10_000
/** An instance that says nothing for so long keeps house no more. */
const LEASE_MS = 60_000
/** Between two steps: so many times what the step took, so that requests have the store to themselves. */
const REST = 9
/** The same where totals are far behind. */
const SHORT_REST = 4
/** Totals that are behind by more than this are far behind. */
const FAR_BEHIND_MS = 600_000

/** How long things are kept, in days; undefined: for ever. */
export interface RetentionOptions {
  /** Operations and acts. */
  readonly days: number | undefined
  /** Changes of settings. */
  readonly changesDays: number | undefined
}

/** Told of what was done; for metrics. */
export interface UpkeepObserver {
  removed(what: 'act' | 'change' | 'event', count: number): void
}

/**
 * Keeps house in the background, on one instance at a time: adds acts up into totals, and removes what is older than it
 * need be kept. The lease only saves work; two that keep house at once do nothing wrong, since each step is right by
 * itself.
 */
export class Upkeep<Q extends QuotaRow> implements OnApplicationBootstrap, OnModuleDestroy {
  readonly totals: TotalsUpdater<Q>
  readonly retention: Retention<Q>
  private readonly logger: Logger
  /** This instance's name where the lease is written down. */
  readonly id = randomUUID()
  private timer: NodeJS.Timeout | undefined
  private running: Promise<void> | undefined
  private readonly stop = new AbortController()
  /** As it was found last. */
  private known: LedgerStateRow | undefined
  private behindSince: Instant | undefined
  private oldestActAt: Instant | undefined
  private aheadTold = false
  /** Set by whoever wants to count; at most one. */
  observer: UpkeepObserver | undefined
  /** What others keep no longer than they must: each does one step, and says whether there may be another. */
  readonly removals: (() => Promise<boolean>)[] = []

  constructor(
    private readonly ledger: Ledger<Q>,
    private readonly work: UnitOfWork,
    private readonly clock: Clock,
    private readonly options: RetentionOptions,
  ) {
    this.totals = new TotalsUpdater(ledger.store, work, clock)
    this.retention = new Retention(ledger.store, work, clock)
    this.logger = new Logger(`${ledger.channel.name} upkeep`)
  }

  /** From when on the ledger is whole; null where nothing was ever removed. */
  get beginsAt(): Instant | null {
    return this.known?.beginsAt ?? null
  }

  /**
   * For how long the first act has been there that is not in the totals, in milliseconds; 0 where all are; undefined
   * until it is known. Where the totals claim to reach beyond the present, it is by how much.
   */
  get foldLagMs(): number | undefined {
    if (this.known === undefined) return undefined
    const ahead = instantOfId(this.known.foldedTo) - this.clock.now()
    return Math.max(ahead, this.clock.now() - (this.behindSince ?? Infinity), 0)
  }

  /** For how long something has been due to be removed, in milliseconds; undefined where everything is kept. */
  get retentionLagMs(): number | undefined {
    const { days } = this.options
    if (days === undefined || this.known === undefined) return undefined
    const reached = this.known.removedTo ?? this.oldestActAt ?? Infinity
    return Math.max(0, this.retention.cutoff(days) - reached)
  }

  async onApplicationBootstrap(): Promise<void> {
    // Ids come after the totals from the first request on.
    await this.look().catch((error: unknown) => this.tell(error))
    this.timer = setInterval(() => {
      // Known, told once and watched by others.
      if (this.work.reach !== 'all') return
      this.running ??= this.round()
        .catch((error: unknown) => this.tell(error))
        .finally(() => {
          this.running = undefined
        })
    }, EVERY_MS)
    this.timer.unref()
  }

  async onModuleDestroy(): Promise<void> {
    this.stop.abort()
    clearInterval(this.timer)
    await this.running
    if (this.known?.holder === this.id && this.work.reach === 'all') {
      // The next one need not wait until it is over.
      await this.hold(this.id, null).catch((error: unknown) => this.tell(error))
    }
  }

  /**
   * Looks how far upkeep has come, and keeps this instance's ids after that: an instance of a version before may have
   * added up what is not closed.
   */
  async look(): Promise<LedgerStateRow> {
    const state = await this.totals.state()
    this.behindSince = await this.totals.behindSince()
    this.known = state
    const reached = instantOfId(state.foldedTo)
    this.ledger.keepIdsAfter(reached)
    const ahead = reached - this.clock.now()
    if (ahead > 0 && !this.aheadTold) {
      this.logger.error(
        `totals claim to reach ${Math.round(ahead / 1000)} s beyond the present, as a clock that was wrong has left them: nothing is added up until then. ` +
          'npm run verify names it',
      )
    }
    this.aheadTold = ahead > 0
    return state
  }

  /** Everything that is due now, step by step, unless another instance keeps house. */
  async round(): Promise<void> {
    const found = await this.look()
    if (!this.clock.steady || !(await this.lease(found))) return
    await this.paced(async () => this.totals.fold())
    await this.removeOld(await this.look())
  }

  private async removeOld({ removedTo, foldedTo }: LedgerStateRow): Promise<void> {
    if (!this.clock.steadyForRemoval) return
    await this.paced(async () => (await this.retention.removeHours(oldestKept(this.clock.now()))) > 0)
    await this.paced(async () => {
      const removed = await this.retention.removeEvents()
      this.observer?.removed('event', removed)
      return removed > 0
    })
    for (const step of this.removals) await this.paced(step)
    const { days, changesDays } = this.options
    if (changesDays !== undefined) {
      await this.paced(async () => {
        const removed = await this.retention.removeChanges(changesDays)
        this.observer?.removed('change', removed)
        return removed > 0
      })
    }
    if (days === undefined) return
    const cutoff = this.retention.cutoff(days)
    // Once a day, and never before it is added up.
    if (removedTo !== null && removedTo >= cutoff) return
    if (this.behindSince !== undefined && this.behindSince < cutoff) return
    if (instantOfId(foldedTo) > this.clock.now()) return
    this.oldestActAt = await this.retention.oldestActAt()
    if (this.oldestActAt !== undefined && this.oldestActAt < cutoff) {
      await this.mark('beginsAt', cutoff)
      let after = ''
      const done = await this.paced(async () => {
        const { removed, last } = await this.retention.removeActs(after, days)
        this.observer?.removed('act', removed)
        if (last !== undefined) after = last
        return last !== undefined
      })
      if (!done) return
    }
    await this.mark('removedTo', cutoff)
  }

  /**
   * Does steps with pauses until there is nothing left, this instance is to stop, another one has taken over, or the
   * time is in doubt.
   * @returns is there nothing left?
   */
  private async paced(step: () => Promise<boolean>): Promise<boolean> {
    let renewed = performance.now()
    while (!this.stop.signal.aborted && this.clock.steady) {
      const began = performance.now()
      if (!(await step())) return true
      const took = performance.now() - began
      const lag = this.foldLagMs ?? Infinity
      const { signal } = this.stop
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
   * Takes the lease, or keeps it.
   * @param found how far upkeep has come, and who has the lease
   */
  private async lease(found: LedgerStateRow): Promise<boolean> {
    const state = leaseFor(this.id, found, this.clock.now(), LEASE_MS)
    return state === 'held' || (state === 'free' && (await this.hold(found.holder, this.id)))
  }

  /** @returns did it have the holder that was expected, and has it this one now? */
  private async hold(expected: string | null, holder: string | null): Promise<boolean> {
    const { state } = this.ledger.store
    const heldUntil = holder === null ? null : state.bind('heldUntil', this.clock.now() + LEASE_MS)
    const held = await this.work.write(async (transaction) => {
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

  private async mark(property: 'beginsAt' | 'removedTo', instant: Instant): Promise<void> {
    const { state } = this.ledger.store
    const column = state.column(property)
    const value = state.bind(property, instant)
    await this.work.write((transaction) =>
      transaction.execute(
        `UPDATE ${state.table} SET ${column} = ? WHERE ${state.column('id')} = 1 AND (${column} IS NULL OR ${column} < ?)`,
        [value, value],
      ),
    )
    await this.look()
  }

  private tell(error: unknown): void {
    this.logger.warn(`upkeep failed, retrying later: ${String(error)}`)
  }
}
