import { idFromStore, idText } from '../../database/bytes.js'
import { instantToStore } from '../../database/column.js'
import { type Dialect, placeholders, type RawRow, type Scalar } from '../../database/row-codec.js'
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
import { parsed } from './verify-settings.js'

const KEY_PARTS = [
  ...(['id', 'kind', 'ownerId', 'operationId'] as const),
  ...(['caller', 'callerId', 'idempotencyKey', 'deduplicationKey'] as const),
]
type KnownAct = Pick<ActRow, (typeof KEY_PARTS)[number]>

/** The kinds of acts on quotas, groups and owners. */
const EDITS = ACT_KINDS.filter((kind) => !isOnOperation(kind))
/** The edits that always have a change and an event. A reset that changes nothing has neither. */
const WITH_EVENT = ['create', 'update', 'delete', 'restore']

/**
 * Checks that each act is complete, refers to rows of its owner, has the right deduplication key and its event, and
 * that the answer to a quota's last edit shows its anchor.
 */
export class ActCheck<Q extends QuotaRow> extends check.RowCheck {
  readonly what = 'acts'
  protected readonly size = { mysql: 20_000, sqlite: 1_000 }

  constructor(private readonly store: LedgerStore<Q>) {
    super()
  }

  protected ids(dialect: Dialect, size: number): readonly string[] {
    const { act } = this.store
    return [check.idsAfter(act, act.readByKey(dialect), 'id', size)]
  }

  protected async examine(transaction: Transaction, range: check.Range): Promise<readonly check.Finding[]> {
    return [
      ...(await this.wrong(transaction, range)),
      ...(await this.wrongKeys(transaction, range)),
      ...(await this.wrongAnchors(transaction, range)),
      ...(await this.brokenCaps(transaction, range)),
    ]
  }

  private async wrong(transaction: Transaction, range: check.Range): Promise<check.Finding[]> {
    const { act, quota, operation, event } = this.store
    const search = {
      tables: { a: act, q: quota, o: operation, e: event },
      shown:
        'a.id, a.kind, a.amount, a.ownerId, a.quotaId, a.operationId, o.ownerId AS operation_owner_id, ' +
        'a.plainOwnerId, a.plainQuotaId, a.cycleSeq, q.ownerId AS quota_owner_id, q.cycleSeq AS quota_cycle_seq',
      from:
        `${act.readByKey(transaction.dialect, 'a')} LEFT JOIN ${quota.table} q ON q.id = COALESCE(a.quotaId, a.plainQuotaId) ` +
        `LEFT JOIN ${operation.table} o ON o.id = a.operationId ` +
        `LEFT JOIN ${event.table} e ON e.actId = a.id AND e.quotaId = a.quotaId AND e.changeId IS NOT NULL`,
      id: 'a.id',
      conditions: conditions(instantToStore(await eventsCompleteFrom(transaction, this.store))),
    }
    return check.search(transaction, range, search, (row) => this.about(row))
  }

  /** A server compares the keys itself. SQLite has no SHA-256, so that all are read. */
  private async wrongKeys(transaction: Transaction, range: check.Range): Promise<check.Finding[]> {
    const { act } = this.store
    const { dialect } = transaction
    const is = (...parts: readonly string[]): string =>
      `a.deduplicationKey = UNHEX(LEFT(SHA2(CONCAT('[', ${parts.join(`, ',', `)}, ']'), 256), 32))`
    const right =
      `CASE WHEN a.kind IN ('commit', 'release') THEN ${is(`'"settle"'`, `JSON_QUOTE(${idText('mysql', 'a.operationId')})`)} ` +
      'WHEN a.idempotencyKey IS NULL THEN a.deduplicationKey IS NULL ' +
      `ELSE ${is(`'"key"'`, 'JSON_QUOTE(a.caller)', 'JSON_QUOTE(a.idempotencyKey)')} END`
    const part = act.part(KEY_PARTS, 'a')
    const text =
      `SELECT ${part.columns} FROM ${act.readByKey(dialect, 'a')} WHERE ${check.withinPage('a.id')}` +
      (dialect === 'sqlite' ? '' : ` AND NOT COALESCE(${right}, FALSE)`)
    return (await transaction.rows(check.sqlOf({ a: act }, text), range))
      .map((row) => part.decode(row))
      .filter((one) => keyOf(one) !== one.deduplicationKey && !mayBeOfChangeSet(one) && !isOfErased(one))
      .map((one) => {
        const [key, about] = [keyOf(one), this.about({ ...one, owner_id: one.ownerId })]
        const show = `${about.show} ${check.showing(act, 'deduplicationKey', key)}`
        return { rule: 'key', ...about, show, expected: key ?? 'no key', found: one.deduplicationKey ?? 'none' }
      })
  }

  /** Finds quotas whose anchor is not that of the answer to their last edit; a count may have that of another one. */
  private async wrongAnchors(transaction: Transaction, range: check.Range): Promise<check.Finding[]> {
    const { act, quota } = this.store
    const text =
      'SELECT a.answer AS answer, q.id AS id, q.ownerId AS owner_id, q.version AS version, q.cycleAnchorAt AS anchor ' +
      `FROM ${act.readByKey(transaction.dialect, 'a')} JOIN ${quota.table} q ON q.id = a.quotaId ` +
      `WHERE ${check.withinPage('a.id')} AND a.kind IN (${check.list(EDITS)}) AND q.quotaType = ${CYCLE_QUOTA} ` +
      `AND (q.follows IS NULL OR q.overrides LIKE '%cycle_unit%')`
    const rows = await transaction.rows(check.sqlOf({ a: act, q: quota }, text), range)
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
  private async brokenCaps(transaction: Transaction, range: check.Range): Promise<check.Finding[]> {
    const { act, quota } = this.store
    const read = async (text: string, values: readonly Scalar[] = range): Promise<RawRow[]> =>
      transaction.rows(check.sqlOf({ a: act, q: quota }, text), values)
    const within = `FROM ${act.readByKey(transaction.dialect, 'a')} WHERE ${check.withinPage('a.id')}`
    const texts = await read(`SELECT a.ownerId, a.caps ${within} AND a.caps IS NOT NULL GROUP BY a.ownerId, a.caps`)
    const named = texts.flatMap((row) => capsOf(row['caps'] as string).map(({ quotaId }) => quotaId))
    const ids = [...new Set(named)].filter(Number.isSafeInteger)
    const text = `SELECT q.id, q.ownerId AS owner_id, q.cycleSeq, q.cap FROM ${quota.table} q WHERE q.id IN (${placeholders(ids)})`
    const rows = ids.length === 0 ? [] : await read(text, ids)
    const quotas = new Map(rows.map((row) => [Number(row['id']), row]))
    const findings: check.Finding[] = []
    for (const row of texts) {
      const [owner, told] = [Number(row['owner_id']), row['caps'] as string]
      const counts = capsOf(told)
      const fits = ({ quotaId, cycleSeq }: CapCount, n: number): boolean => {
        const cap = quotas.get(quotaId)
        if (cap === undefined || cap['cap'] === null) return false
        const isOfOther = Number(cap['owner_id']) !== owner && Number(cap['owner_id']) > 0
        const inOrder = n === 0 || quotaId > (counts[n - 1]?.quotaId ?? 0)
        return !isOfOther && inOrder && cycleSeq >= 0 && cycleSeq <= Number(cap['cycle_seq'])
      }
      if (counts.every(fits) && capsText(counts, refusingIn(told)) === told) continue
      const same = `${within} AND a.ownerId = ? AND a.caps = ?`
      const acts = await read(`SELECT a.id, a.kind, a.ownerId ${same}`, [...range, owner, told])
      const expected = 'caps of its owner or of groups, each in one of its counts, ascending'
      const found = `caps "${told}"`
      for (const one of acts) findings.push({ rule: 'plain_consume', ...this.about(one), expected, found })
    }
    return findings
  }

  private about({ id, kind, owner_id: owner }: RawRow): check.About {
    const text = typeof id === 'string' ? id : idFromStore(id)
    const where = `${kind as string} ${text} of owner ${Number(owner)}`
    return { ownerId: Number(owner), where, show: check.showing(this.store.act, 'id', text) }
  }
}

/** @param eventsFrom the time from which all events exist, as stored */
function conditions(eventsFrom: string): readonly check.Condition[] {
  const none = (...names: readonly (keyof ActRow)[]): string =>
    `(${names.map((name) => `a.${name} IS NULL`).join(' AND ')})`
  return [
    {
      rule: 'act',
      expected:
        'a known kind, and an operation with at least 1 unit, or a quota, of its owner; or only a group, or an owner',
      right:
        `CASE WHEN a.kind IN (${check.list(OPERATION_ACTS)}) THEN ${none('quotaId')} AND a.amount >= 1 ` +
        `AND ${none('operationId')} <> ${none('plainOwnerId')} AND (o.id IS NULL OR o.ownerId = a.ownerId) ` +
        `WHEN NOT ${none('operationId', 'plainOwnerId')} THEN FALSE ` +
        `WHEN a.kind IN ('group', 'members') THEN ${none('quotaId')} AND a.ownerId < 0 ` +
        `WHEN a.kind = 'erase' THEN ${none('quotaId')} AND a.ownerId > 0 ` +
        `ELSE a.kind IN (${check.list(EDITS)}) AND q.ownerId = a.ownerId END`,
    },
    {
      rule: 'plain_consume',
      expected:
        'all columns of a plain consume, with a quota of its owner or of a group that pays, in one of its counts; or none',
      right:
        `CASE WHEN ${none('plainOwnerId', 'plainQuotaId', 'cycleSeq', 'ownerRemaining')} THEN ${none('caps')} ` +
        `ELSE a.kind = 'consume' AND a.plainOwnerId = a.ownerId AND a.ownerRemaining >= 0 AND a.plainQuotaId > 0 ` +
        'AND (q.ownerId = a.ownerId OR q.ownerId < 0) AND q.cap IS NULL AND a.cycleSeq <= q.cycleSeq END',
    },
    {
      rule: 'event',
      expected: 'its event',
      right: `a.kind NOT IN (${check.list(WITH_EVENT)}) OR a.at < '${eventsFrom}' OR e.seq IS NOT NULL`,
    },
  ]
}

function isOnOperation(kind: string): boolean {
  return (OPERATION_ACTS as readonly string[]).includes(kind)
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
  return !isOnOperation(kind) && idempotencyKey === null && deduplicationKey !== null
}

/** Returns whether a caller's key belongs to a principal whose name was erased with the owner that it was. */
function isOfErased({ caller, callerId, idempotencyKey }: KnownAct): boolean {
  return caller === ERASED && callerId === null && idempotencyKey !== null
}
