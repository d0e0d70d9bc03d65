import { TimeSlice } from '../../common/time-slice.js'
import { AFTER_EVERY_ID, bytesToStore, idFromStore } from '../../database/bytes.js'
import { instantFromStore } from '../../database/column.js'
import { chunks, type Dialect, placeholders, type RawRow } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import type { CapCount } from '../../domain/cap.js'
import type { Allocation } from '../../domain/draw-down.js'
import { capsOf, NO_CAPS } from '../rows/counted-caps.js'
import { groupBy } from '../../common/group-by.js'
import type { LedgerStateRow } from '../rows/ledger-state.entity.js'
import type { QuotaRow } from '../rows/quota.entity.js'
import { OBSERVED, type RefusalRow } from '../rows/refusal.entity.js'
import { ALL_OWNERS, SERIES_STEPS, type UsageTotalRow } from '../rows/usage-total.entity.js'
import { beginningOf } from '../rows/utc-step.js'
import {
  type Charge,
  chargesOf,
  type PaidOperation,
  refundedBefore,
  USAGE_KINDS,
  type UsageAct,
} from '../store/charge.js'
import { decoded, type LedgerStore } from '../store/ledger-store.js'

/** The columns by which plain consumes are grouped. */
const OF_PLAIN = ['plainOwnerId', 'plainQuotaId', 'cycleSeq'] as const

/** The columns of a total, in the order in which they are written. */
const TOTAL_COLUMNS = [
  'ownerId',
  'step',
  'beganAt',
  'quotaId',
  'cycleSeq',
  'charged',
  'refunded',
  'refusals',
  'refused',
] as const satisfies readonly (keyof UsageTotalRow)[]

/** The quota and cycle of totals that belong to none. */
export const NO_QUOTA = { quotaId: 0, cycleSeq: 0 } as const

/** The number of charges, or of sums of plain consumes, that are added to the totals at a time. */
const SUMS_AT_ONCE = 2_000

/** The maximum number of owners in one statement. */
const OWNERS_AT_ONCE = 1_000

/** The state before any upkeep. */
function firstState(): LedgerStateRow {
  return { id: 1, foldedTo: '', beginsAt: null, removedTo: null, holder: null, heldUntil: null }
}

/** The statements of the totals and of their progress. */
export class TotalsStore<Q extends QuotaRow> {
  constructor(private readonly store: LedgerStore<Q>) {}

  /** The progress of upkeep. */
  async state(transaction: Transaction): Promise<LedgerStateRow> {
    return (await this.stored(transaction)) ?? firstState()
  }

  /** The same, locked until the transaction ends; creates a missing row. */
  async lockState(transaction: Transaction): Promise<LedgerStateRow> {
    const found = await this.stored(transaction, transaction.dialect === 'mysql' ? 'FOR UPDATE' : '')
    if (found !== undefined) return found
    const first = firstState()
    for (const { sql, values } of this.store.state.inserts([first], transaction)) await transaction.execute(sql, values)
    return first
  }

  /** Acts up to this id are closed: none of them is written any more. Empty at first. */
  async closedTo(transaction: Transaction): Promise<string> {
    const { sql, values } = this.store.gateRow(transaction.dialect, '')
    const [row] = await transaction.rows(sql, values)
    return row === undefined ? '' : this.store.gate.decode(row).closedTo
  }

  /** Closes acts up to an id when the transaction commits; this waits for batches that are being written. */
  async close(transaction: Transaction, id: string): Promise<void> {
    const { gate } = this.store
    const closedTo = gate.column('closedTo')
    // Sent with COMMIT, so that the lock that all batches need is held only while the server works.
    await transaction.later(
      `UPDATE ${gate.table} SET ${closedTo} = ? WHERE ${gate.column('id')} = 1 AND ${closedTo} < ?`,
      [bytesToStore(id), bytesToStore(id)],
    )
  }

  private async stored(transaction: Transaction, lock = ''): Promise<LedgerStateRow | undefined> {
    const { state } = this.store
    const [row] = await transaction.rows(
      `SELECT ${state.columns} FROM ${state.table} WHERE ${state.column('id')} = 1 ${lock}`,
    )
    return row === undefined ? undefined : state.decode(row)
  }

  /**
   * Adds rows to the totals.
   * @param rows one for each key
   */
  async add(transaction: Transaction, rows: readonly UsageTotalRow[]): Promise<void> {
    const { usageTotal } = this.store
    const conflict = addition(transaction.dialect, (property) => usageTotal.column(property))
    // Sent at once: together, the statements of a step would be formatted in one turn of the event loop.
    for (const { sql, values } of usageTotal.inserts(rows, transaction))
      await transaction.execute(`${sql} ${conflict}`, values)
  }

  /**
   * The charges of these owners' acts that are not in the totals yet. Plain consumes, which may be many, are summed by
   * hour. They are read last, as the statements may see different states: no refund is without its charge.
   * @param ownerIds either ALL_OWNERS alone, or others
   */
  async rest(transaction: Transaction, foldedTo: string, ownerIds: readonly number[]): Promise<Charge[]> {
    if (ownerIds[0] === ALL_OWNERS) {
      const acts = await this.othersBetween(transaction, foldedTo, AFTER_EVERY_ID)
      const plain = await this.plainOfAll(transaction, foldedTo, AFTER_EVERY_ID)
      return [...plain, ...(await this.charges(transaction, acts)).filter(({ ownerId }) => ownerId === ALL_OWNERS)]
    }
    const { act } = this.store
    const column = (
      property: 'id' | 'kind' | 'ownerId' | 'amount' | 'at' | 'caps' | (typeof OF_PLAIN)[number],
    ): string => act.column(property)
    // Of a group: the acts of all its members, present and past ones.
    const ofGroups = ownerIds.some((ownerId) => ownerId < 0)
    const everybody = ofGroups || ownerIds.length > OWNERS_AT_ONCE
    const whose = everybody ? '' : `AND ${column('ownerId')} IN (${placeholders(ownerIds)}) `
    const others = await transaction.rows(
      `SELECT ${act.columns} FROM ${act.readByKey(transaction.dialect)} WHERE ${column('id')} > ? AND ${column('plainOwnerId')} IS NULL ` +
        `${whose}AND ${column('kind')} IN (${placeholders(USAGE_KINDS)})`,
      [bytesToStore(foldedTo), ...(everybody ? [] : ownerIds), ...USAGE_KINDS],
    )
    const sums = ofGroups ? await this.plainOfGroups(transaction, foldedTo, AFTER_EVERY_ID) : []
    const slice = new TimeSlice()
    for (const some of chunks(ofGroups ? [] : ownerIds, OWNERS_AT_ONCE)) {
      if (slice.spent) await slice.next()
      const found = await transaction.rows(
        `SELECT ${column('plainOwnerId')} AS owner_id, ${column('plainQuotaId')} AS quota_id, ${column('cycleSeq')} AS cycle_seq, ` +
          `${column('caps')} AS caps, SUBSTR(${column('at')}, 1, 13) AS hour, SUM(${column('amount')}) AS charged ` +
          `FROM ${act.readBy(transaction.dialect, ['plainOwnerId', 'id'])} WHERE ${column('plainOwnerId')} IN (${placeholders(some)}) ` +
          `AND ${column('id')} > ? GROUP BY ${OF_PLAIN.map(column).join(', ')}, ${column('caps')}, SUBSTR(${column('at')}, 1, 13)`,
        [...some, bytesToStore(foldedTo)],
      )
      for (const row of found) sums.push(row)
    }
    const plain = sums.flatMap((row) => [...chargedByQuota(row), ...chargedByCaps(row)])
    const wanted = new Set(ownerIds)
    const acts = await decoded(act, others)
    return [...(await this.withGroups(transaction, plain)), ...(await this.charges(transaction, acts))].filter(
      ({ ownerId }) => wanted.has(ownerId),
    )
  }

  /**
   * Plain consumes in a range of ids, summed by the hour, the group's quota that paid, and the caps that counted them;
   * without those that neither a group's quota nor a cap knows of. If none of a group's paid, `quota_id` is null.
   */
  private async plainOfGroups(transaction: Transaction, after: string, last: string): Promise<RawRow[]> {
    const { act, quota } = this.store
    const { dialect } = transaction
    const p = (property: 'id' | 'at' | 'plainOwnerId' | 'plainQuotaId' | 'cycleSeq' | 'caps' | 'amount'): string =>
      `p.${act.column(property)}`
    const payer = `q.${quota.column('id')}`
    const cycleSeq = `CASE WHEN ${payer} IS NOT NULL THEN ${p('cycleSeq')} END`
    const hour = `SUBSTR(${p('at')}, 1, 13)`
    return transaction.rows(
      `SELECT 0 AS owner_id, ${payer} AS quota_id, ${cycleSeq} AS cycle_seq, ${p('caps')} AS caps, ${hour} AS hour, SUM(${p('amount')}) AS charged ` +
        `FROM ${act.readByKey(dialect, 'p')} LEFT JOIN ${quota.readByKey(dialect, 'q')} ON ${payer} = ${p('plainQuotaId')} AND q.${quota.column('ownerId')} < 0 ` +
        `WHERE ${p('id')} > ? AND ${p('id')} <= ? AND ${p('plainOwnerId')} IS NOT NULL AND (${payer} IS NOT NULL OR ${p('caps')} IS NOT NULL) ` +
        `GROUP BY ${payer}, ${cycleSeq}, ${p('caps')}, ${hour}`,
      [bytesToStore(after), bytesToStore(last)],
    )
  }

  /** Plain consumes in a range of ids, summed by the hour, as charges of the whole channel. */
  private async plainOfAll(transaction: Transaction, after: string, last: string): Promise<Charge[]> {
    const { act } = this.store
    const id = act.column('id')
    const hour = `SUBSTR(${act.column('at')}, 1, 13)`
    const rows = await transaction.rows(
      `SELECT ${ALL_OWNERS} AS owner_id, ${hour} AS hour, SUM(${act.column('amount')}) AS charged FROM ${act.readByKey(transaction.dialect)} ` +
        `WHERE ${id} > ? AND ${id} <= ? AND ${act.column('plainOwnerId')} IS NOT NULL GROUP BY ${hour}`,
      [bytesToStore(after), bytesToStore(last)],
    )
    return rows.map((row) => chargeOf(row, NO_QUOTA, false))
  }

  /** The id of the latest act, or of the latest one up to an id; undefined if there is none. */
  async newestAct(transaction: Transaction, until?: string): Promise<string | undefined> {
    const { act } = this.store
    const id = act.column('id')
    const [row] = await transaction.rows(
      `SELECT ${id} AS id FROM ${act.readByKey(transaction.dialect)} ${until === undefined ? '' : `WHERE ${id} <= ?`} ORDER BY ${id} DESC LIMIT 1`,
      until === undefined ? [] : [bytesToStore(until)],
    )
    return row === undefined ? undefined : idFromStore(row['id'])
  }

  /** The id of the act at position `n` in the range after one id and up to another; undefined if there are fewer. */
  async nthAct(transaction: Transaction, after: string, until: string, n: number): Promise<string | undefined> {
    const { act } = this.store
    const id = act.column('id')
    const [row] = await transaction.rows(
      `SELECT ${id} AS id FROM ${act.readByKey(transaction.dialect)} WHERE ${id} > ? AND ${id} <= ? ORDER BY ${id} LIMIT 1 OFFSET ${n - 1}`,
      [bytesToStore(after), bytesToStore(until)],
    )
    return row === undefined ? undefined : idFromStore(row['id'])
  }

  /**
   * Adds the plain consumes in a range of ids to the totals; the store computes the sums.
   * @param after exclusive
   * @param last inclusive
   */
  async addPlain(transaction: Transaction, after: string, last: string): Promise<void> {
    const { act, usageTotal } = this.store
    const { dialect } = transaction
    const [id, at] = [act.column('id'), act.column('at')]
    const whose = OF_PLAIN.map((property) => act.column(property))
    const [ownerId, quotaId, cycleSeq] = whose
    const into = TOTAL_COLUMNS.map((property) => usageTotal.column(property)).join(', ')
    const conflict = addition(dialect, (property) => usageTotal.column(property))
    for (const step of SERIES_STEPS) {
      const [length, rest] = step === 'hour' ? [13, ':00:00.000'] : [10, ' 00:00:00.000']
      const prefix = `SUBSTR(${at}, 1, ${length})`
      const beganAt = dialect === 'mysql' ? `CONCAT(${prefix}, '${rest}')` : `${prefix} || '${rest}'`
      await transaction.later(
        `INSERT INTO ${usageTotal.table} (${into}) ` +
          `SELECT ${ownerId}, '${step}', ${beganAt}, ${quotaId}, ${cycleSeq}, SUM(${act.column('amount')}), 0, 0, 0 ` +
          `FROM ${act.readByKey(dialect)} WHERE ${id} > ? AND ${id} <= ? AND ${ownerId} IS NOT NULL ` +
          `GROUP BY ${whose.join(', ')}, ${beganAt} ${conflict}`,
        [bytesToStore(after), bytesToStore(last)],
      )
    }
    await this.add(transaction, summed(await this.plainOfAll(transaction, after, last)))
    await this.addCaps(transaction, after, last)
    await this.addGroupPayers(transaction, after, last)
  }

  /** The same for the quotas of groups that paid them. */
  private async addGroupPayers(transaction: Transaction, after: string, last: string): Promise<void> {
    const { group } = this.store
    const some = await transaction.rows(`SELECT 1 AS one FROM ${group.table} LIMIT 1`)
    if (some.length === 0) return
    const rows = await this.plainOfGroups(transaction, after, last)
    await this.addSums(transaction, rows, async (part) =>
      // Those of the owners are added already.
      (await this.withGroups(transaction, part.flatMap(chargedByQuota))).filter(({ ownerId }) => ownerId < 0),
    )
  }

  /** The same for the caps that counted them: they are in a text column, which SQL cannot split. */
  private async addCaps(transaction: Transaction, after: string, last: string): Promise<void> {
    const { act } = this.store
    const [id, ownerId, caps] = [act.column('id'), act.column('plainOwnerId'), act.column('caps')]
    const hour = `SUBSTR(${act.column('at')}, 1, 13)`
    const rows = await transaction.rows(
      `SELECT ${ownerId} AS owner_id, ${caps} AS caps, ${hour} AS hour, SUM(${act.column('amount')}) AS charged ` +
        `FROM ${act.readByKey(transaction.dialect)} WHERE ${id} > ? AND ${id} <= ? AND ${caps} IS NOT NULL ` +
        `GROUP BY ${ownerId}, ${caps}, ${hour}`,
      [bytesToStore(after), bytesToStore(last)],
    )
    await this.addSums(transaction, rows, async (part) => this.withGroups(transaction, part.flatMap(chargedByCaps)))
  }

  /** Adds charges to the totals, some at a time, so that no statement is large. */
  async addCharges(transaction: Transaction, charges: readonly Charge[]): Promise<void> {
    await this.addSums(transaction, charges, async (part) => part)
  }

  private async addSums<T>(
    transaction: Transaction,
    rows: readonly T[],
    charges: (part: readonly T[]) => Promise<readonly Charge[]>,
  ): Promise<void> {
    const slice = new TimeSlice()
    for (const part of chunks(rows, SUMS_AT_ONCE)) {
      if (slice.spent) await slice.next()
      await this.add(transaction, summed(await charges(part)))
    }
  }

  /** The acts in a range of ids that charged or refunded units and are not plain consumes. */
  async othersBetween(transaction: Transaction, after: string, last: string): Promise<UsageAct[]> {
    const { act } = this.store
    const id = act.column('id')
    const rows = await transaction.rows(
      `SELECT ${act.columns} FROM ${act.readByKey(transaction.dialect)} WHERE ${id} > ? AND ${id} <= ? ` +
        `AND ${act.column('plainOwnerId')} IS NULL AND ${act.column('kind')} IN (${placeholders(USAGE_KINDS)})`,
      [bytesToStore(after), bytesToStore(last), ...USAGE_KINDS],
    )
    return decoded(act, rows)
  }

  /**
   * The charges of acts, according to their operations: of each operation, all of its refunds from one id on. A charge
   * to a group's quota is one of the group; if the quota paid it, it is one of the operation's owner, too. What was
   * paid is also a charge of the whole channel.
   * @param areAll are refunds given from the first one on? What an operation says of earlier ones is not read then
   */
  async charges(transaction: Transaction, acts: readonly UsageAct[], areAll = false): Promise<Charge[]> {
    const operations = await this.operationsOf(transaction, acts, areAll)
    const slice = new TimeSlice()
    const charges: Charge[] = []
    for (const act of acts) {
      if (slice.spent) await slice.next()
      charges.push(...chargesOf(act, operations.get(act.operationId ?? '')))
    }
    const ofAll = charges.filter(({ byCap }) => !byCap).map((paid) => ({ ...paid, ...NO_QUOTA, ownerId: ALL_OWNERS }))
    return [...(await this.withGroups(transaction, charges)), ...ofAll]
  }

  private async withGroups(transaction: Transaction, charges: readonly Charge[]): Promise<Charge[]> {
    const groups = await this.store.groupsOfQuotas(transaction, [...new Set(charges.map(({ quotaId }) => quotaId))])
    if (groups.size === 0) return [...charges]
    return charges.flatMap((charge) => {
      const ownerId = groups.get(charge.quotaId)
      if (ownerId === undefined) return [charge]
      return charge.byCap ? [{ ...charge, ownerId }] : [charge, { ...charge, ownerId }]
    })
  }

  /** The usage of these owners' quotas according to the totals, by quota and cycle. */
  async used(transaction: Transaction, ownerIds: readonly number[]): Promise<Allocation[]> {
    const { usageTotal } = this.store
    const [quotaId, cycleSeq] = [usageTotal.column('quotaId'), usageTotal.column('cycleSeq')]
    const rows = await transaction.rows(
      `SELECT ${quotaId} AS quota_id, ${cycleSeq} AS cycle_seq, SUM(${usageTotal.column('charged')} - ${usageTotal.column('refunded')}) AS used ` +
        `FROM ${usageTotal.readByKey(transaction.dialect)} WHERE ${usageTotal.column('ownerId')} IN (${placeholders(ownerIds)}) ` +
        `AND ${usageTotal.column('step')} = 'day' AND ${quotaId} > 0 GROUP BY ${quotaId}, ${cycleSeq}`,
      ownerIds,
    )
    return rows.map((row) => ({
      quotaId: Number(row['quota_id']),
      cycleSeq: Number(row['cycle_seq']),
      amount: Number(row['used']),
    }))
  }

  private async operationsOf(
    transaction: Transaction,
    acts: readonly UsageAct[],
    areAll: boolean,
  ): Promise<ReadonlyMap<string, PaidOperation>> {
    const ids = new Set<string>()
    let first = AFTER_EVERY_ID
    for (const { id, operationId } of acts) {
      if (operationId !== null) ids.add(operationId)
      if (id < first) first = id
    }
    if (ids.size === 0) return new Map()
    const refunds = groupBy(
      acts.filter(({ kind }) => kind === 'refund'),
      ({ operationId }) => operationId,
    )
    const entries = await this.store.operationsById(transaction, [...ids])
    const refunded = areAll ? [] : entries.flatMap(({ row }) => (refunds.has(row.id) ? [row.id] : []))
    const earlier = await this.store.refundedBefore(transaction, refunded, first)
    return new Map(
      entries.map(({ row, allocations, caps = NO_CAPS }) => [
        row.id,
        {
          allocations,
          caps,
          charged: row.charged,
          refundedBefore: refundedBefore(refunds.get(row.id) ?? [], earlier.get(row.id)),
        },
      ]),
    )
  }
}

/** A sum of plain consumes within an hour, as a charge to one quota. */
function chargeOf(row: RawRow, { quotaId, cycleSeq }: CapCount, byCap: boolean): Charge {
  return {
    ownerId: Number(row['owner_id']),
    quotaId,
    cycleSeq,
    at: instantFromStore(`${String(row['hour'])}:00`),
    charged: Number(row['charged']),
    refunded: 0,
    byCap,
  }
}

/** The charge to the quota that paid them, if it is known. */
function chargedByQuota(row: RawRow): Charge[] {
  if (row['quota_id'] === null) return []
  return [chargeOf(row, { quotaId: Number(row['quota_id']), cycleSeq: Number(row['cycle_seq']) }, false)]
}

/** The same, for each of the caps that counted them. */
function chargedByCaps(row: RawRow): Charge[] {
  return capsOf(row['caps'] as string | null).map((count) => chargeOf(row, count, true))
}

/** Sums charges by hour and by day, in the order of the table. */
export function summed(charges: readonly Charge[]): UsageTotalRow[] {
  const rows = new Map<string, UsageTotalRow>()
  for (const { ownerId, quotaId, cycleSeq, at, charged, refunded } of charges) {
    for (const step of SERIES_STEPS) {
      const beganAt = beginningOf(step, at)
      const name = `${ownerId} ${step} ${beganAt} ${quotaId} ${cycleSeq}`
      const known = rows.get(name)
      if (known === undefined) {
        rows.set(name, { ownerId, step, beganAt, quotaId, cycleSeq, charged, refunded, refusals: 0, refused: 0 })
      } else {
        known.charged += charged
        known.refunded += refunded
      }
    }
  }
  return [...rows.values()].sort(
    (a, b) =>
      a.ownerId - b.ownerId ||
      (a.step < b.step ? -1 : a.step > b.step ? 1 : 0) ||
      a.beganAt - b.beganAt ||
      a.quotaId - b.quotaId ||
      a.cycleSeq - b.cycleSeq,
  )
}

/**
 * Sums refusals by day, in the order of the table; their hours remain until their own retention ends. Excludes consumes
 * that succeeded although an `observe` cap would have refused them.
 */
export function refusalTotals(rows: readonly RefusalRow[]): UsageTotalRow[] {
  const totals = new Map<string, UsageTotalRow>()
  for (const { ownerId, hour, code, count, requested } of rows) {
    if (code === OBSERVED) continue
    const beganAt = beginningOf('day', hour)
    const name = `${ownerId} ${beganAt}`
    const known = totals.get(name)
    if (known === undefined) {
      const none = { ...NO_QUOTA, charged: 0, refunded: 0 }
      totals.set(name, { ownerId, step: 'day', beganAt, ...none, refusals: count, refused: requested })
    } else {
      known.refusals += count
      known.refused = Math.min(known.refused + requested, Number.MAX_SAFE_INTEGER)
    }
  }
  return [...totals.values()].sort((a, b) => a.ownerId - b.ownerId || a.beganAt - b.beganAt)
}

/** The largest sum of a step, 2^62: a sum that does not fit into its column would end all upkeep. */
const LARGEST_SUM = '4611686018427387904'

/** The clause that adds a total to an existing row. */
function addition(dialect: Dialect, column: (property: keyof UsageTotalRow) => string): string {
  const sums = (['charged', 'refunded', 'refusals', 'refused'] as const).map((property) => {
    const name = column(property)
    const [least, more] = dialect === 'mysql' ? ['LEAST', `VALUES(${name})`] : ['MIN', `excluded.${name}`]
    return `${name} = ${least}(${name} + ${more}, ${LARGEST_SUM})`
  })
  const key = (['ownerId', 'step', 'beganAt', 'quotaId', 'cycleSeq'] as const).map(column).join(', ')
  return dialect === 'mysql'
    ? `ON DUPLICATE KEY UPDATE ${sums.join(', ')}`
    : `ON CONFLICT (${key}) DO UPDATE SET ${sums.join(', ')}`
}
