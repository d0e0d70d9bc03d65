import { Unavailable } from '../error/service-error.js'
import { FairQueue } from './fair-queue.js'

/** The maximum waiting work of one party; more is refused at once. */
const MAX_WAITING_OF_ONE = 1_000

/** Work that waits for its turn. */
interface Waiter {
  readonly begin: () => void
  /** Has it waited for too long, so that the next one gets its turn? */
  gone: boolean
}

/**
 * Limits how much work of one kind runs at a time, and serves parties in turn: however much one party requests, another
 * one waits for the end of one piece of work and not for all earlier ones. One party never occupies all places, so that
 * another party usually finds the last one free.
 */
export class Turns {
  private readonly waiting = new FairQueue<Waiter>()
  private readonly runningOf = new Map<string, number>()
  private readonly mostOfOne: number
  private running = 0

  /** @param places maximum number of pieces of work that run at a time */
  constructor(private readonly places: number) {
    this.mostOfOne = Math.max(1, places - 1)
  }

  /** The number of waiting pieces of work. */
  get size(): number {
    return this.waiting.size
  }

  /**
   * Runs a piece of work when it is its party's turn.
   * @param deadline by `performance.now()`, after which the turn is given up
   * @throws ServiceError unavailable, if too much of the party's work waits, or its turn does not come in time
   */
  async run<T>(party: string, deadline: number, work: () => Promise<T>): Promise<T> {
    if (this.mayBegin(party)) this.begin(party)
    else await this.turn(party, deadline)
    try {
      return await work()
    } finally {
      this.end(party)
    }
  }

  private mayBegin(party: string): boolean {
    return this.running < this.places && (this.runningOf.get(party) ?? 0) < this.mostOfOne
  }

  private begin(party: string): void {
    this.running += 1
    this.runningOf.set(party, (this.runningOf.get(party) ?? 0) + 1)
  }

  private async turn(party: string, deadline: number): Promise<void> {
    if (this.waiting.sizeOf(party) >= MAX_WAITING_OF_ONE) throw new Unavailable('database_turn')
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiter.gone = true
        reject(new Unavailable('database_turn'))
      }, deadline - performance.now())
      const waiter: Waiter = {
        begin: () => {
          clearTimeout(timer)
          this.begin(party)
          resolve()
        },
        gone: false,
      }
      this.waiting.push(party, waiter)
    })
  }

  private end(party: string): void {
    // Work on a file blocks the event loop: other tasks run between two pieces of work.
    if (this.places === 1 && this.waiting.size > 0) setImmediate(() => this.give(party))
    else this.give(party)
  }

  private give(party: string): void {
    this.running -= 1
    const left = (this.runningOf.get(party) ?? 0) - 1
    if (left > 0) this.runningOf.set(party, left)
    else this.runningOf.delete(party)
    while (this.running < this.places) {
      const next = this.waiting.takeOne((other) => this.mayBegin(other))
      if (next === undefined) return
      if (!next.gone) next.begin()
    }
  }
}
