import { AsyncResource } from 'node:async_hooks'
import { Logger } from '@nestjs/common'
import { RepeatedFailure } from './repeated-failure.js'

/** The uses that a store admits: everything, only reads (a full disk, a read-only server), or nothing. */
export type Reach = 'all' | 'reads' | 'none'

/** The store that tasks work on, such as `TransactionRunner`. */
export interface TaskStore {
  readonly reach: Reach
  /** Every task on it; what it starts and stops. */
  readonly tasks: Set<PeriodicTask>
}

/** What a task does: one run. @returns a pause until the next run that is longer than usual, in milliseconds */
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- most runs return nothing
export type Run = (signal: AbortSignal) => Promise<number | void>

/**
 * Work in the background that is repeated from the start of the application to its end. While the store is known to be
 * unavailable, it pauses: StoreWatch logs that. RepeatedFailure logs other failures; a metric counts those in a row.
 *
 * Its runs belong to no request, whoever asks for them: otherwise a request's trace would contain all later runs.
 */
export class PeriodicTask {
  private readonly scope = new AsyncResource('PeriodicTask')
  private readonly failure: RepeatedFailure
  private readonly stopping = new AbortController()
  private timer: NodeJS.Timeout | undefined
  private asked: NodeJS.Timeout | undefined
  private running: Promise<Error | undefined> | undefined
  private next: Promise<Error | undefined> | undefined

  /**
   * @param name for the log and the metric, such as `mail sweeper`
   * @param everyMs from the end of one run to the beginning of the next, in milliseconds
   * @param needs what a run needs of the store
   */
  constructor(
    private readonly store: TaskStore,
    readonly name: string,
    private readonly everyMs: number,
    private readonly work: Run,
    private readonly needs: 'reads' | 'writes' = 'writes',
  ) {
    this.failure = new RepeatedFailure(new Logger(name))
    store.tasks.add(this)
  }

  /** Failures since the last success. */
  get failures(): number {
    return this.failure.inRow
  }

  /** Aborted when the task is stopped. */
  get signal(): AbortSignal {
    return this.stopping.signal
  }

  /** Runs it after a period, and again after each run. */
  start(pauseMs = this.everyMs): void {
    clearTimeout(this.timer)
    if (this.signal.aborted) return
    this.timer = setTimeout(() => {
      if (this.isServed()) void this.run()
      else this.start()
    }, pauseMs).unref()
  }

  /** Runs it at once, or waits for the present run. Never rejects. @returns the error with which it failed */
  async run(): Promise<Error | undefined> {
    this.running ??= this.attempt().finally(() => {
      this.running = undefined
    })
    return this.running
  }

  /** Runs it at once, or again after the present run; calls meanwhile share that one. As `run` otherwise. */
  async again(): Promise<Error | undefined> {
    if (this.running === undefined) return this.run()
    this.next ??= this.following()
    return this.next
  }

  /** Runs it after a pause and after the present run; calls within the pause are one. */
  soon(pauseMs: number): void {
    if (this.signal.aborted) return
    this.asked ??= setTimeout(() => {
      this.asked = undefined
      void this.again()
    }, pauseMs).unref()
  }

  /** Resolves when the present run, and one that was asked for, have ended; none begins by itself any more. */
  async stop(): Promise<void> {
    this.stopping.abort()
    this.store.tasks.delete(this)
    clearTimeout(this.timer)
    clearTimeout(this.asked)
    for (let last; (last = this.next ?? this.running) !== undefined;) await last
  }

  private async following(): Promise<Error | undefined> {
    // Another one may begin first, before the last calls.
    while (this.running !== undefined) await this.running
    this.next = undefined
    return this.run()
  }

  private async attempt(): Promise<Error | undefined> {
    let pauseMs = 0
    try {
      pauseMs = (await this.scope.runInAsyncScope(async () => this.work(this.signal))) ?? 0
      this.failure.succeeded()
      return undefined
    } catch (error) {
      // A run that an outage ended is no failure of the task.
      if (error !== this.signal.reason && this.isServed()) this.failure.failed(String(error))
      return error as Error
    } finally {
      this.start(Math.max(this.everyMs, pauseMs))
    }
  }

  private isServed(): boolean {
    const { reach } = this.store
    return reach === 'all' || (reach === 'reads' && this.needs === 'reads')
  }
}
