/** A read that is to begin or is under way, and the one that follows it. */
interface Reading<V> {
  begun: boolean
  readonly found: Promise<V>
  readonly finished: Promise<void>
  next: Promise<V> | undefined
}

/**
 * Runs like reads once for all who ask for them meanwhile: whoever comes while one is under way waits for the next one,
 * which begins when it is over, so that it begins after everybody in it has come. Reads that differ have nothing to do
 * with each other. What is found is shared, and must not be changed.
 */
export class SharedReads<V> {
  private readonly readings = new Map<string, Reading<V>>()

  /** @param key what is asked for: the same key, the same read */
  async get(key: string, read: () => Promise<V>): Promise<V> {
    const current = this.readings.get(key)
    // One turn of the event loop, so that what came in together goes together. Who waits for a read to be over has
    // gathered by then.
    if (current === undefined) return this.begin(key, read, new Promise(setImmediate))
    if (!current.begun) return current.found
    current.next ??= current.finished.then(async () => this.begin(key, read, undefined))
    return current.next
  }

  private async begin(key: string, read: () => Promise<V>, turn: Promise<unknown> | undefined): Promise<V> {
    const run = async (): Promise<V> => {
      reading.begun = true
      return read()
    }
    const found = turn === undefined ? read() : turn.then(run)
    const reading: Reading<V> = {
      begun: turn === undefined,
      found,
      finished: found.then(
        () => undefined,
        () => undefined,
      ),
      next: undefined,
    }
    this.readings.set(key, reading)
    void reading.finished.then(() => {
      // The next one has taken its place, where there is one.
      if (reading.next === undefined && this.readings.get(key) === reading) this.readings.delete(key)
    })
    return found
  }
}
