import type { RawRow } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import { CHANGE_ACTIONS } from '../rows/change.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { LedgerStore } from '../store/ledger-store.js'
import * as check from './verify-check.js'

/**
 * Checks that each change names an existing quota and its owner, a group alone, or an erased owner, and an action, and
 * is readable.
 */
export class ChangeCheck<Q extends QuotaRow> extends check.RowCheck {
  readonly what = 'changes'
  protected readonly size = { mysql: 2_000, sqlite: 2_000 }
  protected override readonly first = 0

  constructor(private readonly store: LedgerStore<Q>) {
    super()
  }

  protected ids(dialect: 'mysql' | 'sqlite', size: number): readonly string[] {
    const { change } = this.store
    return [check.idsAfter(change, change.readByKey(dialect), 'id', size)]
  }

  protected async examine(transaction: Transaction, range: check.Range): Promise<readonly check.Finding[]> {
    const { change, quota } = this.store
    const search = {
      tables: { c: change, q: quota },
      shown: 'c.id, c.quotaId, c.groupId, c.ownerId, c.action, q.ownerId AS quota_owner_id',
      from: `${change.readByKey(transaction.dialect, 'c')} LEFT JOIN ${quota.table} q ON q.id = c.quotaId`,
      id: 'c.id',
      conditions: [CONDITION],
    }
    return check.search(transaction, range, search, (row) => ({
      ownerId: check.idOf(row['quota_owner_id']),
      where: `change ${Number(row['id'])} of ${subjectOf(row)}`,
      show: check.showing(change, 'id', Number(row['id'])),
    }))
  }
}

const CONDITION: check.Condition = {
  rule: 'change',
  expected: 'a known action on a quota of its owner or on a group, or the erasure of an owner, in JSON',
  right:
    `CASE WHEN c.quotaId IS NULL THEN c.groupId IS NOT NULL OR c.action = 'erase' ELSE c.ownerId = q.ownerId END ` +
    `AND c.action IN (${check.list(CHANGE_ACTIONS)}) AND JSON_VALID(c.before) AND JSON_VALID(c.after)`,
}

function subjectOf({ quota_id: quotaId, group_id: groupId, owner_id: ownerId }: RawRow): string {
  if (quotaId !== null) return `quota ${Number(quotaId)}`
  return groupId === null ? `owner ${Number(ownerId)}` : `group ${Number(groupId)}`
}
