import { OutcomeUnknown } from './problem.js'
import type { Answer, Call, CallOptions, Transport } from './transport.js'
import type { AnyChannel, BatchRefused } from './types.js'
import { camelName, renamed, wireName } from './wire.js'

/** An item whose outcome is unknown: no answer until the deadline. Send it again later, with the same key. */
export interface BatchUnknown {
  readonly status: 'unknown'
  readonly error: OutcomeUnknown
}

/** The outcome of one item of a batch, by `status`. 503 is unknown, too: its write may have lost its answer. */
export type BatchResult<Channel extends AnyChannel> = Channel['done'] | BatchRefused | BatchUnknown

const MAX_ITEMS = 1_000
const MAX_BYTES = 1_000_000
/** The bytes of a request around its items; the first item has no comma before it. */
const FRAME_BYTES = '{"items":[]}'.length - 1

interface Item {
  readonly idempotencyKey: string
}

interface Known {
  readonly status: number
  readonly problem?: BatchRefused['problem']
}

/** Splits items into requests that the service accepts: at most 1,000 items and 1 MB each, in order. */
export function chunksOf<T extends object>(items: readonly T[]): T[][] {
  const encoder = new TextEncoder()
  const chunks: T[][] = []
  let bytes = Infinity
  for (const item of items) {
    // Includes the comma before it.
    const size = encoder.encode(JSON.stringify(renamed(item, wireName))).length + 1
    const chunk = chunks.at(-1)
    if (chunk === undefined || chunk.length === MAX_ITEMS || bytes + size > MAX_BYTES) {
      chunks.push([item])
      bytes = FRAME_BYTES + size
    } else {
      chunk.push(item)
      bytes += size
    }
  }
  return chunks
}

/**
 * Consumes in batches, one request after the other, each with its own deadline. After an answer, it retries only the
 * items that met `unavailable`.
 * @returns one result for each item, in order
 */
export async function consumeInBatches<Channel extends AnyChannel>(
  transport: Transport,
  path: string,
  items: readonly Channel['item'][],
  options: CallOptions,
): Promise<BatchResult<Channel>[]> {
  const results: BatchResult<Channel>[] = []
  for (const chunk of chunksOf(items)) {
    const answered = await consumeChunk(transport, path, chunk, results.length, options)
    results.push(...(answered as BatchResult<Channel>[]))
  }
  return results
}

/** @param offset number of items before this chunk */
async function consumeChunk(
  transport: Transport,
  path: string,
  items: readonly Item[],
  offset: number,
  options: CallOptions,
): Promise<(Known | BatchUnknown)[]> {
  const { timing } = transport
  const deadline = timing.now() + (options.deadlineMs ?? transport.deadlineMs)
  const results: (Known | BatchUnknown)[] = []
  let open = items.map((_, index) => index)
  for (let round = 1; ; round += 1) {
    const call: Call = {
      ...options,
      method: 'POST',
      path,
      body: { items: open.map((index) => items[index]) },
      // Each item has a key.
      repeatable: true,
      deadlineMs: deadline - timing.now(),
    }
    let answer: Answer
    try {
      answer = await transport.send(call)
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) throw error
      for (const index of open) {
        const key = (items[index] as Item).idempotencyKey
        results[index] = { status: 'unknown', error: new OutcomeUnknown(key, error.requestId, error.cause) }
      }
      return results
    }
    const { results: answered } = answer.body as { results: Known[] }
    open.forEach((index, place) => {
      const result = answered[place] as Known
      results[index] = result
      rename(result, offset + index)
    })
    open = open.filter((index) => results[index]?.status === 503)
    if (open.length === 0) return results
    const waitMs = transport.pause(round)
    if (timing.now() + waitMs >= deadline) return results
    await transport.sleep(waitMs, options.signal)
    options.signal?.throwIfAborted()
  }
}

/** Names the wrong fields of an item by its index among all items of the caller, and in camelCase. */
function rename({ problem }: Known, index: number): void {
  if (problem === undefined || !('errors' in problem)) return
  const place = (text: string): string => text.replace(/items\[\d+\]/g, `items[${index}]`)
  problem.detail = place(problem.detail)
  for (const error of problem.errors) error.field = camelName(place(error.field))
}
