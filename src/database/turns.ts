import { Unavailable } from '../error/service-error.js'
import { FairQueue } from './fair-queue.js'

/** Work of one party that may wait; more is refused at once. */
const MAX_WAITING_OF_ONE = 1_000

/** Work that waits for its turn. */
interface Waiter {
  readonly begin: () => void
  /** Has it waited for too long, so that its turn is the next one's? */
  gone: boolean
}

/**
 * Bounds how much of one kind of work is under way at a time, and lets parties take turns where more is wanted: however
 * much one of them wants, another one waits for the end of one piece of work and not for all that came before. Of
 * several places one party never has all, so that another one finds the last one free as a rule.
 */
export class Turns {
  private readonly waiting = new FairQueue<Waiter>()
  private readonly runningOf = new Map<string, number>()
  private readonly mostOfOne: number
  private running = 0

  /** @param places pieces of work that may be under way at a time */
  constructor(private readonly places: number) {
    this.mostOfOne = Math.max(1, places - 1)
  }

  /** Pieces of work that wait. */
  get size(): number {
    return this.waiting.size
  }

  /**
   * Does a piece of work once it is its party's turn.
   * @param deadline by `performance.now()`; a turn that has not come by then comes no more
   * @throws ServiceError unavailable, where too much of the party waits, or its turn does not come in time
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
    // Work on a file has the event loop to itself: between two pieces of it is everybody else's turn.
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
