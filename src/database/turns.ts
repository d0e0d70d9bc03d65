import { Unavailable } from '../common/service-error.js'
import { FairSemaphore } from '../fairness/fair-semaphore.js'

/** The maximum number of waiting reads of one flow; further ones are refused at once. */
const MAX_WAITING_OF_ONE = 1_000

/**
 * Limits the concurrent work at the store; flows take turns for further work. With more than one place, one flow
 * never has all of them, so another flow usually finds one free.
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
   * Runs work when it is its flow's turn.
   * @param deadline by `performance.now()`, the end of the wait
   * @throws ServiceError unavailable if too much work of the flow waits, or its turn does not come in time
   */
  async run<T>(flow: string, deadline: number, work: () => Promise<T>): Promise<T> {
    const { semaphore } = this
    const wait = semaphore.acquire(flow, 0, deadline - performance.now())
    if (wait !== undefined && !(await wait.granted)) throw new Unavailable('database_turn')
    try {
      return await work()
    } finally {
      // Work on a file blocks the event loop, so other tasks run between two pieces of it, whoever wants the next.
      if (this.places === 1) setImmediate(() => semaphore.release(flow, 0))
      else semaphore.release(flow, 0)
    }
  }
}
