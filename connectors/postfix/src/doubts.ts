import { type CallOptions, isProblem, type QuotaClient } from '@quota-service/client'
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
/** The pause between the first two checks; it doubles after each. */
const FIRST_PAUSE_MS = 1_000
const LOOK_MS = 5_000
/** The interval of the check for due doubts. */
const TICK_MS = 250
/** How long a message that was deferred in doubt is remembered: Postfix may ask again over another connection. */
const REMEMBERED_MS = 600_000

interface Doubt extends Charge {
  readonly since: number
  dueAt: number
  pauseMs: number
}

/**
 * Messages that were deferred because it was unknown whether their charge was made. Each comes again as a new message,
 * so a charge that was made is looked up by its key and refunded. Doubts are in memory; if a crash loses them, the log
 * has their keys.
 */
export class Doubts {
  private readonly open = new Map<string, Doubt>()
  /** Keys of doubts, open and settled, with the end of their retention; oldest first. */
  private readonly deferred = new Map<string, number>()
  private readonly closed = new AbortController()
  private readonly timer: NodeJS.Timeout
  private looking: Promise<void> | undefined

  /** @param now milliseconds since an arbitrary moment; monotonic */
  constructor(
    private readonly client: QuotaClient,
    private readonly log: Log,
    private readonly metrics: Metrics,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.timer = setInterval(() => {
      this.looking ??= this.look().finally(() => (this.looking = undefined))
    }, TICK_MS).unref()
  }

  /** Was this message deferred in doubt? Then it stays deferred: its charge is refunded. */
  has(key: string): boolean {
    return (this.deferred.get(key) ?? -Infinity) > this.now()
  }

  add(charge: Charge): void {
    const now = this.now()
    const { key } = charge
    this.open.set(key, { ...charge, since: now, dueAt: now + FIRST_PAUSE_MS, pauseMs: FIRST_PAUSE_MS })
    this.deferred.delete(key)
    this.deferred.set(key, now + REMEMBERED_MS)
    for (const [old, until] of this.deferred) {
      if (until > now && this.deferred.size <= MAX_DOUBTS) break
      this.deferred.delete(old)
    }
    const [oldest] = this.open.values()
    if (this.open.size > MAX_DOUBTS && oldest !== undefined) this.giveUp(oldest, 'too many')
    this.metrics.doubts.set(this.open.size)
  }

  /** Checks every open doubt once more, and logs the remaining ones. */
  async close(withinMs: number): Promise<void> {
    this.closed.abort()
    clearInterval(this.timer)
    await this.looking
    const end = this.now() + withinMs
    for (const doubt of this.open.values()) {
      if (this.now() < end) await this.settle(doubt, end)
      if (this.open.has(doubt.key)) this.giveUp(doubt, 'the connector ends')
    }
  }

  private async look(): Promise<void> {
    for (const doubt of this.open.values()) {
      if (this.closed.signal.aborted) break
      if (doubt.dueAt <= this.now()) await this.settle(doubt, this.now() + LOOK_MS, this.closed.signal)
    }
  }

  private async settle(doubt: Doubt, until: number, signal?: AbortSignal): Promise<void> {
    const { key, amount, account } = doubt
    const options = (): CallOptions => ({ signal, deadlineMs: until - this.now() })
    const begun = this.now()
    try {
      const { items } = await this.client.mail.operations({ idempotencyKey: key }, options()).page()
      const [operation] = items
      if (operation !== undefined) {
        if (operation.refunded < operation.charged)
          await this.client.mail.refund(operation.id, {}, { ...options(), key: `${key}:refund` })
        this.end(doubt, 'refunded')
        return
      }
      if (begun - doubt.since >= SETTLED_AFTER_MS) this.end(doubt, 'not_charged')
    } catch (error) {
      if (isProblem(error, 'refund_exceeds_charge')) this.end(doubt, 'refunded')
      else this.log.debug({ key, account, amount, error: wordsOf(error) }, 'a doubt cannot be settled yet')
    }
    doubt.pauseMs = Math.min(doubt.pauseMs * 2, SETTLED_AFTER_MS)
    doubt.dueAt = this.now() + doubt.pauseMs
  }

  private end(doubt: Doubt, outcome: 'refunded' | 'not_charged'): void {
    this.open.delete(doubt.key)
    this.metrics.doubts.set(this.open.size)
    this.metrics.settled.inc({ outcome })
    const { key, account, amount, queueId } = doubt
    this.log.info({ queue_id: queueId, key, account, amount, outcome }, 'a doubt is settled')
  }

  private giveUp(doubt: Doubt, why: string): void {
    this.open.delete(doubt.key)
    this.metrics.doubts.set(this.open.size)
    this.metrics.settled.inc({ outcome: 'given_up' })
    const { key, account, amount, queueId } = doubt
    this.log.error(
      { queue_id: queueId, key, account, amount, why },
      'a deferred message may have been charged: refund the operation of this key, if there is one',
    )
  }
}
