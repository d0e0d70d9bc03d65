import { randomUUID } from 'node:crypto'
import type { EventFeeds } from '../channel-api/event-feeds.js'
import type { Clock } from '../clock/clock.js'
import type { WebhookEndpoint } from '../config/webhook-endpoints.js'
import type { UnitOfWork, Transaction } from '../database/unit-of-work.js'
import type { Instant } from '../time/instant.js'
import { dropWaiting, type Progress, type WebhookStore } from './webhook-store.js'
import type { WebhookRow } from './webhook.entity.js'

/** An instance that has not said for so long that it is there is there no more, in milliseconds. */
const PRESENT_MS = 60_000
const FORGOTTEN_MS = 600_000

/**
 * Which endpoints there are: this instance's, as its file names them, and what the live instances say together. An
 * endpoint that no live instance names is removed; whoever says so is itself a live one.
 */
export class Roster {
  /** This instance's name in the store. */
  readonly id = randomUUID()
  private endpoints: ReadonlyMap<string, WebhookEndpoint>

  constructor(
    private readonly store: WebhookStore,
    private readonly feeds: EventFeeds,
    private readonly work: UnitOfWork,
    private readonly clock: Clock,
    endpoints: readonly WebhookEndpoint[],
  ) {
    this.endpoints = byName(endpoints)
  }

  /** The endpoints of this instance's file, by name. */
  get mine(): ReadonlyMap<string, WebhookEndpoint> {
    return this.endpoints
  }

  /** Takes what the file says now. @returns does it differ? */
  replace(endpoints: readonly WebhookEndpoint[]): boolean {
    const differs = described([...this.endpoints.values()]) !== described(endpoints)
    this.endpoints = byName(endpoints)
    return differs
  }

  /** Tells the others which endpoints are known here, and concludes from what all say which ones there are. */
  async announce(): Promise<void> {
    const { store, work } = this
    const names = [...this.endpoints.keys()]
    const known = await work.read((transaction) => store.all(transaction))
    if (names.length === 0 && known.every(({ state }) => state === 'removed')) return
    // Who is named again begins with nothing: what was left over from before goes first.
    for (const { name, state } of known) if (state !== 'active') await this.removeLeftOvers(name)
    // What was committed before is not what happens from now on.
    if (names.some((name) => known.find((row) => row.name === name)?.state !== 'active'))
      for (const feed of this.feeds.all.values()) await feed.number()
    await work.write(async (transaction) => this.conclude(transaction, names))
  }

  /** This instance is there no more. */
  async leave(): Promise<void> {
    if (this.endpoints.size > 0) await this.work.write((transaction) => this.store.forget(transaction, this.id))
  }

  /** Where an endpoint begins that begins now. */
  async present(transaction: Transaction): Promise<string> {
    const positions: Progress['positions'] = {}
    for (const [channel, feed] of this.feeds.all) positions[channel] = (await feed.feed(transaction)).lastPosition
    return JSON.stringify({ positions, replays: [] } satisfies Progress)
  }

  /** Removes what was queued for an endpoint that is disabled or removed. It is counted already. */
  async removeLeftOvers(name: string): Promise<void> {
    for (let more = true; more;) {
      more = await this.work.write(async (transaction) => {
        const row = await this.store.one(transaction, name, true)
        return row?.state === 'active' ? false : (await this.store.removeSome(transaction, name)).more
      })
    }
  }

  private async conclude(transaction: Transaction, names: readonly string[]): Promise<void> {
    const { store } = this
    const now = this.clock.now()
    const rows = await store.all(transaction, true)
    await store.read(transaction, this.id, names, now)
    await store.forgetBefore(transaction, now - FORGOTTEN_MS)
    const live = await store.known(transaction, now - PRESENT_MS)
    for (const name of names) {
      const row = rows.find((one) => one.name === name)
      if (row === undefined) await store.insert(transaction, newWebhook(name, await this.present(transaction)))
      else if (row.state === 'removed') {
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

/** Nobody delivers to the endpoint. */
export function release(row: WebhookRow): void {
  row.holder = null
  row.heldUntil = null
}

function newWebhook(name: string, progress: string): WebhookRow {
  const counts = { delivered: 0, failed: 0, waiting: 0, failuresInRow: 0 }
  const none: { holder: null; heldUntil: Instant | null } = { holder: null, heldUntil: null }
  return {
    name,
    state: 'active',
    ...none,
    ...counts,
    attemptAt: null,
    attemptStatus: null,
    attemptError: null,
    progress,
  }
}

function byName(endpoints: readonly WebhookEndpoint[]): ReadonlyMap<string, WebhookEndpoint> {
  return new Map(endpoints.map((endpoint) => [endpoint.name, endpoint]))
}

function described(endpoints: readonly WebhookEndpoint[]): string {
  return JSON.stringify(
    [...endpoints].map(({ secrets, ...others }) => ({ ...others, secrets: secrets.map((one) => one.toString('hex')) })),
  )
}
