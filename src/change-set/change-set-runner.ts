import { randomUUID } from 'node:crypto'
import { Logger } from '@nestjs/common'
import { leaseFor } from '../database/lease.js'
import { PeriodicTask } from '../common/periodic-task.js'
import { ServiceError } from '../common/service-error.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { storedJson } from '../ledger/rows/stored-json.js'
import type { Instant } from '../common/instant.js'
import { Applier } from './applier.js'
import { LeasedChangeSet, LEASE_MS, LeaseLost } from './leased-change-set.js'
import { type ChangeSetRow, type ChangeSetWork, nextWork, noCounts, rowsIn } from './change-set.entity.js'
import type { RowProblem } from './change-set.view.js'
import { Preparer, type Dependencies } from './preparer.js'

const EVERY_MS = 1_000
/** The interval between checks of the leases during a step, in milliseconds. */
const LOOK_AT_LEASES_MS = LEASE_MS / 10
/** How long one change set is worked on before those of other principals, in milliseconds. */
const TURN_MS = 100
/** The pause after a turn while others use the engine, as a multiple of the turn's duration. */
const REST = 15
/** The number of failures of one step after which a change set is set aside. */
const MAX_FAILURES = 3

/** A change set in progress on this instance. */
interface Task {
  readonly leased: LeasedChangeSet
  /** Its work, one step at a time. */
  readonly steps: AsyncGenerator<void>
}

/**
 * Prepares, applies and reverts the change sets of one channel in the background. One instance at a time works on a
 * change set, with a lease by the store's clock; when the lease expires, another instance continues.
 *
 * Principals take turns, small change sets before large ones; the work on those of one principal is done in the order
 * of the requests. A change set whose step has failed, or has ended its process, three times in a row is set aside.
 */
export class ChangeSetRunner<Q extends QuotaRow> {
  /** This instance's id in leases. */
  readonly id = randomUUID()
  private readonly logger: Logger
  private readonly task: PeriodicTask
  private waiting: { readonly first: readonly ChangeSetRow[]; readonly count: number } = { first: [], count: 0 }
  private movedAt: Instant | undefined
  /** Change sets in progress here, by id. */
  private readonly tasks = new Map<number, Task>()
  /** The one that had the last turn. */
  private current: Task | undefined
  /** When change sets have just failed, by id and `performance.now()`: they are tried again after a pause. */
  private readonly failed = new Map<number, number>()
  /** Change sets whose last step met another fault than its own, by id: until that is recorded, they have to wait. */
  private readonly interrupted = new Map<number, LeasedChangeSet>()
  /** Called when a change set is set aside; at most one listener. */
  onSetAside: (() => void) | undefined

  constructor(private readonly dependencies: Dependencies<Q>) {
    const name = `${dependencies.kind.channel.name} change sets`
    this.logger = new Logger(name)
    this.task = new PeriodicTask(dependencies.transactions, name, EVERY_MS, async () => this.rounds())
  }

  /** The number of unfinished change sets, as seen last. */
  get waitingCount(): number {
    return this.waiting.count
  }

  /** How long no instance has made progress on the oldest of them, in milliseconds; 0 if there are none. */
  get lagMs(): number {
    const waited = this.waiting.first.map(({ heldUntil, workAt }) => Math.max((heldUntil ?? 0) - LEASE_MS, workAt ?? 0))
    if (waited.length === 0) return 0
    return Math.max(0, this.dependencies.clock.now() - Math.max(this.movedAt ?? 0, Math.min(...waited)))
  }

  /** Checks at once whether there is work. */
  wake(): void {
    void this.task.again()
  }

  /** Removes an old change set, or lets its rows be removed. @returns whether there may be more */
  async removeOld(): Promise<boolean> {
    const { store, transactions, clock } = this.dependencies
    const now = clock.now()
    const old = await transactions.read((transaction) => store.expired(transaction, now))
    if (old === undefined) return false
    await transactions.write(async (transaction) => {
      const set = await store.lock(transaction, old.id)
      // It may have been applied meanwhile.
      if (set === undefined || set.workAt !== null || set.expiresAt >= now) return
      if (set.state !== 'dropped')
        await store.update(transaction, set.id, { state: 'dropped', hidden: 1, ...nextWork('clear', now) })
      else if (!(await store.removeItems(transaction, set.id))) await store.remove(transaction, set.id)
    })
    this.wake()
    return true
  }

  private isStopped(): boolean {
    return this.task.signal.aborted
  }

  private async rounds(): Promise<void> {
    const { store, transactions, keys } = this.dependencies
    try {
      let lookedAt = -Infinity
      for (let more = true; more && !this.isStopped();) {
        more = false
        // While large change sets keep it busy, too.
        await this.forgive()
        if (performance.now() - lookedAt >= EVERY_MS) {
          lookedAt = performance.now()
          await keys.look()
        }
        this.waiting = await transactions.read((transaction) => store.firstOfEach(transaction))
        for (const { id } of this.waiting.first.toSorted((a, b) => sizeOf(a) - sizeOf(b))) {
          if (this.isStopped()) break
          if (this.interrupted.has(id) || performance.now() - (this.failed.get(id) ?? -Infinity) < EVERY_MS) continue
          this.failed.delete(id)
          const began = performance.now()
          const task = this.tasks.get(id) ?? (await this.take(id))
          if (task === undefined) continue
          // More may be visible when it ends.
          more = true
          await this.turn(id, task)
          await this.rest(performance.now() - began)
        }
      }
    } finally {
      if (this.isStopped()) await this.giveUp()
    }
  }

  /** Works on a change set for a while. */
  private async turn(id: number, task: Task): Promise<void> {
    const ends = performance.now() + TURN_MS
    try {
      if (this.current !== task) {
        const others = [...this.tasks.values()].filter((other) => other !== task)
        for (const other of others) {
          if (other === this.current) await this.held(other, async (leased) => leased.pause())
          else if (other.leased.due) await this.held(other, async (leased) => leased.keep())
        }
        if (this.tasks.has(id)) await task.leased.begin()
        else this.tasks.set(id, task)
        this.current = task
      }
      do {
        if (await this.step(task)) {
          this.drop(id)
          return
        }
      } while (performance.now() < ends && !this.isStopped())
    } catch (error) {
      this.drop(id)
      await this.fail(task.leased, error)
    }
  }

  /**
   * Runs a step, and keeps the leases meanwhile: it may wait for a row that another session keeps locked.
   * @returns whether it was the last one
   */
  private async step({ steps }: Task): Promise<boolean> {
    const keeping = setInterval(() => void this.keepLeases(), LOOK_AT_LEASES_MS)
    try {
      return (await steps.next()).done === true
    } finally {
      clearInterval(keeping)
    }
  }

  private async keepLeases(): Promise<void> {
    for (const task of this.tasks.values())
      // A lease that cannot be renewed is met by the next write.
      if (task.leased.due) await this.held(task, async (leased) => leased.keep()).catch(() => undefined)
  }

  /** Takes the lease on a change set, unless another instance has it. */
  private async take(id: number): Promise<Task | undefined> {
    const { store, transactions, clock } = this.dependencies
    let failures: number | undefined
    const found = await transactions.write(async (transaction) => {
      const set = await store.lock(transaction, id)
      if (set?.work == null) return undefined
      const now = clock.now()
      if (leaseFor(this.id, set, now, LEASE_MS) === 'taken') return undefined
      failures ??= set.attempts
      const lease = { holder: this.id, heldUntil: now + LEASE_MS, attempts: failures + 1 }
      await store.update(transaction, id, lease)
      return Object.assign(set, lease)
    })
    if (found === undefined || failures === undefined) return undefined
    const leased = new LeasedChangeSet(store, transactions, clock, found, this.id)
    if (failures < MAX_FAILURES) return { leased, steps: this.work(leased) }
    await this.setAside(leased, 'it has ended its process, or was not finished by it')
    return undefined
  }

  private async *work(leased: LeasedChangeSet): AsyncGenerator<void> {
    const { work } = leased.set
    if (work === 'prepare') yield* new Preparer(this.dependencies, leased).run()
    else if (work === 'apply') yield* new Applier(this.dependencies, leased).apply()
    else if (work === 'revert') yield* new Applier(this.dependencies, leased).revert()
    else {
      while (await leased.clearStep()) yield
      await leased.finish({ waitingRows: 0 })
    }
  }

  /** Counts a failure of a change set, unless others have caused it. */
  private async fail(leased: LeasedChangeSet, error: unknown): Promise<void> {
    const { id } = leased.set
    if (error instanceof LeaseLost) {
      // Whoever took it before its end has another time, or ended the work.
      if (leased.isCurrent) this.interrupted.set(id, leased)
      return
    }
    this.failed.set(id, performance.now())
    if (this.isPassing(error)) {
      this.interrupted.set(id, leased)
      return
    }
    if (leased.set.attempts >= MAX_FAILURES) await this.setAside(leased, error)
  }

  /** Records that interrupted steps do not count, as soon as the store accepts it and whoever continues meanwhile. */
  private async forgive(): Promise<void> {
    for (const [id, leased] of this.interrupted) {
      try {
        await leased.forgive()
      } catch (error) {
        if (error instanceof ServiceError) continue
        this.interrupted.delete(id)
        throw error
      }
      this.interrupted.delete(id)
    }
  }

  /** Is an error the database's or another session's, and not due to the change set? */
  private isPassing(error: unknown): boolean {
    if (!(error instanceof ServiceError) || error.code !== 'unavailable') return false
    // A statement may break its connection each time, as one that the server considers too large.
    return error.reason !== 'database_away' || this.dependencies.transactions.reach !== 'all'
  }

  /** Ends the work on a change set that has failed too often, so that no instance meets it again. */
  private async setAside(leased: LeasedChangeSet, cause: unknown): Promise<void> {
    const { id, work } = leased.set
    const name = WORK[work ?? 'clear']
    const detail =
      cause instanceof Error
        ? `Its ${name} failed ${MAX_FAILURES} times in a row; the log of the service has the cause.`
        : `Its ${name} was begun ${MAX_FAILURES} times, and each time its process ended, or did not go on.`
    const problem = storedJson({ code: 'internal_error', detail } satisfies RowProblem)
    try {
      // Unless that has ended the process, too.
      if (leased.set.attempts <= MAX_FAILURES + 1) await this.recover(leased)
      // Rows that were applied stay, and can be reverted.
      if (work === 'clear') await leased.finish()
      else if (work === 'prepare') {
        const clear = nextWork('clear', this.dependencies.clock.now())
        await leased.become('failed', { ...noCounts(), problem, ...clear })
      } else await leased.become('failed', { problem })
    } catch (error) {
      if (error instanceof LeaseLost) return
      throw error
    }
    const reason = cause instanceof Error ? (cause.stack ?? String(cause)) : String(cause)
    this.logger.error(`change set ${id} is set aside: its ${name} failed ${MAX_FAILURES} times: ${reason}`)
    this.onSetAside?.()
    this.wake()
  }

  /** Records what the failed step has done, as far as the store accepts it. */
  private async recover(leased: LeasedChangeSet): Promise<void> {
    const { work } = leased.set
    try {
      if (work === 'apply' || work === 'revert') await new Applier(this.dependencies, leased).recover(work)
    } catch (error) {
      if (error instanceof LeaseLost || this.isPassing(error)) throw error
    }
  }

  /** Writes for a task that waits for its turn; forgets it if its lease is lost. */
  private async held(task: Task, write: (leased: LeasedChangeSet) => Promise<void>): Promise<void> {
    try {
      await write(task.leased)
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error
      this.drop(task.leased.set.id)
    }
  }

  private drop(id: number): void {
    if (this.current === this.tasks.get(id)) this.current = undefined
    this.tasks.delete(id)
  }

  /** Releases every lease, for other instances. */
  private async giveUp(): Promise<void> {
    await this.forgive()
    for (const task of this.tasks.values()) await this.held(task, async (leased) => leased.giveUp())
    this.tasks.clear()
  }

  private async rest(tookMs: number): Promise<void> {
    this.movedAt = this.dependencies.clock.now()
    await this.dependencies.ledger.engine.rest(tookMs, REST, this.task.signal)
  }
}

const WORK: Readonly<Record<ChangeSetWork, string>> = {
  prepare: 'preparation',
  apply: 'application',
  revert: 'reversion',
  clear: 'removal',
}

/** Returns the number of a change set's rows; 0 as long as it is unknown. */
function sizeOf(set: ChangeSetRow): number {
  return Math.max(set.waitingRows, rowsIn(set))
}
