import { AsyncResource } from 'node:async_hooks'
import DataLoader from 'dataloader'
import { ServiceError } from '../error/service-error.js'

/** Keys that one read takes at most, unless the loader says less. */
const MAX_READ_SIZE = 500
/** Reads of one kind that are at the database together, at most; the others of its connections are for other kinds. */
const MAX_AT_ONCE = 3
/** A read that takes longer holds nobody else up: another one is begun beside it. In milliseconds. */
const SLOW_MS = 20

/**
 * Group commit's idea for reads: while a read of a kind is at the database, keys gather, and the next one takes them
 * together. Each read begins after every request in it has come, so whoever has written reads what it wrote. Who ask
 * for the same before it begins share it. A read that fails takes nobody down with it: it is halved until the key that
 * breaks it stands alone. What is found is shared by all who asked for it in the same read, and must not be changed.
 * @param read finds the values of keys that are all different
 * @param options.most keys that one read takes
 * @param options.keyOf what two keys that ask for the same have in common, where they are not the same value
 */
export function gatheringLoader<K, V>(
  read: (keys: readonly K[]) => Promise<readonly V[]>,
  { most = MAX_READ_SIZE, keyOf = (key) => key }: { most?: number; keyOf?: (key: K) => unknown } = {},
): DataLoader<K, V> {
  /** When the reads began that are at the database, on the clock of `performance.now()`. */
  const running = new Set<{ readonly since: number }>()
  const waiting: (() => void)[] = []
  let retryTimer: NodeJS.Timeout | undefined

  const mayBegin = (): boolean => {
    if (running.size === 0) return true
    const began = performance.now() - SLOW_MS
    return running.size < MAX_AT_ONCE && [...running].every(({ since }) => since < began)
  }
  const beginReady = (): void => {
    while (waiting.length > 0 && mayBegin()) waiting.shift()?.()
    // The end of a read looks again; a slow one is not waited for.
    if (waiting.length > 0 && running.size < MAX_AT_ONCE) {
      retryTimer ??= setTimeout(() => {
        retryTimer = undefined
        beginReady()
      }, SLOW_MS)
    }
  }

  const loader = new DataLoader<K, V, unknown>(
    async (keys) => {
      // Who comes from now on asks for what is true later.
      for (const key of keys) loader.clear(key)
      const mine = { since: performance.now() }
      running.add(mine)
      try {
        return await halving(read, keys)
      } finally {
        running.delete(mine)
        beginReady()
      }
    },
    {
      cacheKeyFn: keyOf,
      maxBatchSize: most,
      batchScheduleFn: (begin) => {
        // One turn of the event loop, so that what came in together goes together.
        setImmediate(() => {
          // It may be another read's end that begins it: it is still the work of who asked first.
          waiting.push(AsyncResource.bind(begin))
          beginReady()
        })
      },
    },
  )
  return loader
}

async function halving<K, V>(
  read: (keys: readonly K[]) => Promise<readonly V[]>,
  keys: readonly K[],
): Promise<(V | Error)[]> {
  try {
    return [...(await read(keys))]
  } catch (error) {
    // A refusal, and a database that is away, are everybody's.
    if (error instanceof ServiceError || keys.length === 1) return keys.map(() => asError(error))
    const half = Math.ceil(keys.length / 2)
    return [...(await halving(read, keys.slice(0, half))), ...(await halving(read, keys.slice(half)))]
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
