import { idFromStore } from '../../database/bytes.js'
import { instantFromStore, instantToStore } from '../../database/column.js'
import type { Dialect } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import { type EventCause, eventTypesOf } from '../../domain/event-type.js'
import { type Instant, MAX_INSTANT } from '../../common/instant.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { TotalsStore } from '../totals/totals-store.js'
import * as check from './verify-check.js'

/**
 * The time from which every event exists: just after the oldest one, since events are removed in the order of their
 * times. Not before the first event at all.
 */
export async function eventsCompleteFrom<Q extends QuotaRow>(
  transaction: Transaction,
  { event }: LedgerStore<Q>,
): Promise<Instant> {
  const from = `${event.readBy(transaction.dialect, ['at'], 'e')} WHERE e.position IS NOT NULL`
  return Math.min((await oldest(transaction, event, from)) + 1, MAX_INSTANT)
}

/** The time of the oldest change; MAX_INSTANT if there is none. All later changes exist. */
export async function oldestChange<Q extends QuotaRow>(
  transaction: Transaction,
  { change }: LedgerStore<Q>,
): Promise<Instant> {
  return oldest(transaction, change, change.readBy(transaction.dialect, ['at', 'id'], 'e'))
}

async function oldest(transaction: Transaction, e: check.Tables[string], from: string): Promise<Instant> {
  const [row] = await transaction.rows(check.sqlOf({ e }, `SELECT e.at FROM ${from} ORDER BY e.at LIMIT 1`))
  return row === undefined ? MAX_INSTANT : instantFromStore(row['at'] as string)
}

/** Checks that the feed has no gap, and that an event of a quota has its act, change and quota (invariants 15, 16). */
export class EventCheck<Q extends QuotaRow> extends check.RowCheck {
  readonly what = 'events'
  protected readonly size = { mysql: 2_000, sqlite: 2_000 }
  protected override readonly first = 0

  constructor(private readonly store: LedgerStore<Q>) {
    super()
  }

  protected ids(dialect: Dialect, size: number): readonly string[] {
    const { event } = this.store
    return [check.idsAfter(event, event.readBy(dialect, ['position']), 'position', size)]
  }

  protected async examine(
    transaction: Transaction,
    range: check.Range,
    isLast: boolean,
  ): Promise<readonly check.Finding[]> {
    const { event, act, quota, change } = this.store
    // Older acts and changes may have been removed.
    const { beginsAt } = await new TotalsStore(this.store).state(transaction)
    const oldestChangeAt = await oldestChange(transaction, this.store)
    const search = {
      tables: { e: event, q: quota, a: act, c: change },
      shown:
        'e.position, e.id, e.type, e.ownerId, e.quotaId, q.ownerId AS quota_owner_id, a.ownerId AS act_owner_id, ' +
        'e.changeId, c.quotaId AS change_quota_id',
      from:
        `${event.readBy(transaction.dialect, ['position'], 'e')} LEFT JOIN ${quota.table} q ON q.id = e.quotaId ` +
        `LEFT JOIN ${act.table} a ON a.id = e.actId LEFT JOIN ${change.table} c ON c.id = e.changeId`,
      id: 'e.position',
      conditions: conditions(instantToStore(beginsAt ?? 0), instantToStore(oldestChangeAt)),
    }
    const wrong = await check.search(transaction, range, search, (row) => ({
      ownerId: Number(row['owner_id']),
      where: `event ${idFromStore(row['id'])}${row['quota_id'] === null ? '' : ` of quota ${Number(row['quota_id'])}`}`,
      show: check.showing(event, 'position', Number(row['position'])),
    }))
    return [...(await this.gaps(transaction, range, isLast)), ...wrong]
  }

  /** Finds positions after the removed ones, up to the last one given, without an event. */
  private async gaps(transaction: Transaction, [after, last]: check.Range, isLast: boolean): Promise<check.Finding[]> {
    const { event, eventFeed } = this.store
    const tables = { e: event, f: eventFeed }
    const [feed] = await transaction.rows(
      check.sqlOf(
        tables,
        `SELECT f.lastPosition AS last_position, f.removedTo AS removed_to FROM ${eventFeed.table} f`,
      ),
    )
    const first = Math.max(Number(after), Number(feed?.['removed_to'] ?? 0))
    const pairs =
      `SELECT e.position AS position, COALESCE(LAG(e.position) OVER (ORDER BY e.position), ${first}) AS prior ` +
      `FROM ${event.readBy(transaction.dialect, ['position'], 'e')} WHERE ${check.withinPage('e.position')}`
    const rows = await transaction.rows(
      check.sqlOf(tables, `SELECT * FROM (${pairs}) pairs WHERE position > prior + 1 AND position > ${first + 1}`),
      [after, last],
    )
    const gaps = rows.map((row) => [Math.max(Number(row['prior']), first) + 1, Number(row['position']) - 1] as const)
    const [end, given] = [Math.max(first, Number(last)), Number(feed?.['last_position'] ?? 0)]
    if (isLast && given > end) gaps.push([end + 1, given])
    return gaps.map(([from, to]) => ({
      rule: 'event',
      ownerId: null,
      where: from === to ? `position ${from} of the feed` : `positions ${from} to ${to} of the feed`,
      expected: 'an event at each position',
      found: 'none',
      show: check.bare(
        `SELECT * FROM ${event.table} WHERE ${event.column('position')} BETWEEN ${from - 1} AND ${to + 1};`,
      ),
    }))
  }
}

/** What an event with each cause names. */
const NAMED: Readonly<Record<EventCause, string>> = {
  change: 'e.quotaId IS NOT NULL AND e.actId IS NOT NULL AND e.changeId IS NOT NULL',
  // A count that follows an edit of a group's quota may reach a threshold without an act of its own.
  threshold: 'e.quotaId IS NOT NULL AND (e.actId IS NOT NULL OR q.follows IS NOT NULL) AND e.changeId IS NULL',
  spell: 'e.quotaId IS NULL AND e.actId IS NULL AND e.changeId IS NULL',
}

/** @param acts, changes the times from which all exist, as stored */
function conditions(acts: string, changes: string): readonly check.Condition[] {
  const isBy = (cause: EventCause): string => `e.type IN (${check.list(eventTypesOf(cause))})`
  const causes = Object.keys(NAMED) as EventCause[]
  return [
    {
      rule: 'event',
      expected: 'a known type, a quota and an act unless it is about an owner, a change unless a threshold was reached',
      right: `CASE ${causes.map((cause) => `WHEN ${isBy(cause)} THEN ${NAMED[cause]}`).join(' ')} ELSE 1 = 0 END`,
    },
    { rule: 'event', expected: 'a quota of its owner', right: 'e.quotaId IS NULL OR q.ownerId = e.ownerId' },
    {
      rule: 'event',
      expected: 'an act of its owner, or of a member if a quota of its group reached a threshold',
      right:
        `e.actId IS NULL OR a.ownerId = e.ownerId OR (${isBy('threshold')} AND e.ownerId < 0 AND a.id IS NOT NULL) ` +
        `OR (a.id IS NULL AND e.at < '${acts}')`,
    },
    {
      rule: 'event',
      expected: 'a change of its quota',
      right: `e.changeId IS NULL OR c.quotaId = e.quotaId OR (c.id IS NULL AND e.at <= '${changes}')`,
    },
  ]
}
