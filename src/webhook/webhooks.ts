import { type BeforeApplicationShutdown, Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common'
import type { Registry } from 'prom-client'
import { DataSource } from 'typeorm'
import { EventFeeds } from '../channel-api/event-feeds.js'
import { Clock } from '../clock/clock.js'
import { Config } from '../config/config.js'
import { WatchedFile } from '../config/watched-file.js'
import { parseWebhooksFile, type WebhookEndpoint, WEBHOOKS_FILE } from '../config/webhook-endpoints.js'
import { TransactionRunner } from '../database/transaction-runner.js'
import { METRICS_REGISTRY } from '../metrics/metrics.js'
import { Delivery, type DeliveryParts } from './delivery.js'
import { EndpointRegistry } from './endpoint-registry.js'
import { WebhookMetrics } from './webhook.metrics.js'
import { WebhookStore } from './webhook-store.js'

/** The interval between turns of each delivery, unless it is woken, in milliseconds. */
const EVERY_MS = 1_000
/** The interval between announcements of this instance's endpoints, in turns. */
const ANNOUNCE_EVERY = 15

/**
 * Sends events to the endpoints of WEBHOOKS_FILE, in the background. Each endpoint has its own delivery, which waits
 * for no other; no request waits for any.
 */
@Injectable()
export class Webhooks implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Webhooks')
  readonly store: WebhookStore
  readonly registry: EndpointRegistry
  /** The file of endpoints. */
  readonly file: WatchedFile<readonly WebhookEndpoint[]>
  private readonly parts: DeliveryParts
  private readonly metrics: WebhookMetrics
  private readonly deliveries = new Map<string, Delivery>()
  private timer: NodeJS.Timeout | undefined
  private turnsSince = 0
  private announcing: Promise<void> | undefined
  private stopped = false
  private lastAttemptSucceeded = true

  constructor(
    config: Config,
    dataSource: DataSource,
    private readonly transactions: TransactionRunner,
    clock: Clock,
    private readonly feeds: EventFeeds,
    @Inject(METRICS_REGISTRY) registry: Registry,
  ) {
    this.store = new WebhookStore(dataSource)
    this.registry = new EndpointRegistry(this.store, feeds, transactions, clock, config.webhooks)
    this.metrics = new WebhookMetrics(registry, clock)
    this.parts = {
      store: this.store,
      registry: this.registry,
      feeds,
      transactions,
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
        if (differs) this.announceSoon()
        return { differs, told: `${endpoints.length} endpoints` }
      },
    })
  }

  async onApplicationBootstrap(): Promise<void> {
    // The endpoints are known before the first request.
    await this.announce()
    this.file.start()
    for (const feed of this.feeds.all.values()) feed.onNumbered(() => this.wakeForNew())
    this.timer = setInterval(() => this.tick(), EVERY_MS).unref()
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopped = true
    clearInterval(this.timer)
    await this.file.stop()
    await this.announcing
    await Promise.all([...this.deliveries.values()].map(async (delivery) => delivery.stop()))
    if (this.transactions.reach === 'all') await this.registry.leave().catch(() => undefined)
  }

  /** Announces this instance's endpoints to the others, and starts deliveries to new ones. Never rejects. */
  async announce(): Promise<void> {
    this.announcing ??= this.announceOnce().finally(() => {
      this.announcing = undefined
    })
    await this.announcing
  }

  /** Wakes every delivery. */
  wake(): void {
    for (const delivery of this.deliveries.values()) delivery.wake().catch((error: unknown) => this.logFailure(error))
  }

  private wakeForNew(): void {
    for (const delivery of this.deliveries.values()) delivery.wakeForNew()
  }

  private tick(): void {
    // Another part has logged the outage and watches it.
    if (this.stopped || this.transactions.reach !== 'all') return
    this.turnsSince += 1
    if (this.turnsSince >= ANNOUNCE_EVERY) void this.announce()
    this.wake()
  }

  /** After the present announcement, which may have read the previous file. */
  private announceSoon(): void {
    const before = this.announcing ?? Promise.resolve()
    void before.then(async () => this.announce())
  }

  private async announceOnce(): Promise<void> {
    if (this.stopped || this.transactions.reach !== 'all') return
    this.turnsSince = 0
    try {
      await this.registry.announce()
      await this.measure()
      this.lastAttemptSucceeded = true
    } catch (error) {
      this.logFailure(error)
      // Earlier than usual.
      this.turnsSince = ANNOUNCE_EVERY - 2
    }
    for (const name of this.registry.mine.keys())
      if (!this.deliveries.has(name)) this.deliveries.set(name, new Delivery(name, this.parts))
    for (const [name, delivery] of this.deliveries) {
      if (this.registry.mine.has(name)) continue
      this.deliveries.delete(name)
      void delivery.stop()
    }
    this.wake()
  }

  private async measure(): Promise<void> {
    const { store } = this
    await this.transactions.read(async (transaction) => {
      const rows = await store.all(transaction)
      for (const row of rows) {
        const oldest = row.state === 'active' ? await store.oldest(transaction, row.name) : undefined
        this.metrics.show(row, oldest?.at)
      }
      this.metrics.forgetOthers(rows.map(({ name }) => name))
    })
  }

  private logFailure(error: unknown): void {
    if (this.lastAttemptSucceeded) this.logger.warn(`cannot update webhooks, retrying: ${String(error)}`)
    this.lastAttemptSucceeded = false
  }
}
