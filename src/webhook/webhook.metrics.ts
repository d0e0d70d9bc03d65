import { Counter, Gauge, type Registry } from 'prom-client'
import type { Clock } from '../common/clock.js'
import type { Instant } from '../common/instant.js'
import type { DeliveryResult } from './delivery.js'
import type { WebhookRow } from './webhook.entity.js'

const RESULTS: readonly DeliveryResult[] = ['delivered', 'failed', 'given_up']

/** Measures deliveries to endpoints. */
export class WebhookMetrics {
  private readonly deliveries: Counter<'endpoint' | 'result'>
  private readonly waiting: Gauge<'endpoint'>
  private readonly off: Gauge<'endpoint'>
  /** The time of the oldest waiting event, by endpoint. */
  private readonly oldest = new Map<string, Instant | undefined>()

  constructor(registry: Registry, clock: Clock) {
    const registers = [registry]
    this.deliveries = new Counter({
      name: 'quota_webhook_deliveries_total',
      help: 'Attempts of this instance to deliver an event: delivered, failed (to be tried again), given_up.',
      labelNames: ['endpoint', 'result'],
      registers,
    })
    this.waiting = new Gauge({
      name: 'quota_webhook_waiting',
      help: 'Events that waited for an endpoint a few seconds ago.',
      labelNames: ['endpoint'],
      registers,
    })
    this.off = new Gauge({
      name: 'quota_webhook_disabled',
      help: '1 if an endpoint is disabled because it answered 410, otherwise 0.',
      labelNames: ['endpoint'],
      registers,
    })
    const { oldest } = this
    new Gauge({
      name: 'quota_webhook_oldest_waiting_seconds',
      help: 'Time that the oldest event has waited for an endpoint; 0 if none waits.',
      labelNames: ['endpoint'],
      registers,
      collect() {
        this.reset()
        for (const [endpoint, at] of oldest)
          this.set({ endpoint }, at === undefined ? 0 : Math.max(0, clock.now() - at) / 1000)
      },
    })
  }

  count(endpoint: string, result: DeliveryResult): void {
    this.deliveries.inc({ endpoint, result })
  }

  /** @param oldestAt since when the oldest event waits; a later time: not yet */
  show({ name: endpoint, state, waiting }: WebhookRow, oldestAt: Instant | undefined): void {
    for (const result of RESULTS) this.deliveries.inc({ endpoint, result }, 0)
    this.oldest.set(endpoint, oldestAt)
    this.waiting.set({ endpoint }, waiting)
    this.off.set({ endpoint }, state === 'disabled' ? 1 : 0)
  }

  /** Shows only these endpoints. */
  forgetOthers(names: readonly string[]): void {
    for (const endpoint of this.oldest.keys()) {
      if (names.includes(endpoint)) continue
      this.oldest.delete(endpoint)
      this.waiting.remove({ endpoint })
      this.off.remove({ endpoint })
    }
  }
}
