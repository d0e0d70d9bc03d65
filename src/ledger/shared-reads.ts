/** A read under way, and the one that follows it. */
interface Reading<V> {
  readonly over: Promise<void>
  next: Promise<V> | undefined
}

/**
 * Runs like reads once for all who ask for them meanwhile: whoever comes while one is under way waits for the next one, which begins when it is over, so that it
 * begins after everybody in it has come. Reads that differ have nothing to do with each other. What is found is shared, and must not be changed.
 */
export class SharedReads<V> {
  private readonly readings = new Map<string, Reading<V>>()

  /** @param key what is asked for: the same key, the same read */
  async get(key: string, read: () => Promise<V>): Promise<V> {
    const current = this.readings.get(key)
    if (current === undefined) return this.begin(key, read)
    current.next ??= current.over.then(async () => this.begin(key, read))
    return current.next
  }

  private async begin(key: string, read: () => Promise<V>): Promise<V> {
    const found = read()
    const reading: Reading<V> = {
      over: found.then(
        () => undefined,
        () => undefined,
      ),
      next: undefined,
    }
    this.readings.set(key, reading)
    void reading.over.then(() => {
      // The next one has taken its place, where there is one.
      if (reading.next === undefined && this.readings.get(key) === reading) this.readings.delete(key)
    })
    return found
  }
}
