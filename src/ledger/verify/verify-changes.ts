import type { Transaction } from '../../database/transaction-runner.js'
import { CHANGE_ACTIONS } from '../rows/change.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { type Check, examined, type Finding, idsAfter, rowsBy, type CheckPage, type Subject } from './verify-check.js'

/** Checks that each change refers to an existing quota and names its owner. */
export class ChangeCheck<Q extends QuotaRow> implements Check {
  readonly what = 'changes'
  readonly rules = ['change'] as const
  readonly size = 1_000

  constructor(private readonly store: LedgerStore<Q>) {}

  async next(transaction: Transaction, after: Subject | undefined): Promise<CheckPage> {
    const { change } = this.store
    const rows = await transaction.rows(idsAfter(change, change.readByKey(transaction.dialect), 'id', this.size), [
      after ?? 0,
    ])
    return examined(
      rows.map((row) => Number(row['id'])),
      this.size,
    )
  }

  async examine(transaction: Transaction, ids: readonly Subject[]): Promise<Finding[]> {
    const { change, quota } = this.store
    const changes = await rowsBy(transaction, change, ['id', 'quotaId', 'ownerId', 'action'], 'id', ids)
    const quotaIds = [...new Set(changes.map(({ quotaId }) => quotaId))]
    const quotas = await rowsBy(transaction, quota, ['id', 'ownerId'], 'id', quotaIds)
    const owners = new Map(quotas.map(({ id, ownerId }) => [id, ownerId]))
    const findings: Finding[] = []
    for (const { id, quotaId, ownerId, action } of changes) {
      const owner = owners.get(quotaId)
      const findingOf = (expected: string, found: string): Finding => ({
        rule: 'change',
        subject: id,
        ownerId: owner ?? null,
        where: `change ${id} of quota ${quotaId}`,
        expected,
        found,
      })
      if (!CHANGE_ACTIONS.includes(action)) findings.push(findingOf(`one of ${CHANGE_ACTIONS.join(', ')}`, action))
      if (owner === undefined) findings.push(findingOf('its quota', 'none'))
      // Release 0.1.0 writes changes without an owner; the sweeper sets it.
      else if (ownerId !== null && ownerId !== owner) findings.push(findingOf(`owner ${owner}`, `owner ${ownerId}`))
    }
    return findings
  }
}
