import { BEFORE_EVERY_ID, bytesFromStore, bytesToStore, idFromStore, idText } from '../../database/bytes.js'
import { instantToStore } from '../../database/column.js'
import type { Dialect, RawRow, RowCodec, Scalar } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import type { CapCount } from '../../domain/cap.js'
import { CYCLE_QUOTA } from '../../domain/quota.js'
import { ACT_KINDS, type ActRow, OPERATION_ACTS } from '../rows/act.entity.js'
import { capsOf, capsText, refusingIn } from '../rows/counted-caps.js'
import { ERASED } from '../rows/erased.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { deduplicationKeyFor, deduplicationKeyForSettling } from '../store/command.js'
import type { LedgerStore } from '../store/ledger-store.js'
import * as check from './verify-check.js'
import { eventsCompleteFrom } from './verify-events.js'

const KEY_PARTS = [
  'id',
  'kind',
  'ownerId',
  'operationId',
  'caller',
  'callerId',
  'idempotencyKey',
  'deduplicationKey',
] as const
type KnownAct = Pick<ActRow, (typeof KEY_PARTS)[number]>

/** The number of acts that one statement checks. On SQLite, a statement blocks the event loop. */
const PAGE: Readonly<Record<Dialect, number>> = { mysql: 20_000, sqlite: 1_000 }

/** The edits that always have a change and an event. A reset that changes nothing has neither. */
const WITH_EVENT = ['create', 'update', 'delete', 'restore']

/**
 * Checks that each act is complete, refers to rows of its owner, has the right deduplication key and its event, and
 * that the answer to a quota's last edit shows its anchor.
 */
export class ActCheck<Q extends QuotaRow> implements check.Check {
  readonly what = 'acts'

  constructor(private readonly store: LedgerStore<Q>) {}

  async page(transaction: Transaction, start: check.Subject = BEFORE_EVERY_ID): Promise<check.Page> {
    const { act } = this.store
    const { dialect } = transaction
    const [id, from, size] = [act.column('id'), act.readByKey(dialect), PAGE[dialect]]
    const after = bytesToStore(String(start))
    const [end] = await transaction.rows(
      `SELECT COUNT(*) AS n, MAX(id) AS last FROM (SELECT ${id} AS id FROM ${from} WHERE ${id} > ? ORDER BY ${id} LIMIT ${size}) page`,
      [after],
    )
    const count = Number(end?.['n'])
    if (count === 0) return { count, last: undefined, findings: [] }
    const last = bytesFromStore(end?.['last'])
    const findings = [
      ...(await this.wrong(transaction, after, last)),
      ...(await this.wrongKeys(transaction, after, last)),
      ...(await this.wrongAnchors(transaction, after, last)),
      ...(await this.brokenCaps(transaction, [after, last])),
    ]
    return { count, last: count < size ? undefined : idFromStore(last), findings }
  }

  private async wrong(transaction: Transaction, after: Scalar, last: Scalar): Promise<check.Finding[]> {
    const { act, quota, operation, event } = this.store
    const [a, q] = [check.columnsOf(act, 'a'), check.columnsOf(quota, 'q')]
    const [o, e] = [check.columnsOf(operation, 'o'), check.columnsOf(event, 'e')]
    const none = (property: keyof ActRow): string => `${a(property)} IS NULL`
    const onOperation =
      `${none('quotaId')} AND (${none('operationId')}) <> (${none('plainOwnerId')}) AND ${a('amount')} >= 1 ` +
      `AND (${o('id')} IS NULL OR ${o('ownerId')} = ${a('ownerId')})`
    const onQuota = `${none('operationId')} AND ${none('plainOwnerId')} AND ${q('ownerId')} = ${a('ownerId')}`
    const onGroup = `${none('operationId')} AND ${none('plainOwnerId')} AND ${none('quotaId')} AND ${a('ownerId')} < 0`
    const onOwner = `${none('operationId')} AND ${none('plainOwnerId')} AND ${none('quotaId')} AND ${a('ownerId')} > 0`
    const plain =
      `${a('kind')} = 'consume' AND ${a('plainOwnerId')} = ${a('ownerId')} AND ${a('ownerRemaining')} >= 0 AND ${a('plainQuotaId')} > 0 ` +
      `AND (${q('ownerId')} = ${a('ownerId')} OR ${q('ownerId')} < 0) AND ${q('cap')} IS NULL AND ${a('cycleSeq')} <= ${q('cycleSeq')}`
    const eventsFrom = instantToStore(await eventsCompleteFrom(transaction, this.store))
    const conditions: check.Condition[] = [
      {
        rule: 'act',
        right: `CASE WHEN ${a('kind')} IN (${check.list(OPERATION_ACTS)}) THEN ${onOperation} WHEN ${a('kind')} IN ('group', 'members') THEN ${onGroup} WHEN ${a('kind')} = 'erase' THEN ${onOwner} WHEN ${a('kind')} IN (${check.list(ACT_KINDS)}) THEN ${onQuota} ELSE FALSE END`,
        expected:
          'a known kind, and an operation with at least 1 unit, or a quota, of its owner; or only a group, or an owner',
      },
      {
        rule: 'plain_consume',
        right: `CASE WHEN ${(['plainOwnerId', 'plainQuotaId', 'cycleSeq', 'ownerRemaining'] as const).map(none).join(' AND ')} THEN ${none('caps')} ELSE ${plain} END`,
        expected:
          'all columns of a plain consume, with a quota of its owner or of a group that pays, in one of its counts; or none',
      },
      {
        rule: 'event',
        right: `${a('kind')} NOT IN (${check.list(WITH_EVENT)}) OR ${a('at')} < '${eventsFrom}' OR ${e('seq')} IS NOT NULL`,
        expected: 'its event',
      },
    ]
    const shown = {
      id: a('id'),
      kind: a('kind'),
      amount: a('amount'),
      owner_id: a('ownerId'),
      quota_id: a('quotaId'),
      operation_id: a('operationId'),
      operation_owner_id: o('ownerId'),
      plain_owner_id: a('plainOwnerId'),
      plain_quota_id: a('plainQuotaId'),
      cycle_seq: a('cycleSeq'),
      quota_owner_id: q('ownerId'),
      quota_cycle_seq: q('cycleSeq'),
    }
    const rows = await transaction.rows(
      `SELECT ${check.columns(shown, conditions)} FROM ${act.readByKey(transaction.dialect, 'a')} ` +
        `LEFT JOIN ${quota.table} q ON ${q('id')} = COALESCE(${a('quotaId')}, ${a('plainQuotaId')}) LEFT JOIN ${operation.table} o ON ${o('id')} = ${a('operationId')} ` +
        `LEFT JOIN ${event.table} e ON ${e('actId')} = ${a('id')} AND ${e('quotaId')} = ${a('quotaId')} AND ${e('changeId')} IS NOT NULL ` +
        `WHERE ${a('id')} > ? AND ${a('id')} <= ? AND ${check.anyViolated(conditions)} ORDER BY ${a('id')}`,
      [after, last],
    )
    return rows.flatMap((row) => check.violated(conditions, row, this.about(row)))
  }

  /** A server compares the keys itself. SQLite has no SHA-256, so that all are read. */
  private async wrongKeys(transaction: Transaction, after: Scalar, last: Scalar): Promise<check.Finding[]> {
    const { act } = this.store
    const column = (property: keyof ActRow): string => act.column(property)
    const is = (...parts: readonly string[]): string =>
      `${column('deduplicationKey')} = UNHEX(LEFT(SHA2(CONCAT('[', ${parts.join(`, ',', `)}, ']'), 256), 32))`
    const quoted = (property: keyof ActRow): string => `JSON_QUOTE(${column(property)})`
    const right =
      `CASE WHEN ${column('kind')} IN ('commit', 'release') THEN ${is(`'"settle"'`, `JSON_QUOTE(${idText('mysql', column('operationId'))})`)} ` +
      `WHEN ${column('idempotencyKey')} IS NULL THEN ${column('deduplicationKey')} IS NULL ` +
      `ELSE ${is(`'"key"'`, quoted('caller'), quoted('idempotencyKey'))} END`
    const part = act.part(KEY_PARTS)
    const rows = await transaction.rows(
      `SELECT ${part.columns} FROM ${act.readByKey(transaction.dialect)} WHERE ${column('id')} > ? AND ${column('id')} <= ? ` +
        (transaction.dialect === 'sqlite' ? '' : `AND NOT COALESCE(${right}, FALSE)`),
      [after, last],
    )
    return rows
      .map((row) => part.decode(row))
      .filter((one) => keyOf(one) !== one.deduplicationKey && !mayBeOfChangeSet(one) && !isOfErased(one))
      .map((one) => {
        const [key, about] = [keyOf(one), this.about({ ...one, owner_id: one.ownerId })]
        const show = `${about.show} ${check.showing(act, 'deduplicationKey', key)}`
        return { rule: 'key', ...about, show, expected: key ?? 'no key', found: one.deduplicationKey ?? 'none' }
      })
  }

  /** Finds quotas whose anchor is not that of the answer to their last edit; a count may have that of another one. */
  private async wrongAnchors(transaction: Transaction, after: Scalar, last: Scalar): Promise<check.Finding[]> {
    const { act, quota } = this.store
    const [a, q] = [check.columnsOf(act, 'a'), check.columnsOf(quota, 'q')]
    const edits = ACT_KINDS.filter((kind) => !(OPERATION_ACTS as readonly string[]).includes(kind))
    const rows = await transaction.rows(
      `SELECT ${a('answer')} AS answer, ${q('id')} AS id, ${q('ownerId')} AS owner_id, ${q('version')} AS version, ${q('cycleAnchorAt')} AS anchor ` +
        `FROM ${act.readByKey(transaction.dialect, 'a')} JOIN ${quota.table} q ON ${q('id')} = ${a('quotaId')} ` +
        `WHERE ${a('id')} > ? AND ${a('id')} <= ? AND ${a('kind')} IN (${check.list(edits)}) AND ${q('quotaType')} = ${CYCLE_QUOTA} ` +
        `AND (${q('follows')} IS NULL OR ${q('overrides')} LIKE '%cycle_unit%')`,
      [after, last],
    )
    return rows.flatMap(({ answer, id, owner_id: owner, version, anchor }): check.Finding[] => {
      const record = parsed(answer as string)
      const expected = record['cycle_anchor_at']
      const found = anchor === null ? 'none' : `${(anchor as string).replace(' ', 'T')}Z`
      if (record['version'] !== Number(version) || typeof expected !== 'string' || expected === found) return []
      const where = `quota ${Number(id)} of owner ${Number(owner)}`
      const show = check.showing(quota as never, 'id' as never, Number(id))
      const told = `cycle_anchor_at ${expected}, as its last edit answered`
      return [{ rule: 'settings', ownerId: Number(owner), where, expected: told, found, show }]
    })
  }

  /** Finds acts with caps that cannot have counted them. An owner's acts have few different texts. */
  private async brokenCaps(transaction: Transaction, range: readonly Scalar[]): Promise<check.Finding[]> {
    const { act, quota } = this.store
    const [id, ownerId, caps] = [act.column('id'), act.column('ownerId'), act.column('caps')]
    const within = `FROM ${act.readByKey(transaction.dialect)} WHERE ${id} > ? AND ${id} <= ?`
    const texts = await transaction.rows(
      `SELECT ${ownerId} AS owner_id, ${caps} AS caps ${within} AND ${caps} IS NOT NULL GROUP BY ${ownerId}, ${caps}`,
      range,
    )
    const named = new Set(texts.flatMap((row) => capsOf(row['caps'] as string).map(({ quotaId }) => quotaId)))
    const parts = ['id', 'ownerId', 'cycleSeq', 'cap'] as const
    const rows = await check.rowsBy(
      transaction,
      quota as unknown as RowCodec<QuotaRow>,
      parts,
      'id',
      [...named].filter(Number.isSafeInteger),
    )
    const quotas = new Map(rows.map((row) => [row.id, row]))
    const findings: check.Finding[] = []
    for (const row of texts) {
      const [owner, text] = [Number(row['owner_id']), row['caps'] as string]
      const counts = capsOf(text)
      const fits = ({ quotaId, cycleSeq }: CapCount, n: number): boolean => {
        const cap = quotas.get(quotaId)
        const inOrder = n === 0 || quotaId > (counts[n - 1]?.quotaId ?? 0)
        if (cap === undefined || cap.cap === null || (cap.ownerId !== owner && cap.ownerId > 0)) return false
        return inOrder && cycleSeq >= 0 && cycleSeq <= cap.cycleSeq
      }
      if (counts.every(fits) && capsText(counts, refusingIn(text)) === text) continue
      const values = [...range, owner, text]
      const acts = await transaction.rows(
        `SELECT ${id} AS id, 'consume' AS kind, ${ownerId} AS owner_id ${within} AND ${ownerId} = ? AND ${caps} = ?`,
        values,
      )
      const expected = 'caps of its owner or of groups, each in one of its counts, ascending'
      const found = `caps "${text}"`
      for (const one of acts) findings.push({ rule: 'plain_consume', ...this.about(one), expected, found })
    }
    return findings
  }

  private about({ id, kind, owner_id: owner }: RawRow): Pick<check.Finding, 'ownerId' | 'where' | 'show'> {
    const text = typeof id === 'string' ? id : idFromStore(id)
    const where = `${kind as string} ${text} of owner ${Number(owner)}`
    return { ownerId: Number(owner), where, show: check.showing(this.store.act, 'id', text) }
  }
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

/** Returns whether a caller's key belongs to a principal whose name was erased with the owner that it was. */
function isOfErased({ caller, callerId, idempotencyKey }: KnownAct): boolean {
  return caller === ERASED && callerId === null && idempotencyKey !== null
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}
