import { type CallOptions, isProblem, type QuotaClient } from '@quota-service/client'
import type { DoubtFile, Entry } from './doubt-file.js'
import type { Log } from './log.js'
import type { Metrics } from './metrics.js'
import { type Charge, wordsOf } from './spending.js'

/** The maximum number of doubts; the oldest is given up for a further one. */
const MAX_DOUBTS = 10_000
/**
 * How long after its question a charge may still be made, in milliseconds: the service tries for 15 s, and answers
 * 503 to older requests. A charge that does not exist then will never exist.
 */
const SETTLED_AFTER_MS = 60_000
/** The same at shutdown, where the log does not name what has certainly not been charged. */
const CHARGED_WITHIN_MS = 20_000
/** The pause between the first two checks; it doubles after each. */
const FIRST_PAUSE_MS = 1_000
const LOOK_MS = 5_000
/** The interval of the check for due doubts. */
const TICK_MS = 250
/** How long a message is remembered after its deferral: Postfix asks again, also over another connection. */
const REMEMBERED_MS = 600_000

interface Doubt extends Entry {
  /** By the monotonic clock; of a doubt of an earlier process, the start of this one. */
  readonly since: number
  dueAt: number
  pauseMs: number
}

/**
 * Messages that were deferred because it was unknown whether their charge was made. Each comes again as a new message,
 * so a charge that was made is looked up by its key and refunded. A file keeps doubts over an end of the process;
 * without one, the log has the keys of those that remain.
 */
export class Doubts {
  private readonly open = new Map<string, Doubt>()
  /** Those that ended, oldest first, until they are no longer remembered. */
  private readonly ended = new Map<string, Entry>()
  /** Charges in progress that no question repeats after an end of the process: it leaves them in doubt. */
  private readonly begun = new Map<string, { readonly entry: Entry; onDisk: boolean }>()
  private readonly closed = new AbortController()
  private readonly timer: NodeJS.Timeout
  private looking: Promise<void> | undefined

  constructor(
    private readonly client: QuotaClient,
    private readonly log: Log,
    private readonly metrics: Metrics,
    private readonly file: DoubtFile | undefined,
    /** Milliseconds since 1970. */
    private readonly now: () => number,
  ) {
    this.timer = setInterval(() => {
      this.looking ??= this.look().finally(() => (this.looking = undefined))
    }, TICK_MS).unref()
  }

  /** Takes over the doubts of an earlier process. */
  restore(): void {
    for (const entry of this.file?.read() ?? []) {
      if (entry.outcome === undefined) this.put(entry, 0)
      else if (entry.outcome !== 'answered') this.ended.set(entry.key, entry)
    }
    void this.file?.write(undefined, this.entries)
    this.log.info(
      { doubts: this.open.size },
      this.file === undefined ? 'doubts are in memory only: set STATE_DIRECTORY' : 'doubts are on disk',
    )
  }

  /** Was this message deferred in doubt? Then it stays deferred: its charge is refunded. */
  has(key: string): boolean {
    const ended = this.ended.get(key)
    return this.open.has(key) || (ended !== undefined && this.remembers(ended))
  }

  /** Before a charge that no question repeats after an end of the process. Resolves when it is on disk. */
  async begin(charge: Charge): Promise<void> {
    const entry = { ...charge, at: this.now() }
    const begun = { entry, onDisk: false }
    this.begun.set(charge.key, begun)
    begun.onDisk = (await this.file?.write(entry, this.entries)) ?? false
  }

  /** After it, in the moment of the answer. */
  answered({ key }: Charge): void {
    const begun = this.begun.get(key)
    if (begun === undefined) return
    this.begun.delete(key)
    const entry = { ...begun.entry, outcome: 'answered' as const }
    if (begun.onDisk) this.file?.writeNow(entry, this.entries)
    else void this.file?.write(entry, this.entries)
  }

  /** Resolves when the doubt is on disk: a message is deferred only then. */
  async add(charge: Charge): Promise<void> {
    const entry = { ...charge, at: this.now() }
    this.begun.delete(charge.key)
    this.put(entry, FIRST_PAUSE_MS)
    const [oldest] = this.open.values()
    if (this.open.size > MAX_DOUBTS && oldest !== undefined) this.end(oldest, 'given_up', 'too many')
    await this.file?.write(entry, this.entries)
  }

  /** Checks every open doubt once more. Those that remain stay in the file; without one, they are logged. */
  async close(withinMs: number): Promise<void> {
    this.closed.abort()
    clearInterval(this.timer)
    await this.looking
    const end = performance.now() + withinMs
    for (const doubt of this.open.values()) {
      if (performance.now() < end) await this.settle(doubt, end, CHARGED_WITHIN_MS)
      if (this.open.has(doubt.key) && this.file?.works !== true) this.end(doubt, 'given_up', 'the connector ends')
    }
    await this.file?.close()
    if (this.open.size > 0) this.log.warn({ doubts: this.open.size }, 'open doubts are left to the next start')
  }

  /** What the file has to keep. */
  private readonly entries = (): Entry[] => [
    ...this.ended.values(),
    ...this.open.values(),
    ...[...this.begun.values()].map(({ entry }) => entry),
  ]

  private put(entry: Entry, pauseMs: number): void {
    const now = performance.now()
    this.open.set(entry.key, { ...entry, since: now, dueAt: now + pauseMs, pauseMs: FIRST_PAUSE_MS })
    this.metrics.doubts.set(this.open.size)
  }

  private remembers({ at }: Entry): boolean {
    return this.now() - at < REMEMBERED_MS
  }

  private async look(): Promise<void> {
    for (const doubt of this.open.values()) {
      if (this.closed.signal.aborted) break
      if (doubt.dueAt <= performance.now())
        await this.settle(doubt, performance.now() + LOOK_MS, SETTLED_AFTER_MS, this.closed.signal)
    }
  }

  private async settle(doubt: Doubt, until: number, settledAfterMs: number, signal?: AbortSignal): Promise<void> {
    const { key, amount, account } = doubt
    const begun = performance.now()
    try {
      const operation = await refundOf(this.client, key, () => ({ signal, deadlineMs: until - performance.now() }))
      if (operation !== undefined) this.end(doubt, 'refunded')
      else if (begun - doubt.since >= settledAfterMs) this.end(doubt, 'not_charged')
    } catch (error) {
      this.log.debug({ key, account, amount, error: wordsOf(error) }, 'a doubt cannot be settled yet')
    }
    doubt.pauseMs = Math.min(doubt.pauseMs * 2, SETTLED_AFTER_MS)
    doubt.dueAt = performance.now() + doubt.pauseMs
  }

  private end(doubt: Doubt, outcome: 'refunded' | 'not_charged' | 'given_up', why?: string): void {
    const { key, account, amount, queueId, at } = doubt
    const entry = { key, account, amount, queueId, at, outcome }
    if (!this.open.delete(key)) return
    this.ended.set(key, entry)
    for (const [old, ended] of this.ended) {
      if (this.remembers(ended) && this.ended.size <= MAX_DOUBTS) break
      this.ended.delete(old)
    }
    void this.file?.write(entry, this.entries)
    this.metrics.doubts.set(this.open.size)
    this.metrics.settled.inc({ outcome })
    const line = { queue_id: queueId, key, account, amount, outcome, why }
    if (outcome !== 'given_up') this.log.info(line, 'a doubt is settled')
    else this.log.error(line, 'a deferred message may have been charged: run the command settle with its key')
  }
}

/**
 * Refunds what is left of the operation of a key.
 * @param options of each of the two calls
 * @returns the operation, and how much came back now; undefined if there is none
 */
export async function refundOf(
  client: QuotaClient,
  key: string,
  options: () => CallOptions,
): Promise<{ readonly id: string; readonly accountId: number; readonly refunded: number } | undefined> {
  const { items } = await client.mail.operations({ idempotencyKey: key }, options()).page()
  const [operation] = items
  if (operation === undefined) return undefined
  const { id, accountId, charged, refunded } = operation
  if (refunded < charged) {
    try {
      await client.mail.refund(id, {}, { ...options(), key: `${key}:refund` })
      return { id, accountId, refunded: charged - refunded }
    } catch (error) {
      // Somebody else was faster.
      if (!isProblem(error, 'refund_exceeds_charge')) throw error
    }
  }
  return { id, accountId, refunded: 0 }
}
