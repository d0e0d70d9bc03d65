/** What waits for a turn, and for whom. */
interface Waiting {
  /** Must not change while it waits. */
  readonly party: string
}

/** A queue in which parties take turns, and the items of each among themselves. */
export class Turns<T extends Waiting> {
  /** The next party first; none is empty. */
  private readonly parties = new Map<string, Set<T>>()

  /** Parties of which something waits. */
  get size(): number {
    return this.parties.size
  }

  /** Puts an item behind the others of its party. */
  add(item: T): void {
    const party = this.parties.get(item.party)
    if (party === undefined) this.parties.set(item.party, new Set([item]))
    else party.add(item)
  }

  delete(item: T): void {
    const party = this.parties.get(item.party)
    if (party?.delete(item) === true && party.size === 0) this.parties.delete(item.party)
  }

  /** Takes the first item of the first party, whose others then stand behind all parties. */
  next(): T | undefined {
    for (const [name, party] of this.parties) {
      this.parties.delete(name)
      for (const item of party) {
        party.delete(item)
        if (party.size > 0) this.parties.set(name, party)
        return item
      }
    }
    return undefined
  }
}
