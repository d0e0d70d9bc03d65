import type { Dialect } from '../database/row-codec.js'
import type { Transaction } from '../database/unit-of-work.js'
import { ACT_KINDS, type ActRow, OPERATION_ACTS } from './act.entity.js'
import { deduplicationKeyFor, deduplicationKeyForSettling } from './command.js'
import type { QuotaRow } from './quota.entity.js'
import type { LedgerStore } from './store.js'
import { type Check, type Finding, idsAfter, type KnownQuota, rowsBy, type Subject } from './verify-check.js'

const PARTS = [
  'id',
  'kind',
  'ownerId',
  'quotaId',
  'operationId',
  'caller',
  'idempotencyKey',
  'deduplicationKey',
  'amount',
  'plainOwnerId',
  'plainQuotaId',
  'cycleSeq',
  'ownerRemaining',
] as const
type KnownAct = Pick<ActRow, (typeof PARTS)[number]>

/** What acts refer to. */
interface Around {
  readonly quotas: ReadonlyMap<number, KnownQuota>
  /** Owners of operations that have a row. */
  readonly operations: ReadonlyMap<string, number>
  /** Acts that have a key which another act should have. */
  readonly holders: ReadonlyMap<string, string>
}

/** Is each act whole, about something that is there, and under the key that it stands for? */
export class ActCheck<Q extends QuotaRow> implements Check {
  readonly what = 'acts'
  readonly rules = ['act', 'plain_consume', 'key'] as const
  readonly size = 1_000

  constructor(private readonly store: LedgerStore<Q>) {}

  async next(transaction: Transaction, after: Subject | undefined): Promise<string[]> {
    const { act } = this.store
    const rows = await transaction.rows(idsAfter(act, act.readByKey(transaction.dialect), 'id', this.size), [
      after ?? '',
    ])
    return rows.map((row) => row['id'] as string)
  }

  async examine(transaction: Transaction, ids: readonly Subject[]): Promise<Finding[]> {
    const { act, quota, operation } = this.store
    const acts = await rowsBy(transaction, act, PARTS, 'id', ids)
    const quotaIds = defined(acts.flatMap(({ quotaId, plainQuotaId }) => [quotaId, plainQuotaId]))
    const operationIds = defined(acts.map(({ operationId }) => operationId))
    const quotas = await rowsBy(transaction, quota, ['id', 'ownerId', 'cycleSeq'], 'id', quotaIds)
    const operations = await rowsBy(transaction, operation, ['id', 'ownerId'], 'id', operationIds)
    // Hardly ever any.
    const wanted = defined(acts.map((one) => (keyOf(one) === one.deduplicationKey ? null : keyOf(one))))
    const holders = await rowsBy(transaction, act, ['id', 'deduplicationKey'], 'deduplicationKey', wanted)
    const around = {
      quotas: new Map(quotas.map((one) => [one.id, one])),
      operations: new Map(operations.map(({ id, ownerId }) => [id, ownerId])),
      holders: new Map(holders.map(({ id, deduplicationKey }) => [deduplicationKey ?? '', id])),
    }
    return acts.flatMap((one) => [...subjectOf(one, around), ...plainOf(one, around), ...this.keyOf(one, around)])
  }

  private keyOf(act: KnownAct, { holders }: Around): Finding[] {
    const key = keyOf(act)
    if (key === act.deduplicationKey) return []
    const holder = key === null ? undefined : holders.get(key)
    const { act: codec } = this.store
    if (holder !== undefined) {
      return [told(act, 'key', 'the one act of its key', `act ${holder} has the same`)]
    }
    const mend: Finding['mend'] = async (transaction) => {
      await transaction.execute(
        `UPDATE ${codec.table} SET ${codec.column('deduplicationKey')} = ? WHERE ${codec.column('id')} = ?`,
        [key, act.id],
      )
      return []
    }
    return [{ ...told(act, 'key', key ?? 'no key', act.deduplicationKey ?? 'no key'), mend }]
  }
}

/**
 * Does the store itself see to it that no two acts have one key? It is what "once" rests on, whatever the rows say
 * today.
 */
export async function missingKeyIndex<Q extends QuotaRow>(
  transaction: Transaction,
  { act }: LedgerStore<Q>,
): Promise<Finding[]> {
  const table = bare(act.table)
  const column = bare(act.column('deduplicationKey'))
  const rows = await transaction.rows(UNIQUE_INDEX[transaction.dialect], [table, column])
  if (rows.length > 0) return []
  const doubles = await transaction.rows(
    `SELECT COUNT(*) AS n FROM (SELECT ${act.column('deduplicationKey')} AS one FROM ${act.table} ` +
      `WHERE ${act.column('deduplicationKey')} IS NOT NULL GROUP BY ${act.column('deduplicationKey')} HAVING COUNT(*) > 1) doubles`,
  )
  const count = Number(doubles[0]?.['n'])
  return [
    {
      rule: 'key_index',
      subject: table,
      ownerId: null,
      where: `table ${table}`,
      expected: `a unique index over ${column}`,
      found: `none, and ${count === 1 ? 'one key' : `${count} keys`} that several acts have`,
    },
  ]
}

const UNIQUE_INDEX: Readonly<Record<Dialect, string>> = {
  mysql:
    'SELECT index_name AS name FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ? ' +
    'AND non_unique = 0 GROUP BY index_name HAVING COUNT(*) = 1 AND MAX(column_name) = ?',
  sqlite:
    'SELECT l.name AS name FROM pragma_index_list(?) l JOIN pragma_index_info(l.name) i WHERE l."unique" = 1 ' +
    'GROUP BY l.name HAVING COUNT(*) = 1 AND MAX(i.name) = ?',
}

/** What the act stands for, once only; null where it may be done as often as one likes. */
function keyOf({ kind, operationId, caller, idempotencyKey }: KnownAct): string | null {
  if (kind === 'commit' || kind === 'release') return deduplicationKeyForSettling(operationId ?? '')
  return idempotencyKey === null ? null : deduplicationKeyFor(caller, idempotencyKey)
}

/** Is it about an operation or a quota, as its kind says, that is there and its owner's? */
function subjectOf(act: KnownAct, { quotas, operations }: Around): Finding[] {
  const { kind, ownerId, quotaId, operationId, plainOwnerId, amount } = act
  if (!ACT_KINDS.includes(kind)) return [told(act, 'act', `one of ${ACT_KINDS.join(', ')}`, kind)]
  const onOperation = (OPERATION_ACTS as readonly string[]).includes(kind)
  if (onOperation) {
    const findings: Finding[] = []
    if ((operationId === null) !== (plainOwnerId !== null) || quotaId !== null)
      findings.push(
        told(act, 'act', 'an operation alone', `operation ${String(operationId)}, quota ${String(quotaId)}`),
      )
    if (amount === null || amount < 1) findings.push(told(act, 'act', 'units that it moved', String(amount)))
    const owner = operationId === null ? undefined : operations.get(operationId)
    // That there is no such operation is told of the operation.
    if (owner !== undefined && owner !== ownerId)
      findings.push(told(act, 'act', `an operation of owner ${ownerId}`, `one of owner ${owner}`))
    return findings
  }
  if (quotaId === null || operationId !== null || plainOwnerId !== null)
    return [told(act, 'act', 'a quota alone', `operation ${String(operationId)}, quota ${String(quotaId)}`)]
  const quota = quotas.get(quotaId)
  if (quota?.ownerId === ownerId) return []
  const found = quota === undefined ? `quota ${quotaId}, which is not there` : `one of owner ${quota.ownerId}`
  return [told(act, 'act', `a quota of owner ${ownerId}`, found)]
}

/** Does the one row of a plain consume say all that it must? */
function plainOf(act: KnownAct, { quotas }: Around): Finding[] {
  const { kind, ownerId, plainOwnerId, plainQuotaId, cycleSeq, ownerRemaining } = act
  const parts = [plainOwnerId, plainQuotaId, cycleSeq, ownerRemaining]
  const there = parts.filter((part) => part !== null).length
  if (there === 0) return []
  if (there < parts.length || kind !== 'consume' || plainOwnerId !== ownerId) {
    const found = `${kind}, owner ${String(plainOwnerId)}, quota ${String(plainQuotaId)}, cycle ${String(cycleSeq)}, left ${String(ownerRemaining)}`
    return [told(act, 'plain_consume', `all four columns of a consume by owner ${ownerId}, or none`, found)]
  }
  const quota = quotas.get(plainQuotaId ?? 0)
  if (quota?.ownerId === ownerId && (cycleSeq ?? 0) <= quota.cycleSeq) return []
  const found =
    quota === undefined
      ? `quota ${String(plainQuotaId)}, which is not there`
      : `quota ${String(plainQuotaId)} of owner ${quota.ownerId}, cycle ${String(cycleSeq)} of ${quota.cycleSeq}`
  return [told(act, 'plain_consume', `a quota of owner ${ownerId}, in a cycle that it has had`, found)]
}

function told(act: KnownAct, rule: Finding['rule'], expected: string, found: string): Finding {
  const { id, kind, ownerId } = act
  return { rule, subject: id, ownerId, where: `${kind} ${id} of owner ${ownerId}`, expected, found }
}

function defined<T>(values: readonly (T | null)[]): T[] {
  return [...new Set(values.filter((value) => value !== null))]
}

function bare(name: string): string {
  return name.replaceAll('`', '')
}
