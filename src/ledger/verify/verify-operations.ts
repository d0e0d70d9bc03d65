import { type Dialect, placeholders } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import { formatInstant } from '../../time/instant.js'
import type { ActRow } from '../rows/act.entity.js'
import type { AllocationRow } from '../rows/allocation.entity.js'
import { groupBy } from '../rows/group-by.js'
import type { HoldRow } from '../rows/hold.entity.js'
import type { OperationRow, OperationState } from '../rows/operation.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import type { LedgerStore } from '../store/ledger-store.js'
import { PLAIN_PARTS, plainOperation } from '../store/plain-consume.js'
import { allocationRows, type OperationEntry } from '../store/working-set.js'
import {
  type Check,
  type Finding,
  idsAfter,
  insert,
  type KnownQuota,
  type Mend,
  type Mended,
  quotasById,
  rowsBy,
  type CheckPage,
  type Subject,
} from './verify-check.js'

const ACT_PARTS = [...PLAIN_PARTS, 'kind', 'ownerId', 'operationId'] as const
type KnownAct = Pick<ActRow, (typeof ACT_PARTS)[number]>

/** The number of operations that one statement checks. On SQLite, a statement blocks the event loop. */
const PAGE: Readonly<Record<Dialect, number>> = { mysql: 10_000, sqlite: 500 }

/** All rows of one operation. */
interface StoredOperation {
  readonly id: string
  readonly row: OperationRow | undefined
  /** In draw-down order. */
  readonly allocations: readonly AllocationRow[]
  readonly hold: HoldRow | undefined
  /** The acts that created it; exactly one if the rows are right. */
  readonly founders: readonly KnownAct[]
  readonly later: readonly KnownAct[]
  /** The operation as its act describes it, if that is a plain consume. */
  readonly plain: OperationEntry | undefined
  /** The existing quotas of its allocations. */
  readonly quotas: ReadonlyMap<number, KnownQuota>
}

/** Checks each operation, its allocations and its hold against its acts. */
export class OperationCheck<Q extends QuotaRow> implements Check {
  readonly what = 'operations'
  readonly rules = [
    'operation_act',
    'operation_missing',
    'operation_state',
    'settled_once',
    'allocations',
    'hold',
    'stray',
  ] as const
  readonly size = 500

  constructor(private readonly store: LedgerStore<Q>) {}

  /** Pages over the operation ids in all tables. `ActCheck` checks plain consumes without other rows. */
  async next(transaction: Transaction, after: Subject | undefined): Promise<CheckPage> {
    const { operation, allocation, hold, act } = this.store
    const { dialect } = transaction
    const size = PAGE[dialect]
    const sources = [
      idsAfter(operation, operation.readByKey(dialect), 'id', size),
      idsAfter(allocation, allocation.readByKey(dialect), 'operationId', size),
      idsAfter(hold, hold.readByKey(dialect), 'operationId', size),
      idsAfter(act, act.readBy(dialect, ['operationId']), 'operationId', size),
    ]
    const union = sources.map((source, n) => `SELECT id FROM (${source}) source${n}`).join(' UNION ')
    const [page] = await transaction.rows(
      `SELECT COUNT(*) AS n, MAX(id) AS last FROM (SELECT id FROM (${union}) every_id ORDER BY id LIMIT ${size}) page`,
      sources.map(() => after ?? ''),
    )
    const count = Number(page?.['n'])
    if (count === 0) return { count, last: undefined, suspects: [] }
    const last = page?.['last'] as string
    const suspects = new Set<string>()
    for (const sql of this.suspects(dialect)) {
      const values = Array.from({ length: sql.split('?').length - 1 }, (_, n) => (n % 2 === 0 ? (after ?? '') : last))
      for (const row of await transaction.rows(sql, values)) suspects.add(row['id'] as string)
    }
    return { count, last: count < size ? undefined : last, suspects: [...suspects].sort() }
  }

  /**
   * Returns queries that select what `examine` finds, and possibly more. In each statement, every two placeholders take
   * the two ends of a range of ids.
   */
  private suspects(dialect: Dialect): string[] {
    const { operation, allocation, hold, act, quota } = this.store
    const o = (property: keyof OperationRow): string => `o.${operation.column(property)}`
    const f = (property: keyof ActRow): string => `f.${act.column(property)}`
    const h = (property: keyof HoldRow): string => `h.${hold.column(property)}`
    const kind = act.column('kind')
    const number = (condition: string, value = '1'): string => `SUM(CASE WHEN ${condition} THEN ${value} ELSE 0 END)`
    const units = act.column('amount')
    const [ofAct, ofAllocation] = [act.column('operationId'), `a.${allocation.column('operationId')}`]
    const later =
      `SELECT ${ofAct} AS id, ${number(`${kind} = 'commit'`)} AS commits, ${number(`${kind} = 'release'`)} AS releases, ` +
      `${number(`${kind} IN ('consume', 'reserve') AND ${act.column('id')} <> ${ofAct}`)} AS others, ` +
      `${number(`${kind} = 'commit'`, units)} AS charged, ${number(`${kind} = 'refund'`, units)} AS refunded ` +
      `FROM ${act.readBy(dialect, ['operationId'])} WHERE ${ofAct} > ? AND ${ofAct} <= ? GROUP BY ${ofAct}`
    const position = `a.${allocation.column('position')}`
    // The row of a cap has the time of the operation and its whole amount.
    const [countedAt, capUnits] = [`a.${allocation.column('countedAt')}`, `a.${allocation.column('amount')}`]
    const ofCap = (value: string): string => `CASE WHEN ${countedAt} IS NOT NULL THEN ${value} END`
    const paid =
      `SELECT ${ofAllocation} AS id, COUNT(*) AS n, ${number(`${countedAt} IS NULL`)} AS payers, ${number(`${countedAt} IS NULL`, capUnits)} AS units, ` +
      `MIN(${ofCap(capUnits)}) AS least_counted, MAX(${ofCap(capUnits)}) AS most_counted, MIN(${countedAt}) AS first_counted, MAX(${countedAt}) AS last_counted, ` +
      `MIN(${ofCap(position)}) AS first_cap, ${number(`(${countedAt} IS NULL) = (q.${quota.column('cap')} IS NULL)`)} AS fitting, MIN(a.${allocation.column('amount')}) AS least, ` +
      `MIN(${position}) AS lowest, MAX(${position}) AS highest, MIN(a.${allocation.column('quotaId')}) AS quota_id, MIN(a.${allocation.column('cycleSeq')}) AS cycle_seq, ` +
      `MIN(q.${quota.column('ownerId')}) AS one_owner, MAX(q.${quota.column('ownerId')}) AS other_owner, ` +
      `${number(`a.${allocation.column('cycleSeq')} <= q.${quota.column('cycleSeq')}`)} AS known ` +
      `FROM ${allocation.readByKey(dialect, 'a')} LEFT JOIN ${quota.table} q ON q.${quota.column('id')} = a.${allocation.column('quotaId')} ` +
      `WHERE ${ofAllocation} > ? AND ${ofAllocation} <= ? GROUP BY ${ofAllocation}`
    const settled = 'COALESCE(l.commits, 0) + COALESCE(l.releases, 0)'
    const right = [
      `${f('kind')} = ${o('kind')} AND ${f('amount')} = ${o('amount')} AND ${f('ownerId')} = ${o('ownerId')}`,
      `(${f('operationId')} IS NULL OR ${f('operationId')} = ${o('id')}) AND COALESCE(l.others, 0) = 0`,
      `${o('refunded')} = COALESCE(l.refunded, 0)`,
      `((${o('kind')} = 'consume' AND ${settled} = 0 AND ${o('state')} = 'consumed' AND ${o('charged')} = ${o('amount')} AND ${o('expiresAt')} IS NULL) OR ` +
        `(${o('kind')} = 'reserve' AND ${settled} <= 1 AND ${o('charged')} = COALESCE(l.charged, 0) AND ${o('expiresAt')} IS NOT NULL AND ` +
        `CASE WHEN l.commits = 1 THEN ${o('state')} = 'committed' WHEN l.releases = 1 THEN ${o('state')} = 'released' ELSE ${o('state')} IN ('reserved', 'expired') END))`,
      `CASE WHEN ${o('state')} = 'reserved' THEN ${h('ownerId')} = ${o('ownerId')} AND ${h('expiresAt')} = ${o('expiresAt')} ELSE ${h('operationId')} IS NULL END`,
      `p.units = ${o('amount')} AND p.least > 0 AND p.lowest = 0 AND p.highest = p.n - 1 AND p.known = p.n AND p.fitting = p.n`,
      `(p.payers = p.n OR (p.first_cap = p.payers AND p.least_counted = ${o('amount')} AND p.most_counted = ${o('amount')} ` +
        `AND p.first_counted = ${o('createdAt')} AND p.last_counted = ${o('createdAt')}))`,
      `p.one_owner = ${o('ownerId')} AND p.other_owner = ${o('ownerId')}`,
      `(${f('plainQuotaId')} IS NULL OR (${f('caps')} IS NULL AND p.n = 1 AND p.quota_id = ${f('plainQuotaId')} AND p.cycle_seq = ${f('cycleSeq')}))`,
    ]
    const wrong =
      `SELECT ${o('id')} AS id FROM ${operation.readByKey(dialect, 'o')} LEFT JOIN ${act.table} f ON ${f('id')} = ${o('id')} ` +
      `LEFT JOIN ${hold.table} h ON ${h('operationId')} = ${o('id')} LEFT JOIN (${later}) l ON l.id = ${o('id')} LEFT JOIN (${paid}) p ON p.id = ${o('id')} ` +
      `WHERE NOT COALESCE(${right.join(' AND ')}, 1 = 0) AND ${o('id')} > ? AND ${o('id')} <= ?`
    const without = (id: string, from: string): string =>
      `SELECT DISTINCT s.${id} AS id FROM ${from} LEFT JOIN ${operation.table} o ON ${o('id')} = s.${id} ` +
      `WHERE s.${id} > ? AND s.${id} <= ? AND ${o('id')} IS NULL`
    return [
      wrong,
      without(allocation.column('operationId'), allocation.readByKey(dialect, 's')),
      without(hold.column('operationId'), hold.readByKey(dialect, 's')),
      without(ofAct, act.readBy(dialect, ['operationId'], 's')),
    ]
  }

  async examine(transaction: Transaction, ids: readonly Subject[]): Promise<Finding[]> {
    const known = await this.known(transaction, ids)
    return known.flatMap((one) => (one.row === undefined ? this.withoutRow(one) : this.withRow(one, one.row)))
  }

  private async known(transaction: Transaction, ids: readonly Subject[]): Promise<StoredOperation[]> {
    const { operation, allocation, hold, act, quota } = this.store
    const rows = await rowsBy(transaction, operation, operation.inserted, 'id', ids)
    const allocations = await rowsBy(transaction, allocation, allocation.inserted, 'operationId', ids)
    const holds = await rowsBy(transaction, hold, hold.inserted, 'operationId', ids)
    const own = await rowsBy(transaction, act, ACT_PARTS, 'id', ids)
    const others = await rowsBy(transaction, act, ACT_PARTS, 'operationId', ids)
    const acts = new Map([...own, ...others].map((one) => [one.id, one]))
    const quotaIds = [...new Set(allocations.map(({ quotaId }) => quotaId))]
    const quotaOf = await quotasById(transaction, quota, quotaIds)
    const rowOf = new Map(rows.map((row) => [row.id, row]))
    const holdOf = new Map(holds.map((row) => [row.operationId, row]))
    const paid = groupBy(allocations, ({ operationId }) => operationId)
    const actsOf = groupBy([...acts.values()], ({ id, operationId }) => operationId ?? id)
    return ids.map(String).map((id) => {
      const all = actsOf.get(id) ?? []
      const founders = all.filter(({ kind }) => kind === 'consume' || kind === 'reserve')
      return {
        id,
        row: rowOf.get(id),
        allocations: (paid.get(id) ?? []).sort((a, b) => a.position - b.position),
        hold: holdOf.get(id),
        founders,
        later: all.filter(({ kind }) => kind === 'commit' || kind === 'release' || kind === 'refund'),
        plain: founders.map(plainOf).find((entry) => entry !== undefined),
        quotas: quotaOf,
      }
    })
  }

  private withoutRow(known: StoredOperation): Finding[] {
    const { founders, later, plain, allocations, hold } = known
    if (plain === undefined ? founders.length + later.length > 0 : later.length > 0) {
      const refundsAlone = later.every(({ kind }) => kind === 'refund')
      const sure =
        plain !== undefined &&
        founders.length === 1 &&
        refundsAlone &&
        unitsOf(later, 'refund') <= plain.row.amount &&
        (allocations.length === 0 || paidBy(allocations) === paidBy(allocationRows(plain)))
      return [
        finding(known, 'operation_missing', {
          expected: 'an operation row',
          found: `none, and ${acts(founders.length + later.length)} on it`,
          mend: sure ? this.rebuild(known, plain) : undefined,
        }),
      ]
    }
    const findings: Finding[] = []
    if (allocations.length > 0) {
      findings.push(
        finding(known, 'stray', { expected: 'no allocation without an operation', found: paidBy(allocations) }),
      )
    }
    if (hold !== undefined) {
      findings.push(finding(known, 'stray', { expected: 'no hold without an operation', found: holdText(hold) }))
    }
    return findings
  }

  private withRow(known: StoredOperation, row: OperationRow): Finding[] {
    const { founders, later } = known
    const findings: Finding[] = []
    const [founder, ...more] = founders
    if (founder === undefined || more.length > 0) {
      findings.push(
        finding(known, 'operation_act', { expected: 'exactly one act that created it', found: acts(founders.length) }),
      )
    } else if (founder.kind !== row.kind || founder.amount !== row.amount || founder.ownerId !== row.ownerId) {
      const told = (kind: string, amount: number | null, ownerId: number): string =>
        `${kind} of ${String(amount)} by owner ${ownerId}`
      findings.push(
        finding(known, 'operation_act', {
          expected: `${told(founder.kind, founder.amount, founder.ownerId)}, as its act says`,
          found: told(row.kind, row.amount, row.ownerId),
        }),
      )
    }
    const settled = later.filter(({ kind }) => kind !== 'refund')
    if (settled.length > (row.kind === 'consume' ? 0 : 1)) {
      findings.push(
        finding(known, 'settled_once', {
          expected: row.kind === 'consume' ? 'no commit or release of a consume' : 'one commit or release at most',
          found: settled.map(({ kind, id }) => `${kind} ${id}`).join(', '),
        }),
      )
    }
    const should = founders.length === 1 && settled.length <= 1 ? madeOf(row, later) : undefined
    const ofItsAct = findings.length === 0
    findings.push(...this.stateOf(known, row, should, ofItsAct))
    findings.push(...this.allocationsOf(known, row))
    findings.push(
      ...this.holdOf(known, row, should?.state ?? row.state, row.kind === 'consume' || settled.length === 1),
    )
    return findings
  }

  /** @param ofItsAct whether the operation matches the act that created it, regardless of later acts */
  private stateOf(known: StoredOperation, row: OperationRow, should: Made | undefined, ofItsAct: boolean): Finding[] {
    const findings: Finding[] = []
    const is = { state: row.state, charged: row.charged, refunded: row.refunded }
    if (should !== undefined && madeText(should) !== madeText(is)) {
      const { state, charged, refunded } = should
      const mendable = ofItsAct && state !== undefined && refunded <= charged && charged <= row.amount
      findings.push(
        finding(known, 'operation_state', {
          expected: `${madeText(should)}, as its acts say`,
          found: madeText(is),
          mend: mendable ? this.setState(known, { state, charged, refunded }, madeText(is)) : undefined,
        }),
      )
    }
    if ((row.kind === 'reserve') !== (row.expiresAt !== null)) {
      findings.push(
        finding(known, 'operation_state', {
          expected: row.kind === 'reserve' ? 'an expiry' : 'no expiry',
          found: row.expiresAt === null ? 'none' : formatInstant(row.expiresAt),
        }),
      )
    }
    return findings
  }

  private allocationsOf(known: StoredOperation, row: OperationRow): Finding[] {
    const { allocations, plain, quotas } = known
    const findings: Finding[] = []
    const paid = allocations.filter(({ countedAt }) => countedAt === null)
    const sum = paid.reduce((units, { amount }) => units + amount, 0)
    const inOrder = allocations.every(({ position, amount }, place) => position === place && amount > 0)
    const act = plain === undefined ? undefined : paidBy(allocationRows(plain))
    if (plain !== undefined && act !== undefined && (paidBy(allocations) !== act || !inOrder)) {
      findings.push(
        finding(known, 'allocations', {
          expected: `${act}, as its act says`,
          found: paidBy(allocations),
          // If there are other allocations, either the act or they are wrong; neither ever changes.
          mend: allocations.length === 0 ? this.allocateAnew(known, plain) : undefined,
        }),
      )
    } else if (sum !== row.amount || !inOrder) {
      findings.push(
        finding(known, 'allocations', {
          expected: `${row.amount} in positions from 0, each greater than 0`,
          found: `${sum}: ${paidBy(allocations)}`,
        }),
      )
    }
    for (const { quotaId, cycleSeq, countedAt } of allocations) {
      const quota = quotas.get(quotaId)
      const counted = countedAt !== null
      if (quota?.ownerId === row.ownerId && quota.isCap === counted && cycleSeq <= quota.cycleSeq) continue
      findings.push(
        finding(known, 'allocations', {
          expected: `a ${counted ? 'cap' : 'quota that pays'} of owner ${row.ownerId}, in one of its counts`,
          found:
            quota === undefined
              ? `quota ${quotaId}, which does not exist`
              : `${quota.isCap ? 'cap' : 'quota'} ${quotaId} of owner ${quota.ownerId}, cycle ${cycleSeq} of ${quota.cycleSeq}`,
        }),
      )
    }
    const counted = allocations.slice(paid.length)
    if (counted.some(({ amount, countedAt }) => amount !== row.amount || countedAt !== row.createdAt)) {
      findings.push(
        finding(known, 'allocations', {
          expected: `each cap after the quotas that paid, with all ${row.amount} units, counted at ${formatInstant(row.createdAt)}`,
          found: paidBy(allocations),
        }),
      )
    }
    return findings
  }

  /** @param settled whether an act proves that the operation is not open; for expiry there is only the row */
  private holdOf(known: StoredOperation, row: OperationRow, state: OperationState, settled: boolean): Finding[] {
    const { hold } = known
    const { expiresAt } = row
    if (state !== 'reserved') {
      if (hold === undefined) return []
      const mend = settled ? this.removeHold(known, holdText(hold)) : undefined
      return [finding(known, 'hold', { expected: `none, since it is ${state}`, found: holdText(hold), mend })]
    }
    if (expiresAt === null) return []
    const should = { operationId: row.id, ownerId: row.ownerId, expiresAt }
    if (hold !== undefined && holdText(hold) === holdText(should)) return []
    // If they differ, either may be wrong.
    const mend: Mend | undefined =
      hold !== undefined
        ? undefined
        : async (transaction) => {
            await insert(transaction, this.store.hold, [should])
            return mended(known, 'no hold', holdText(should))
          }
    return [
      finding(known, 'hold', {
        expected: holdText(should),
        found: hold === undefined ? 'none' : holdText(hold),
        mend,
      }),
    ]
  }

  private setState(known: StoredOperation, should: Made & { readonly state: OperationState }, was: string): Mend {
    const { operation } = this.store
    return async (transaction) => {
      await transaction.execute(
        `UPDATE ${operation.table} SET ${operation.column('state')} = ?, ${operation.column('charged')} = ?, ${operation.column('refunded')} = ? ` +
          `WHERE ${operation.column('id')} = ?`,
        [should.state, should.charged, should.refunded, known.id],
      )
      return mended(known, was, madeText(should))
    }
  }

  private removeHold(known: StoredOperation, was: string): Mend {
    const { hold } = this.store
    return async (transaction) => {
      await transaction.execute(`DELETE FROM ${hold.table} WHERE ${hold.column('operationId')} = ?`, [known.id])
      return mended(known, was, 'no hold')
    }
  }

  private allocateAnew(known: StoredOperation, plain: OperationEntry): Mend {
    return async (transaction) => {
      const rows = allocationRows(plain)
      await insert(transaction, this.store.allocation, rows)
      return mended({ ...known, plain }, paidBy([]), paidBy(rows))
    }
  }

  /** A refunded consume needs an operation row and allocations; its act and the refunds determine all of them. */
  private rebuild(known: StoredOperation, plain: OperationEntry): Mend {
    return async (transaction) => {
      const refunded = unitsOf(known.later, 'refund')
      const ownerRemaining = (await this.lastRemaining(transaction, known)) ?? plain.row.ownerRemaining
      await insert(transaction, this.store.operation, [{ ...plain.row, refunded, ownerRemaining }])
      if (known.allocations.length === 0) await this.allocateAnew(known, plain)(transaction)
      return mended({ ...known, plain }, 'no row', madeText({ ...plain.row, refunded }))
    }
  }

  /** Returns `owner_remaining` of its last act's answer. */
  private async lastRemaining(transaction: Transaction, { later }: StoredOperation): Promise<number | undefined> {
    const ids = later.map(({ id }) => id).sort()
    const { act } = this.store
    const rows = await transaction.rows(
      `SELECT ${act.column('answer')} AS answer FROM ${act.table} WHERE ${act.column('id')} IN (${placeholders(ids)}) ORDER BY ${act.column('id')} DESC LIMIT 1`,
      ids,
    )
    try {
      const { owner_remaining: left } = JSON.parse(String(rows[0]?.['answer'])) as { owner_remaining?: unknown }
      return typeof left === 'number' ? left : undefined
    } catch {
      return undefined
    }
  }
}

/** The state of an operation by its acts; no state if these leave it open and the row has no open state. */
interface Made {
  readonly state: OperationState | undefined
  readonly charged: number
  readonly refunded: number
}

function madeOf(row: OperationRow, later: readonly KnownAct[]): Made {
  const settling = later.find(({ kind }) => kind === 'commit' || kind === 'release')
  const open = row.state === 'reserved' || row.state === 'expired' ? row.state : undefined
  const settled = settling === undefined ? open : settling.kind === 'commit' ? 'committed' : 'released'
  return {
    state: row.kind === 'consume' ? 'consumed' : settled,
    charged: (row.kind === 'consume' ? row.amount : 0) + unitsOf(later, 'commit'),
    refunded: unitsOf(later, 'refund'),
  }
}

function unitsOf(acts: readonly KnownAct[], wanted: KnownAct['kind']): number {
  return acts.reduce((sum, { kind, amount }) => sum + (kind === wanted ? (amount ?? 0) : 0), 0)
}

/** Returns the operation of a plain consume's act; undefined for other acts, and if a column is missing. */
function plainOf(act: KnownAct): OperationEntry | undefined {
  const { plainQuotaId, cycleSeq, amount, ownerRemaining } = act
  if (plainQuotaId === null || cycleSeq === null || amount === null || ownerRemaining === null) return undefined
  return plainOperation(act)
}

function finding(
  known: StoredOperation,
  rule: Finding['rule'],
  told: { expected: string; found: string; mend?: Mend | undefined },
): Finding {
  const { id, row, founders, hold, allocations, quotas, later } = known
  const ownerId =
    row?.ownerId ??
    founders[0]?.ownerId ??
    hold?.ownerId ??
    allocations.map(({ quotaId }) => quotas.get(quotaId)?.ownerId).find((owner) => owner !== undefined) ??
    later[0]?.ownerId ??
    null
  const { mend, expected, found } = told
  const where = `operation ${id}${ownerId === null ? '' : ` of owner ${ownerId}`}`
  return { rule, subject: id, ownerId, where, expected, found, ...(mend === undefined ? {} : { mend }) }
}

/** Returns one entry for each quota that paid. */
function mended({ id, allocations, plain, quotas }: StoredOperation, before: string, after: string): Mended[] {
  const paid = new Map<number, number>()
  for (const { quotaId } of allocations) {
    const owner = quotas.get(quotaId)?.ownerId
    if (owner !== undefined) paid.set(quotaId, owner)
  }
  for (const { quotaId } of plain?.allocations ?? []) paid.set(quotaId, plain?.row.ownerId ?? 0)
  const told = (text: string): Mended['before'] => ({ mended: `operation ${id}: ${text}` })
  return [...paid].map(([quotaId, ownerId]) => ({ quotaId, ownerId, before: told(before), after: told(after) }))
}

function madeText({ state, charged, refunded }: Made): string {
  return `${state ?? 'reserved or expired'}, charged ${charged}, refunded ${refunded}`
}

function paidBy(allocations: readonly AllocationRow[]): string {
  if (allocations.length === 0) return 'no allocation'
  return allocations
    .map(({ quotaId, cycleSeq, amount, countedAt }) =>
      countedAt === null
        ? `${amount} of quota ${quotaId} in cycle ${cycleSeq}`
        : `${amount} counted by cap ${quotaId} in count ${cycleSeq} from ${formatInstant(countedAt)}`,
    )
    .join(' and ')
}

function holdText({ ownerId, expiresAt }: HoldRow): string {
  return `a hold of owner ${ownerId} until ${formatInstant(expiresAt)}`
}

function acts(count: number): string {
  return count === 1 ? 'one act' : `${count} acts`
}
