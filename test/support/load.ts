import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, NoAnswer } from './http-client.js'
import type { Instance } from './instance.js'
import { bodyOf, fresh, MAIL, resultsOf, tally, times } from './wire.js'

/**
 * Consumes of one unit from many callers, each of which repeats what was not answered, with the same keys, until it is
 * answered.
 */
export class Load {
  /** Operation ids by key: the acknowledged operations. */
  readonly acknowledged = new Map<string, string>()
  /** The outcomes of the single requests: a status, or `no answer` and the reason. */
  readonly outcomes: string[] = []
  private stopped = false
  private readonly running: Promise<void>

  /**
   * @param instances receive the requests in turn
   * @param accounts the payers; their quotas must last
   * @param batch operations in a request; 1 sends them separately
   */
  constructor(
    private readonly instances: readonly Instance[],
    private readonly accounts: readonly number[],
    private readonly batch: number,
    callers: number,
  ) {
    this.running = Promise.all(times(callers).map((caller) => this.call(caller))).then(() => undefined)
    // stop() handles errors.
    this.running.catch(() => undefined)
  }

  /** Waits until this number of operations is acknowledged. */
  async reach(count: number, withinMs = 120_000): Promise<void> {
    const deadline = performance.now() + withinMs
    while (this.acknowledged.size < count) {
      if (performance.now() > deadline) throw new Error(`only ${this.acknowledged.size} of ${count} acknowledged`)
      await Promise.race([sleep(10), this.running])
    }
  }

  /** Starts nothing new; resolves when all pending operations are acknowledged. */
  async stop(): Promise<void> {
    this.stopped = true
    await this.running
  }

  get counts(): Record<string, number> {
    return tally(this.outcomes)
  }

  private async call(caller: number): Promise<void> {
    for (let turn = caller; !this.stopped; turn += 1) {
      let open = times(this.batch).map(() => ({
        account_id: this.accounts[Math.floor(Math.random() * this.accounts.length)]!,
        amount: 1,
        idempotency_key: fresh('load'),
      }))
      for (let attempt = 0; open.length > 0; attempt += 1) {
        if (attempt > 0) await sleep(50)
        if (attempt > 2_000) throw new Error(`no end: ${JSON.stringify(this.counts)}`)
        open = await this.send(this.instances[(turn + attempt) % this.instances.length]!, open)
      }
    }
  }

  /** @returns the items without an answer */
  private async send<T extends { account_id: number; amount: number; idempotency_key: string }>(
    instance: Instance,
    items: T[],
  ): Promise<T[]> {
    const [first] = items
    let answer: Answer
    try {
      if (this.batch === 1 && first !== undefined) {
        const { idempotency_key: key, ...body } = first
        answer = await instance.post(`${MAIL.usage}/consume`, body, key)
      } else answer = await instance.post(`${MAIL.usage}/consume/batch`, { items })
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error
      this.outcomes.push(`no answer, ${error.code}`)
      return items
    }
    this.outcomes.push(String(answer.status))
    if (answer.status === 503) {
      if (!(answer.retryAfter! >= 1)) throw new Error('503 without Retry-After')
      return items
    }
    if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`)
    if (this.batch === 1) {
      this.acknowledge(first!.idempotency_key, bodyOf(answer).id)
      return []
    }
    const results = resultsOf(answer)
    return items.filter(({ idempotency_key: key }, n) => {
      const { status, operation } = results[n]!
      if (status === 503) return true
      if (status !== 200) throw new Error(`an item: ${JSON.stringify(results[n])}`)
      this.acknowledge(key, operation.id)
      return false
    })
  }

  private acknowledge(key: string, id: string): void {
    const known = this.acknowledged.get(key)
    if (known !== undefined && known !== id) throw new Error(`${key} took effect as ${known} and as ${id}`)
    this.acknowledged.set(key, id)
  }
}
