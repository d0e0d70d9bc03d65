import type { DataSource, EntityMetadata, EntityTarget, ObjectLiteral, ValueTransformer } from 'typeorm'
import { HASH, ID, INSTANT, instantFromStore, instantToStore, WINDOW } from './column.js'

/** The SQL dialect of a store. */
export type Dialect = 'mysql' | 'sqlite'

/** A value that both drivers can bind. */
export type Scalar = string | number | Buffer | null

/** A row from the driver, by column name. */
export type RawRow = Record<string, unknown>

interface Field {
  readonly property: string
  /** The column's name in rows. */
  readonly name: string
  /** The same, quoted. */
  readonly column: string
  readonly kind: 'instant' | 'integer' | 'text' | 'window' | 'id' | 'hash'
  /** Is it read with a row? Some columns are only for conditions. */
  readonly read: boolean
  /** May it be null? */
  readonly nullable: boolean
}

/** A condition with the values of its placeholders. */
export interface Condition {
  readonly sql: string
  readonly values: readonly Scalar[]
}

/** Some of a table's columns. */
export interface Part<T> {
  /** Quoted and comma-separated, for a SELECT. */
  readonly columns: string
  /** A row of these columns as a plain object with the entity's properties. */
  decode(row: RawRow): T
}

/**
 * Converts rows to entities and back for the engine's own statements. Table and column names come from the entity's
 * metadata, so that only the entity names them.
 */
export class RowCodec<T extends ObjectLiteral> {
  /** The table's name, quoted. */
  readonly table: string
  /** Every column, quoted and comma-separated, for a SELECT. */
  readonly columns: string
  /** Every property that an INSERT writes: all except those that the store generates. */
  readonly inserted: readonly (keyof T & string)[]
  /** Those that may change afterwards: all except the key and those with `update: false`. */
  readonly updated: readonly (keyof T & string)[]
  private readonly fields: readonly Field[]
  private readonly readFields: readonly Field[]
  private readonly decoded: (row: RawRow) => Record<string, unknown>
  private readonly byProperty: ReadonlyMap<string, Field>
  private readonly indexes: ReadonlyMap<string, string>
  private readonly insertedFields: readonly Field[]

  private constructor(metadata: EntityMetadata) {
    this.table = quote(metadata.tableName)
    this.fields = metadata.columns.map((column) => ({
      property: column.propertyName,
      name: column.databaseName,
      column: quote(column.databaseName),
      kind:
        column.type === INSTANT.type
          ? 'instant'
          : column.transformer === WINDOW
            ? 'window'
            : column.transformer === ID.transformer
              ? 'id'
              : column.transformer === HASH.transformer
                ? 'hash'
                : TEXTS.has(column.type)
                  ? 'text'
                  : 'integer',
      read: column.isSelect,
      nullable: column.isNullable,
    }))
    this.readFields = this.fields.filter(({ read }) => read)
    this.decoded = decoder(this.readFields)
    this.byProperty = new Map(this.fields.map((field) => [field.property, field]))
    this.columns = this.readFields.map((field) => field.column).join(', ')
    const inserted = metadata.columns.filter(({ isInsert, isGenerated }) => isInsert && !isGenerated)
    this.inserted = inserted.map(({ propertyName }) => propertyName as keyof T & string)
    this.insertedFields = this.fields.filter(({ property }) => this.inserted.includes(property))
    this.updated = inserted
      .filter(({ isUpdate, isPrimary }) => isUpdate && !isPrimary)
      .map(({ propertyName }) => propertyName as keyof T & string)
    this.indexes = new Map(
      metadata.indices.map(({ columns, name }) => [columns.map((column) => column.propertyName).join(), quote(name)]),
    )
  }

  /** The codec of an entity of the data source. */
  static of<T extends ObjectLiteral>(dataSource: DataSource, entity: EntityTarget<T>): RowCodec<T> {
    return new RowCodec<T>(dataSource.getMetadata(entity))
  }

  /** The quoted name of a property's column. */
  column(property: keyof T & string): string {
    const field = this.byProperty.get(property)
    if (field === undefined) throw new Error(`no column for ${property} in ${this.table}`)
    return field.column
  }

  /**
   * The table, with a hint to use the index over exactly these columns, in this order. It is for reads whose cost must
   * not depend on the size of the table: a planner knows only averages, and chooses a scan of the whole table for a
   * rare value or a long list of keys.
   * @param alias the table's name in the statement
   */
  readBy(dialect: Dialect, properties: readonly (keyof T & string)[], alias = ''): string {
    const index = this.indexes.get(properties.join())
    if (index === undefined) throw new Error(`no index over ${properties.join()} in ${this.table}`)
    return `${this.table} ${alias} ${dialect === 'mysql' ? `FORCE INDEX (${index})` : `INDEXED BY ${index}`}`
  }

  /** The table, with a hint to use its primary key. SQLite uses it without a hint. */
  readByKey(dialect: Dialect, alias = ''): string {
    return `${this.table} ${alias} ${dialect === 'mysql' ? 'FORCE INDEX (PRIMARY)' : ''}`
  }

  /** As many NULLs as `columns` has columns, for a UNION. */
  get nulls(): string {
    return this.readFields.map(() => 'NULL').join(', ')
  }

  /** Every column with the table's alias. */
  columnsOf(alias: string): string {
    return this.readFields.map((field) => `${alias}.${field.column}`).join(', ')
  }

  /**
   * The condition that a column equals this number or this ASCII text, compared by bytes on every store. A server's
   * collations ignore trailing blanks, and a column of ASCII cannot be compared with other text.
   * @param alias of the table in the statement
   */
  equals(dialect: Dialect, alias: string, property: keyof T & string, value: string | number): Condition {
    const column = `${alias}.${this.column(property)}`
    if (typeof value === 'number' || dialect === 'sqlite') return { sql: `${column} = ?`, values: [value] }
    if (!ASCII.test(value)) return { sql: '1 = 0', values: [] }
    // The first half finds the rows by an index.
    return { sql: `${column} = ? AND CAST(${column} AS BINARY) = CAST(? AS BINARY)`, values: [value, value] }
  }

  /** A property's value, converted for a placeholder. */
  bind(property: keyof T & string, value: unknown): Scalar {
    return bound(this.byProperty.get(property)?.kind ?? 'text', value)
  }

  /** A selected row as a plain object with the entity's properties. */
  decode(row: RawRow): T {
    return this.decoded(row) as T
  }

  /**
   * A selection of columns, if the others are not needed.
   * @param alias of the table in the statement, if it has one
   */
  part<K extends keyof T & string>(properties: readonly K[], alias?: string): Part<Pick<T, K>> {
    const fields = this.fields.filter(({ property }) => properties.includes(property as K))
    const before = alias === undefined ? '' : `${alias}.`
    return {
      columns: fields.map(({ column }) => before + column).join(', '),
      decode: decoder(fields) as (row: RawRow) => Pick<T, K>,
    }
  }

  /**
   * INSERT statements for any number of rows, split so that none exceeds the stores' limits of placeholders and bytes;
   * a row that is too large for any statement has one of its own. Each writes every column that the store does not
   * generate and that is not null in all rows; missing values are null.
   * @param limits of the transaction that runs them
   */
  inserts(
    rows: readonly Partial<T>[],
    { statementBytes }: { readonly statementBytes: number },
  ): { sql: string; values: Scalar[] }[] {
    // A third of an act's columns is null in most batches. Both sides would spend time on each of them.
    const fields = this.insertedFields.filter(
      ({ property, nullable }) => !nullable || rows.some((row) => row[property] != null),
    )
    const head = `INSERT INTO ${this.table} (${fields.map(({ column }) => column).join(', ')}) VALUES `
    const values = rows.map((row) => fields.map(({ property, kind }) => bound(kind, row[property])))
    return insertStatements(head, `(${placeholders(fields)})`, values, statementBytes)
  }

  /**
   * The clause of an INSERT that overwrites properties of an existing row.
   * @param key properties of the unique key by which rows are found
   */
  overwriting(dialect: Dialect, key: readonly (keyof T & string)[], properties: readonly (keyof T & string)[]): string {
    const set = (value: (column: string) => string): string =>
      properties.map((property) => `${this.column(property)} = ${value(this.column(property))}`).join(', ')
    return dialect === 'mysql'
      ? ` ON DUPLICATE KEY UPDATE ${set((column) => `VALUES(${column})`)}`
      : ` ON CONFLICT (${key.map((property) => this.column(property)).join(', ')}) DO UPDATE SET ${set((column) => `excluded.${column}`)}`
  }
}

/**
 * The statements of `RowCodec.inserts`.
 * @param head the beginning of each, up to `VALUES`
 * @param tuple the placeholders of a row
 */
export function insertStatements(
  head: string,
  tuple: string,
  rows: readonly Scalar[][],
  statementBytes: number,
): { sql: string; values: Scalar[] }[] {
  const statements: { rows: number; values: Scalar[] }[] = []
  let room = 0
  for (const values of rows) {
    const size = values.reduce<number>((sum, value) => sum + sizeOf(value), tuple.length)
    let last = statements.at(-1)
    if (last === undefined || size > room || last.values.length + values.length > MAX_PLACEHOLDERS) {
      last = { rows: 0, values: [] }
      statements.push(last)
      // The rest is for the beginning of the statement, and for a clause at its end.
      room = statementBytes - 4 * head.length
    }
    last.rows += 1
    last.values.push(...values)
    room -= size
  }
  return statements.map(({ rows: count, values }) => ({ sql: head + `${tuple}, `.repeat(count - 1) + tuple, values }))
}

/**
 * Decodes rows of these fields. All objects begin as copies of one, so that they share a shape (hidden class): the
 * engine then allocates each in one piece.
 */
function decoder(fields: readonly Field[]): (row: RawRow) => Record<string, unknown> {
  const empty = Object.fromEntries(fields.map(({ property }) => [property, null]))
  const texts = fields.filter(({ kind }) => kind === 'text')
  const others = fields.filter(({ kind }) => kind !== 'text')
  return (row) => {
    const entity: Record<string, unknown> = { ...empty }
    for (const { property, name } of texts) entity[property] = row[name]
    for (const { property, name, kind } of others) {
      const value = row[name]
      if (value === null) continue
      entity[property] =
        kind === 'integer'
          ? Number(value)
          : kind === 'instant'
            ? instantFromStore(value as string)
            : CONVERTED[kind as keyof typeof CONVERTED].from(value)
    }
    return entity
  }
}

function bound(kind: Field['kind'], value: unknown): Scalar {
  if (value == null) return null
  if (kind === 'instant') return typeof value === 'number' ? instantToStore(value) : (value as string)
  return kind === 'text' || kind === 'integer' ? (value as Scalar) : (CONVERTED[kind].to(value) as Scalar)
}

/** The columns whose form in the store differs. */
const CONVERTED: Readonly<Record<'window' | 'id' | 'hash', ValueTransformer>> = {
  window: WINDOW,
  id: ID.transformer,
  hash: HASH.transformer,
}

/** The types of columns that drivers return as text. */
const TEXTS: ReadonlySet<unknown> = new Set(['varchar', 'text', 'simple-enum'])

const ASCII = /^[\0-\x7f]*$/

/** SQLite accepts 32,766 placeholders in a statement, MySQL any number in a text query. */
const MAX_PLACEHOLDERS = 32_000

// Back-ticks are MySQL's quotes, and SQLite accepts them, too.
export function quote(name: string): string {
  return `\`${name}\``
}

/** The maximum size of a value in the text of a statement, in bytes. */
export function sizeOf(value: Scalar): number {
  // A UTF-16 unit takes three bytes at most, an escaped one two; a number has 17 digits, signs and an exponent at most;
  // bytes are in hexadecimal digits.
  return typeof value === 'string' ? 3 * value.length + 2 : Buffer.isBuffer(value) ? 2 * value.length + 3 : 24
}

/** `?, ?, ?` for a list of values. For none, `NULL`: nothing is in that list, and servers refuse `IN ()`. */
export function placeholders(values: readonly unknown[]): string {
  return values.length === 0 ? 'NULL' : values.map(() => '?').join(', ')
}

/** A sum of integers, in SQL. SQLite's `SUM` fails at 2^63; `TOTAL` is exact up to 2^53, as numbers in code are. */
export function sumIn(dialect: Dialect, sql: string): string {
  return `${dialect === 'sqlite' ? 'TOTAL' : 'SUM'}(${sql})`
}

/** The maximum number of values that one statement names: SQLite takes 32,766, and some name each twice. */
const MAX_VALUES = 10_000

/** Parts of a list, of which a statement names one at a time. */
export function* chunks<T>(values: readonly T[], size: number = MAX_VALUES): Generator<readonly T[]> {
  for (let start = 0; start < values.length; start += size) yield values.slice(start, start + size)
}
