import { setTimeout as sleep } from 'node:timers/promises'
import { FairQueue } from '../../fairness/fair-queue.js'
import type { Outcome, Request } from '../store/command.js'

/** A request whose caller waits for its answer. */
export interface Waiting {
  readonly request: Request
  /** When it came, on the clock of `performance.now()`. */
  readonly since: number
  /** What whoever traces requests knows it by; undefined where nobody follows it. */
  readonly traced: object | undefined
  /** Until when it is tried again while somebody else keeps its owner locked; undefined as long as nobody does. */
  lockedOutUntil: number | undefined
  /** Is it in the lane of its owner's other requests, or at the database from there? */
  inLane: boolean
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

/** Requests that one transaction takes. */
const MAX_BATCH_SIZE = 500
/** A transaction that takes longer has met a slow disk or somebody's lock, in milliseconds. */
const SLOW_BATCH_MS = 25
/**
 * Requests of one caller that a transaction takes while others use the lane: a long transaction is what the others wait
 * for.
 */
const MAX_BATCH_PART = 100
/** For how long a caller is reckoned to use the lane after a request of its own, in milliseconds. */
const USES_LANE_MS = 1_000

/**
 * A queue with at most one transaction at the database. While that is under way requests gather, and the next one takes
 * them together, each caller's in turn with the others'. No timer: an idle lane takes the first request at once.
 */
export class Lane {
  private readonly queue: FairQueue<Waiting>
  private running: Promise<void> | undefined
  private lastCaller: string | undefined
  /** Since when a transaction is at the database, on the clock of `performance.now()`; undefined where none is. */
  private busySince: number | undefined
  /** Until when several callers are reckoned to use the lane, on the clock of `performance.now()`. */
  private sharedUntil = 0

  /**
   * @param answerBatch answers every request of a batch, or puts it into a lane again; never throws
   * @param limit requests that may wait
   * @param pauseMs between two batches; for a lane whose requests wait for somebody else's lock
   * @param batchSize requests that one transaction takes
   */
  constructor(
    private readonly answerBatch: (batch: readonly Waiting[]) => Promise<void>,
    limit: number,
    private readonly pauseMs = 0,
    private readonly batchSize = MAX_BATCH_SIZE,
  ) {
    this.queue = new FairQueue(limit)
  }

  /**
   * Is there no room for another request of this caller? A full lane still has room for whoever holds less than an
   * equal part of it.
   */
  isFullFor(caller: string): boolean {
    return this.queue.isFullFor(caller)
  }

  /** Would a request wait here for longer than for the transaction that is just under way? */
  get congested(): boolean {
    return (
      this.queue.size >= MAX_BATCH_SIZE ||
      (this.busySince !== undefined && performance.now() - this.busySince > SLOW_BATCH_MS)
    )
  }

  /** Is a transaction at the database? */
  get busy(): boolean {
    return this.busySince !== undefined
  }

  /** Requests that wait, not those at the database. */
  get size(): number {
    return this.queue.size
  }

  push(waiting: Waiting): void {
    const { callerId: caller } = waiting.request
    if (this.lastCaller !== undefined && caller !== this.lastCaller) this.sharedUntil = waiting.since + USES_LANE_MS
    this.lastCaller = caller
    this.queue.push(caller, waiting)
    this.running ??= this.run()
  }

  /** Everything that waits, taken out. */
  clear(): Waiting[] {
    return this.queue.take(this.queue.size)
  }

  /** Resolves when nothing waits and nothing is under way. */
  async idle(): Promise<void> {
    await this.running
  }

  private async run(): Promise<void> {
    // One turn of the event loop, so that what came in together goes together.
    await new Promise(setImmediate)
    while (this.queue.size > 0) {
      const part = performance.now() < this.sharedUntil ? MAX_BATCH_PART : this.batchSize
      this.busySince = performance.now()
      await this.answerBatch(this.queue.take(this.batchSize, part))
      this.busySince = undefined
      if (this.pauseMs > 0) await sleep(this.pauseMs * (0.5 + Math.random()))
    }
    this.running = undefined
  }
}
