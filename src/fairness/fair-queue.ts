/** The items of one flow. */
interface Line<T> {
  readonly items: T[]
  /** The index of the first waiting item, so that taking an item has a constant cost. */
  next: number
}

/** Taken items are removed from a line once there are this many of them. */
const MAX_TAKEN_KEPT = 1_000

/**
 * A queue in which flows take turns, one item each (round robin): however many items one flow adds, the next item of
 * another flow is among the next taken. The items of one flow, such as a principal's, keep their order.
 */
export class FairQueue<T> {
  /** The lines that are not empty, the next turn first. */
  private readonly lines = new Map<string, Line<T>>()
  private count = 0

  /** @param limit number of items at which the queue is full (`isFullFor`) */
  constructor(private readonly limit: number = Infinity) {}

  /** The number of waiting items. */
  get size(): number {
    return this.count
  }

  /** Returns whether a flow may add no item: the queue is full, and the flow holds at least an equal share of it. */
  isFullFor(flow: string): boolean {
    const line = this.lines.get(flow)
    const own = line === undefined ? 0 : line.items.length - line.next
    return this.count >= this.limit && own * this.lines.size >= this.limit
  }

  /** Adds an item behind the others of its flow. */
  push(flow: string, item: T): void {
    const line = this.lines.get(flow)
    if (line === undefined) this.lines.set(flow, { items: [item], next: 0 })
    else line.items.push(item)
    this.count += 1
  }

  /** Removes an item out of turn. @returns false if the flow has no such item */
  delete(flow: string, item: T): boolean {
    const line = this.lines.get(flow)
    const at = line === undefined ? -1 : line.items.indexOf(item, line.next)
    if (line === undefined || at === -1) return false
    line.items.splice(at, 1)
    this.count -= 1
    if (line.next === line.items.length) this.lines.delete(flow)
    return true
  }

  /** Takes items in turns, no more than `most`, and `mostOfOne` of a flow. */
  take(most: number, mostOfOne: number = most): T[] {
    const taken: T[] = []
    const rounds = new Map<string, number>()
    // A flow that had a turn moves to the end, so the loop meets it again while it has items.
    for (const [flow, line] of this.lines) {
      const round = rounds.get(flow) ?? 0
      if (taken.length === most || round === mostOfOne) break
      rounds.set(flow, round + 1)
      taken.push(this.shift(flow, line))
    }
    return taken
  }

  /** Takes the next item. A flow whose first item may not be taken is skipped, and keeps its turn. */
  takeOne(may: (flow: string, item: T) => boolean = () => true): T | undefined {
    for (const [flow, line] of this.lines) {
      if (may(flow, line.items[line.next] as T)) return this.shift(flow, line)
    }
    return undefined
  }

  private shift(flow: string, line: Line<T>): T {
    const item = line.items[line.next] as T
    this.count -= 1
    line.next += 1
    this.lines.delete(flow)
    if (line.next === line.items.length) return item
    if (line.next === MAX_TAKEN_KEPT) {
      line.items.splice(0, line.next)
      line.next = 0
    }
    this.lines.set(flow, line)
    return item
  }
}
