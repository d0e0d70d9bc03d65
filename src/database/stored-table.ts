import type { ColumnType, DataSource, EntityMetadata, EntityTarget, ObjectLiteral } from 'typeorm'
import { ID, INSTANT } from './column.js'
import type { Lease } from './lease.js'
import { type Dialect, insertStatements, quote, type RawRow, type Scalar } from './row-codec.js'
import type { Statement, Transaction } from './session.js'

/** The maximum number of rows of a page. */
const PAGE_ROWS = 2_000
/** The maximum size of a page, if every value has its maximum length, in bytes. */
const PAGE_BYTES = 32_000_000
/** The sizes of a value of type text, and of a number or a time. */
const TEXT_BYTES = 65_535
const OTHER_BYTES = 24

/** A lease belongs to an instance of its store: it is read as if nobody had it. */
const LEASE = { holder: true, heldUntil: true } satisfies Record<keyof Lease, true>

/** A row as it is stored, in order of the table's columns: the text of each value, bytes in hex; null is NULL. */
export type StoredRow = readonly (string | null)[]

interface StoredColumn {
  readonly name: string
  /** The name, quoted. */
  readonly sql: string
  readonly kind: 'integer' | 'ascii' | 'unicode' | 'bytes'
  readonly isLease: boolean
}

/**
 * A table whose rows are copied from one store to another, page by page in the order of its primary key, which is the
 * same on every store. Values pass as text, so that each arrives exactly, whatever JavaScript can represent.
 */
export class StoredTable {
  /** The table's name. */
  readonly name: string
  /** The maximum number of rows of a page. */
  readonly pageRows: number
  /** Does the store generate its ids? */
  readonly generatesIds: boolean
  private readonly columns: readonly StoredColumn[]
  private readonly keys: readonly StoredColumn[]
  private readonly head: string
  private readonly tuple: string

  private constructor({ tableName, columns }: EntityMetadata, pageRows: number) {
    // The store computes the others.
    const stored = columns.filter(({ generatedType }) => generatedType === undefined)
    const columnOf = new Map(
      stored.map(({ propertyName, databaseName, type, charset }): [string, StoredColumn] => [
        databaseName,
        {
          name: databaseName,
          sql: quote(databaseName),
          kind: kindOf(type, charset),
          isLease: propertyName in LEASE,
        },
      ]),
    )
    const bytes = stored.reduce(
      (sum, { type, length, charset }) =>
        sum +
        (type === 'text' ? TEXT_BYTES : length === '' ? OTHER_BYTES : Number(length) * (charset === 'ascii' ? 1 : 4)),
      0,
    )
    this.name = tableName
    this.pageRows = Math.min(pageRows, Math.floor(PAGE_BYTES / bytes))
    this.generatesIds = stored.some(({ isGenerated }) => isGenerated)
    this.columns = [...columnOf.values()]
    this.keys = stored.filter(({ isPrimary }) => isPrimary).map((key) => columnOf.get(key.databaseName) as StoredColumn)
    this.head = `INSERT INTO ${quote(tableName)} (${this.columns.map(({ sql }) => sql).join(', ')}) VALUES `
    this.tuple = `(${this.columns.map(() => '?').join(', ')})`
  }

  /**
   * The table of an entity of the data source.
   * @param pageRows the maximum number of rows of a page; it has fewer if their values may be long
   */
  static of(dataSource: DataSource, entity: EntityTarget<ObjectLiteral>, pageRows = PAGE_ROWS): StoredTable {
    return new StoredTable(dataSource.getMetadata(entity), pageRows)
  }

  /** The rows after a row; without it, those at the beginning. */
  async page(transaction: Transaction, after: StoredRow | undefined): Promise<StoredRow[]> {
    const { sql, values } = after === undefined ? { sql: '', values: [] } : this.after(transaction.dialect, after)
    return this.read(transaction, sql, values, '', this.pageRows)
  }

  /** The last row. */
  async last(transaction: Transaction): Promise<StoredRow | undefined> {
    const [row] = await this.read(transaction, '', [], 'DESC', 1)
    return row
  }

  /** Inserts rows. */
  async insert(transaction: Transaction, rows: readonly StoredRow[]): Promise<void> {
    const { statementBytes } = transaction
    const values = rows.map((row) => this.columns.map((column, place) => bound(column, row[place] ?? null)))
    for (const statement of insertStatements(this.head, this.tuple, values, statementBytes))
      await transaction.execute(statement.sql, statement.values)
  }

  /** The last id that the store has generated; of a row that may be gone. */
  async lastId(transaction: Transaction): Promise<bigint> {
    if (transaction.dialect === 'sqlite') {
      const [row] = await transaction.rows('SELECT CAST(seq AS TEXT) AS seq FROM sqlite_sequence WHERE name = ?', [
        this.name,
      ])
      return BigInt((row?.['seq'] as string | undefined) ?? 0)
    }
    // Not from information_schema, of which MySQL keeps a copy for a day.
    const [row] = await transaction.rows(`SHOW CREATE TABLE ${quote(this.name)}`)
    const next = /^\).* AUTO_INCREMENT=(\d+)/m.exec(String(row?.['Create Table']))?.[1]
    return BigInt(next ?? 1) - 1n
  }

  /** Makes the store go on after an id. */
  async setLastId(transaction: Transaction, id: bigint): Promise<void> {
    if ((await this.lastId(transaction)) >= id) return
    if (transaction.dialect === 'mysql') {
      await transaction.execute(`ALTER TABLE ${quote(this.name)} AUTO_INCREMENT = ${id + 1n}`)
      return
    }
    await transaction.execute('DELETE FROM sqlite_sequence WHERE name = ?', [this.name])
    await transaction.execute(`INSERT INTO sqlite_sequence (name, seq) VALUES (?, ${id})`, [this.name])
  }

  /** Names a row by its key, for people: `operation_id=… position=0`. */
  nameOf(row: StoredRow): string {
    return this.keys.map((key) => `${key.name}=${row[this.columns.indexOf(key)]}`).join(' ')
  }

  /** The names of the columns in which two rows differ. */
  differing(one: StoredRow, other: StoredRow): string[] {
    return this.columns.map(({ name }) => name).filter((_, place) => one[place] !== other[place])
  }

  private async read(
    transaction: Transaction,
    where: string,
    values: readonly Scalar[],
    direction: '' | 'DESC',
    limit: number,
  ): Promise<StoredRow[]> {
    const { dialect } = transaction
    const columns = this.columns.map(({ sql, kind, isLease }) => {
      if (isLease) return `NULL AS ${sql}`
      // On SQLite, HEX of null is empty.
      if (kind === 'bytes') return `NULLIF(HEX(t.${sql}), '') AS ${sql}`
      return dialect === 'sqlite' ? `CAST(t.${sql} AS TEXT) AS ${sql}` : `t.${sql}`
    })
    // With the alias, since SQLite would order by the text.
    const order = this.keys.map((key) => `${compared(dialect, key)} ${direction}`)
    const sorted = this.keys.some((key) => compared(dialect, key) !== `t.${key.sql}`)
    const hint = dialect === 'mysql' && !sorted ? 'FORCE INDEX (PRIMARY)' : ''
    const rows = await transaction.rows(
      `SELECT ${columns.join(', ')} FROM ${quote(this.name)} t ${hint} ${where} ORDER BY ${order.join(', ')} LIMIT ${limit}`,
      values,
    )
    return rows.map((row) => this.columns.map(({ name }) => textOf(row, name)))
  }

  /** The condition that the key is greater than that of a row, in a form for which each store uses its primary key. */
  private after(dialect: Dialect, row: StoredRow): Required<Statement> {
    const keys = this.keys.map((key) => ({
      column: compared(dialect, key),
      value: placeholder(dialect, key),
      bound: bound(key, row[this.columns.indexOf(key)] ?? null),
    }))
    if (dialect === 'sqlite') {
      const [columns, values] = [keys.map(({ column }) => column), keys.map(({ value }) => value)]
      return { sql: `WHERE (${columns.join(', ')}) > (${values.join(', ')})`, values: keys.map(({ bound }) => bound) }
    }
    const greater = keys.reduceRight<Required<Statement> | undefined>(
      (rest, { column, value, bound }) => ({
        sql: `${column} > ${value}${rest === undefined ? '' : ` OR (${column} = ${value} AND (${rest.sql}))`}`,
        values: [bound, ...(rest === undefined ? [] : [bound, ...rest.values])],
      }),
      undefined,
    )
    return { sql: `WHERE ${greater?.sql}`, values: greater?.values ?? [] }
  }
}

/**
 * The number of rows of a table; on a server, its estimate.
 * @param table without quotes
 */
export async function approximateRows(transaction: Transaction, table: string): Promise<number> {
  const [row] = await (transaction.dialect === 'mysql'
    ? transaction.rows(
        'SELECT table_rows AS n FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?',
        [table],
      )
    : transaction.rows(`SELECT COUNT(*) AS n FROM ${quote(table)}`))
  return Number(row?.['n'] ?? 0)
}

/** A server's collations ignore trailing blanks; the few tables with a key of any language are sorted by bytes. */
function compared(dialect: Dialect, { sql, kind }: StoredColumn): string {
  return dialect === 'mysql' && kind === 'unicode' ? `CAST(t.${sql} AS BINARY)` : `t.${sql}`
}

function kindOf(type: ColumnType, charset: string | undefined): StoredColumn['kind'] {
  if (type === ID.type) return 'bytes'
  if (type === 'simple-enum') return 'ascii'
  return charset === 'utf8mb4' ? 'unicode' : charset === 'ascii' || type === INSTANT.type ? 'ascii' : 'integer'
}

/** The value that a text of `StoredRow` stands for. */
function bound({ kind }: StoredColumn, text: string | null): Scalar {
  return kind === 'bytes' && text !== null ? Buffer.from(text, 'hex') : text
}

/** Text that is compared with a number would become a floating-point number. */
function placeholder(dialect: Dialect, { kind }: StoredColumn): string {
  if (kind === 'integer') return `CAST(? AS ${dialect === 'mysql' ? 'SIGNED' : 'INTEGER'})`
  return dialect === 'mysql' && kind === 'unicode' ? 'CAST(? AS BINARY)' : '?'
}

function textOf(row: RawRow, name: string): string | null {
  const value = row[name] as string | number | null
  return value === null ? null : String(value)
}
