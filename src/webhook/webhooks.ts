import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common'
import type { Registry } from 'prom-client'
import { DataSource } from 'typeorm'
import { EventFeeds } from '../channel-api/event-feeds.js'
import { Clock } from '../common/clock.js'
import { CONFIG, type Config } from '../config/config.js'
import { WatchedFile } from '../config/watched-file.js'
import { parseWebhooksFile, type WebhookEndpoint, WEBHOOKS_FILE } from '../config/webhook-endpoints.js'
import { PeriodicTask } from '../common/periodic-task.js'
import { SharedReads } from '../database/shared-reads.js'
import { TransactionRunner } from '../database/transaction-runner.js'
import { Turns } from '../database/turns.js'
import { METRICS_REGISTRY } from '../common/metrics.js'
import { Delivery, type DeliveryParts, type TurnView } from './delivery.js'
import { EndpointRegistry } from './endpoint-registry.js'
import { WebhookMetrics } from './webhook.metrics.js'
import { digestPlace, WebhookStore } from './webhook-store.js'

/** The interval between announcements of this instance's endpoints, in milliseconds. */
const ANNOUNCE_EVERY_MS = 15_000
/** The same after a failure, or while something is left of former endpoints. */
const AGAIN_MS = 1_000

/** The maximum number of connections for writes that all deliveries have at a time. */
const WRITES_AT_ONCE = 2

/**
 * Sends events to the endpoints of WEBHOOKS_FILE, in the background. Each endpoint has its own delivery, which waits
 * for no other; no request waits for any.
 */
@Injectable()
export class Webhooks implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly store: WebhookStore
  readonly registry: EndpointRegistry
  /** The file of endpoints. */
  readonly file: WatchedFile<readonly WebhookEndpoint[]>
  private readonly parts: DeliveryParts
  private readonly metrics: WebhookMetrics
  private readonly deliveries = new Map<string, Delivery>()
  private readonly task: PeriodicTask

  constructor(
    @Inject(CONFIG) config: Config,
    dataSource: DataSource,
    private readonly transactions: TransactionRunner,
    clock: Clock,
    private readonly feeds: EventFeeds,
    @Inject(METRICS_REGISTRY) registry: Registry,
  ) {
    this.store = new WebhookStore(dataSource)
    this.registry = new EndpointRegistry(this.store, feeds, transactions, clock, config.webhooks)
    this.metrics = new WebhookMetrics(registry, clock)
    this.task = new PeriodicTask(transactions, 'webhooks', AGAIN_MS, async () => this.announceOnce())
    this.parts = {
      store: this.store,
      registry: this.registry,
      feeds,
      views: new SharedReads((names) => this.views(names)),
      transactions,
      turns: new Turns(WRITES_AT_ONCE),
      clock,
      counted: (endpoint, result) => this.metrics.count(endpoint, result),
      random: Math.random,
    }
    this.file = new WatchedFile({
      logName: 'Webhooks',
      setting: WEBHOOKS_FILE,
      path: config.webhooksFile,
      kept: 'the previous endpoints stay in force',
      parse: parseWebhooksFile,
      take: (endpoints) => {
        const differs = this.registry.replace(endpoints)
        // After the present announcement, which may have read the previous file.
        if (differs) this.task.soon(0)
        return { differs, told: `${endpoints.length} endpoints` }
      },
    })
  }

  async onApplicationBootstrap(): Promise<void> {
    // The endpoints are known before the first request.
    await this.announce()
    this.file.start()
    for (const feed of this.feeds.all.values()) feed.sequencer.onNumbered(() => this.wakeForNew())
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.file.stop()
    await this.task.stop()
    await Promise.all([...this.deliveries.values()].map(async (delivery) => delivery.stop()))
    if (this.transactions.reach === 'all') await this.registry.leave().catch(() => undefined)
  }

  /** Announces this instance's endpoints to the others, and starts deliveries to new ones. Never rejects. */
  async announce(): Promise<void> {
    await this.task.run()
  }

  /** Wakes every delivery. */
  wake(): void {
    for (const delivery of this.deliveries.values()) void delivery.wake()
  }

  private wakeForNew(): void {
    for (const delivery of this.deliveries.values()) delivery.wakeForNew()
  }

  private async views(names: readonly string[]): Promise<(TurnView | undefined)[]> {
    return this.transactions.read(async (transaction) => {
      const lastPositions = await this.registry.lastPositions(transaction)
      const found = await this.store.views(transaction, names)
      return names.map((name) => {
        const view = found.get(name)
        return view && { ...view, lastPositions }
      })
    })
  }

  private async announceOnce(): Promise<number> {
    const isClean = await this.registry.announce()
    await this.measure()
    for (const name of this.registry.mine.keys())
      if (!this.deliveries.has(name)) this.deliveries.set(name, new Delivery(name, this.parts))
    for (const [name, delivery] of this.deliveries) {
      if (this.registry.mine.has(name)) continue
      this.deliveries.delete(name)
      void delivery.stop()
    }
    this.wake()
    return isClean ? ANNOUNCE_EVERY_MS : AGAIN_MS
  }

  private async measure(): Promise<void> {
    const { store } = this
    await this.transactions.read(async (transaction) => {
      const rows = await store.all(transaction)
      for (const row of rows) {
        const oldest = row.state === 'active' ? await store.oldest(transaction, row.name) : undefined
        // What a digest collects is not late.
        const since = oldest?.digest == null ? oldest?.at : digestPlace(oldest.position).dueAt
        this.metrics.show(row, since)
      }
      this.metrics.forgetOthers(rows.map(({ name }) => name))
    })
  }
}
