/** A pending or running read, and the next one. */
interface Reading<V> {
  begun: boolean
  readonly found: Promise<V>
  readonly finished: Promise<void>
  next: Promise<V> | undefined
}

/**
 * Runs equal reads once for all concurrent requests: a request that arrives during a read waits for the next one, which
 * begins after the present one ends, so that it begins after all of its requests have arrived. Different reads are
 * independent. Results are shared, and must not be changed.
 */
export class SharedReads<V> {
  private readonly readings = new Map<string, Reading<V>>()

  /** @param key identifies the read */
  async get(key: string, read: () => Promise<V>): Promise<V> {
    const current = this.readings.get(key)
    // One turn of the event loop, so that requests that arrived together share a read. Requests that waited for a read
    // have already been collected.
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
      // The next one has replaced it, if there is one.
      if (reading.next === undefined && this.readings.get(key) === reading) this.readings.delete(key)
    })
    return found
  }
}
