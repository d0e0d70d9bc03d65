import { randomUUID } from 'node:crypto'
import type { EventFeeds } from '../channel-api/event-feeds.js'
import type { Clock } from '../common/clock.js'
import type { Instant } from '../common/instant.js'
import type { WebhookEndpoint } from '../config/webhook-endpoints.js'
import type { Transaction, TransactionRunner } from '../database/transaction-runner.js'
import { dropWaiting, type Progress, type WebhookStore } from './webhook-store.js'
import type { WebhookRow } from './webhook.entity.js'

/** An instance is considered gone after this many milliseconds without a heartbeat. */
const PRESENT_MS = 60_000
const FORGOTTEN_MS = 600_000
/** The steps in which an announcement removes what a former endpoint has left; the next one goes on. */
const REMOVALS = 5

/**
 * The existing endpoints: this instance's, from its file, and those of all live instances. An endpoint that no live
 * instance names is removed; the instance that removes it is itself live.
 */
export class EndpointRegistry {
  /** This instance's id in the store. */
  readonly id = randomUUID()
  /** The endpoints of this instance's file, by name. */
  mine: ReadonlyMap<string, WebhookEndpoint>
  /** When it announced itself last. */
  private announcedAt: Instant | undefined
  /** The end of the last gap between its announcements. */
  private gapEndedAt: Instant = -Infinity

  constructor(
    private readonly store: WebhookStore,
    private readonly feeds: EventFeeds,
    private readonly transactions: TransactionRunner,
    private readonly clock: Clock,
    endpoints: readonly WebhookEndpoint[],
  ) {
    this.mine = byName(endpoints)
  }

  /** Applies the file's present content. @returns does it differ? */
  replace(endpoints: readonly WebhookEndpoint[]): boolean {
    const differs = JSON.stringify([...this.mine.values()]) !== JSON.stringify(endpoints)
    this.mine = byName(endpoints)
    return differs
  }

  /**
   * Announces this instance's endpoints to the others, and determines from all announcements which endpoints exist.
   * @returns is nothing left of former endpoints? If not, another announcement should follow soon
   */
  async announce(): Promise<boolean> {
    const { store, transactions } = this
    const names = [...this.mine.keys()]
    const known = await transactions.read((transaction) => store.all(transaction))
    let isClean = true
    for (const { name, state } of known)
      if (state !== 'active') isClean = (await this.removeLeftOvers(name, REMOVALS)) && isClean
    if (names.length === 0 && known.every(({ state }) => state === 'removed')) return isClean
    // Number the events already committed, so that a new endpoint does not receive them.
    if (names.some((name) => known.find((row) => row.name === name)?.state !== 'active'))
      for (const feed of this.feeds.all.values()) await feed.sequencer.number()
    const now = this.clock.now()
    if (this.announcedAt === undefined || now - this.announcedAt > PRESENT_MS / 2) this.gapEndedAt = now
    await transactions.write(async (transaction) => this.conclude(transaction, names, now))
    this.announcedAt = now
    return isClean
  }

  /** Announces that this instance stops. */
  async leave(): Promise<void> {
    if (this.mine.size > 0)
      await this.transactions.write((transaction) => this.store.removeAnnouncement(transaction, this.id))
  }

  /** The ends of all feeds, by channel. */
  async lastPositions(transaction: Transaction): Promise<Progress['positions']> {
    const positions: Progress['positions'] = {}
    for (const [channel, feed] of this.feeds.all) positions[channel] = (await feed.feed(transaction)).lastPosition
    return positions
  }

  /** The position at which a new endpoint begins. */
  async present(transaction: Transaction): Promise<string> {
    const positions = await this.lastPositions(transaction)
    return JSON.stringify({ positions, replays: [] } satisfies Progress)
  }

  /**
   * Removes the queue of an endpoint that is disabled or removed, step by step. Its events have already been counted.
   * @returns is it empty?
   */
  async removeLeftOvers(name: string, maxSteps = Infinity): Promise<boolean> {
    for (let step = 0; step < maxSteps; step += 1) {
      const more = await this.transactions.write(async (transaction) => {
        const row = await this.store.one(transaction, name, true)
        return row?.state === 'active' ? false : (await this.store.removeSome(transaction, name)).more
      })
      if (!more) return true
    }
    return false
  }

  private async conclude(transaction: Transaction, names: readonly string[], now: Instant): Promise<void> {
    const { store } = this
    const rows = await store.all(transaction, true)
    // After the start, an outage, or a step of the clock, those of live instances may be of any age.
    const anyAge = Math.abs(now - this.gapEndedAt) < PRESENT_MS
    await store.recordAnnouncement(transaction, this.id, names, now)
    if (!anyAge) await store.removeAnnouncementsBefore(transaction, now - FORGOTTEN_MS)
    const live = await store.announcedSince(transaction, anyAge ? 0 : now - PRESENT_MS)
    for (const name of names) {
      const row = rows.find((one) => one.name === name)
      if (row === undefined) await store.insert(transaction, newWebhook(name, await this.present(transaction)))
      // An endpoint that is named again starts empty.
      else if (row.state === 'removed' && (await store.oldest(transaction, name)) === undefined) {
        row.state = 'active'
        row.progress = await this.present(transaction)
        await store.save(transaction, row)
      }
    }
    for (const row of rows) {
      if (live.has(row.name) || row.state === 'removed') continue
      row.state = 'removed'
      release(row)
      dropWaiting(row)
      await store.save(transaction, row)
    }
  }
}

/** No instance delivers to the endpoint any more. */
export function release(row: WebhookRow): void {
  row.holder = null
  row.heldUntil = null
}

function newWebhook(name: string, progress: string): WebhookRow {
  const noLease = { holder: null, heldUntil: null }
  const counts = { delivered: 0, failed: 0, waiting: 0, failuresInRow: 0 }
  const noAttempt = { attemptAt: null, attemptStatus: null, attemptError: null }
  return { name, state: 'active', ...noLease, ...counts, ...noAttempt, progress }
}

function byName(endpoints: readonly WebhookEndpoint[]): ReadonlyMap<string, WebhookEndpoint> {
  return new Map(endpoints.map((endpoint) => [endpoint.name, endpoint]))
}
