import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { leaseFor } from '../database/lease.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import type { Instant } from '../time/instant.js'
import { Applier } from './applier.js'
import { LeasedChangeSet, LEASE_MS, LeaseLost } from './leased-change-set.js'
import type { ChangeSetRow } from './change-set.entity.js'
import { Preparer, type Dependencies } from './preparer.js'

const EVERY_MS = 1_000
/** The pause after a step while others use the engine, as a multiple of the step's duration. */
const REST = 15
const MAX_REST_MS = 4_000
/** The retention of change sets, in milliseconds. */
const KEPT_MS = 90 * 86_400_000
/** The time after which an incomplete file is given up, in milliseconds. */
const ARRIVES_MS = 3_600_000

/** The process is shutting down. */
class Stopped extends Error {}

/**
 * Prepares, applies and reverts the change sets of one channel in the background. One instance at a time works on a
 * change set, with a lease by the store's clock; when the lease expires, another instance continues.
 */
export class ChangeSetRunner<Q extends QuotaRow> implements OnApplicationBootstrap, OnModuleDestroy {
  /** This instance's id in leases. */
  readonly id = randomUUID()
  private readonly logger: Logger
  private readonly stop = new AbortController()
  private timer: NodeJS.Timeout | undefined
  private running: Promise<void> | undefined
  private again = false
  private waiting: readonly ChangeSetRow[] = []
  private movedAt: Instant | undefined

  constructor(private readonly dependencies: Omit<Dependencies<Q>, 'rest'>) {
    this.logger = new Logger(`${dependencies.kind.channel.name} change sets`)
  }

  /** The number of unfinished change sets, as seen last. */
  get waitingCount(): number {
    return this.waiting.length
  }

  /** How long no instance has made progress on them, in milliseconds; 0 if there are none. */
  get lagMs(): number {
    const [first] = this.waiting
    if (first === undefined) return 0
    const moved = Math.max(this.movedAt ?? 0, (first.heldUntil ?? first.createdAt + LEASE_MS) - LEASE_MS)
    return Math.max(0, this.dependencies.clock.now() - moved)
  }

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => this.kick(), EVERY_MS)
    this.timer.unref()
  }

  async onModuleDestroy(): Promise<void> {
    this.stop.abort()
    clearInterval(this.timer)
    await this.running
  }

  /** Checks at once whether there is work. */
  kick(): void {
    this.again = true
    // Another part has logged the outage and watches it.
    if (this.stop.signal.aborted || this.dependencies.transactions.reach !== 'all') return
    this.running ??= this.rounds()
      .catch((error: unknown) => this.logger.warn(`work on a change set failed, retrying later: ${String(error)}`))
      .finally(() => {
        this.running = undefined
      })
  }

  /** Removes one step of old change sets. @returns whether there may be more */
  async removeOld(): Promise<boolean> {
    const { store, transactions, clock } = this.dependencies
    const now = clock.now()
    const old = await transactions.read(async (transaction) => {
      const abandoned = await store.abandoned(transaction, now - ARRIVES_MS)
      if (abandoned !== undefined) return abandoned
      const oldest = await store.oldest(transaction)
      return oldest !== undefined && oldest.work === null && oldest.createdAt < now - KEPT_MS ? oldest : undefined
    })
    if (old === undefined) return false
    await transactions.write(async (transaction) => {
      if (!(await store.removeItems(transaction, old.id))) await store.remove(transaction, old.id)
    })
    return true
  }

  private async rounds(): Promise<void> {
    while (this.again && !this.stop.signal.aborted) {
      this.again = false
      const { store, transactions } = this.dependencies
      this.waiting = await transactions.read((transaction) => store.withWork(transaction))
      for (const { id } of this.waiting) {
        const leased = await this.take(id)
        if (leased === undefined) continue
        // Requests that arrived meanwhile may be visible now.
        this.again = true
        await this.perform(leased)
        break
      }
    }
  }

  private async perform(leased: LeasedChangeSet): Promise<void> {
    const dependencies: Dependencies<Q> = { ...this.dependencies, rest: async (tookMs) => this.rest(tookMs) }
    try {
      const { work } = leased.set
      if (work === 'prepare') await new Preparer(dependencies, leased).run()
      else if (work === 'apply') await new Applier(dependencies, leased).apply()
      else if (work === 'revert') await new Applier(dependencies, leased).revert()
      else {
        await leased.clear()
        await leased.finish()
      }
    } catch (error) {
      if (error instanceof Stopped) await leased.giveUp()
      else if (!(error instanceof LeaseLost)) {
        this.again = false
        throw error
      }
    }
  }

  /** Takes the lease on a change set, unless another instance has it. */
  private async take(id: number): Promise<LeasedChangeSet | undefined> {
    const { store, transactions, clock } = this.dependencies
    const found = await transactions.write(async (transaction) => {
      const set = await store.lock(transaction, id)
      if (set?.work == null) return undefined
      const now = clock.now()
      if (leaseFor(this.id, set, now, LEASE_MS) === 'taken') return undefined
      const lease = { holder: this.id, heldUntil: now + LEASE_MS }
      await store.update(transaction, id, lease)
      return Object.assign(set, lease)
    })
    return found === undefined ? undefined : new LeasedChangeSet(store, transactions, clock, found, this.id)
  }

  private async rest(tookMs: number): Promise<void> {
    this.movedAt = this.dependencies.clock.now()
    const { signal } = this.stop
    if (this.dependencies.ledger.engine.inUse) {
      await sleep(Math.min(MAX_REST_MS, tookMs * REST), undefined, { ref: false, signal }).catch(() => undefined)
    }
    if (signal.aborted) throw new Stopped()
  }
}
