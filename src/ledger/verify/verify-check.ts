import { placeholders, type RowCodec, type Scalar } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'
import type { QuotaRow } from '../rows/quota.entity.js'

/** The rules that rows can violate; docs/operations.md explains them. */
export const RULES = [
  'watermark',
  'counters',
  'totals',
  'hold_due',
  'owner_row',
  'version',
  'settings',
  'overdrawn',
  'operation_act',
  'operation_missing',
  'operation_state',
  'settled_once',
  'allocations',
  'hold',
  'stray',
  'act',
  'plain_consume',
  'key',
  'key_index',
  'change',
] as const
export type Rule = (typeof RULES)[number]

/** The id of an examined operation, act, owner or change. */
export type Subject = string | number

/** A repair of a quota, for its change record: members and values before and after. */
export interface Mended {
  readonly quotaId: number
  readonly ownerId: number
  readonly before: Readonly<Record<string, string | number | null>>
  readonly after: Readonly<Record<string, string | number | null>>
}

/** Writes the derived values. Runs under the owner's lock, on rows that were read under it. */
export type Mend = (transaction: Transaction) => Promise<readonly Mended[]>

/** A violation of an invariant by rows; or a note about a legal but notable state. */
export interface Finding {
  readonly rule: Rule
  readonly subject: Subject
  /** The owner whose lock guards these rows; null if the rows do not determine it. */
  readonly ownerId: number | null
  /** The rows, in words: `quota 17 of owner 5`. */
  readonly where: string
  readonly expected: string
  readonly found: string
  readonly note?: true
  /** Repairs the rows; absent if other rows do not determine the right values. */
  readonly mend?: Mend
  /**
   * Runs instead of `mend` if that is absent, or if the owner's ledger itself has contradictions: raises counters that
   * are lower than the sum of the rows to that sum. The finding remains.
   */
  readonly raise?: Mend | undefined
}

/** A page of rows. */
export interface CheckPage {
  /** The number of subjects on the page. */
  readonly count: number
  /** The last subject, after which the next page begins; undefined on the last page. */
  readonly last: Subject | undefined
  /** The subjects that must be examined. The store's own query has found no mistake in the others. */
  readonly suspects: readonly Subject[]
}

/**
 * A check of all rows of a channel, page by page. It reads one snapshot and locks nothing, or reads the rows of one
 * owner again under that owner's lock.
 */
export interface Check {
  /** The name of its subjects, for the summary: `operations`. */
  readonly what: string
  /** The rules that it checks. */
  readonly rules: readonly Rule[]
  /** The maximum number of subjects examined at a time. */
  readonly size: number
  /** Returns the next page, in the order of subjects. */
  next(transaction: Transaction, after: Subject | undefined): Promise<CheckPage>
  examine(transaction: Transaction, subjects: readonly Subject[]): Promise<Finding[]>
}

/** Reads some columns of the rows whose column `by` has one of the values. */
export async function rowsBy<T extends object, K extends keyof T & string>(
  transaction: Transaction,
  codec: RowCodec<T>,
  properties: readonly K[],
  by: keyof T & string,
  values: readonly Scalar[],
): Promise<Pick<T, K>[]> {
  if (values.length === 0) return []
  const part = codec.part(properties)
  const rows = await transaction.rows(
    `SELECT ${part.columns} FROM ${codec.table} WHERE ${codec.column(by)} IN (${placeholders(values)})`,
    values,
  )
  return rows.map((row) => part.decode(row))
}

/** Returns a query for the next ids of a table or an index. */
export function idsAfter<T extends object>(
  codec: RowCodec<T>,
  from: string,
  property: keyof T & string,
  limit: number,
): string {
  const id = codec.column(property)
  return `SELECT DISTINCT ${id} AS id FROM ${from} WHERE ${id} > ? ORDER BY ${id} LIMIT ${limit}`
}

/** Returns a page whose subjects are all examined. */
export function examined(subjects: readonly Subject[], size: number): CheckPage {
  return { count: subjects.length, last: subjects.length < size ? undefined : subjects.at(-1), suspects: subjects }
}

/** Inserts rows of an entity. */
export async function insert<T extends object>(
  transaction: Transaction,
  codec: RowCodec<T>,
  rows: readonly Partial<T>[],
): Promise<void> {
  for (const { sql, values } of codec.inserts(rows)) await transaction.execute(sql, values)
}

/** The members of a quota that other rows refer to. */
export interface KnownQuota {
  readonly ownerId: number
  readonly cycleSeq: number
  readonly isCap: boolean
}

/** Reads the members of quotas that other rows refer to. */
export async function quotasById<Q extends QuotaRow>(
  transaction: Transaction,
  codec: RowCodec<Q>,
  ids: readonly number[],
): Promise<ReadonlyMap<number, KnownQuota>> {
  const rows = await rowsBy<QuotaRow, 'id' | 'ownerId' | 'cycleSeq' | 'cap'>(
    transaction,
    codec as unknown as RowCodec<QuotaRow>,
    ['id', 'ownerId', 'cycleSeq', 'cap'],
    'id',
    // Damaged rows may contain any value.
    ids.filter(Number.isSafeInteger),
  )
  return new Map(rows.map(({ id, ownerId, cycleSeq, cap }) => [id, { ownerId, cycleSeq, isCap: cap !== null }]))
}
