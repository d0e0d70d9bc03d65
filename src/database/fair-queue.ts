/** Those that one party has put in and not got back. */
interface Line<T> {
  readonly items: T[]
  /** Place of the first one that still waits: taking from the front costs the same however long the line is. */
  next: number
}

/** Taken items are dropped from a line once there are this many of them. */
const MAX_TAKEN_KEPT = 1_000

/**
 * A queue in which parties take turns, one item each: however much one of them puts in, another one's item is among the
 * next taken. What one party puts in keeps its order.
 */
export class FairQueue<T> {
  /** Lines that are not empty, the next one's turn first. */
  private readonly lines = new Map<string, Line<T>>()
  private count = 0

  /** Items that wait. */
  get size(): number {
    return this.count
  }

  /** Parties of which something waits. */
  get parties(): number {
    return this.lines.size
  }

  /** Items of one party that wait. */
  sizeOf(party: string): number {
    const line = this.lines.get(party)
    return line === undefined ? 0 : line.items.length - line.next
  }

  push(party: string, item: T): void {
    const line = this.lines.get(party)
    if (line === undefined) this.lines.set(party, { items: [item], next: 0 })
    else line.items.push(item)
    this.count += 1
  }

  /**
   * Takes items out, by turns.
   * @param most in all
   * @param mostOfOne of one party
   */
  take(most: number, mostOfOne: number = most): T[] {
    const taken: T[] = []
    const rounds = new Map<string, number>()
    // Whoever had a turn stands last, in this round as in the next call: the loop comes by again while anything is
    // left.
    for (const [party, line] of this.lines) {
      const round = rounds.get(party) ?? 0
      if (taken.length === most || round === mostOfOne) break
      rounds.set(party, round + 1)
      taken.push(this.shift(party, line))
    }
    return taken
  }

  /**
   * Takes one item out: that of the party whose turn it is among those that may have one now.
   * @param may has a party its turn, or do the others come first?
   */
  takeOne(may: (party: string) => boolean): T | undefined {
    for (const [party, line] of this.lines) if (may(party)) return this.shift(party, line)
    return undefined
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
