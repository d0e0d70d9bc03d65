import { idFromStore } from '../../database/bytes.js'
import { placeholders, type RawRow, type RowCodec, type Scalar } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'

/** The rules that rows can violate; docs/run/verify-and-metrics.md says what each means and what to do. */
export const RULES = [
  'counters',
  'totals',
  'hold_due',
  'owner_row',
  'watermark',
  'version',
  'settings',
  'overdrawn',
  'passed',
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
  'event',
] as const
export type Rule = (typeof RULES)[number]

/** The place of an examined row within its table: its id, an owner, or a position. */
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
  /** The owner whose lock guards these rows; null if the rows do not determine it. */
  readonly ownerId: number | null
  /** The rows, in words: `quota 17 of owner 5`. */
  readonly where: string
  readonly expected: string
  readonly found: string
  /** SQL that shows the rows. */
  readonly show: string
  readonly note?: true
  /** Repairs the rows; absent if other rows do not determine the right values, or nobody meets the damage. */
  readonly mend?: Mend
  /** Does the finding remain after `mend`? Counters are raised to what the rows prove, which may be too little. */
  readonly remains?: boolean
}

/** A page of rows. */
export interface Page {
  /** The number of rows. */
  readonly count: number
  /** The last row, after which the next page begins; undefined on the last page. */
  readonly last: Subject | undefined
  readonly findings: readonly Finding[]
}

/** A check of all rows of one kind in a channel. It reads page by page, each in one snapshot, and locks nothing. */
export interface Check {
  /** The name of the rows, for the summary: `operations`. */
  readonly what: string
  page(transaction: Transaction, after: Subject | undefined): Promise<Page>
}

/** A condition in SQL that right rows fulfil. */
export interface Condition {
  readonly rule: Rule
  readonly right: string
  readonly expected: string
}

/** The condition that a row violates one of these; unknown counts as a violation. */
export function anyViolated(conditions: readonly Condition[]): string {
  return `NOT COALESCE(${conditions.map(({ right }) => `(${right})`).join(' AND ')}, FALSE)`
}

/** Columns for a SELECT: expressions by name, and which conditions a row violates (`violated`). */
export function columns(expressions: Readonly<Record<string, string>>, conditions: readonly Condition[]): string {
  return [
    ...Object.entries(expressions).map(([name, expression]) => `${expression} AS ${name}`),
    ...conditions.map((one, n) => `${anyViolated([one])} AS wrong${n}`),
  ].join(', ')
}

/** The findings of a row selected by `columns`: all of its columns are shown. */
export function violated(
  conditions: readonly Condition[],
  row: RawRow,
  about: Pick<Finding, 'ownerId' | 'where' | 'show'>,
): Finding[] {
  const found = Object.entries(row)
    .filter(([name, value]) => value !== null && !name.startsWith('wrong'))
    .map(
      ([name, value]) => `${name} ${typeof value === 'object' ? idFromStore(value) : String(value as string | number)}`,
    )
    .join(', ')
  return conditions
    .filter((_, n) => Number(row[`wrong${n}`]) === 1)
    .map(({ rule, expected }) => ({ rule, ...about, expected, found }))
}

/** A column with an id that may be missing. */
export function idOf(value: unknown): number | null {
  return value === null ? null : Number(value)
}

/** Returns a function that names the columns of a table by its alias. */
export function columnsOf<T extends object>(codec: RowCodec<T>, alias: string): (property: keyof T & string) => string {
  return (property) => `${alias}.${codec.column(property)}`
}

/** A list of texts of this service, for SQL. */
export function list(texts: readonly string[]): string {
  return texts.map((one) => `'${one}'`).join(', ')
}

/** A value in the text of a statement. */
export function literal(value: Scalar): string {
  if (Buffer.isBuffer(value)) return `X'${value.toString('hex')}'`
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
}

/** A statement for people that shows rows. */
export function showing<T extends object>(codec: RowCodec<T>, property: keyof T & string, value: unknown): string {
  return `SELECT * FROM ${codec.table} WHERE ${codec.column(property)} = ${literal(codec.bind(property, value))};`.replaceAll(
    '`',
    '',
  )
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
