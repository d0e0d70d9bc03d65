import { Injectable } from '@nestjs/common'
import { EventFeeds } from '../channel-api/event-feeds.js'
import { Clock } from '../common/clock.js'
import type { WebhookEndpoint } from '../config/webhook-endpoints.js'
import { TransactionRunner } from '../database/transaction-runner.js'
import { ServiceError, Unavailable } from '../common/service-error.js'
import { formatInstant, type Instant, MAX_INSTANT, parseInstant } from '../common/instant.js'
import { testMessage } from './message.js'
import { send } from './sender.js'
import { type EndpointView, nextReplay, progressOf } from './webhook-store.js'
import type { ReplayDto, TestedDto, WebhookDto } from './webhook.dto.js'
import type { WebhookRow } from './webhook.entity.js'
import { Webhooks } from './webhooks.js'

/** The maximum number of waiting replays of one endpoint. */
const MAX_REPLAYS = 50

/** The events of a replay are counted so many milliseconds of their time at once: a month may have millions. */
const COUNTED_AT_ONCE_MS = 6 * 3_600_000
/** Events are kept for 31 days; older times are passed over at once. */
const OLDEST_MS = 32 * 86_400_000

/** Reads and changes endpoints for administrators. Every error is a ServiceError. */
@Injectable()
export class WebhookService {
  constructor(
    private readonly webhooks: Webhooks,
    private readonly feeds: EventFeeds,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
  ) {}

  /** Every present and former endpoint, by name. @param principalId the principal whose turn it takes */
  async list(principalId: string): Promise<WebhookDto[]> {
    const { store } = this.webhooks
    const views = await this.transactions.readsOf(principalId).read(async (transaction) => store.views(transaction))
    return [...views.values()].map((view) => this.shown(view))
  }

  /** Sends one test message now. */
  async test(name: string): Promise<TestedDto> {
    const endpoint = await this.wanted(name)
    const now = this.clock.now()
    const { status, error, ms } = await send(endpoint, testMessage(endpoint, now), now, new AbortController().signal)
    return { status, error, ms }
  }

  /** Enables a disabled endpoint; it receives later events. */
  async enable(name: string): Promise<WebhookDto> {
    const { store, registry } = this.webhooks
    if ((await this.found(name)).state === 'disabled') {
      await registry.removeLeftOvers(name)
      // Events committed before do not count as later ones.
      for (const feed of this.feeds.all.values()) await feed.sequencer.number()
    }
    const views = await this.transactions.write(async (transaction) => {
      const row = await store.one(transaction, name, true)
      if (row === undefined) throw notFound(name)
      if (row.state === 'removed') throw disabled(row)
      if (row.state === 'disabled') {
        row.state = 'active'
        row.progress = await registry.present(transaction)
        await store.save(transaction, row)
      }
      return store.views(transaction, [name])
    })
    this.webhooks.wake()
    const view = views.get(name)
    if (view === undefined) throw notFound(name)
    return this.shown(view)
  }

  /** Has the events of a period sent again. @returns their number */
  async replay(name: string, dto: ReplayDto): Promise<number> {
    const { store, registry } = this.webhooks
    const endpoint = await this.wanted(name)
    const from = parseInstant(dto.from) ?? 0
    const before = dto.to === undefined ? MAX_INSTANT : (parseInstant(dto.to) ?? 0)
    for (const feed of this.feeds.all.values()) await feed.sequencer.number()
    const periods = await this.periods(endpoint, from, before)
    let attempt: { readonly id: number; readonly events: number } | undefined
    const events = await this.transactions.write(async (transaction) => {
      const row = await store.one(transaction, name, true)
      if (row === undefined) throw notFound(name)
      if (row.state !== 'active') throw disabled(row)
      const progress = progressOf(row)
      // Committed by an earlier attempt of this request, whose COMMIT lost its answer.
      if (attempt !== undefined && progress.replayed === attempt.id) return attempt.events
      const id = nextReplay(progress)
      let count = 0
      for (const { channel, first, last, left } of periods) {
        if (progress.replays.length >= MAX_REPLAYS) throw new Unavailable('webhook_replays')
        count += left
        progress.replays.push({ id, channel, after: first - 1, to: last, from, before, left })
      }
      row.waiting += count
      row.progress = JSON.stringify(progress)
      await store.save(transaction, row)
      attempt = { id, events: count }
      return count
    })
    if (registry.mine.has(name)) this.webhooks.wake()
    return events
  }

  /**
   * The events of a period, by channel: their number and the positions between which they are. It is counted before the
   * endpoint's row is locked, which deliveries need; what is removed meanwhile is counted off when it is queued.
   */
  private async periods(
    endpoint: WebhookEndpoint,
    from: Instant,
    before: Instant,
  ): Promise<{ channel: string; first: number; last: number; left: number }[]> {
    const now = this.clock.now()
    const periods = endpoint.channels.flatMap((channel) => {
      const feed = this.feeds.all.get(channel)
      return feed === undefined ? [] : [{ channel, feed, first: Infinity, last: 0, left: 0 }]
    })
    for (let start = from; start < before;) {
      const step = start < now - OLDEST_MS ? now - OLDEST_MS : start < now ? start + COUNTED_AT_ONCE_MS : before
      const end = Math.min(step, before)
      for (const period of periods) {
        const { count, first, last } = await this.transactions.read(async (transaction) =>
          period.feed.period(transaction, endpoint, start, end, now),
        )
        if (count === 0) continue
        period.left += count
        period.first = Math.min(period.first, first)
        period.last = Math.max(period.last, last)
      }
      start = end
    }
    return periods.filter(({ left }) => left > 0)
  }

  private async found(name: string): Promise<WebhookRow> {
    const row = await this.transactions.read((transaction) => this.webhooks.store.one(transaction, name))
    // The store may compare names without case.
    if (row?.name !== name) throw notFound(name)
    return row
  }

  /** An active endpoint of this instance's file. */
  private async wanted(name: string): Promise<WebhookEndpoint> {
    const row = await this.found(name)
    if (row.state !== 'active') throw disabled(row)
    const endpoint = this.webhooks.registry.mine.get(name)
    if (endpoint === undefined) throw new Unavailable('webhook_elsewhere')
    return endpoint
  }

  private shown({ row, oldestAt }: EndpointView): WebhookDto {
    const endpoint = this.webhooks.registry.mine.get(row.name)
    return {
      name: row.name,
      kind: endpoint?.kind ?? null,
      url: endpoint === undefined ? null : shownUrl(endpoint),
      types: [...(endpoint?.types ?? [])],
      channels: [...(endpoint?.channels ?? [])],
      state: row.state,
      delivered: row.delivered,
      failed: row.failed,
      waiting: row.waiting,
      oldest_waiting_at: row.state !== 'active' || oldestAt === null ? null : formatInstant(oldestAt),
      last_attempt:
        row.attemptAt === null
          ? null
          : { at: formatInstant(row.attemptAt), status: row.attemptStatus, error: row.attemptError },
    }
  }
}

/** Where it is, without what may be secret: of the URL of a chat, its path, too. */
function shownUrl(endpoint: WebhookEndpoint): string {
  if (endpoint.kind === 'mail') {
    const { secure, host, port } = endpoint.smtp
    return `${secure ? 'smtps' : 'smtp'}://${host.includes(':') ? `[${host}]` : host}:${port}`
  }
  const { origin, pathname } = new URL(endpoint.url)
  return endpoint.kind === 'slack' ? origin : origin + pathname
}

function notFound(name: string): ServiceError {
  return new ServiceError('webhook_not_found', `There is no webhook ${JSON.stringify(name.slice(0, 64))}.`)
}

function disabled({ name, state }: WebhookRow): ServiceError {
  return new ServiceError('webhook_disabled', `The webhook ${name} is ${state}.`)
}
