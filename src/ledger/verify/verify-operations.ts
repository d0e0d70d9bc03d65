import { idFromStore } from '../../database/bytes.js'
import type { Dialect } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import { capsOf, capsText, NONE_REFUSING, refusingIn } from '../rows/counted-caps.js'
import { groupBy } from '../../common/group-by.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { LedgerStore } from '../store/ledger-store.js'
import * as check from './verify-check.js'

/**
 * Checks each operation, its allocations and hold against its acts. The store compares; only wrong rows are read. The
 * pages are of the operation ids in all tables. `ActCheck` checks plain consumes without other rows.
 */
export class OperationCheck<Q extends QuotaRow> extends check.RowCheck {
  readonly what = 'operations'
  protected readonly size = { mysql: 10_000, sqlite: 500 }

  constructor(private readonly store: LedgerStore<Q>) {
    super()
  }

  protected ids(dialect: Dialect, size: number): readonly string[] {
    const { operation, allocation, hold, act } = this.store
    return [
      check.idsAfter(operation, operation.readByKey(dialect), 'id', size),
      check.idsAfter(allocation, allocation.readByKey(dialect), 'operationId', size),
      check.idsAfter(hold, hold.readByKey(dialect), 'operationId', size),
      check.idsAfter(act, act.readBy(dialect, ['operationId']), 'operationId', size),
    ]
  }

  protected async examine(transaction: Transaction, range: check.Range): Promise<readonly check.Finding[]> {
    return [
      ...(await this.wrong(transaction, range)),
      ...(await this.otherCaps(transaction, range)),
      ...(await this.withoutRow(transaction, range)),
    ]
  }

  private async wrong(transaction: Transaction, range: check.Range): Promise<check.Finding[]> {
    const { operation, allocation, hold, act, quota } = this.store
    const { dialect } = transaction
    const count = (condition: string, units = '1'): string => `SUM(CASE WHEN ${condition} THEN ${units} ELSE 0 END)`
    const [payer, cap] = ['a.countedAt IS NULL', 'a.countedAt IS NOT NULL']
    const of = (condition: string, value: string): string => `CASE WHEN ${condition} THEN ${value} END`
    const later =
      `SELECT l.operationId AS id, ${count(`l.kind = 'commit'`)} AS commits, ` +
      `${count(`l.kind IN ('commit', 'release')`)} AS settled, ` +
      `${count(`l.kind IN ('consume', 'reserve') AND l.id <> l.operationId`)} AS others, ` +
      `${count(`l.kind = 'commit'`, 'l.amount')} AS charged, ${count(`l.kind = 'refund'`, 'l.amount')} AS refunded ` +
      `FROM ${act.readBy(dialect, ['operationId'], 'l')} ` +
      `WHERE ${check.withinPage('l.operationId')} GROUP BY l.operationId`
    const paid =
      `SELECT a.operationId AS id, COUNT(*) AS n, ${count(payer)} AS payers, ${count(payer, 'a.amount')} AS units, ` +
      `MIN(${of(cap, 'a.amount')}) AS least_counted, MAX(${of(cap, 'a.amount')}) AS most_counted, ` +
      'MIN(a.countedAt) AS first_counted, MAX(a.countedAt) AS last_counted, ' +
      `MIN(${of(cap, 'a.position')}) AS first_cap, ` +
      'MIN(a.amount) AS least, MIN(a.position) AS lowest, MAX(a.position) AS highest, ' +
      `MIN(${of(payer, 'a.quotaId')}) AS quota_id, MIN(${of(payer, 'a.cycleSeq')}) AS cycle_seq, ` +
      `MIN(${of('q.ownerId > 0', 'q.ownerId')}) AS one_owner, MAX(${of('q.ownerId > 0', 'q.ownerId')}) AS other_owner, ` +
      `COUNT(DISTINCT ${of('q.ownerId < 0', 'q.ownerId')}) AS group_count, ` +
      `${count(`(${payer}) = (q.cap IS NULL) AND a.cycleSeq <= q.cycleSeq`)} AS fitting ` +
      `FROM ${allocation.readByKey(dialect, 'a')} LEFT JOIN ${quota.table} q ON q.id = a.quotaId ` +
      `WHERE ${check.withinPage('a.operationId')} GROUP BY a.operationId`
    const held =
      'SELECT g.operationId AS id, COUNT(*) AS n, MIN(g.expiresAt) AS first_end, MAX(g.expiresAt) AS last_end ' +
      `FROM ${hold.table} g WHERE ${check.withinPage('g.operationId')} AND g.ownerId < 0 GROUP BY g.operationId`
    const search = {
      tables: { o: operation, f: act, h: hold, l: act, a: allocation, q: quota, g: hold },
      shown:
        'o.id, o.ownerId, o.kind, o.state, o.amount, o.charged, o.refunded, o.expiresAt, f.kind AS act_kind, ' +
        'f.amount AS act_amount, f.ownerId AS act_owner_id, later.charged AS acts_charged, ' +
        'later.refunded AS acts_refunded, later.settled AS settling_acts, h.expiresAt AS hold_expires_at, ' +
        'held.n AS holds_of_groups, paid.group_count, paid.units AS allocated, paid.n AS allocations, ' +
        'paid.quota_id AS paying_quota_id',
      from:
        `${operation.readByKey(dialect, 'o')} LEFT JOIN ${act.table} f ON f.id = o.id ` +
        `LEFT JOIN ${hold.table} h ON h.operationId = o.id AND h.ownerId > 0 ` +
        `LEFT JOIN (${later}) later ON later.id = o.id LEFT JOIN (${paid}) paid ON paid.id = o.id ` +
        `LEFT JOIN (${held}) held ON held.id = o.id`,
      id: 'o.id',
      conditions: CONDITIONS,
    }
    const found = await check.search(transaction, range, search, (row) =>
      this.about(idFromStore(row['id']), Number(row['owner_id'])),
    )
    // If it was settled twice, no state follows from its acts.
    const twice = new Set(found.filter(({ rule }) => rule === 'settled_once').map(({ where }) => where))
    return found.filter(({ rule, where }) => rule !== 'operation_state' || !twice.has(where))
  }

  /**
   * Finds refunded consumes whose act names other caps than their allocations, and plain ones whose allocations are not
   * those of the caps of groups that the act names.
   */
  private async otherCaps(transaction: Transaction, range: check.Range): Promise<check.Finding[]> {
    const { operation, allocation, act } = this.store
    const text =
      'SELECT a.operationId AS id, f.ownerId AS owner_id, f.caps, a.quotaId AS quota_id, a.cycleSeq AS cycle_seq, ' +
      'o.id AS of_row, CASE WHEN a.amount = f.amount AND a.countedAt = f.at THEN 1 ELSE 0 END AS as_counted ' +
      `FROM ${allocation.readByKey(transaction.dialect, 'a')} JOIN ${act.table} f ON f.id = a.operationId ` +
      `LEFT JOIN ${operation.table} o ON o.id = a.operationId WHERE ${check.withinPage('a.operationId')} ` +
      'AND f.caps IS NOT NULL AND a.countedAt IS NOT NULL ORDER BY a.operationId, a.position'
    const rows = await transaction.rows(check.sqlOf({ a: allocation, f: act, o: operation }, text), range)
    const named = rows.flatMap((row) => capsOf(row['caps'] as string).map(({ quotaId }) => quotaId))
    const ofGroups = await this.store.groupsOfQuotas(transaction, [...new Set(named)].filter(Number.isSafeInteger))
    return [...groupBy(rows, (row) => idFromStore(row['id']))].flatMap(([id, counted]) => {
      const counts = counted.map((row) => ({ quotaId: Number(row['quota_id']), cycleSeq: Number(row['cycle_seq']) }))
      const [first] = counted
      const caps = first?.['caps'] as string
      const isPlain = first?.['of_row'] === null
      const inRows = capsOf(caps).filter(({ quotaId }) => ofGroups.has(quotaId))
      const expected = isPlain ? capsText(inRows, NONE_REFUSING) : caps
      const found = capsText(counts, isPlain ? NONE_REFUSING : refusingIn(caps)) ?? ''
      if (found === expected && (!isPlain || counted.every((row) => Number(row['as_counted']) === 1))) return []
      const told = `caps${expected ?? ' of no group'}, with its amount, at its time`
      return [{ rule: 'allocations', ...this.about(id, Number(first?.['owner_id'])), expected: told, found }]
    })
  }

  /** Finds acts, holds and allocations of operations that do not exist. */
  private async withoutRow(transaction: Transaction, range: check.Range): Promise<check.Finding[]> {
    const { operation, allocation, hold, act, quota } = this.store
    const { dialect } = transaction
    const tables = { o: operation, s: act, h: hold, a: allocation, q: quota, p: act }
    // A plain consume has no rows but those of groups' caps, which `otherCaps` checks.
    const ofNoPlain =
      'AND (a.countedAt IS NULL OR NOT EXISTS ' +
      `(SELECT 1 FROM ${act.table} p WHERE p.id = a.operationId AND p.caps IS NOT NULL))`
    const owner = `(SELECT q.ownerId FROM ${quota.table} q WHERE q.id = a.quotaId)`
    const sources: readonly [rule: check.Rule, found: string, from: string, id: string, owner: string, and: string][] =
      [
        [
          'operation_missing',
          'none, and acts on it',
          act.readBy(dialect, ['operationId'], 's'),
          's.operationId',
          's.ownerId',
          '',
        ],
        ['stray', 'only a hold', hold.readByKey(dialect, 'h'), 'h.operationId', 'h.ownerId', ''],
        ['stray', 'only allocations', allocation.readByKey(dialect, 'a'), 'a.operationId', owner, ofNoPlain],
      ]
    const findings: check.Finding[] = []
    const withActs = new Set<string>()
    for (const [rule, found, from, id, ownerId, and] of sources) {
      const text =
        `SELECT ${id} AS id, MAX(${ownerId}) AS owner_id FROM ${from} LEFT JOIN ${operation.table} o ON o.id = ${id} ` +
        `WHERE ${check.withinPage(id)} AND o.id IS NULL ${and} GROUP BY ${id}`
      for (const row of await transaction.rows(check.sqlOf(tables, text), range)) {
        const missing = idFromStore(row['id'])
        if (rule === 'operation_missing') withActs.add(missing)
        else if (withActs.has(missing)) continue
        const expected = rule === 'stray' ? 'an operation' : 'an operation row'
        findings.push({ rule, ...this.about(missing, check.idOf(row['owner_id'])), expected, found })
      }
    }
    return findings
  }

  private about(id: string, ownerId: number | null): check.About {
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

const CONSUMED = `o.kind = 'consume' AND o.state = 'consumed' AND o.charged = o.amount AND o.expiresAt IS NULL`
const RESERVED =
  `o.kind = 'reserve' AND o.charged = COALESCE(later.charged, 0) AND o.charged <= o.amount AND o.expiresAt IS NOT NULL ` +
  `AND CASE WHEN later.commits > 0 THEN o.state = 'committed' WHEN later.settled > 0 THEN o.state = 'released' ` +
  `ELSE o.state IN ('reserved', 'expired') END`

/** Invariants 3, 4, 6, 7 and 11, of an operation with its founding act f, its hold h, and sums of its other rows. */
const CONDITIONS: readonly check.Condition[] = [
  {
    rule: 'operation_act',
    expected: 'exactly one act that created it, with its kind, amount and owner',
    right:
      'f.kind = o.kind AND f.amount = o.amount AND f.ownerId = o.ownerId ' +
      'AND (f.operationId IS NULL OR f.operationId = o.id) AND COALESCE(later.others, 0) = 0',
  },
  {
    rule: 'settled_once',
    expected: 'one commit or release of a reservation at most',
    right: `COALESCE(later.settled, 0) <= CASE WHEN o.kind = 'reserve' THEN 1 ELSE 0 END`,
  },
  {
    rule: 'operation_state',
    expected: 'state, charged, refunded and expiry as its acts say',
    right:
      'o.refunded = COALESCE(later.refunded, 0) AND o.refunded <= o.charged ' + `AND ((${CONSUMED}) OR (${RESERVED}))`,
  },
  {
    rule: 'hold',
    expected: 'a hold of its owner with its expiry if it is reserved, otherwise none',
    right:
      `CASE WHEN o.state = 'reserved' THEN h.ownerId = o.ownerId AND h.expiresAt = o.expiresAt ` +
      'ELSE h.operationId IS NULL END',
  },
  {
    rule: 'hold',
    expected: 'a hold with its expiry for each group that it keeps units of, if it is reserved; otherwise none',
    right:
      `COALESCE(held.n, 0) = CASE WHEN o.state = 'reserved' THEN COALESCE(paid.group_count, 0) ELSE 0 END ` +
      'AND (held.n IS NULL OR (held.first_end = o.expiresAt AND held.last_end = o.expiresAt))',
  },
  {
    rule: 'allocations',
    expected: 'its amount in positions from 0, each greater than 0',
    right: 'paid.units = o.amount AND paid.least > 0 AND paid.lowest = 0 AND paid.highest = paid.n - 1',
  },
  {
    rule: 'allocations',
    expected: 'quotas that pay, and caps, of its owner or of groups, in counts that they have had',
    right:
      'paid.fitting = paid.n AND COALESCE(paid.one_owner, o.ownerId) = o.ownerId ' +
      'AND COALESCE(paid.other_owner, o.ownerId) = o.ownerId',
  },
  {
    rule: 'allocations',
    expected: 'each cap after the quotas that paid, with the whole amount, at its time',
    right:
      'paid.payers = paid.n OR (paid.first_cap = paid.payers AND paid.least_counted = o.amount ' +
      'AND paid.most_counted = o.amount AND paid.first_counted = o.createdAt AND paid.last_counted = o.createdAt)',
  },
  {
    rule: 'allocations',
    expected: 'the quota and the caps that its act names',
    right:
      'f.plainQuotaId IS NULL OR (paid.payers = 1 AND paid.quota_id = f.plainQuotaId ' +
      'AND paid.cycle_seq = f.cycleSeq AND (paid.n > 1) = (f.caps IS NOT NULL))',
  },
]
