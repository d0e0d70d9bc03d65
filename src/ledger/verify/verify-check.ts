import { placeholders, type RowCodec, type Scalar } from '../../database/row-codec.js'
import type { Transaction } from '../../database/unit-of-work.js'
import type { QuotaRow } from '../rows/quota.entity.js'

/** What may be wrong with rows, as docs/operations.md tells it. */
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

/** What a check looks at: the id of an operation or an act, of an owner, of a change. */
export type Subject = string | number

/** What was mended of a quota, for its changes: members and values as a change shows them. */
export interface Mended {
  readonly quotaId: number
  readonly ownerId: number
  readonly before: Readonly<Record<string, string | number | null>>
  readonly after: Readonly<Record<string, string | number | null>>
}

/** Writes what can be derived. Runs under the owner's lock, on what was read under it. */
export type Mend = (transaction: Transaction) => Promise<readonly Mended[]>

/** Something in the rows that an invariant forbids; or a note, of what is legal and worth knowing. */
export interface Finding {
  readonly rule: Rule
  readonly subject: Subject
  /** Whose lock guards these rows; null where they say nobody's. */
  readonly ownerId: number | null
  /** Which rows, in words: `quota 17 of owner 5`. */
  readonly where: string
  readonly expected: string
  readonly found: string
  readonly note?: true
  /** Writes what other rows leave no doubt about; absent where they do. */
  readonly mend?: Mend
  /**
   * What is written instead where there is no `mend`, or the owner's ledger has contradictions of its own: counters
   * that are lower than what the rows add up to are raised to it. The finding stays.
   */
  readonly raise?: Mend | undefined
}

/** A page of rows. */
export interface Stretch {
  /** How many subjects it has. */
  readonly count: number
  /** Where the next page begins; undefined: there is none. */
  readonly last: Subject | undefined
  /** Those of them that must be examined. The store has seen itself that the others are right. */
  readonly suspects: readonly Subject[]
}

/**
 * One way to look at all rows of a channel, from page to page. It sees one moment and locks nothing, or looks once more
 * at what an owner's lock guards.
 */
export interface Check {
  /** What it looks at, for the closing line: `operations`. */
  readonly what: string
  /** What it may find. */
  readonly rules: readonly Rule[]
  /** Subjects that are examined at a time, at most. */
  readonly size: number
  /** The next page, in the order of subjects. */
  next(transaction: Transaction, after: Subject | undefined): Promise<Stretch>
  examine(transaction: Transaction, subjects: readonly Subject[]): Promise<Finding[]>
}

/** Rows of some columns, by the values of one. */
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

/** The next ids of a table, or of an index over ids. */
export function idsAfter<T extends object>(
  codec: RowCodec<T>,
  from: string,
  property: keyof T & string,
  limit: number,
): string {
  const id = codec.column(property)
  return `SELECT DISTINCT ${id} AS id FROM ${from} WHERE ${id} > ? ORDER BY ${id} LIMIT ${limit}`
}

/** A page of which everything is examined. */
export function examined(subjects: readonly Subject[], size: number): Stretch {
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

/** A quota as far as others refer to it. */
export interface KnownQuota {
  readonly ownerId: number
  readonly cycleSeq: number
  readonly isCap: boolean
}

/** Quotas as others refer to them. */
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
    // Damaged rows may name anything.
    ids.filter(Number.isSafeInteger),
  )
  return new Map(rows.map(({ id, ownerId, cycleSeq, cap }) => [id, { ownerId, cycleSeq, isCap: cap !== null }]))
}
