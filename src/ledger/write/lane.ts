import { setTimeout as sleep } from 'node:timers/promises'
import { FairQueue } from '../../fairness/fair-queue.js'
import type { Outcome, Request } from '../store/command.js'

/** A request whose caller waits for its answer. */
export interface Waiting {
  readonly request: Request
  /** Its arrival, on the clock of `performance.now()`. */
  readonly since: number
  /** Its identity for tracing; undefined if it is not traced. */
  readonly traced: object | undefined
  /** The time limit of its attempts while another session keeps its owner locked; undefined if none does. */
  lockedOutUntil: number | undefined
  /** Its owner, and the root of its groups if known, in whose lane it is, or at the database from there. */
  inLane: readonly number[]
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: unknown) => void
}

/** The maximum number of requests in one transaction. */
const MAX_BATCH_SIZE = 500
/** A longer transaction indicates a slow disk or a lock, in milliseconds. */
const SLOW_BATCH_MS = 25
/**
 * The maximum number of one caller's requests in a transaction while others use the lane: the others wait for the whole
 * transaction.
 */
const MAX_BATCH_PART = 100
/** The time after a request during which its caller counts as using the lane, in milliseconds. */
const USES_LANE_MS = 1_000

/**
 * A queue with at most one transaction at the database. While a transaction runs, requests are collected, and the next
 * one takes them together, with callers in turn. It uses no timer: an idle lane takes the first request at once.
 */
export class Lane {
  private readonly queue: FairQueue<Waiting>
  private running: Promise<void> | undefined
  private lastCaller: string | undefined
  /** The start of the present transaction, on the clock of `performance.now()`; undefined if there is none. */
  private busySince: number | undefined
  /** The time until which several callers count as using the lane, on the clock of `performance.now()`. */
  private sharedUntil = 0

  /**
   * @param answerBatch answers every request of a batch, or puts it into a lane again; never throws
   * @param limit maximum number of waiting requests
   * @param pauseMs between two batches; for a lane whose requests wait for another session's lock
   * @param batchSize maximum number of requests in one transaction
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
   * Is the lane full for this caller? A full lane still accepts requests of a caller that holds less than an equal
   * share of it.
   */
  isFullFor(caller: string): boolean {
    return this.queue.isFullFor(caller)
  }

  /** Would a request wait here for more than the present transaction? */
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

  /** Waiting requests, without those at the database. */
  get size(): number {
    return this.queue.size
  }

  push(waiting: Waiting): void {
    const { callerId: caller, command } = waiting.request
    // Nobody waits for a sweep.
    if (command.kind !== 'sweep') {
      if (this.lastCaller !== undefined && caller !== this.lastCaller) this.sharedUntil = waiting.since + USES_LANE_MS
      this.lastCaller = caller
    }
    this.queue.push(caller, waiting)
    this.running ??= this.run()
  }

  /** Removes and returns all waiting requests. */
  clear(): Waiting[] {
    return this.queue.take(this.queue.size)
  }

  /** Resolves when no request waits or is at the database. */
  async idle(): Promise<void> {
    await this.running
  }

  private async run(): Promise<void> {
    // One turn of the event loop, so that requests that arrived together are taken together.
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
