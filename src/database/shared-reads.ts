import { ServiceError } from '../common/service-error.js'

/** Maximum number of keys of a read, unless the options say otherwise. */
const MAX_KEYS = 500
/** Maximum number of concurrent reads that collect keys; the other connections are for reads of other kinds. */
const MAX_AT_ONCE = 3
/** Others do not wait for a read that takes longer, in milliseconds. */
const SLOW_MS = 20

const SECOND_MS = 1_000

/** How reads are shared. */
export interface SharedReadsOptions<K> {
  /** Maximum number of keys of one read; 500 if absent. */
  readonly most?: number
  /** The value that equal keys have in common, if they are not the same value themselves. */
  readonly keyOf?: (key: K) => unknown
  /**
   * For expensive reads: each read has one key. It does not wait for other keys; it waits for the end of the current
   * read of the same key.
   */
  readonly alone?: boolean
  /**
   * Maximum number of reads within a second; requires that all keys are equal. Further requests get the last answer,
   * whose read began less than a second ago. Without a limit if absent.
   */
  readonly perSecond?: number
}

/** The keys of a read that has not begun, and its results in the order of the keys. */
interface Gathering<K, V> {
  readonly keys: K[]
  readonly found: Promise<readonly Found<V>[]>
}

type Found<V> = V | Failure

/** Why a key could not be read. */
class Failure {
  constructor(readonly error: unknown) {}
}

/**
 * Shares reads among concurrent requests, as group commit shares writes.
 *
 * - Keys are collected while a read is in progress; the next read takes them together. Equal keys share a result.
 * - Each read begins after all of its requests have arrived, so a caller reads what it has written. Only `perSecond`
 *   limits this.
 * - Others do not wait for a read that takes longer than 20 ms: up to three run at once.
 * - A read that fails is repeated for each of its keys, so that only those that break it fail. A ServiceError fails all
 *   of them: the database is not available, or the request is refused.
 * - A read belongs to the asynchronous context (trace) of its first request.
 *
 * Results are shared, and must not be changed.
 */
export class SharedReads<K, V> {
  private readonly most: number
  private readonly keyOf: (key: K) => unknown
  private readonly alone: boolean
  private readonly perSecond: number
  /** The answers that further requests share, by key. */
  private readonly answers = new Map<unknown, Promise<V>>()
  /** Takes the next key, if there is room. */
  private gathering: Gathering<K, V> | undefined
  /** The reads that may not begin yet, in order of arrival, and how they begin. */
  private readonly waiting = new Map<readonly K[], () => void>()
  /** The start times of the reads in progress, by their key if they are alone, otherwise by their list of keys. */
  private readonly running = new Map<unknown, number>()
  /** The start times of the last reads, if their number is limited. */
  private began: readonly number[] = []
  private timer: NodeJS.Timeout | undefined

  /** @param read finds the values of different keys, in their order */
  constructor(
    private readonly read: (keys: readonly K[]) => Promise<readonly V[]>,
    { most = MAX_KEYS, keyOf = (key) => key, alone = false, perSecond = Infinity }: SharedReadsOptions<K> = {},
  ) {
    this.most = alone ? 1 : most
    this.keyOf = keyOf
    this.alone = alone
    this.perSecond = perSecond
  }

  /** Reads a key. @throws the error of the read that contained it */
  get(key: K): Promise<V> {
    const name = this.keyOf(key)
    const known = this.answers.get(name)
    if (known !== undefined) return known
    if (this.gathering === undefined || this.gathering.keys.length === this.most) {
      const keys: K[] = []
      this.gathering = { keys, found: this.run(keys) }
    }
    const place = this.gathering.keys.push(key) - 1
    const answer = this.gathering.found.then((found) => {
      const value = found[place]
      if (value instanceof Failure) throw value.error
      return value as V
    })
    this.answers.set(name, answer)
    return answer
  }

  private async run(keys: readonly K[]): Promise<readonly Found<V>[]> {
    // One turn of the event loop, so that requests that arrived together share a read.
    await new Promise(setImmediate)
    await new Promise<void>((begin) => {
      this.waiting.set(keys, begin)
      this.beginReady()
    })
    try {
      return await this.found(keys)
    } finally {
      this.running.delete(this.placeOf(keys))
      this.beginReady()
    }
  }

  private beginReady(): void {
    let next = Infinity
    for (const [keys, begin] of this.waiting) {
      const now = performance.now()
      const delay = this.delayOf(keys, now)
      if (delay > 0) {
        next = Math.min(next, delay)
        continue
      }
      this.waiting.delete(keys)
      this.running.set(this.placeOf(keys), now)
      if (this.gathering?.keys === keys) this.gathering = undefined
      this.close(keys, now)
      begin()
    }
    if (next === Infinity) return
    this.timer ??= setTimeout(() => {
      this.timer = undefined
      this.beginReady()
    }, Math.ceil(next)).unref()
  }

  private placeOf(keys: readonly K[]): unknown {
    return this.alone ? this.keyOf(keys[0] as K) : keys
  }

  /** The time until a read may begin, in milliseconds; infinite if another one must end before. */
  private delayOf(keys: readonly K[], now: number): number {
    if (this.alone) return this.running.has(this.placeOf(keys)) ? Infinity : 0
    if (this.running.size === 0) return 0
    return this.running.size < MAX_AT_ONCE ? Math.max(...this.running.values()) + SLOW_MS - now : Infinity
  }

  /** Later requests need a later read, unless as many as permitted began within a second. */
  private close(keys: readonly K[], now: number): void {
    const forget = (): void => {
      for (const key of keys) this.answers.delete(this.keyOf(key))
    }
    if (this.perSecond === Infinity) return forget()
    this.began = [...this.began, now].slice(-this.perSecond)
    const [first = now] = this.began
    const shared = this.began.length < this.perSecond ? 0 : first + SECOND_MS - now
    if (shared > 0) setTimeout(forget, shared).unref()
    else forget()
  }

  private async found(keys: readonly K[]): Promise<readonly Found<V>[]> {
    try {
      return await this.read(keys)
    } catch (error) {
      if (error instanceof ServiceError || keys.length === 1) return keys.map(() => new Failure(error))
      return (await Promise.all(keys.map(async (key) => this.found([key])))).flat()
    }
  }
}

/** Shares reads that find values by their keys; of a key without a value, the result is undefined. */
export function sharedMap<K, V>(
  find: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
): SharedReads<K, V | undefined> {
  return new SharedReads(async (keys) => {
    const found = await find(keys)
    return keys.map((key) => found.get(key))
  })
}
