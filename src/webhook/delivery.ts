import type { EventFeeds } from '../channel-api/event-feeds.js'
import { type Clock, STEADY_MS } from '../common/clock.js'
import { TimeSlice } from '../common/time-slice.js'
import type { WebhookEndpoint } from '../config/webhook-endpoints.js'
import { isFromTheFuture, leaseFor } from '../database/lease.js'
import { PeriodicTask } from '../common/periodic-task.js'
import type { SharedReads } from '../database/shared-reads.js'
import type { Transaction, TransactionRunner } from '../database/transaction-runner.js'
import type { Turns } from '../database/turns.js'
import { type Collected, digestPeriod, isCollected, weightOf } from '../domain/digest.js'
import { digestMessageOf, messageOf, type WebhookMessage } from './message.js'
import type { EventPlace } from '../ledger/feed/event-reader.js'
import { groupBy } from '../common/group-by.js'
import { type Instant, parseInstant } from '../common/instant.js'
import { pauseAfter } from './retry.js'
import { release, type EndpointRegistry } from './endpoint-registry.js'
import { type Attempt, send } from './sender.js'
import type { ChannelEvent } from './texts.js'
import {
  digestOf,
  digestPlace,
  digestPosition,
  dropWaiting,
  type EndpointView,
  eventsOf,
  type Progress,
  progressOf,
  type WebhookStore,
} from './webhook-store.js'
import type { WebhookDeliveryRow, WebhookRow } from './webhook.entity.js'

/** The interval between turns, unless one is due earlier, in milliseconds. */
const EVERY_MS = 1_000
/** An instance that does not renew its lease for this time stops delivering, in milliseconds. */
const LEASE_MS = 10_000
/** The maximum number of concurrent attempts at one endpoint. */
const CONCURRENCY = 16
/** After this many failed attempts in a row, only the oldest is tried, until one is received (docs/webhooks.md). */
const MAX_FAILURES_IN_ROW = 20
/** The maximum wait of a write for its turn, in milliseconds. */
const TURN_WITHIN_MS = 6_000
/** The maximum number of events that one transaction queues. */
const QUEUE_STEP = 500
/** The maximum number of deliveries read ahead. */
const READ_AHEAD = 64
/** Events are removed after 31 days: waiting ones are given up a little earlier, in milliseconds. */
const KEPT_MS = 31 * 86_400_000 - 3_600_000
/** A digest is complete so long after its period: by then, every event has its place in the feed (docs/webhooks.md). */
const COMPLETE_AFTER_MS = 5_000
/** The minimum time between two turns, unless due deliveries wait for the next one, in milliseconds. */
const TOGETHER_MS = 250
/** A pause up to this length has its own timer: the next regular turn would be too late for it. In milliseconds. */
const SHORT_PAUSE_MS = 60_000

/** The result of an attempt, for metrics. */
export type DeliveryResult = 'delivered' | 'failed' | 'given_up'

/** An endpoint, its queue, and the ends of all feeds, by channel. */
export interface TurnView extends EndpointView {
  readonly lastPositions: Progress['positions']
}

/** The dependencies of a delivery. */
export interface DeliveryParts {
  readonly store: WebhookStore
  readonly registry: EndpointRegistry
  readonly feeds: EventFeeds
  /** What turns begin with, by endpoint: turns that begin together share a read. */
  readonly views: SharedReads<string, TurnView | undefined>
  readonly transactions: TransactionRunner
  /** Turns of writes: however many endpoints there are, those of requests find free connections. */
  readonly turns: Turns
  readonly clock: Clock
  readonly counted: (endpoint: string, result: DeliveryResult) => void
  readonly random: () => number
}

/** The result of a digest for a program: it is given up. */
const NO_DIGEST: Attempt = {
  status: null,
  error: 'a webhook takes no digest',
  ms: 0,
  retryAfterMs: undefined,
  gone: false,
  receivedBy: [],
}

interface Ended {
  readonly delivery: WebhookDeliveryRow
  readonly attempt: Attempt
  readonly endedAt: number
}

/**
 * Delivers to one endpoint while this instance has its lease.
 *
 * Each turn queues new events in the store, reads due ones from there, sends them, and removes those that were
 * received. So a crash loses nothing, and events that were sent but not yet removed are sent again. Memory is bounded
 * by READ_AHEAD events and CONCURRENCY attempts.
 */
export class Delivery {
  private readonly task: PeriodicTask
  private readonly inFlight = new Map<string, AbortController>()
  private ready: { delivery: WebhookDeliveryRow; message: WebhookMessage | Error }[] = []
  /** The endpoint for which the messages that are ready were made. */
  private readyFor: WebhookEndpoint | undefined
  private ended: Ended[] = []
  private failuresInRow = 0
  /** Did this instance have the lease in its last turn? */
  private held = false
  /** The end of the lease, as of that turn: a turn may take longer, and so may the pause before it. */
  private heldUntil: Instant = 0
  /** The start of the last turn, by `performance.now()`. */
  private turnedAt = -Infinity
  /** When it ended the pauses of its events because of another time, in the same way. */
  private hastenedAt = -Infinity
  /** May there be more due deliveries than were read ahead? */
  private moreDue = false
  /** The progress of queueing, as of the last turn. */
  private progress: Progress = { positions: {}, replays: [] }

  constructor(
    private readonly name: string,
    private readonly parts: DeliveryParts,
  ) {
    this.task = new PeriodicTask(parts.transactions, `webhook ${name}`, EVERY_MS, async () => this.turns())
  }

  /** Takes a turn, or another one after the present turn; then regular ones. Never rejects. */
  async wake(): Promise<void> {
    await this.task.again()
  }

  /**
   * Takes a turn soon for events that have just got their positions, if one could be sent at once. Otherwise the next
   * regular turn queues them: an endpoint that hangs or fails costs a transaction a second, not one for each batch.
   */
  wakeForNew(): void {
    if (this.held && !this.struggling && this.sending < this.allowed) this.wakeTogether()
  }

  /** Records results, aborts attempts in flight, and releases the lease. */
  async stop(): Promise<void> {
    await this.task.stop()
    if (this.held && this.parts.transactions.reach === 'all') {
      const released = async (): Promise<unknown> =>
        this.locked(async (transaction, row) => {
          release(row)
          await this.parts.store.save(transaction, row)
        })
      await (this.ended.length === 0 ? released() : this.settle().then(released)).catch(() => undefined)
    }
    this.abandon()
  }

  private async turns(): Promise<void> {
    while (!this.stopped && (await this.turn()));
  }

  /** @returns whether there are more events to queue */
  private async turn(): Promise<boolean> {
    const { registry, views } = this.parts
    this.turnedAt = performance.now()
    const endpoint = registry.mine.get(this.name)
    const view = await views.get(this.name)
    const mine =
      view?.row.state === 'active' &&
      endpoint !== undefined &&
      (await this.lease(view.row)) &&
      (this.ended.length === 0 || (await this.settle()))
    if (!mine) {
      this.abandon()
      return false
    }
    this.progress = progressOf(view.row)
    await this.giveUpOld(view)
    const behind = this.isBehind(endpoint, view)
    const more = behind && (await this.queueUp(endpoint))
    if (!more) await this.closeDigests(endpoint)
    await this.begin(endpoint, behind || (view.nextAt ?? Infinity) <= this.parts.clock.now())
    return more
  }

  /** The lease is lost: abort attempts in flight and ignore their results. */
  private abandon(): void {
    this.held = false
    for (const attempt of this.inFlight.values()) attempt.abort()
    this.inFlight.clear()
    this.ready = []
    this.ended = []
  }

  private async lease(row: WebhookRow): Promise<boolean> {
    const { clock, registry, store } = this.parts
    const state = leaseFor(registry.id, row, clock.now(), LEASE_MS)
    let { heldUntil } = row
    if (state === 'free') {
      let hastens = false as boolean
      this.held = await this.locked(
        async (transaction, found) => {
          // What was postponed by that time would wait for it. Once a minute: until all instances have adopted a time,
          // two may take the lease from each other again and again.
          hastens = isFromTheFuture(found, clock.now(), LEASE_MS) && performance.now() - this.hastenedAt > STEADY_MS
          if (hastens) await store.retryNow(transaction, this.name, clock.now())
          found.holder = registry.id
          heldUntil = found.heldUntil = clock.now() + LEASE_MS
          await store.save(transaction, found)
        },
        // Its holder may have renewed it since it was read.
        (found) => leaseFor(registry.id, found, clock.now(), LEASE_MS) !== 'taken',
      )
      if (hastens) this.hastenedAt = performance.now()
    } else this.held = state === 'held'
    this.heldUntil = heldUntil ?? 0
    if (this.inFlight.size === 0 && this.ended.length === 0) this.failuresInRow = row.failuresInRow
    return this.held
  }

  /**
   * Changes the endpoint's row, unless another instance delivers to it or the endpoint is not active.
   * @returns was it changed?
   */
  private async locked(
    change: (transaction: Transaction, row: WebhookRow) => Promise<void>,
    mine: (row: WebhookRow) => boolean = ({ holder }) => holder === this.parts.registry.id,
  ): Promise<boolean> {
    const { store, transactions, turns } = this.parts
    return turns.run(this.name, performance.now() + TURN_WITHIN_MS, async () =>
      transactions.write(async (transaction) => {
        const row = await store.one(transaction, this.name, true)
        if (row?.state !== 'active' || !mine(row)) return false
        await change(transaction, row)
        return true
      }),
    )
  }

  /** Removes events that would be removed from the feed soon: they count as failed. */
  private async giveUpOld({ oldestAt }: TurnView): Promise<void> {
    const { clock, store } = this.parts
    const tooOld = clock.now() - KEPT_MS
    // By a time that is in doubt, the feed removes nothing, either.
    if (oldestAt === null || oldestAt >= tooOld || !clock.steady) return
    await this.locked(async (transaction, row) => {
      const { removed } = await store.removeSome(transaction, this.name, tooOld)
      row.failed += removed
      row.waiting -= removed
      await store.save(transaction, row)
    })
    this.ready = []
  }

  /** Queues the events since the last turn, and those of replays. @returns whether there are more */
  private async queueUp(endpoint: WebhookEndpoint): Promise<boolean> {
    let more = false
    await this.locked(async (transaction, row) => {
      const progress = progressOf(row)
      const wanted = Object.entries(progress.positions).filter(([channel]) =>
        endpoint.channels.some((one) => one === channel),
      )
      progress.positions = Object.fromEntries(wanted)
      more = false
      for (const channel of endpoint.channels) {
        const { queued, left } = await this.queueNew(transaction, endpoint, channel, progress)
        row.waiting += queued
        more ||= left
      }
      row.waiting += await this.queueReplay(transaction, endpoint, progress)
      await this.saveProgress(transaction, row, progress)
      more ||= progress.replays.length > 0
    })
    return more
  }

  /** Everything that has happened is queued: digests whose period is over are complete. */
  private async closeDigests({ digest, timeZone }: WebhookEndpoint): Promise<void> {
    const { clock } = this.parts
    if (digest === 'none' || !clock.steady) return
    const now = clock.now()
    const { start } = digestPeriod(digest, timeZone, now - COMPLETE_AFTER_MS)
    const { closed = 0 } = this.progress
    // A longer period, or another zone, does not open again what is complete; a clock that was wrong does.
    if (start === null || start === closed || (start < closed && closed <= now)) return
    await this.locked(async (transaction, row) =>
      this.saveProgress(transaction, row, { ...progressOf(row), closed: start }),
    )
  }

  private async saveProgress(transaction: Transaction, row: WebhookRow, progress: Progress): Promise<void> {
    row.progress = JSON.stringify(progress)
    await this.parts.store.save(transaction, row)
    this.progress = progress
  }

  /** Queues events of a channel, or adds them to digests. @param replayId 0: none @returns the number of new ones */
  private async queue(
    transaction: Transaction,
    { digest, timeZone }: WebhookEndpoint,
    channel: string,
    places: readonly EventPlace[],
    closed: Instant,
    replayId: number,
  ): Promise<number> {
    const { clock, feeds, store } = this.parts
    if (digest === 'none') return store.queue(transaction, this.name, channel, places, clock.now())
    const positions = places.map(({ position }) => position)
    const ranked = [...((await feeds.all.get(channel)?.at(transaction, positions)) ?? [])].map(
      ([position, { event }]) => {
        const { threshold } = event.data as { threshold?: number }
        return { weight: weightOf(event.type, threshold), at: parseInstant(event.at) ?? 0, channel, position }
      },
    )
    // An event that comes late joins the next digest.
    const ends = groupBy(ranked, ({ at }) => digestPeriod(digest, timeZone, Math.max(at, closed)).end)
    let queued = 0
    for (const [end, events] of ends) {
      const position = digestPosition(end, replayId)
      const others = replayId === 0 ? [] : await this.othersAt(transaction, end, position)
      const added = events.filter((event) => !others.some((other) => isCollected(other, event)))
      queued += added.length
      if (added.length > 0) await store.collect(transaction, this.name, position, added, end + COMPLETE_AFTER_MS)
    }
    return queued
  }

  /** What other digests of a period have collected: a replay does not send what waits there. */
  private async othersAt(transaction: Transaction, end: Instant, position: number): Promise<Collected[]> {
    const digests = await this.parts.store.digestsAt(transaction, this.name, end)
    return digests.filter((one) => one.position !== position).flatMap((one) => digestOf(one) ?? [])
  }

  private isBehind({ channels }: WebhookEndpoint, { lastPositions }: TurnView): boolean {
    const { positions, replays } = this.progress
    return (
      replays.length > 0 ||
      Object.keys(positions).length !== channels.length ||
      channels.some((channel) => (lastPositions[channel] ?? -Infinity) > (positions[channel] ?? -1))
    )
  }

  private async queueNew(
    transaction: Transaction,
    endpoint: WebhookEndpoint,
    channel: string,
    progress: Progress,
  ): Promise<{ queued: number; left: boolean }> {
    const { clock, feeds } = this.parts
    const feed = feeds.all.get(channel)
    if (feed === undefined) return { queued: 0, left: false }
    const { lastPosition } = await feed.feed(transaction)
    // A newly selected channel begins with later events.
    const after = progress.positions[channel] ?? lastPosition
    const to = Math.min(lastPosition, after + QUEUE_STEP)
    progress.positions[channel] = to
    if (to <= after) return { queued: 0, left: false }
    const now = clock.now()
    const places = await feed.places(transaction, endpoint, after, to, now)
    // After a clock that was wrong, digests that are not due yet are not complete.
    const closed = progress.closed !== undefined && progress.closed <= now ? progress.closed : 0
    const queued = await this.queue(transaction, endpoint, channel, places, closed, 0)
    return { queued, left: to < lastPosition }
  }

  /** @returns the difference between the queued events and the number counted when the replay was requested */
  private async queueReplay(transaction: Transaction, endpoint: WebhookEndpoint, progress: Progress): Promise<number> {
    const { clock, feeds } = this.parts
    const [replay] = progress.replays
    const feed = replay && feeds.all.get(replay.channel)
    if (replay === undefined) return 0
    let difference = 0
    if (feed !== undefined && replay.after < replay.to) {
      const to = Math.min(replay.to, replay.after + QUEUE_STEP)
      const places = (await feed.places(transaction, endpoint, replay.after, to, clock.now())).filter(
        ({ at }) => at >= replay.from && at < replay.before,
      )
      const queued = await this.queue(transaction, endpoint, replay.channel, places, 0, replay.id)
      const counted = Math.min(replay.left, places.length)
      replay.after = to
      replay.left -= counted
      difference = queued - counted
    }
    if (feed !== undefined && replay.after < replay.to) return difference
    // Events removed meanwhile were counted.
    progress.replays.shift()
    return difference - replay.left
  }

  /**
   * Records the results of attempts, each once: of a COMMIT whose answer was lost, the next try finds what it did.
   * @returns does this instance still deliver?
   */
  private async settle(): Promise<boolean> {
    const { clock, counted, random, store } = this.parts
    // More attempts may end meanwhile; the next turn records them.
    const ended = [...this.ended]
    let results: DeliveryResult[] = []
    let next: Instant[] = []
    let isActive = true
    const mine = await this.locked(async (transaction, row) => {
      results = []
      next = []
      const settled: WebhookDeliveryRow[] = []
      const present = await store.present(
        transaction,
        this.name,
        ended.map(({ delivery }) => delivery),
      )
      const presentBy = new Map(present.map((one) => [keyOf(one), one]))
      for (const { delivery, attempt, endedAt } of ended) {
        const waiting = presentBy.get(keyOf(delivery))
        // What an earlier try has recorded counts no more, neither as a delivery nor among failures in a row.
        const isNew = waiting?.attempts === delivery.attempts
        row.attemptAt = endedAt
        row.attemptStatus = attempt.status
        row.attemptError = attempt.error
        const events = waiting === undefined ? 0 : eventsOf([waiting])
        if (attempt.error === null) {
          results.push('delivered')
          settled.push(delivery)
          if (isNew) row.failuresInRow = 0
          row.delivered += events
          row.waiting -= events
          continue
        }
        if (isNew) row.failuresInRow += 1
        const attempts = delivery.attempts + 1
        const pause = attempt === NO_DIGEST ? undefined : pauseAfter(attempts, attempt.retryAfterMs, random())
        results.push(pause === undefined || attempt.gone ? 'given_up' : 'failed')
        if (attempt.gone) row.state = 'disabled'
        else if (pause === undefined) {
          settled.push(delivery)
          row.failed += events
          row.waiting -= events
        } else {
          await store.postpone(transaction, delivery, attempts, endedAt + pause, attempt.receivedBy)
          next.push(endedAt + pause)
        }
      }
      await store.remove(transaction, this.name, settled)
      isActive = row.state === 'active'
      if (!isActive) {
        release(row)
        dropWaiting(row)
      }
      await store.save(transaction, row)
      this.failuresInRow = row.failuresInRow
    })
    if (!mine) return false
    this.ended = this.ended.slice(ended.length)
    for (const { delivery } of ended) this.inFlight.delete(keyOf(delivery))
    for (const result of results) counted(this.name, result)
    for (const at of next) this.wakeSoon(at - clock.now())
    return isActive
  }

  private get stopped(): boolean {
    return this.task.signal.aborted
  }

  private get struggling(): boolean {
    return this.failuresInRow >= MAX_FAILURES_IN_ROW
  }

  /**
   * The maximum number of concurrent attempts: at most twenty failures in a row, even if all of them fail, and none
   * once the endpoint has answered that it is gone.
   */
  private get allowed(): number {
    if (this.ended.some(({ attempt }) => attempt.gone)) return 0
    return this.struggling ? 1 : Math.min(CONCURRENCY, MAX_FAILURES_IN_ROW - this.failuresInRow)
  }

  /** Takes one turn for everything within TOGETHER_MS: a turn costs several statements and two transactions. */
  private wakeTogether(): void {
    this.task.soon(Math.max(0, this.turnedAt + TOGETHER_MS - performance.now()))
  }

  private wakeSoon(milliseconds: number): void {
    if (milliseconds <= SHORT_PAUSE_MS) setTimeout(() => void this.wake(), milliseconds).unref()
  }

  /** Sends due events, up to the allowed number of attempts. @param mayBeDue may any be due that are not read ahead? */
  private async begin(endpoint: WebhookEndpoint, mayBeDue: boolean): Promise<void> {
    // A changed file may want other messages.
    if (this.struggling || this.readyFor !== endpoint) this.ready = []
    if (this.sending >= this.allowed) return
    if (this.ready.length === 0 && mayBeDue) await this.readAhead(endpoint, this.struggling)
    this.beginReady()
  }

  private beginReady(): void {
    const { clock, registry } = this.parts
    const endpoint = registry.mine.get(this.name)
    if (endpoint === undefined || endpoint !== this.readyFor) return
    while (this.held && clock.now() < this.heldUntil && !this.stopped && this.sending < this.allowed) {
      const next = this.ready.shift()
      if (next === undefined) return
      void this.attempt(endpoint, next.delivery, next.message)
    }
  }

  /** Attempts in flight, and failures that are not recorded yet: they count, since further attempts may fail, too. */
  private get sending(): number {
    return this.inFlight.size - this.ended.filter(({ attempt }) => attempt.error === null).length
  }

  /** May it be sent? Digests that are still collected wait. */
  private isComplete({ digest }: WebhookEndpoint, delivery: WebhookDeliveryRow): boolean {
    if (delivery.digest === null) return true
    const { closed = 0, replays } = this.progress
    const { dueAt, replayId } = digestPlace(delivery.position)
    // Where digests are no longer wanted, nothing is added to them.
    return replayId === 0 ? dueAt <= closed || digest === 'none' : replays.every(({ id }) => id !== replayId)
  }

  private async readAhead(endpoint: WebhookEndpoint, oldestOnly: boolean): Promise<void> {
    const { clock, feeds, store, transactions } = this.parts
    const now = clock.now()
    const { told, events } = await transactions.read(async (transaction) => {
      const oldest = oldestOnly ? await store.oldest(transaction, this.name) : undefined
      const found = oldestOnly
        ? oldest === undefined || oldest.nextAt > now
          ? []
          : [oldest]
        : await store.due(transaction, this.name, now, READ_AHEAD + this.inFlight.size)
      const due = found.filter((one) => !this.inFlight.has(keyOf(one)) && this.isComplete(endpoint, one))
      this.moreDue = due.length >= READ_AHEAD
      const told = due.map((delivery) => {
        const digest = digestOf(delivery)
        return { delivery, digest, places: digest === undefined ? [delivery] : [digest.first, ...digest.worst] }
      })
      const events = new Map<string, ChannelEvent>()
      for (const [channel, feed] of feeds.all) {
        const places = told.flatMap(({ places: some }) => some.filter((one) => one.channel === channel))
        const positions = [...new Set(places.map(({ position }) => position))]
        for (const [position, event] of await feed.at(transaction, positions))
          events.set(keyOf({ channel, position }), { ...event, channel })
      }
      return { told, events }
    })
    const ready: typeof this.ready = []
    // The text of a digest takes milliseconds.
    const slice = new TimeSlice()
    for (const { delivery, digest, places } of told) {
      if (slice.spent) await slice.next()
      const [first, ...others] = places.map((place) => events.get(keyOf(place)))
      if (first === undefined) continue
      // Of a damaged row, none can be made: that fails like a message that is refused, and holds up no other.
      const message = madeBy(() => {
        if (digest === undefined) return messageOf(endpoint, first)
        const worst = others.filter((one) => one !== undefined)
        const end = digestPlace(delivery.position).dueAt
        return digestMessageOf(endpoint, { id: first.event.id, worst, count: digest.count, end })
      })
      ready.push({ delivery, message })
    }
    this.ready = ready
    this.readyFor = endpoint
  }

  private async attempt(
    endpoint: WebhookEndpoint,
    delivery: WebhookDeliveryRow,
    message: WebhookMessage | Error,
  ): Promise<void> {
    const stop = new AbortController()
    const key = keyOf(delivery)
    this.inFlight.set(key, stop)
    const receivedBy = JSON.parse(delivery.receivedBy ?? '[]') as string[]
    // An endpoint that has become a program may still have digests.
    const isDigest = endpoint.kind === 'webhook' && delivery.digest !== null
    const attempt = isDigest
      ? NO_DIGEST
      : await send(endpoint, message, this.parts.clock.now(), stop.signal, receivedBy)
    if (stop.signal.aborted) return
    this.ended.push({ delivery, attempt, endedAt: this.parts.clock.now() })
    // Events that were read ahead need not wait for the turn that records this result.
    if (attempt.error === null) this.beginReady()
    // If the store is unavailable, a later turn records it.
    if (attempt.gone || (this.ready.length === 0 && this.moreDue)) await this.wake()
    else this.wakeTogether()
  }
}

/** What `make` returns, or the error with which it fails. */
function madeBy<T>(make: () => T): T | Error {
  try {
    return make()
  } catch (error) {
    return error as Error
  }
}

function keyOf({ channel, position }: Pick<WebhookDeliveryRow, 'channel' | 'position'>): string {
  return `${channel} ${position}`
}
