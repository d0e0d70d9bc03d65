import { BEFORE_EVERY_ID, bytesFromStore, bytesToStore, idFromStore } from '../../database/bytes.js'
import type { Dialect, RawRow, RowCodec, Scalar } from '../../database/row-codec.js'
import type { Transaction } from '../../database/transaction-runner.js'

const COPIES = 'two copies, of which one was changed: make it equal to the other'

/**
 * The rules that rows can violate, with what to do; docs/run/verify-and-metrics.md says what each means, and more of
 * what to do.
 */
export const RULES = {
  counters: '--repair raises both, and never lowers them',
  totals:
    '--repair rebuilds hours and days since `begins_at`, unless members and groups differ, or totals and counter both ' +
    'show more than the acts',
  hold_due: '--repair',
  owner_row:
    '--repair or the next write creates it, and ends all links; add the owner to its group again (see changes `members`)',
  watermark: 'stop all instances, correct the clock, run the printed UPDATE, start, --repair',
  version: 'look for a missing change, or for who wrote to the quota',
  settings: 'find out what wrote to the quota, then set the expected value',
  overdrawn: 'compare with the answers of the latest acts',
  passed: 'set `passed` to the expected value',
  operation_act: COPIES,
  operation_missing: 'restore the missing rows from a backup',
  operation_state: 'acts never change: set the operation to what they say',
  settled_once: COPIES,
  allocations: COPIES,
  hold: 'open and missing: insert it with owner and end of the operation. Settled by an act: delete it',
  stray: 'look for the operation in a backup. If it never existed, delete the row',
  act: COPIES,
  plain_consume: COPIES,
  key: 'if no other act has the key: set it. Otherwise the key took effect twice; refund one',
  key_index: 'create it again, as soon as no key has several acts',
  change: 'compare with the act of its `request_id`',
  event: 'events cannot be made again: tell whoever reads them',
} as const
export type Rule = keyof typeof RULES

/** The place of an examined row within its table: its id, an owner, or a position. */
export type Subject = string | number

/** A repair of a quota, for its change record: members and values before and after. */
export interface Mended {
  readonly quotaId: number
  readonly before: Readonly<Record<string, string | number | null>>
  readonly after: Readonly<Record<string, string | number | null>>
}

/** Writes the derived values. Runs under the owner's lock, on rows that were read under it. */
export type Mend = (transaction: Transaction) => Promise<readonly Mended[]>

/** The rows of a finding. */
export interface About {
  /** The owner whose lock guards these rows; null if the rows do not determine it. */
  readonly ownerId: number | null
  /** The rows, in words: `quota 17 of owner 5`. */
  readonly where: string
  /** SQL that shows the rows. */
  readonly show: string
}

/** A violation of an invariant by rows; or a note about a legal but notable state. */
export interface Finding extends About {
  readonly rule: Rule
  readonly expected: string
  readonly found: string
  readonly note?: true
  /** Repairs the rows; absent if other rows do not determine the right values, or nobody meets the damage. */
  readonly mend?: Mend
  /** Does the finding remain after `mend`? Counters are raised to what the rows prove, which may be too little. */
  readonly remains?: boolean
}

/** A page of rows. */
export interface Page {
  /** The name of the rows: `operations`. */
  readonly what: string
  /** The number of rows. */
  readonly count: number
  /** The last row, after which the next page begins; undefined on the last page. */
  readonly last?: Subject | undefined
  readonly findings: readonly Finding[]
}

/** A place in a pass: among the rows of a name, after one of them, or behind all of them. */
export interface Place {
  readonly what: string
  readonly after: Subject | undefined
  readonly behind?: true
}

/** A page could not be read. */
export class PageFailure extends Error {
  constructor(
    readonly place: Place,
    cause: unknown,
  ) {
    const { what, after } = place
    super(`${what}${after === undefined ? '' : ` after ${after}`}: ${String(cause)}`, { cause })
  }
}

/** A check of all rows of one kind in a channel. It reads page by page, each in one snapshot, and locks nothing. */
export interface Check {
  /** The name of the rows: `operations`. */
  readonly what: string
  page(transaction: Transaction, after: Subject | undefined): Promise<Page>
}

/** A check of rows page by page of their ids. */
export abstract class RowCheck implements Check {
  abstract readonly what: string
  /** The maximum number of ids on a page. On SQLite, a statement blocks the event loop. */
  protected abstract readonly size: Readonly<Record<Dialect, number>>
  /** Before every id. */
  protected readonly first: Subject = BEFORE_EVERY_ID

  /** Statements for the next ids, `idsAfter`: of each table that has some. */
  protected abstract ids(dialect: Dialect, size: number): readonly string[]

  /** Examines the rows whose ids are after the first of a range, up to the second. */
  protected abstract examine(transaction: Transaction, range: Range, isLast: boolean): Promise<readonly Finding[]>

  async page(transaction: Transaction, after = this.first): Promise<Page> {
    const size = this.size[transaction.dialect]
    const start = typeof after === 'string' ? bytesToStore(after) : after
    const sources = this.ids(transaction.dialect, size)
    const ids = sources.map((source, n) => `SELECT id FROM (${source}) source${n}`).join(' UNION ')
    const [page] = await transaction.rows(
      `SELECT COUNT(*) AS n, MAX(id) AS last FROM (SELECT id FROM (${ids}) every_id ORDER BY id LIMIT ${size}) page`,
      sources.map(() => start),
    )
    const count = Number(page?.['n'])
    const last = page?.['last'] ?? start
    const [end, place] =
      typeof last === 'object' ? [bytesFromStore(last), idFromStore(last)] : [Number(last), Number(last)]
    const findings = await this.examine(transaction, [start, end], count < size)
    return { what: this.what, count, last: count < size ? undefined : place, findings }
  }
}

/** The place before the rows of a page, and the last of them. */
export type Range = readonly [after: Scalar, last: Scalar]

/** A condition in SQL that right rows fulfil. Unknown is a violation. */
export interface Condition {
  readonly rule: Rule
  readonly expected: string
  readonly right: string
}

/** The tables of a statement by their aliases, of one letter each. */
export type Tables = Readonly<Record<string, { column(property: string): string }>>

/** The SQL of a text that names columns by properties: `o.ownerId` if `o` is the alias of a table. */
export function sqlOf(tables: Tables, text: string): string {
  return text.replace(/\b([a-z])\.([a-z]\w*)/gi, (whole, alias: string, property: string) => {
    const table = tables[alias]
    return table === undefined ? whole : `${alias}.${table.column(property)}`
  })
}

/** A statement that finds the rows of a page that violate conditions, in texts of `sqlOf`. */
export interface Search {
  readonly tables: Tables
  /** The columns that findings show. */
  readonly shown: string
  /** May contain further `withinPage`. */
  readonly from: string
  /** The id that makes the page. */
  readonly id: string
  readonly conditions: readonly Condition[]
}

/** The condition that an id is on the page. */
export function withinPage(id: string): string {
  return `${id} > ? AND ${id} <= ?`
}

/** Returns a finding for each condition that a row violates. */
export async function search(
  transaction: Transaction,
  range: Range,
  { tables, shown, from, id, conditions }: Search,
  about: (row: RawRow) => About,
): Promise<Finding[]> {
  const violated = (some: readonly Condition[]): string =>
    `NOT COALESCE(${some.map(({ right }) => `(${right})`).join(' AND ')}, FALSE)`
  const wrong = conditions.map((one, n) => `${violated([one])} AS wrong${n}`).join(', ')
  const text = `SELECT ${shown}, ${wrong} FROM ${from} WHERE ${withinPage(id)} AND ${violated(conditions)} ORDER BY ${id}`
  const ranges = Array<Range>((text.split('?').length - 1) / 2).fill(range)
  const rows = await transaction.rows(sqlOf(tables, text), ranges.flat())
  return rows.flatMap((row) => {
    const found = Object.entries(row)
      .filter(([name, value]) => value !== null && !name.startsWith('wrong'))
      .map(([name, value]) => `${name} ${typeof value === 'object' ? idFromStore(value) : String(value as Subject)}`)
      .join(', ')
    return conditions
      .filter((_, n) => Number(row[`wrong${n}`]) === 1)
      .map(({ rule, expected }) => ({ rule, ...about(row), expected, found }))
  })
}

/** A column with an id that may be missing. */
export function idOf(value: unknown): number | null {
  return value === null ? null : Number(value)
}

/** A list of texts of this service, for SQL. */
export function list(texts: readonly string[]): string {
  return texts.map((one) => `'${one}'`).join(', ')
}

/** A name without its quotes. */
export function bare(name: string): string {
  return name.replaceAll('`', '')
}

/** A statement for people that shows the rows with a value. */
export function showing<T extends object>(codec: RowCodec<T>, property: keyof T & string, value: unknown): string {
  return bare(`SELECT * FROM ${codec.table} WHERE ${codec.column(property)} = ${literal(codec.bind(property, value))};`)
}

/** A number, or an id, in the text of a statement. */
export function literal(value: Scalar): string {
  return Buffer.isBuffer(value) ? `X'${value.toString('hex')}'` : String(value)
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
