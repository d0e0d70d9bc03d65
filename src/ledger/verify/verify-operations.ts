import { BEFORE_EVERY_ID, bytesFromStore, bytesToStore, idFromStore } from '../../database/bytes.js'
import type { Dialect, Scalar } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import { capsOf, capsText, NONE_REFUSING, refusingIn } from '../rows/counted-caps.js'
import { groupBy } from '../rows/group-by.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { LedgerStore } from '../store/ledger-store.js'
import * as check from './verify-check.js'

/** The number of operations that one statement checks. On SQLite, a statement blocks the event loop. */
const PAGE: Readonly<Record<Dialect, number>> = { mysql: 10_000, sqlite: 500 }

/** Checks each operation, its allocations and hold against its acts. The store compares; only wrong rows are read. */
export class OperationCheck<Q extends QuotaRow> implements check.Check {
  readonly what = 'operations'

  constructor(private readonly store: LedgerStore<Q>) {}

  /** Pages over the operation ids in all tables. `ActCheck` checks plain consumes without other rows. */
  async page(transaction: Transaction, start: check.Subject = BEFORE_EVERY_ID): Promise<check.Page> {
    const { operation, allocation, hold, act } = this.store
    const { dialect } = transaction
    const size = PAGE[dialect]
    const after = bytesToStore(String(start))
    const sources = [
      check.idsAfter(operation, operation.readByKey(dialect), 'id', size),
      check.idsAfter(allocation, allocation.readByKey(dialect), 'operationId', size),
      check.idsAfter(hold, hold.readByKey(dialect), 'operationId', size),
      check.idsAfter(act, act.readBy(dialect, ['operationId']), 'operationId', size),
    ]
    const union = sources.map((source, n) => `SELECT id FROM (${source}) source${n}`).join(' UNION ')
    const [page] = await transaction.rows(
      `SELECT COUNT(*) AS n, MAX(id) AS last FROM (SELECT id FROM (${union}) every_id ORDER BY id LIMIT ${size}) page`,
      sources.map(() => after),
    )
    const count = Number(page?.['n'])
    if (count === 0) return { count, last: undefined, findings: [] }
    const last = bytesFromStore(page?.['last'])
    const findings = [
      ...(await this.wrong(transaction, after, last)),
      ...(await this.otherCaps(transaction, after, last)),
      ...(await this.withoutRow(transaction, after, last)),
    ]
    return { count, last: count < size ? undefined : idFromStore(last), findings }
  }

  private async wrong(transaction: Transaction, after: Scalar, last: Scalar): Promise<check.Finding[]> {
    const { operation, allocation, hold, act, quota } = this.store
    const { dialect } = transaction
    const [o, f, h] = [check.columnsOf(operation, 'o'), check.columnsOf(act, 'f'), check.columnsOf(hold, 'h')]
    const [a, q, l] = [check.columnsOf(allocation, 'a'), check.columnsOf(quota, 'q'), check.columnsOf(act, 'l')]
    const g = check.columnsOf(hold, 'g')
    const sum = (condition: string, value = '1'): string => `SUM(CASE WHEN ${condition} THEN ${value} ELSE 0 END)`
    const payer = `${a('countedAt')} IS NULL`
    const of = (condition: string, value: string): string => `CASE WHEN ${condition} THEN ${value} END`
    const ofCap = (value: string): string => of(`${a('countedAt')} IS NOT NULL`, value)
    const later = {
      id: l('operationId'),
      commits: sum(`${l('kind')} = 'commit'`),
      settled: sum(`${l('kind')} IN ('commit', 'release')`),
      others: sum(`${l('kind')} IN ('consume', 'reserve') AND ${l('id')} <> ${l('operationId')}`),
      charged: sum(`${l('kind')} = 'commit'`, l('amount')),
      refunded: sum(`${l('kind')} = 'refund'`, l('amount')),
    }
    const allocated = {
      id: a('operationId'),
      n: 'COUNT(*)',
      payers: sum(payer),
      units: sum(payer, a('amount')),
      least_counted: `MIN(${ofCap(a('amount'))})`,
      most_counted: `MAX(${ofCap(a('amount'))})`,
      first_counted: `MIN(${a('countedAt')})`,
      last_counted: `MAX(${a('countedAt')})`,
      first_cap: `MIN(${ofCap(a('position'))})`,
      least: `MIN(${a('amount')})`,
      lowest: `MIN(${a('position')})`,
      highest: `MAX(${a('position')})`,
      quota_id: `MIN(${of(payer, a('quotaId'))})`,
      cycle_seq: `MIN(${of(payer, a('cycleSeq'))})`,
      one_owner: `MIN(${of(`${q('ownerId')} > 0`, q('ownerId'))})`,
      other_owner: `MAX(${of(`${q('ownerId')} > 0`, q('ownerId'))})`,
      group_count: `COUNT(DISTINCT ${of(`${q('ownerId')} < 0`, q('ownerId'))})`,
      fitting: sum(`(${payer}) = (${q('cap')} IS NULL) AND ${a('cycleSeq')} <= ${q('cycleSeq')}`),
    }
    const ofGroups = {
      id: g('operationId'),
      n: 'COUNT(*)',
      first_expires_at: `MIN(${g('expiresAt')})`,
      last_expires_at: `MAX(${g('expiresAt')})`,
    }
    const shown = {
      id: o('id'),
      owner_id: o('ownerId'),
      kind: o('kind'),
      state: o('state'),
      amount: o('amount'),
      charged: o('charged'),
      refunded: o('refunded'),
      expires_at: o('expiresAt'),
      act_kind: f('kind'),
      act_amount: f('amount'),
      act_owner_id: f('ownerId'),
      acts_charged: 'l.charged',
      acts_refunded: 'l.refunded',
      settling_acts: 'l.settled',
      hold_expires_at: h('expiresAt'),
      holds_of_groups: 'g.n',
      group_count: 'p.group_count',
      allocated: 'p.units',
      allocations: 'p.n',
      paying_quota_id: 'p.quota_id',
    }
    const conditions = this.conditions()
    const within = (id: string): string => `${id} > ? AND ${id} <= ?`
    const rows = await transaction.rows(
      `SELECT ${check.columns(shown, conditions)} ` +
        `FROM ${operation.readByKey(dialect, 'o')} LEFT JOIN ${act.table} f ON ${f('id')} = ${o('id')} LEFT JOIN ${hold.table} h ON ${h('operationId')} = ${o('id')} AND ${h('ownerId')} > 0 ` +
        `LEFT JOIN (SELECT ${check.columns(later, [])} FROM ${act.readBy(dialect, ['operationId'], 'l')} WHERE ${within(later.id)} GROUP BY ${later.id}) l ON l.id = ${o('id')} ` +
        `LEFT JOIN (SELECT ${check.columns(allocated, [])} FROM ${allocation.readByKey(dialect, 'a')} LEFT JOIN ${quota.table} q ON ${q('id')} = ${a('quotaId')} ` +
        `WHERE ${within(allocated.id)} GROUP BY ${allocated.id}) p ON p.id = ${o('id')} ` +
        `LEFT JOIN (SELECT ${check.columns(ofGroups, [])} FROM ${hold.table} g WHERE ${within(ofGroups.id)} AND ${g('ownerId')} < 0 GROUP BY ${ofGroups.id}) g ON g.id = ${o('id')} ` +
        `WHERE ${within(o('id'))} AND ${check.anyViolated(conditions)} ORDER BY ${o('id')}`,
      [after, last, after, last, after, last, after, last],
    )
    return rows.flatMap((row) => {
      const found = check.violated(conditions, row, this.about(idFromStore(row['id']), Number(row['owner_id'])))
      // If it was settled twice, no state follows from its acts.
      const twice = found.some(({ rule }) => rule === 'settled_once')
      return found.filter(({ rule }) => !twice || rule !== 'operation_state')
    })
  }

  /** Invariants 3, 4, 6, 7 and 11. */
  private conditions(): check.Condition[] {
    const { operation, hold, act } = this.store
    const [o, f, h] = [check.columnsOf(operation, 'o'), check.columnsOf(act, 'f'), check.columnsOf(hold, 'h')]
    const consumed = `${o('kind')} = 'consume' AND ${o('state')} = 'consumed' AND ${o('charged')} = ${o('amount')} AND ${o('expiresAt')} IS NULL`
    const reserved =
      `${o('kind')} = 'reserve' AND ${o('charged')} = COALESCE(l.charged, 0) AND ${o('charged')} <= ${o('amount')} AND ${o('expiresAt')} IS NOT NULL AND ` +
      `CASE WHEN l.commits > 0 THEN ${o('state')} = 'committed' WHEN l.settled > 0 THEN ${o('state')} = 'released' ELSE ${o('state')} IN ('reserved', 'expired') END`
    return [
      {
        rule: 'operation_act',
        right:
          `${f('kind')} = ${o('kind')} AND ${f('amount')} = ${o('amount')} AND ${f('ownerId')} = ${o('ownerId')} ` +
          `AND (${f('operationId')} IS NULL OR ${f('operationId')} = ${o('id')}) AND COALESCE(l.others, 0) = 0`,
        expected: 'exactly one act that created it, with its kind, amount and owner',
      },
      {
        rule: 'settled_once',
        right: `COALESCE(l.settled, 0) <= CASE WHEN ${o('kind')} = 'reserve' THEN 1 ELSE 0 END`,
        expected: 'one commit or release of a reservation at most',
      },
      {
        rule: 'operation_state',
        right: `${o('refunded')} = COALESCE(l.refunded, 0) AND ${o('refunded')} <= ${o('charged')} AND ((${consumed}) OR (${reserved}))`,
        expected: 'state, charged, refunded and expiry as its acts say',
      },
      {
        rule: 'hold',
        right: `CASE WHEN ${o('state')} = 'reserved' THEN ${h('ownerId')} = ${o('ownerId')} AND ${h('expiresAt')} = ${o('expiresAt')} ELSE ${h('operationId')} IS NULL END`,
        expected: 'a hold of its owner with its expiry if it is reserved, otherwise none',
      },
      {
        rule: 'hold',
        right: `COALESCE(g.n, 0) = CASE WHEN ${o('state')} = 'reserved' THEN COALESCE(p.group_count, 0) ELSE 0 END AND (g.n IS NULL OR (g.first_expires_at = ${o('expiresAt')} AND g.last_expires_at = ${o('expiresAt')}))`,
        expected: 'a hold with its expiry for each group that it keeps units of, if it is reserved; otherwise none',
      },
      {
        rule: 'allocations',
        right: `p.units = ${o('amount')} AND p.least > 0 AND p.lowest = 0 AND p.highest = p.n - 1`,
        expected: 'its amount in positions from 0, each greater than 0',
      },
      {
        rule: 'allocations',
        right: `p.fitting = p.n AND COALESCE(p.one_owner, ${o('ownerId')}) = ${o('ownerId')} AND COALESCE(p.other_owner, ${o('ownerId')}) = ${o('ownerId')}`,
        expected: 'quotas that pay, and caps, of its owner or of groups, in counts that they have had',
      },
      {
        rule: 'allocations',
        right:
          `p.payers = p.n OR (p.first_cap = p.payers AND p.least_counted = ${o('amount')} AND p.most_counted = ${o('amount')} ` +
          `AND p.first_counted = ${o('createdAt')} AND p.last_counted = ${o('createdAt')})`,
        expected: 'each cap after the quotas that paid, with the whole amount, at its time',
      },
      {
        rule: 'allocations',
        right:
          `${f('plainQuotaId')} IS NULL OR (p.payers = 1 AND p.quota_id = ${f('plainQuotaId')} AND p.cycle_seq = ${f('cycleSeq')} ` +
          `AND (p.n > 1) = (${f('caps')} IS NOT NULL))`,
        expected: 'the quota and the caps that its act names',
      },
    ]
  }

  /**
   * Finds refunded consumes whose act names other caps than their allocations, and plain ones whose allocations are not
   * those of the caps of groups that the act names.
   */
  private async otherCaps(transaction: Transaction, after: Scalar, last: Scalar): Promise<check.Finding[]> {
    const { operation, allocation, act } = this.store
    const [a, f, o] = [check.columnsOf(allocation, 'a'), check.columnsOf(act, 'f'), check.columnsOf(operation, 'o')]
    const shown = {
      id: a('operationId'),
      owner_id: f('ownerId'),
      caps: f('caps'),
      quota_id: a('quotaId'),
      cycle_seq: a('cycleSeq'),
      of_row: o('id'),
      as_counted: `CASE WHEN ${a('amount')} = ${f('amount')} AND ${a('countedAt')} = ${f('at')} THEN 1 ELSE 0 END`,
    }
    const rows = await transaction.rows(
      `SELECT ${check.columns(shown, [])} FROM ${allocation.readByKey(transaction.dialect, 'a')} JOIN ${act.table} f ON ${f('id')} = ${shown.id} LEFT JOIN ${operation.table} o ON ${o('id')} = ${shown.id} ` +
        `WHERE ${shown.id} > ? AND ${shown.id} <= ? AND ${shown.caps} IS NOT NULL AND ${a('countedAt')} IS NOT NULL ORDER BY ${shown.id}, ${a('position')}`,
      [after, last],
    )
    const named = rows.flatMap((row) => capsOf(row['caps'] as string).map(({ quotaId }) => quotaId))
    const ofGroups = await this.store.groupsOfQuotas(transaction, [...new Set(named)].filter(Number.isSafeInteger))
    return [...groupBy(rows, (row) => idFromStore(row['id']))].flatMap(([id, counted]) => {
      const counts = counted.map((row) => ({ quotaId: Number(row['quota_id']), cycleSeq: Number(row['cycle_seq']) }))
      const [first] = counted
      const text = first?.['caps'] as string
      const isPlain = first?.['of_row'] === null
      const expected = isPlain
        ? capsText(
            capsOf(text).filter(({ quotaId }) => ofGroups.has(quotaId)),
            NONE_REFUSING,
          )
        : text
      const found = capsText(counts, isPlain ? NONE_REFUSING : refusingIn(text)) ?? ''
      if (found === expected && (!isPlain || counted.every((row) => Number(row['as_counted']) === 1))) return []
      const told = `caps${expected ?? ' of no group'}, with its amount, at its time`
      return [{ rule: 'allocations', ...this.about(id, Number(first?.['owner_id'])), expected: told, found }]
    })
  }

  /** Finds acts, holds and allocations of operations that do not exist. */
  private async withoutRow(transaction: Transaction, after: Scalar, last: Scalar): Promise<check.Finding[]> {
    const { operation, allocation, hold, act, quota } = this.store
    const { dialect } = transaction
    const owner = `(SELECT q.${quota.column('ownerId')} FROM ${quota.table} q WHERE q.${quota.column('id')} = s.${allocation.column('quotaId')})`
    const missing = async (
      from: string,
      column: string,
      ownerId: string,
      and = '',
    ): Promise<[id: string, ownerId: number | null][]> => {
      const rows = await transaction.rows(
        `SELECT s.${column} AS id, MAX(${ownerId}) AS owner_id FROM ${from} LEFT JOIN ${operation.table} o ON o.${operation.column('id')} = s.${column} ` +
          `WHERE s.${column} > ? AND s.${column} <= ? AND o.${operation.column('id')} IS NULL ${and} GROUP BY s.${column}`,
        [after, last],
      )
      return rows.map((row) => [idFromStore(row['id']), check.idOf(row['owner_id'])])
    }
    const ofActs = await missing(
      act.readBy(dialect, ['operationId'], 's'),
      act.column('operationId'),
      `s.${act.column('ownerId')}`,
    )
    const ofHolds = await missing(
      hold.readByKey(dialect, 's'),
      hold.column('operationId'),
      `s.${hold.column('ownerId')}`,
    )
    // A plain consume has no rows but those of groups' caps, which `otherCaps` checks.
    const [countedAt, p] = [`s.${allocation.column('countedAt')}`, check.columnsOf(act, 'p')]
    const ofAllocations = await missing(
      allocation.readByKey(dialect, 's'),
      allocation.column('operationId'),
      owner,
      `AND (${countedAt} IS NULL OR NOT EXISTS (SELECT 1 FROM ${act.table} p WHERE ${p('id')} = s.${allocation.column('operationId')} AND ${p('caps')} IS NOT NULL))`,
    )
    const told = new Map(ofActs)
    const strays = (ids: typeof ofActs, found: string): check.Finding[] =>
      ids
        .filter(([id]) => !told.has(id))
        .map(([id, ownerId]) => ({ rule: 'stray', ...this.about(id, ownerId), expected: 'an operation', found }))
    return [
      ...ofActs.map(([id, ownerId]): check.Finding => ({
        rule: 'operation_missing',
        ...this.about(id, ownerId),
        expected: 'an operation row',
        found: 'none, and acts on it',
      })),
      ...strays(ofHolds, 'only a hold'),
      ...strays(ofAllocations, 'only allocations'),
    ]
  }

  private about(id: string, ownerId: number | null): Pick<check.Finding, 'ownerId' | 'where' | 'show'> {
    const { operation, allocation, hold, act } = this.store
    const show = [
      check.showing(operation, 'id', id),
      check.showing(allocation, 'operationId', id),
      check.showing(hold, 'operationId', id),
      check.showing(act, 'operationId', id),
      check.showing(act, 'id', id),
    ].join(' ')
    return { ownerId, where: `operation ${id}${ownerId === null ? '' : ` of owner ${ownerId}`}`, show }
  }
}
