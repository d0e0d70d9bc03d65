import { idFromStore } from '../../database/bytes.js'
import { instantFromStore } from '../../database/column.js'
import type { RawRow } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import { EVENT_TYPES, OWNER_EVENT_TYPES } from '../../domain/event-type.js'
import { type Instant, MAX_INSTANT } from '../../common/instant.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { TotalsStore } from '../totals/totals-store.js'
import * as check from './verify-check.js'

const PAGE = 2_000

/**
 * The time from which every event exists: just after the oldest one, since events are removed in the order of their
 * times. Not before the first event at all.
 */
export async function eventsCompleteFrom<Q extends QuotaRow>(
  transaction: Transaction,
  { event }: LedgerStore<Q>,
): Promise<Instant> {
  const at = event.column('at')
  const [row] = await transaction.rows(
    `SELECT ${at} AS at FROM ${event.readBy(transaction.dialect, ['at'])} WHERE ${event.column('position')} IS NOT NULL ORDER BY ${at} LIMIT 1`,
  )
  return row === undefined ? MAX_INSTANT : instantFromStore(row['at'] as string) + 1
}

/** Checks that the feed has no gap, and that an event of a quota has its act, change and quota (invariants 15, 16). */
export class EventCheck<Q extends QuotaRow> implements check.Check {
  readonly what = 'events'

  constructor(private readonly store: LedgerStore<Q>) {}

  async page(transaction: Transaction, after: check.Subject = 0): Promise<check.Page> {
    const { event, eventFeed } = this.store
    const [feed] = await transaction.rows(
      `SELECT ${eventFeed.column('lastPosition')} AS last_position, ${eventFeed.column('removedTo')} AS removed_to FROM ${eventFeed.table}`,
    )
    const conditions = await this.conditions(transaction)
    const rows = await this.events(transaction, conditions, after)
    const findings: check.Finding[] = []
    let before = Math.max(Number(after), Number(feed?.['removed_to'] ?? 0))
    const next = (position: number): void => {
      if (position > before + 1) findings.push(this.gap(before + 1, position - 1))
      before = Math.max(before, position)
    }
    for (const row of rows) {
      next(Number(row['position']))
      const where = `event ${idFromStore(row['id'])}${row['quota_id'] === null ? '' : ` of quota ${Number(row['quota_id'])}`}`
      const show = check.showing(event, 'position', Number(row['position']))
      findings.push(...check.violated(conditions, row, { ownerId: Number(row['owner_id']), where, show }))
    }
    const last = rows.length < PAGE ? undefined : Number(rows.at(-1)?.['position'])
    if (last === undefined) next(Number(feed?.['last_position'] ?? 0) + 1)
    return { count: rows.length, last, findings }
  }

  private async events(
    transaction: Transaction,
    conditions: readonly check.Condition[],
    after: check.Subject,
  ): Promise<RawRow[]> {
    const { event, act, quota, change } = this.store
    const [e, a] = [check.columnsOf(event, 'e'), check.columnsOf(act, 'a')]
    const [q, c] = [check.columnsOf(quota, 'q'), check.columnsOf(change, 'c')]
    const shown = {
      position: e('position'),
      id: e('id'),
      type: e('type'),
      owner_id: e('ownerId'),
      quota_id: e('quotaId'),
      quota_owner_id: q('ownerId'),
      act_owner_id: a('ownerId'),
      change_id: e('changeId'),
      change_quota_id: c('quotaId'),
    }
    return transaction.rows(
      `SELECT ${check.columns(shown, conditions)} FROM ${event.readBy(transaction.dialect, ['position'], 'e')} ` +
        `LEFT JOIN ${quota.table} q ON ${q('id')} = ${e('quotaId')} LEFT JOIN ${act.table} a ON ${a('id')} = ${e('actId')} ` +
        `LEFT JOIN ${change.table} c ON ${c('id')} = ${e('changeId')} WHERE ${e('position')} > ? ORDER BY ${e('position')} LIMIT ${PAGE}`,
      [after],
    )
  }

  private async conditions(transaction: Transaction): Promise<check.Condition[]> {
    const { event, act, quota, change, state } = this.store
    const [e, a] = [check.columnsOf(event, 'e'), check.columnsOf(act, 'a')]
    const [q, c] = [check.columnsOf(quota, 'q'), check.columnsOf(change, 'c')]
    // Older acts and changes may have been removed.
    const { beginsAt } = await new TotalsStore(this.store).state(transaction)
    const [acts, changes] = [beginsAt ?? 0, await oldestChange(transaction, this.store)].map(
      (instant) => `'${String(state.bind('beginsAt', instant))}'`,
    )
    const ofOwner = `${e('type')} IN (${check.list(OWNER_EVENT_TYPES)})`
    const reached = `${e('type')} = 'quota.threshold_reached'`
    return [
      {
        rule: 'event',
        right:
          `${e('type')} IN (${check.list(EVENT_TYPES)}) AND (${reached} OR ${ofOwner}) = (${e('changeId')} IS NULL) ` +
          `AND (${ofOwner}) = (${e('quotaId')} IS NULL) AND (${ofOwner}) = (${e('actId')} IS NULL)`,
        expected:
          'a known type, a quota and an act unless it is about an owner, a change unless a threshold was reached',
      },
      { rule: 'event', right: `${ofOwner} OR ${q('ownerId')} = ${e('ownerId')}`, expected: 'a quota of its owner' },
      {
        rule: 'event',
        right: `${ofOwner} OR ${a('ownerId')} = ${e('ownerId')} OR (${reached} AND ${e('ownerId')} < 0 AND ${a('id')} IS NOT NULL) OR (${a('id')} IS NULL AND ${e('at')} < ${acts})`,
        expected: 'an act of its owner, or of a member if a quota of its group reached a threshold',
      },
      {
        rule: 'event',
        right: `${e('changeId')} IS NULL OR ${c('quotaId')} = ${e('quotaId')} OR (${c('id')} IS NULL AND ${e('at')} <= ${changes})`,
        expected: 'a change of its quota',
      },
    ]
  }

  private gap(from: number, to: number): check.Finding {
    const { event } = this.store
    const show = `SELECT * FROM ${event.table} WHERE ${event.column('position')} BETWEEN ${from - 1} AND ${to + 1};`
    return {
      rule: 'event',
      ownerId: null,
      where: from === to ? `position ${from} of the feed` : `positions ${from} to ${to} of the feed`,
      expected: 'an event at each position',
      found: 'none',
      show: show.replaceAll('`', ''),
    }
  }
}

/** The time of the oldest change; MAX_INSTANT if there is none. All later changes exist. */
export async function oldestChange<Q extends QuotaRow>(
  transaction: Transaction,
  { change }: LedgerStore<Q>,
): Promise<Instant> {
  const at = change.column('at')
  const [row] = await transaction.rows(
    `SELECT MIN(${at}) AS at FROM ${change.readBy(transaction.dialect, ['at', 'id'])}`,
  )
  return typeof row?.['at'] === 'string' ? instantFromStore(row['at']) : MAX_INSTANT
}
