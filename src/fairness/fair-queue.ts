/** The items of one party. */
interface Line<T> {
  readonly items: T[]
  /** The index of the first waiting item, so that taking an item has a constant cost. */
  next: number
}

/** Taken items are removed from a line once there are this many of them. */
const MAX_TAKEN_KEPT = 1_000

/**
 * A queue in which parties take turns, one item each (round robin): however many items one party adds, the next item of
 * another party is among the next taken. The items of one party keep their order. A party is a principal, or anything
 * else that is to have its own share.
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

  /** The number of waiting items of one party. */
  sizeOf(party: string): number {
    const line = this.lines.get(party)
    return line === undefined ? 0 : line.items.length - line.next
  }

  /** Returns whether a party may add no item: the queue is full, and the party holds at least an equal share of it. */
  isFullFor(party: string): boolean {
    return this.count >= this.limit && this.sizeOf(party) * this.lines.size >= this.limit
  }

  /** Adds an item behind the others of its party. */
  push(party: string, item: T): void {
    const line = this.lines.get(party)
    if (line === undefined) this.lines.set(party, { items: [item], next: 0 })
    else line.items.push(item)
    this.count += 1
  }

  /** Removes an item out of turn. @returns false if the party has no such item */
  delete(party: string, item: T): boolean {
    const line = this.lines.get(party)
    const at = line === undefined ? -1 : line.items.indexOf(item, line.next)
    if (line === undefined || at === -1) return false
    line.items.splice(at, 1)
    this.count -= 1
    if (line.next === line.items.length) this.lines.delete(party)
    return true
  }

  /**
   * Takes items in turns.
   * @param most maximum number of items
   * @param mostOfOne maximum number of items of one party
   */
  take(most: number, mostOfOne: number = most): T[] {
    const taken: T[] = []
    const rounds = new Map<string, number>()
    // A party that had a turn moves to the end, so the loop meets it again while it has items.
    for (const [party, line] of this.lines) {
      const round = rounds.get(party) ?? 0
      if (taken.length === most || round === mostOfOne) break
      rounds.set(party, round + 1)
      taken.push(this.shift(party, line))
    }
    return taken
  }

  /**
   * Takes the next item.
   * @param may returns whether the first item of a party may be taken; otherwise the party keeps its turn and is
   * skipped
   */
  takeOne(may: (party: string, item: T) => boolean = () => true): T | undefined {
    for (const [party, line] of this.lines) {
      if (may(party, line.items[line.next] as T)) return this.shift(party, line)
    }
    return undefined
  }

  /**
   * The items of the party with the greatest weight, in order; the user of the queue removes some to make room.
   * @param weightOf the weight of an item
   */
  largest(weightOf: (party: string) => number = () => 1): readonly T[] {
    let largest: Line<T> | undefined
    let most = 0
    for (const [party, line] of this.lines) {
      const weight = (line.items.length - line.next) * weightOf(party)
      if (weight > most) [largest, most] = [line, weight]
    }
    return largest?.items.slice(largest.next) ?? []
  }

  private shift(party: string, line: Line<T>): T {
    const item = line.items[line.next] as T
    this.count -= 1
    line.next += 1
    this.lines.delete(party)
    if (line.next === line.items.length) return item
    if (line.next === MAX_TAKEN_KEPT) {
      line.items.splice(0, line.next)
      line.next = 0
    }
    this.lines.set(party, line)
    return item
  }
}
