import { type Dialect, type RawRow, type Scalar } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import { ACT_KINDS, type ActRow, OPERATION_ACTS } from '../rows/act.entity.js'
import { capsOf, capsText, refusingIn } from '../rows/counted-caps.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { deduplicationKeyFor, deduplicationKeyForSettling } from '../store/command.js'
import type { LedgerStore } from '../store/ledger-store.js'
import {
  type Check,
  examined,
  type Finding,
  idsAfter,
  type KnownQuota,
  quotasById,
  rowsBy,
  type CheckPage,
  type Subject,
} from './verify-check.js'

const PARTS = [
  'id',
  'kind',
  'ownerId',
  'quotaId',
  'operationId',
  'caller',
  'callerId',
  'idempotencyKey',
  'deduplicationKey',
  'amount',
  'plainOwnerId',
  'plainQuotaId',
  'cycleSeq',
  'ownerRemaining',
  'caps',
] as const
type KnownAct = Pick<ActRow, (typeof PARTS)[number]>

/** The number of acts that one statement checks on a server. */
const PAGE = 20_000

/** The rows that acts refer to. */
interface ReferencedRows {
  readonly quotas: ReadonlyMap<number, KnownQuota>
  /** The owners of existing operations. */
  readonly operations: ReadonlyMap<string, number>
  /** Acts by deduplication key, for keys that other acts should have. */
  readonly holders: ReadonlyMap<string, string>
}

/** Checks that each act is complete, refers to existing rows, and has the right deduplication key. */
export class ActCheck<Q extends QuotaRow> implements Check {
  readonly what = 'acts'
  readonly rules = ['act', 'plain_consume', 'key'] as const
  readonly size = 1_000

  constructor(private readonly store: LedgerStore<Q>) {}

  /** A server selects suspects itself. SQLite has no SHA-256, so all acts are examined. */
  async next(transaction: Transaction, after: Subject | undefined): Promise<CheckPage> {
    const { act } = this.store
    const from = act.readByKey(transaction.dialect)
    const id = act.column('id')
    if (transaction.dialect === 'sqlite') {
      const rows = await transaction.rows(idsAfter(act, from, 'id', this.size), [after ?? ''])
      return examined(
        rows.map((row) => row['id'] as string),
        this.size,
      )
    }
    const [end] = await transaction.rows(
      `SELECT ${id} AS id FROM ${from} WHERE ${id} > ? ORDER BY ${id} LIMIT 1 OFFSET ${PAGE - 1}`,
      [after ?? ''],
    )
    const last = end === undefined ? undefined : (end['id'] as string)
    const range = (column: string): string => `${column} > ?${last === undefined ? '' : ` AND ${column} <= ?`}`
    const values: Scalar[] = [after ?? '', ...(last === undefined ? [] : [last])]
    const suspects = await transaction.rows(this.suspects(range), values)
    suspects.push(...(await this.withBrokenCaps(transaction, range, values)))
    const [counted] =
      last === undefined
        ? await transaction.rows(`SELECT COUNT(*) AS n FROM ${from} WHERE ${range(id)}`, values)
        : [{ n: PAGE }]
    const ids = new Set(suspects.map((row) => row['id'] as string))
    return { count: Number(counted?.['n']), last, suspects: [...ids].sort() }
  }

  /** Returns acts with caps that cannot have counted them. An owner's acts have few different texts. */
  private async withBrokenCaps(
    transaction: Transaction,
    range: (column: string) => string,
    values: readonly Scalar[],
  ): Promise<RawRow[]> {
    const { act, quota } = this.store
    const [id, ownerId, caps] = [act.column('id'), act.column('ownerId'), act.column('caps')]
    const from = act.readByKey('mysql')
    const texts = await transaction.rows(
      `SELECT ${ownerId} AS owner_id, ${caps} AS caps FROM ${from} WHERE ${range(id)} AND ${caps} IS NOT NULL GROUP BY ${ownerId}, ${caps}`,
      values,
    )
    const named = new Set(texts.flatMap((row) => capsOf(row['caps'] as string).map(({ quotaId }) => quotaId)))
    const quotas = await quotasById(transaction, quota, [...named])
    const broken = texts.filter((row) => !capsFit(row['caps'] as string, Number(row['owner_id']), quotas))
    const found: RawRow[] = []
    for (const row of broken) {
      const sql = `SELECT ${id} AS id FROM ${from} WHERE ${range(id)} AND ${ownerId} = ? AND ${caps} = ?`
      found.push(...(await transaction.rows(sql, [...values, Number(row['owner_id']), row['caps'] as string])))
    }
    return found
  }

  /** Returns a query for the acts that a server cannot prove to be right. */
  private suspects(range: (column: string) => string): string {
    const { act, quota, operation } = this.store
    const a = (property: (typeof PARTS)[number]): string => `a.${act.column(property)}`
    const all = (properties: readonly (typeof PARTS)[number][], is: string): string =>
      properties.map((property) => `${a(property)} IS ${is}`).join(' AND ')
    const hash = (...parts: readonly string[]): string =>
      `LEFT(SHA2(CONCAT('[', ${parts.join(`, ',', `)}, ']'), 256), 32)`
    const key =
      `CASE WHEN ${a('kind')} IN ('commit', 'release') THEN ${a('deduplicationKey')} = ${hash(`'"settle"'`, `JSON_QUOTE(${a('operationId')})`)} ` +
      `WHEN ${a('idempotencyKey')} IS NULL THEN ${a('deduplicationKey')} IS NULL ` +
      `ELSE ${a('deduplicationKey')} = ${hash(`'"key"'`, `JSON_QUOTE(${a('caller')})`, `JSON_QUOTE(${a('idempotencyKey')})`)} END`
    const plain =
      `${a('kind')} = 'consume' AND ${a('plainOwnerId')} = ${a('ownerId')} AND ${all(['operationId'], 'NULL')} ` +
      `AND ${all(['ownerRemaining'], 'NOT NULL')} AND q.${quota.column('ownerId')} = ${a('ownerId')} AND q.${quota.column('cap')} IS NULL AND ${a('cycleSeq')} <= q.${quota.column('cycleSeq')}`
    const other =
      `${a('kind')} IN (${OPERATION_ACTS.map((kind) => `'${kind}'`).join(', ')}) AND ${all(['operationId'], 'NOT NULL')} ` +
      `AND ${all(['plainOwnerId', 'plainQuotaId', 'cycleSeq', 'ownerRemaining', 'caps'], 'NULL')} ` +
      `AND (o.${operation.column('id')} IS NULL OR o.${operation.column('ownerId')} = ${a('ownerId')})`
    return (
      `SELECT ${a('id')} AS id FROM ${act.readByKey('mysql', 'a')} ` +
      `LEFT JOIN ${quota.table} q ON q.${quota.column('id')} = ${a('plainQuotaId')} ` +
      `LEFT JOIN ${operation.table} o ON o.${operation.column('id')} = ${a('operationId')} ` +
      `WHERE ${range(a('id'))} AND NOT COALESCE(${all(['quotaId'], 'NULL')} AND ${a('amount')} >= 1 ` +
      `AND ((${plain}) OR (${other})) AND ${key}, FALSE) ORDER BY ${a('id')}`
    )
  }

  async examine(transaction: Transaction, ids: readonly Subject[]): Promise<Finding[]> {
    const { act, quota, operation } = this.store
    const acts = await rowsBy(transaction, act, PARTS, 'id', ids)
    const quotaIds = defined(
      acts.flatMap(({ quotaId, plainQuotaId, caps }) => [
        quotaId,
        plainQuotaId,
        ...capsOf(caps).map((count) => count.quotaId),
      ]),
    )
    const operationIds = defined(acts.map(({ operationId }) => operationId))
    const quotas = await quotasById(transaction, quota, quotaIds)
    const operations = await rowsBy(transaction, operation, ['id', 'ownerId'], 'id', operationIds)
    // Empty if the rows are right.
    const wanted = defined(acts.map((one) => (keyOf(one) === one.deduplicationKey ? null : keyOf(one))))
    const holders = await rowsBy(transaction, act, ['id', 'deduplicationKey'], 'deduplicationKey', wanted)
    const referenced = {
      quotas,
      operations: new Map(operations.map(({ id, ownerId }) => [id, ownerId])),
      holders: new Map(holders.map(({ id, deduplicationKey }) => [deduplicationKey ?? '', id])),
    }
    return acts.flatMap((one) => [
      ...subjectOf(one, referenced),
      ...plainOf(one, referenced),
      ...this.keyOf(one, referenced),
    ])
  }

  private keyOf(act: KnownAct, { holders }: ReferencedRows): Finding[] {
    const key = keyOf(act)
    if (key === act.deduplicationKey || mayBeOfChangeSet(act)) return []
    const holder = key === null ? undefined : holders.get(key)
    const { act: codec } = this.store
    if (holder !== undefined) {
      return [findingOf(act, 'key', 'a key of its own', `the key of act ${holder}`)]
    }
    const finding = findingOf(act, 'key', key ?? 'no key', act.deduplicationKey ?? 'no key')
    // If it has a different key, any of the columns may be wrong.
    if (act.deduplicationKey !== null) return [finding]
    const mend: Finding['mend'] = async (transaction) => {
      await transaction.execute(
        `UPDATE ${codec.table} SET ${codec.column('deduplicationKey')} = ? WHERE ${codec.column('id')} = ?`,
        [key, act.id],
      )
      return []
    }
    return [{ ...finding, mend }]
  }
}

/** Checks that the unique index on the deduplication key exists, which guarantees that each key takes effect once. */
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
      found: `none, and ${count === 1 ? 'one key occurs' : `${count} keys occur`} in several acts`,
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

/** Returns the deduplication key; null if the act may be repeated. */
function keyOf({ kind, operationId, caller, callerId, idempotencyKey }: KnownAct): string | null {
  if (kind === 'commit' || kind === 'release') return deduplicationKeyForSettling(operationId ?? '')
  return idempotencyKey === null ? null : deduplicationKeyFor(callerId ?? caller, idempotencyKey)
}

/**
 * Returns whether the act changes a quota under a key that is not a caller's: that of a row of a change set
 * (`deduplicationKeyForRow`), which the act does not name.
 */
function mayBeOfChangeSet({ kind, idempotencyKey, deduplicationKey }: KnownAct): boolean {
  const onQuota = !(OPERATION_ACTS as readonly string[]).includes(kind)
  return onQuota && idempotencyKey === null && deduplicationKey !== null
}

/** Checks that the act refers to an existing operation or quota of its owner, as its kind requires. */
function subjectOf(act: KnownAct, { quotas, operations }: ReferencedRows): Finding[] {
  const { kind, ownerId, quotaId, operationId, plainOwnerId, amount } = act
  if (!ACT_KINDS.includes(kind)) return [findingOf(act, 'act', `one of ${ACT_KINDS.join(', ')}`, kind)]
  const onOperation = (OPERATION_ACTS as readonly string[]).includes(kind)
  if (onOperation) {
    const findings: Finding[] = []
    if ((operationId === null) !== (plainOwnerId !== null) || quotaId !== null)
      findings.push(
        findingOf(act, 'act', 'only an operation', `operation ${String(operationId)}, quota ${String(quotaId)}`),
      )
    if (amount === null || amount < 1) findings.push(findingOf(act, 'act', 'at least 1 unit', String(amount)))
    const owner = operationId === null ? undefined : operations.get(operationId)
    // `OperationCheck` reports missing operations.
    if (owner !== undefined && owner !== ownerId)
      findings.push(findingOf(act, 'act', `an operation of owner ${ownerId}`, `one of owner ${owner}`))
    return findings
  }
  if (quotaId === null || operationId !== null || plainOwnerId !== null)
    return [findingOf(act, 'act', 'only a quota', `operation ${String(operationId)}, quota ${String(quotaId)}`)]
  const quota = quotas.get(quotaId)
  if (quota?.ownerId === ownerId) return []
  const found = quota === undefined ? `quota ${quotaId}, which does not exist` : `one of owner ${quota.ownerId}`
  return [findingOf(act, 'act', `a quota of owner ${ownerId}`, found)]
}

/** Checks the columns of a plain consume. */
function plainOf(act: KnownAct, { quotas }: ReferencedRows): Finding[] {
  const { kind, ownerId, plainOwnerId, plainQuotaId, cycleSeq, ownerRemaining, caps } = act
  const parts = [plainOwnerId, plainQuotaId, cycleSeq, ownerRemaining]
  const there = parts.filter((part) => part !== null).length
  if (there === 0) return caps === null ? [] : [findingOf(act, 'plain_consume', 'no caps', capsShown(caps))]
  if (there < parts.length || kind !== 'consume' || plainOwnerId !== ownerId) {
    const found = `${kind}, owner ${String(plainOwnerId)}, quota ${String(plainQuotaId)}, cycle ${String(cycleSeq)}, left ${String(ownerRemaining)}`
    return [findingOf(act, 'plain_consume', `all four columns of a consume by owner ${ownerId}, or none`, found)]
  }
  const quota = quotas.get(plainQuotaId ?? 0)
  const findings: Finding[] = []
  if (caps !== null && !capsFit(caps, ownerId, quotas))
    findings.push(
      findingOf(
        act,
        'plain_consume',
        `caps of owner ${ownerId}, each in one of its counts, ascending`,
        capsShown(caps),
      ),
    )
  if (quota?.ownerId === ownerId && !quota.isCap && (cycleSeq ?? 0) <= quota.cycleSeq) return findings
  const found =
    quota === undefined
      ? `quota ${String(plainQuotaId)}, which does not exist`
      : `${quota.isCap ? 'cap' : 'quota'} ${String(plainQuotaId)} of owner ${quota.ownerId}, cycle ${String(cycleSeq)} of ${quota.cycleSeq}`
  findings.push(findingOf(act, 'plain_consume', `a quota of owner ${ownerId} that pays, in one of its cycles`, found))
  return findings
}

/** Returns whether the text is well-formed and names only caps of the owner, in counts that they have had. */
function capsFit(text: string, ownerId: number, quotas: ReadonlyMap<number, KnownQuota>): boolean {
  const counts = capsOf(text)
  const inOrder = counts.every(({ quotaId }, n) => n === 0 || quotaId > (counts[n - 1]?.quotaId ?? 0))
  const known = counts.every(({ quotaId, cycleSeq }) => {
    const quota = quotas.get(quotaId)
    return quota?.ownerId === ownerId && quota.isCap && cycleSeq >= 0 && cycleSeq <= quota.cycleSeq
  })
  return inOrder && known && capsText(counts, refusingIn(text)) === text
}

function capsShown(text: string): string {
  return `caps "${text}"`
}

function findingOf(act: KnownAct, rule: Finding['rule'], expected: string, found: string): Finding {
  const { id, kind, ownerId } = act
  return { rule, subject: id, ownerId, where: `${kind} ${id} of owner ${ownerId}`, expected, found }
}

function defined<T>(values: readonly (T | null)[]): T[] {
  return [...new Set(values.filter((value) => value !== null))]
}

function bare(name: string): string {
  return name.replaceAll('`', '')
}
