import type { RowCodec, Scalar } from '../database/row-codec.js'
import { placeholders } from '../database/row-codec.js'
import type { Transaction } from '../database/unit-of-work.js'

/** What may be wrong with rows, as docs/operations.md tells it. */
export const RULES = [
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
  /** Absent where nothing says what would be right. */
  readonly mend?: Mend
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
  /** Subjects of a page at most; a page with fewer is the last. */
  readonly size: number
  /** The next subjects, in order. */
  next(transaction: Transaction, after: Subject | undefined): Promise<Subject[]>
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
}
