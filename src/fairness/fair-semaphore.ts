import { FairQueue } from './fair-queue.js'

/** The limits; an absent one is unlimited. */
export interface Limits {
  /** Held items, of all flows. */
  readonly items?: number
  /** Held items, of one flow. */
  readonly itemsOfOne?: number
  /** Held weight, of one flow. A heavier item is admitted alone. */
  readonly weightOfOne?: number
  /** Held and waiting items, of one flow. */
  readonly keptOfOne?: number
  /** Waiting weight, of one flow. One item of any weight may wait. */
  readonly waitingWeightOfOne?: number
}

/** The share of one flow. */
interface Share {
  /** Held items, and their weight. */
  items: number
  weight: number
  /** Waiting items, and their weight. */
  waiting: number
  waitingWeight: number
}

/** A wait for a place. */
export interface Wait {
  /** True: the item is admitted. False: too many wait, the time is over, or the wait was cancelled. */
  readonly granted: Promise<boolean>
  /** Ends the wait; no effect if it has ended. */
  readonly cancel: () => void
}

interface Waiter {
  readonly weight: number
  readonly settle: (granted: boolean) => void
}

/**
 * A semaphore with a share for each flow: it limits the number of held items, in total and for each flow, and gives
 * free places to flows in turn. The items of one flow are admitted in order of arrival. A flow that requests more
 * than its share waits and does not affect others; the number of its waiting items is limited, too.
 */
export class FairSemaphore {
  private readonly held = new Map<string, Share>()
  private readonly queue = new FairQueue<Waiter>()
  private inHand = 0

  constructor(private readonly limits: Limits) {}

  /** The number of waiting items, of all flows. */
  get waiting(): number {
    return this.queue.size
  }

  /** The share of each flow that holds anything. */
  shares(): ReadonlyMap<string, Readonly<Share>> {
    return this.held
  }

  /**
   * Admits an item, to be returned by `release`, or waits for a place behind others of the flow.
   * @param patienceMs maximum waiting time
   * @returns undefined if it is admitted at once
   */
  acquire(flow: string, weight: number, patienceMs: number): Wait | undefined {
    const held = this.heldBy(flow)
    if (held.waiting === 0 && this.fits(held, weight)) {
      this.take(held, weight)
      return undefined
    }
    if (!this.mayWait(held, weight)) {
      this.forget(flow, held)
      return { granted: Promise.resolve(false), cancel: () => undefined }
    }
    let cancel = (): void => undefined
    const granted = new Promise<boolean>((resolve) => {
      const waiter: Waiter = {
        weight,
        settle: (isGranted) => {
          clearTimeout(timer)
          held.waiting -= 1
          held.waitingWeight -= weight
          resolve(isGranted)
        },
      }
      cancel = () => {
        if (!this.queue.delete(flow, waiter)) return
        waiter.settle(false)
        // The items behind it may be lighter.
        this.grant()
        this.forget(flow, held)
      }
      const timer = setTimeout(cancel, patienceMs).unref()
      held.waiting += 1
      held.waitingWeight += weight
      this.queue.push(flow, waiter)
    })
    return { granted, cancel }
  }

  /** Returns an admitted item. */
  release(flow: string, weight: number): void {
    const held = this.held.get(flow)
    if (held === undefined) return
    this.inHand -= 1
    held.items -= 1
    held.weight -= weight
    this.grant()
    this.forget(flow, held)
  }

  private grant(): void {
    while (this.queue.size > 0 && this.inHand < (this.limits.items ?? Infinity)) {
      let next: Share | undefined
      const waiter = this.queue.takeOne((flow, { weight }) => {
        next = this.held.get(flow)
        return next !== undefined && this.fits(next, weight)
      })
      if (waiter === undefined || next === undefined) return
      this.take(next, waiter.weight)
      waiter.settle(true)
    }
  }

  private fits(held: Share, weight: number): boolean {
    const { items = Infinity, itemsOfOne = Infinity, weightOfOne = Infinity } = this.limits
    if (this.inHand >= items || held.items >= itemsOfOne) return false
    return held.weight === 0 || held.weight + weight <= weightOfOne
  }

  private mayWait({ items, waiting, waitingWeight }: Share, weight: number): boolean {
    const { keptOfOne = Infinity, waitingWeightOfOne = Infinity } = this.limits
    return items + waiting < keptOfOne && (waitingWeight === 0 || waitingWeight + weight <= waitingWeightOfOne)
  }

  private take(held: Share, weight: number): void {
    this.inHand += 1
    held.items += 1
    held.weight += weight
  }

  private heldBy(flow: string): Share {
    let held = this.held.get(flow)
    if (held === undefined) {
      held = { items: 0, weight: 0, waiting: 0, waitingWeight: 0 }
      this.held.set(flow, held)
    }
    return held
  }

  /** Flows that hold nothing are removed. */
  private forget(flow: string, { items, waiting }: Share): void {
    if (items === 0 && waiting === 0) this.held.delete(flow)
  }
}
