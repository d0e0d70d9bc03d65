import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, type HttpClient, NoAnswer } from './http-client.js'

/** One legitimate request and its result. */
interface Told {
  /** Milliseconds since the victim began. */
  readonly at: number
  readonly ms: number
  /** The status, or `no answer`. */
  readonly outcome: string
}

/** A legitimate caller during an attack: sends one request after the other, and records the duration of each. */
export class Victim {
  readonly told: Told[] = []
  private readonly began = performance.now()
  private readonly running: Promise<void>
  private stopped = false
  private markedAt = 0

  /**
   * @param send sends one request
   * @param callers the number of concurrent callers, each of which sends the next request after an answer
   * @param pauseMs the pause between an answer and the next request
   */
  constructor(send: (turn: number) => Promise<Answer>, { callers = 1, pauseMs = 0 } = {}) {
    this.running = Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        for (let turn = caller; !this.stopped; turn += callers) {
          const start = performance.now()
          const outcome = await send(turn).then(
            ({ status }) => String(status),
            (error: unknown) => {
              if (error instanceof NoAnswer) return 'no answer'
              throw error
            },
          )
          this.told.push({ at: start - this.began, ms: performance.now() - start, outcome })
          if (pauseMs > 0) await sleep(pauseMs)
        }
      }),
    ).then(() => undefined)
    this.running.catch(() => undefined)
  }

  /** Stops after the pending requests are answered. */
  async stop(): Promise<void> {
    this.stopped = true
    await this.running
  }

  /** From here on, requests count for `quantile`: the attack begins. */
  mark(): void {
    this.markedAt = performance.now() - this.began
  }

  /** The maximum duration of this share of the requests since `mark`, in milliseconds. */
  quantile(share: number): number {
    const marked = this.told.filter(({ at }) => at >= this.markedAt)
    const sorted = marked.map(({ ms }) => ms).sort((a, b) => a - b)
    return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN)
  }

  /** The number of correct answers in each second since the beginning. */
  perSecond(): number[] {
    const seconds: number[] = []
    for (const { at, ms, outcome } of this.told) {
      if (!outcome.startsWith('2')) continue
      const second = Math.floor((at + ms) / 1000)
      while (seconds.length <= second) seconds.push(0)
      seconds[second] = (seconds[second] ?? 0) + 1
    }
    return seconds
  }
}

/** The probes of orchestrators, in turn: liveness and readiness. */
export const PROBED = ['/health/live', '/health/ready'] as const

/** A victim that probes liveness and readiness. */
export function healthProbe(client: HttpClient, url: string): Victim {
  return new Victim(async (turn) => client.send(url, 'GET', PROBED[turn % 2]!, { token: 'none' }), { pauseMs: 50 })
}
