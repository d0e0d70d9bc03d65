import type { DataSource } from 'typeorm'
import { placeholders, RowCodec, type Scalar } from '../database/row-codec.js'
import { ENDPOINT_NAME } from '../config/webhook-endpoints.js'
import type { Transaction } from '../database/transaction-runner.js'
import type { EventPlace } from '../ledger/feed/event-reader.js'
import { collect, type Collected, type Ranked } from '../domain/digest.js'
import type { Instant } from '../common/instant.js'
import { groupBy } from '../common/group-by.js'
import { WebhookDeliveryRow, WebhookReaderRow, WebhookRow } from './webhook.entity.js'

/** A period whose events are to be sent again. */
export interface Replay {
  readonly channel: string
  /** Events up to this position are queued. */
  after: number
  /** The last position. */
  readonly to: number
  readonly from: Instant
  readonly before: Instant
  /** The number of its events that count as waiting. */
  left: number
  /** The number of its request, 1 … MAX_REPLAY_ID: its digests are apart from others. */
  readonly id: number
}

/** The progress of queueing an endpoint's events. */
export interface Progress {
  /** By channel: events up to this position are queued. Channels that the endpoint does not select are absent. */
  positions: Record<string, number>
  replays: Replay[]
  /** Digests up to the one that was due then are complete. */
  closed?: Instant
  /** The number of the last request for a replay. */
  replayed?: number
}

/** An endpoint's row and the heads of its queue: what decides whether a turn has anything to do. */
export interface EndpointView {
  readonly row: WebhookRow
  /** The time of the oldest waiting event; null: none waits. */
  readonly oldestAt: Instant | null
  /** The time of the next attempt; null: none waits. */
  readonly nextAt: Instant | null
}

/** The `channel` of digests in the queue. */
export const DIGEST_CHANNEL = 'digest'
const MINUTE_MS = 60_000
const MAX_REPLAY_ID = MINUTE_MS - 1

/** The maximum number of remaining deliveries that one transaction removes. */
const STEP = 2_000

/** The statements of webhooks. */
export class WebhookStore {
  readonly webhook: RowCodec<WebhookRow>
  private readonly delivery: RowCodec<WebhookDeliveryRow>
  private readonly reader: RowCodec<WebhookReaderRow>

  constructor(dataSource: DataSource) {
    this.webhook = RowCodec.of(dataSource, WebhookRow)
    this.delivery = RowCodec.of(dataSource, WebhookDeliveryRow)
    this.reader = RowCodec.of(dataSource, WebhookReaderRow)
  }

  /** Every present and former endpoint, by name. */
  async all(transaction: Transaction, lock = false): Promise<WebhookRow[]> {
    const { webhook } = this
    const rows = await transaction.rows(
      `SELECT ${webhook.columns} FROM ${webhook.table} ORDER BY ${webhook.column('name')}${lockOf(transaction, lock)}`,
    )
    return rows.map((row) => webhook.decode(row))
  }

  /** One endpoint; none by a name that no endpoint can have, which the column's character set may not know. */
  async one(transaction: Transaction, name: string, lock = false): Promise<WebhookRow | undefined> {
    if (!ENDPOINT_NAME.test(name)) return undefined
    const { webhook } = this
    const [row] = await transaction.rows(
      `SELECT ${webhook.columns} FROM ${webhook.table} WHERE ${webhook.column('name')} = ?${lockOf(transaction, lock)}`,
      [name],
    )
    return row === undefined ? undefined : webhook.decode(row)
  }

  /**
   * Endpoints with the heads of their queues, by name, in one statement: of one moment.
   * @param names of some; absent: every present and former endpoint
   */
  async views(transaction: Transaction, names?: readonly string[]): Promise<ReadonlyMap<string, EndpointView>> {
    const { delivery, webhook } = this
    const heads = delivery.part(['at', 'nextAt'])
    const first = (property: 'at' | 'nextAt'): string =>
      `(SELECT d.${delivery.column(property)} FROM ${delivery.readBy(transaction.dialect, ['name', property], 'd')} ` +
      `WHERE d.${delivery.column('name')} = w.${webhook.column('name')} ` +
      `ORDER BY d.${delivery.column(property)} LIMIT 1) AS ${delivery.column(property)}`
    const rows = await transaction.rows(
      `SELECT ${webhook.columnsOf('w')}, ${first('at')}, ${first('nextAt')} FROM ${webhook.table} w ` +
        (names === undefined ? '' : `WHERE w.${webhook.column('name')} IN (${placeholders(names)}) `) +
        `ORDER BY w.${webhook.column('name')}`,
      names,
    )
    const views = rows.map((found): EndpointView => {
      const { at: oldestAt, nextAt } = heads.decode(found)
      return { row: webhook.decode(found), oldestAt, nextAt }
    })
    return new Map(views.map((view) => [view.row.name, view]))
  }

  async insert(transaction: Transaction, row: WebhookRow): Promise<void> {
    for (const { sql, values } of this.webhook.inserts([row], transaction)) await transaction.later(sql, values)
  }

  /** Updates an endpoint's row, which the transaction has locked. */
  async save(transaction: Transaction, row: WebhookRow): Promise<void> {
    const { webhook } = this
    const names = webhook.updated
    await transaction.later(
      `UPDATE ${webhook.table} SET ${names.map((name) => `${webhook.column(name)} = ?`).join(', ')} WHERE ${webhook.column('name')} = ?`,
      [...names.map((name) => webhook.bind(name, row[name])), row.name],
    )
  }

  /** Records which endpoints an instance knows. */
  async recordAnnouncement(
    transaction: Transaction,
    instance: string,
    names: readonly string[],
    now: Instant,
  ): Promise<void> {
    await this.removeAnnouncement(transaction, instance)
    const rows = names.map((name) => ({ name, instance, seenAt: now }))
    for (const { sql, values } of this.reader.inserts(rows, transaction)) await transaction.later(sql, values)
  }

  /** Removes the records of an instance. */
  async removeAnnouncement(transaction: Transaction, instance: string): Promise<void> {
    await transaction.later(`DELETE FROM ${this.reader.table} WHERE ${this.reader.column('instance')} = ?`, [instance])
  }

  /** The names in announcements since the given time. */
  async announcedSince(transaction: Transaction, since: Instant): Promise<Set<string>> {
    const { reader } = this
    const rows = await transaction.rows(
      `SELECT DISTINCT ${reader.column('name')} AS name FROM ${reader.table} WHERE ${reader.column('seenAt')} > ?`,
      [reader.bind('seenAt', since)],
    )
    return new Set(rows.map((row) => String(row['name'])))
  }

  /** Removes old announcements. */
  async removeAnnouncementsBefore(transaction: Transaction, before: Instant): Promise<void> {
    const { reader } = this
    await transaction.later(`DELETE FROM ${reader.table} WHERE ${reader.column('seenAt')} < ?`, [
      reader.bind('seenAt', before),
    ])
  }

  /**
   * Queues events; those that already wait do not change.
   * @returns the number of new ones
   */
  async queue(
    transaction: Transaction,
    name: string,
    channel: string,
    places: readonly EventPlace[],
    now: Instant,
  ): Promise<number> {
    if (places.length === 0) return 0
    const { delivery } = this
    const positions = places.map(({ position }) => position)
    const there = await transaction.rows(
      `SELECT ${delivery.column('position')} AS position FROM ${delivery.table} WHERE ${this.isOneOf(positions)}`,
      [name, channel, ...positions],
    )
    const known = new Set(there.map((row) => Number(row['position'])))
    const rows = places
      .filter(({ position }) => !known.has(position))
      .map(({ position, at }) => ({ name, channel, position, at, attempts: 0, nextAt: now }))
    for (const { sql, values } of delivery.inserts(rows, transaction)) await transaction.later(sql, values)
    return rows.length
  }

  /** Adds events to a digest, which waits until `nextAt`. */
  async collect(
    transaction: Transaction,
    name: string,
    position: number,
    events: readonly Ranked[],
    nextAt: Instant,
  ): Promise<void> {
    const { delivery } = this
    const place = { channel: DIGEST_CHANNEL, position }
    const [found] = await this.present(transaction, name, [place])
    if (found !== undefined) await this.remove(transaction, name, [place])
    const digest = collect(digestOf(found), events)
    const row = { name, ...place, at: digest.first.at, attempts: 0, nextAt, digest: JSON.stringify(digest) }
    for (const { sql, values } of delivery.inserts([row], transaction)) await transaction.later(sql, values)
  }

  /** The digests that wait for the end of a period, also those of replays. */
  async digestsAt(transaction: Transaction, name: string, end: Instant): Promise<WebhookDeliveryRow[]> {
    const { delivery } = this
    const position = delivery.column('position')
    return this.deliveries(
      transaction,
      `${delivery.readByKey(transaction.dialect)} WHERE ${delivery.column('name')} = ? AND ${delivery.column('channel')} = ? ` +
        `AND ${position} >= ? AND ${position} <= ?`,
      [name, DIGEST_CHANNEL, digestPosition(end, 0), digestPosition(end, MAX_REPLAY_ID)],
    )
  }

  /** Due deliveries, the longest due first. */
  async due(transaction: Transaction, name: string, now: Instant, limit: number): Promise<WebhookDeliveryRow[]> {
    const { delivery } = this
    const nextAt = delivery.column('nextAt')
    return this.deliveries(
      transaction,
      `${delivery.readBy(transaction.dialect, ['name', 'nextAt'])} WHERE ${delivery.column('name')} = ? AND ${nextAt} <= ? ` +
        `ORDER BY ${nextAt} LIMIT ${limit}`,
      [name, delivery.bind('nextAt', now)],
    )
  }

  /** The oldest waiting event by its own time; undefined if none waits. */
  async oldest(transaction: Transaction, name: string): Promise<WebhookDeliveryRow | undefined> {
    const { delivery } = this
    const [found] = await this.deliveries(
      transaction,
      `${delivery.readBy(transaction.dialect, ['name', 'at'])} WHERE ${delivery.column('name')} = ? ORDER BY ${delivery.column('at')} LIMIT 1`,
      [name],
    )
    return found
  }

  /** Those of some deliveries that still wait, as they are now. */
  async present(
    transaction: Transaction,
    name: string,
    some: readonly Pick<WebhookDeliveryRow, 'channel' | 'position'>[],
  ): Promise<WebhookDeliveryRow[]> {
    const { delivery } = this
    const found: WebhookDeliveryRow[] = []
    for (const [channel, positions] of positionsByChannel(some)) {
      const rows = await this.deliveries(
        transaction,
        `${delivery.readByKey(transaction.dialect)} WHERE ${this.isOneOf(positions)}`,
        [name, channel, ...positions],
      )
      found.push(...rows)
    }
    return found
  }

  /** Removes deliveries from the queue. */
  async remove(
    transaction: Transaction,
    name: string,
    gone: readonly Pick<WebhookDeliveryRow, 'channel' | 'position'>[],
  ): Promise<void> {
    for (const [channel, positions] of positionsByChannel(gone)) {
      const sql = `DELETE FROM ${this.delivery.table} WHERE ${this.isOneOf(positions)}`
      await transaction.later(sql, [name, channel, ...positions])
    }
  }

  /** Records the time of a delivery's next attempt, and who has received it. */
  async postpone(
    transaction: Transaction,
    { name, channel, position }: WebhookDeliveryRow,
    attempts: number,
    nextAt: Instant,
    receivedBy: readonly string[],
  ): Promise<void> {
    const { delivery } = this
    const received = receivedBy.length === 0 ? null : JSON.stringify(receivedBy)
    await transaction.later(
      `UPDATE ${delivery.table} SET ${delivery.column('attempts')} = ?, ${delivery.column('nextAt')} = ?, ${delivery.column('receivedBy')} = ? ` +
        `WHERE ${delivery.column('name')} = ? AND ${delivery.column('channel')} = ? AND ${delivery.column('position')} = ?`,
      [attempts, delivery.bind('nextAt', nextAt), received, name, channel, position],
    )
  }

  /** Ends the pauses of an endpoint's events; digests wait for the end of their period. */
  async retryNow(transaction: Transaction, name: string, now: Instant): Promise<void> {
    const { delivery } = this
    const [nextAt, time] = [delivery.column('nextAt'), delivery.bind('nextAt', now)]
    await transaction.later(
      `UPDATE ${delivery.table} SET ${nextAt} = ? WHERE ${delivery.column('name')} = ? AND ${nextAt} > ? AND ${delivery.column('digest')} IS NULL`,
      [time, name, time],
    )
  }

  /**
   * Removes some queued deliveries.
   * @param before only events that happened before this time; undefined: all
   * @returns the number of their events; is it possible that there are more?
   */
  async removeSome(
    transaction: Transaction,
    name: string,
    before?: Instant,
  ): Promise<{ removed: number; more: boolean }> {
    const { delivery } = this
    const at = delivery.column('at')
    const some = await this.deliveries(
      transaction,
      `${delivery.readBy(transaction.dialect, ['name', 'at'])} WHERE ${delivery.column('name')} = ? ` +
        `${before === undefined ? '' : `AND ${at} < ? `}ORDER BY ${at} LIMIT ${STEP}`,
      before === undefined ? [name] : [name, delivery.bind('at', before)],
    )
    await this.remove(transaction, name, some)
    return { removed: eventsOf(some), more: some.length === STEP }
  }

  /** The condition of deliveries by key; its values: the name, the channel, the positions. */
  private isOneOf(positions: readonly number[]): string {
    const { delivery } = this
    return (
      `${delivery.column('name')} = ? AND ${delivery.column('channel')} = ? ` +
      `AND ${delivery.column('position')} IN (${placeholders(positions)})`
    )
  }

  private async deliveries(
    transaction: Transaction,
    from: string,
    values: readonly Scalar[],
  ): Promise<WebhookDeliveryRow[]> {
    const rows = await transaction.rows(`SELECT ${this.delivery.columns} FROM ${from}`, values)
    return rows.map((row) => this.delivery.decode(row))
  }
}

function positionsByChannel(
  deliveries: readonly Pick<WebhookDeliveryRow, 'channel' | 'position'>[],
): [string, number[]][] {
  const byChannel = groupBy(deliveries, ({ channel }) => channel)
  return [...byChannel].map(([channel, some]) => [channel, some.map(({ position }) => position)])
}

function lockOf({ dialect }: Transaction, lock: boolean): string {
  return lock && dialect === 'mysql' ? ' FOR UPDATE' : ''
}

/** What a digest has collected; undefined for an event. */
export function digestOf(delivery: Pick<WebhookDeliveryRow, 'digest'> | undefined): Collected | undefined {
  return delivery?.digest == null ? undefined : (JSON.parse(delivery.digest) as Collected)
}

/** The number of events of deliveries. */
export function eventsOf(deliveries: readonly WebhookDeliveryRow[]): number {
  return deliveries.reduce((sum, delivery) => sum + (digestOf(delivery)?.count ?? 1), 0)
}

/** The position of a digest: when it is due, and the number of the replay that it belongs to; 0: none. */
export function digestPosition(dueAt: Instant, replayId: number): number {
  return dueAt + replayId
}

/** The opposite of `digestPosition`: digests are due at full minutes. */
export function digestPlace(position: number): { dueAt: Instant; replayId: number } {
  const replayId = position % MINUTE_MS
  return { dueAt: position - replayId, replayId }
}

/** The number of a new request for a replay. */
export function nextReplay(progress: Progress): number {
  progress.replayed = ((progress.replayed ?? 0) % MAX_REPLAY_ID) + 1
  return progress.replayed
}

/** The progress of an endpoint's queue. */
export function progressOf(row: WebhookRow): Progress {
  return JSON.parse(row.progress) as Progress
}

/** Nothing waits for the endpoint any more; waiting events count as failed. */
export function dropWaiting(row: WebhookRow): void {
  row.failed += row.waiting
  row.waiting = 0
  row.failuresInRow = 0
  row.progress = JSON.stringify({ positions: {}, replays: [] } satisfies Progress)
}
