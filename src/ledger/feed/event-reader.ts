import { type Condition, placeholders } from '../../database/row-codec.js'
import type { Transaction, TransactionRunner } from '../../database/transaction-runner.js'
import { ServiceError } from '../../common/service-error.js'
import type { EventScope, EventType } from '../../domain/event-type.js'
import type { Instant } from '../../common/instant.js'
import type { Channel } from '../rows/channel.js'
import type { EventFeedRow } from '../rows/event-feed.entity.js'
import type { EventRow } from '../rows/event.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { beginsWith, type LedgerStore } from '../store/ledger-store.js'
import { eventView, type EventView } from '../store/new-event.js'
import type { EventSequencer } from './event-sequencer.js'

/** A page of events as it is answered. */
export interface EventsPage {
  items: EventView[]
  /** The cursor from which to continue, now or later. */
  next_after: string
}

/** The conditions on events; absent members are no condition. */
export interface EventFilter {
  readonly type?: EventType | undefined
  readonly ownerId?: number | undefined
  readonly quotaId?: number | undefined
  readonly groupId?: number | undefined
}

/** Selects events for those who are told of them. */
export interface EventSelection {
  readonly types: readonly EventType[]
  /** Undefined: everything. */
  readonly filter?: EventScope | undefined
}

/** An event with the names that texts about it use. They belong to it, and never change. */
export interface NamedEvent {
  readonly event: EventView
  /** The label of its quota, or one of the owner's. */
  readonly label: string | null
  /** The end of its quota's count right after it, or of the quota itself. */
  readonly until: Instant | null
}

/** The position and the time of an event. */
export interface EventPlace {
  readonly position: number
  readonly at: Instant
}

/** A reader's place: after the event at this position. `latest` is after the last existing one. */
export type EventCursor = number | 'latest'

/** The cursor for the present. */
const LATEST = 'latest'
const CURSOR = /^e(0|[1-9][0-9]{0,15})$/

/** Parses a cursor; undefined if it has another format. */
export function parseEventCursor(text: string): EventCursor | undefined {
  if (text === LATEST) return LATEST
  const position = Number(CURSOR.exec(text)?.[1])
  return Number.isSafeInteger(position) ? position : undefined
}

/** It needs no encoding in a query. */
function formatEventCursor(position: number): string {
  return `e${position}`
}

/** Each of these has an index that ends in the position. */
const PATHS = [
  ['quotaId', 'type'],
  ['quotaId'],
  ['ownerId', 'type'],
  ['ownerId'],
  ['groupId'],
  ['type'],
] as const satisfies readonly (readonly (keyof EventFilter)[])[]

/** Reads a channel's events in the order of their positions. */
export class EventReader<Q extends QuotaRow> {
  constructor(
    readonly channel: Channel<Q>,
    private readonly store: LedgerStore<Q>,
    private readonly transactions: TransactionRunner,
    readonly sequencer: EventSequencer<Q>,
  ) {}

  /**
   * Events after a cursor, oldest first, including all that were committed before the call.
   * @param after undefined: from the first kept event
   * @param size 1 … 100
   * @throws ServiceError cursor_expired where events behind the cursor are removed
   * @throws ServiceError unavailable where the page would be the last one, and committed events cannot be given places
   */
  async page(
    principalId: string,
    filter: EventFilter,
    after: EventCursor | undefined,
    size: number,
  ): Promise<EventsPage> {
    const [numbered] = await Promise.allSettled([this.sequencer.number()])
    // Where it failed, acts may have been answered whose events have no place: no page may say that it is the end.
    const end = (): void => {
      if (numbered.status === 'rejected') throw numbered.reason
    }
    return this.transactions.readsOf(principalId).read(async (transaction) => {
      // First the end of the feed, then its events, then what was removed meanwhile.
      const { lastPosition, removedTo: beginning } = await this.feed(transaction)
      if (after === LATEST) {
        end()
        return { items: [], next_after: formatEventCursor(lastPosition) }
      }
      // An event before a removed one is kept where its time is later; its place is no valid cursor any more.
      const events = await this.between(transaction, filter, after ?? beginning, lastPosition, size)
      const { removedTo } = await this.feed(transaction)
      if (after !== undefined && after < removedTo) throw cursorExpired()
      if (events.length < size) end()
      const last = events.length === size ? events.at(-1)?.position : undefined
      return {
        items: events.map((event) => eventView(this.channel, event)),
        next_after: formatEventCursor(last ?? Math.max(lastPosition, after ?? 0)),
      }
    })
  }

  /** The end of the feed. */
  async feed(transaction: Transaction): Promise<EventFeedRow> {
    const { eventFeed } = this.store
    const [row] = await transaction.rows(
      `SELECT ${eventFeed.columns} FROM ${eventFeed.table} WHERE ${eventFeed.column('id')} = 1`,
    )
    if (row === undefined) throw new Error('the row of the event feed is missing')
    return eventFeed.decode(row)
  }

  /** Selected events after one position and up to another, in order: at most as many as lie between. */
  async places(
    transaction: Transaction,
    selection: EventSelection,
    after: number,
    to: number,
    now: Instant,
  ): Promise<EventPlace[]> {
    const { event } = this.store
    const position = event.column('position')
    const part = event.part(['position', 'at'], 'e')
    const selected = this.selected(selection, now)
    const rows = await transaction.rows(
      `SELECT ${part.columns} FROM ${event.readBy(transaction.dialect, ['position'], 'e')} ` +
        `WHERE ${position} > ? AND ${position} <= ? AND ${selected.sql} ORDER BY ${position}`,
      [after, to, ...selected.values],
    )
    return rows.map((row) => part.decode(row) as EventPlace)
  }

  /** The number of selected events in a period, `[from, to)`, and the positions between which they are. */
  async period(
    transaction: Transaction,
    selection: EventSelection,
    from: Instant,
    to: Instant,
    now: Instant,
  ): Promise<{ count: number; first: number; last: number }> {
    const { event } = this.store
    const [position, at] = [event.column('position'), event.column('at')]
    const selected = this.selected(selection, now)
    const [row] = await transaction.rows(
      `SELECT COUNT(*) AS n, MIN(${position}) AS first, MAX(${position}) AS last FROM ${event.readBy(transaction.dialect, ['at'], 'e')} ` +
        `WHERE ${at} >= ? AND ${at} < ? AND ${position} IS NOT NULL AND ${selected.sql}`,
      [event.bind('at', from), event.bind('at', to), ...selected.values],
    )
    return { count: Number(row?.['n'] ?? 0), first: Number(row?.['first'] ?? 0), last: Number(row?.['last'] ?? 0) }
  }

  /** The events at these positions, by position; removed ones are omitted. */
  async at(transaction: Transaction, positions: readonly number[]): Promise<Map<number, NamedEvent>> {
    if (positions.length === 0) return new Map()
    const { event } = this.store
    const rows = await transaction.rows(
      `SELECT ${event.columns} FROM ${event.readBy(transaction.dialect, ['position'])} WHERE ${event.column('position')} IN (${placeholders(positions)})`,
      positions,
    )
    return new Map(
      rows.map((row) => {
        const found = event.decode(row)
        const { label, until } = found
        return [found.position ?? 0, { event: eventView(this.channel, found), label, until }]
      }),
    )
  }

  /** The condition on events `e`; the quotas that it looks at are those of the present. */
  private selected({ types, filter }: EventSelection, now: Instant): Condition {
    const { event, quota } = this.store
    const type = `e.${event.column('type')} IN (${placeholders(types)})`
    if (filter === undefined) return { sql: type, values: types }
    if ('groupId' in filter)
      return { sql: `${type} AND e.${event.column('groupId')} = ?`, values: [...types, filter.groupId] }
    const [quotaId, label, live] = [
      event.column('quotaId'),
      beginsWith(quota, 'labelSearch', filter.label),
      this.store.live(now),
    ]
    const some = (condition: string): string =>
      `EXISTS (SELECT 1 FROM ${quota.table} q WHERE ${condition} AND ${label.sql})`
    const ownQuota = some(`q.${quota.column('id')} = e.${quotaId}`)
    const anyOfOwner = some(`q.${quota.column('ownerId')} = e.${event.column('ownerId')} AND ${live.sql}`)
    return {
      sql: `${type} AND (${ownQuota} OR (e.${quotaId} IS NULL AND ${anyOfOwner}))`,
      values: [...types, ...label.values, ...live.values, ...label.values],
    }
  }

  private async between(
    transaction: Transaction,
    filter: EventFilter,
    after: number,
    to: number,
    size: number,
  ): Promise<EventRow[]> {
    const { event } = this.store
    const position = event.column('position')
    const path = PATHS.find((properties) => properties.every((one) => filter[one] !== undefined)) ?? []
    const conditions = (['type', 'ownerId', 'groupId', 'quotaId'] as const).flatMap((property) => {
      const value = filter[property]
      return value === undefined ? [] : [event.equals(transaction.dialect, 'e', property, value)]
    })
    const rows = await transaction.rows(
      `SELECT ${event.columnsOf('e')} FROM ${event.readBy(transaction.dialect, [...path, 'position'], 'e')} ` +
        `WHERE ${conditions.map(({ sql }) => `${sql} AND `).join('')}e.${position} > ? AND e.${position} <= ? ORDER BY e.${position} LIMIT ${size}`,
      [...conditions.flatMap(({ values }) => values), after, to],
    )
    return rows.map((row) => event.decode(row))
  }
}

/** Some events after the cursor have been removed. */
function cursorExpired(): ServiceError {
  return new ServiceError(
    'cursor_expired',
    'Events after this cursor have been removed; events are kept for 31 days. Begin again without after, or with after=latest.',
  )
}
