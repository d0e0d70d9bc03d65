import { Unavailable } from '../error/service-error.js'
import { FairSemaphore } from '../fairness/fair-semaphore.js'

/** Reads of one party that may wait; one more is refused at once. */
const MAX_WAITING_OF_ONE = 1_000

/**
 * Bounds how much work is at the store at a time, and lets parties take turns where more is wanted. Of several places
 * one party never has all, so that another party finds the last one free as a rule.
 */
export class Turns {
  private readonly semaphore: FairSemaphore

  /** @param places maximum number of pieces of work that run at a time */
  constructor(private readonly places: number) {
    const itemsOfOne = Math.max(1, places - 1)
    this.semaphore = new FairSemaphore({ items: places, itemsOfOne, keptOfOne: itemsOfOne + MAX_WAITING_OF_ONE })
  }

  /** The number of waiting pieces of work. */
  get size(): number {
    return this.semaphore.waiting
  }

  /**
   * Runs a piece of work once it is its party's turn.
   * @param deadline by `performance.now()`; a turn that has not come by then comes no more
   * @throws ServiceError unavailable, where too much of the party waits, or its turn does not come in time
   */
  async run<T>(party: string, deadline: number, work: () => Promise<T>): Promise<T> {
    const { semaphore } = this
    const wait = semaphore.acquire(party, 0, deadline - performance.now())
    if (wait !== undefined && !(await wait.granted)) throw new Unavailable('database_turn')
    try {
      return await work()
    } finally {
      // Work on a file has the event loop to itself: between two pieces of it is everybody else's turn.
      if (this.places === 1 && semaphore.waiting > 0) setImmediate(() => semaphore.release(party, 0))
      else semaphore.release(party, 0)
    }
  }
}
