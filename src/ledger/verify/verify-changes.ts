import type { RawRow } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import { CHANGE_ACTIONS } from '../rows/change.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { LedgerStore } from '../store/ledger-store.js'
import * as check from './verify-check.js'

const PAGE = 2_000

/**
 * Checks that each change names an existing quota and its owner, a group alone, or an erased owner, and an action, and
 * is readable.
 */
export class ChangeCheck<Q extends QuotaRow> implements check.Check {
  readonly what = 'changes'

  constructor(private readonly store: LedgerStore<Q>) {}

  async page(transaction: Transaction, after: check.Subject = 0): Promise<check.Page> {
    const { change, quota } = this.store
    const [c, q] = [check.columnsOf(change, 'c'), check.columnsOf(quota, 'q')]
    const shown = {
      id: c('id'),
      quota_id: c('quotaId'),
      group_id: c('groupId'),
      owner_id: c('ownerId'),
      action: c('action'),
      quota_owner_id: q('ownerId'),
    }
    const whose = `CASE WHEN ${c('quotaId')} IS NULL THEN ${c('groupId')} IS NOT NULL OR ${c('action')} = 'erase' ELSE ${c('ownerId')} = ${q('ownerId')} END`
    const known = `${whose} AND ${c('action')} IN (${check.list(CHANGE_ACTIONS)})`
    const right = `${known} AND JSON_VALID(${c('before')}) AND JSON_VALID(${c('after')})`
    const condition = {
      rule: 'change',
      right,
      expected: 'a known action on a quota of its owner or on a group, or the erasure of an owner, in JSON',
    } as const
    const rows = await transaction.rows(
      `SELECT ${check.columns(shown, [condition])} FROM ${change.readByKey(transaction.dialect, 'c')} ` +
        `LEFT JOIN ${quota.table} q ON ${q('id')} = ${c('quotaId')} WHERE ${c('id')} > ? ORDER BY ${c('id')} LIMIT ${PAGE}`,
      [after],
    )
    const findings = rows.flatMap((row) =>
      check.violated([condition], row, {
        ownerId: check.idOf(row['quota_owner_id']),
        where: `change ${Number(row['id'])} of ${subjectOf(row)}`,
        show: check.showing(change, 'id', Number(row['id'])),
      }),
    )
    return { count: rows.length, last: rows.length < PAGE ? undefined : Number(rows.at(-1)?.['id']), findings }
  }
}

function subjectOf({ quota_id: quotaId, group_id: groupId, owner_id: ownerId }: RawRow): string {
  if (quotaId !== null) return `quota ${Number(quotaId)}`
  return groupId === null ? `owner ${Number(ownerId)}` : `group ${Number(groupId)}`
}
