import { type QueryRunner, Table, type TableColumnOptions } from 'typeorm'
import { idText } from '../bytes.js'

/** A column without its name; the same on every store. */
export type ColumnText = Omit<TableColumnOptions, 'name'>

/** A table; the same on every store. */
export interface TableText {
  readonly name: string
  /** By name, in order. */
  readonly columns: Readonly<Record<string, ColumnText>>
  readonly indexes?: readonly (readonly string[])[]
  readonly unique?: readonly (readonly string[])[]
  /** An expression that is true of every row. */
  readonly check?: string
}

/** An integer within ±(2^53-1). */
export const integer: ColumnText = { type: 'bigint' }
/** The number of one of a quota's counts: 0 … 2^31-1. */
export const countNumber: ColumnText = { type: 'int' }
/** A time in UTC with milliseconds. */
export const instant: ColumnText = { type: 'datetime', precision: 3 }
/** A primary key that the store generates, ascending. */
export const generated: ColumnText = {
  type: 'bigint',
  isPrimary: true,
  isGenerated: true,
  generationStrategy: 'increment',
}

// Every text names its character set and collation: those of servers and databases differ.
const ASCII = { charset: 'ascii', collation: 'ascii_bin' }
const UNICODE = { charset: 'utf8mb4', collation: 'utf8mb4_bin' }

/** ASCII text with a maximum length. */
export const ascii = (length: number): ColumnText => ({ type: 'varchar', length: String(length), ...ASCII })
/** Text of any language with a maximum length in code points. */
export const unicode = (length: number): ColumnText => ({ type: 'varchar', length: String(length), ...UNICODE })
/** An id or a hash. */
export const bytes16: ColumnText = { type: 'binary', length: '16' }
/** One of these ASCII texts, in one byte on servers; on SQLite, any text. */
export const oneOf = (...texts: string[]): ColumnText => ({ type: 'enum', enum: texts })
/** ASCII text with at most 65,535 bytes. */
export const asciiText: ColumnText = { type: 'text', ...ASCII }
/** Text of any language with at most 65,535 bytes. */
export const unicodeText: ColumnText = { type: 'text', ...UNICODE }

export const nullable = (column: ColumnText): ColumnText => ({ ...column, isNullable: true })
/** A part of the primary key. */
export const key = (column: ColumnText): ColumnText => ({ ...column, isPrimary: true })
/** A column whose default is this value. */
export const initially = (value: number, column: ColumnText): ColumnText => ({ ...column, default: String(value) })

/**
 * Creates tables. MySQL commits each DDL statement, so an aborted attempt leaves a part behind: each step checks whether
 * it is already done.
 */
export async function createTables(runner: QueryRunner, tables: readonly TableText[]): Promise<void> {
  for (const table of tables) {
    await runner.createTable(tableOf(runner, table), true, false, true)
    if (table.check !== undefined && !isSqlite(runner)) await addCheck(runner, table.name, table.check)
  }
}

/** A view of one table. */
export interface ViewText {
  readonly name: string
  readonly from: string
  /** Expressions by name, in order. @param text gives that for the text of an id */
  readonly columns: (text: (column: string) => string) => Readonly<Record<string, string>>
}

/** Creates those of the views that do not exist. They are read with the rights of the reader. */
export async function createViews(runner: QueryRunner, views: readonly ViewText[]): Promise<void> {
  const sqlite = isSqlite(runner)
  for (const { name, from, columns } of views) {
    // The views of MySQL know no IF NOT EXISTS, and TypeORM finds none on SQLite.
    if (!sqlite && (await runner.hasTable(name))) continue
    const selected = Object.entries(columns((column) => idText(sqlite ? 'sqlite' : 'mysql', column)))
      .map(([column, expression]) => `${expression} AS ${column}`)
      .join(', ')
    await runner.query(
      `CREATE ${sqlite ? 'VIEW IF NOT EXISTS' : 'SQL SECURITY INVOKER VIEW'} ${name} AS SELECT ${selected} FROM ${from}`,
    )
  }
}

/** Drops those of the views that exist. */
export async function dropViews(runner: QueryRunner, views: readonly ViewText[]): Promise<void> {
  for (const { name } of views) await runner.query(`DROP VIEW IF EXISTS ${name}`)
}

/** Drops those of the tables that exist, the last one first. */
export async function dropTables(runner: QueryRunner, tables: readonly TableText[]): Promise<void> {
  for (const { name } of tables.toReversed()) await runner.dropTable(name, true)
}

function isSqlite(runner: QueryRunner): boolean {
  return runner.dataSource.options.type === 'better-sqlite3'
}

function tableOf(runner: QueryRunner, { name, columns, indexes = [], unique = [], check }: TableText): Table {
  const sqlite = isSqlite(runner)
  return new Table({
    name,
    columns: Object.entries(columns).map(([column, text]) => ({ name: column, ...(sqlite ? inSqlite(text) : text) })),
    indices: [
      ...indexes.map((names) => ({ columnNames: [...names] })),
      ...unique.map((names) => ({ columnNames: [...names], isUnique: true })),
    ],
    // TypeORM writes no CHECK on servers, and appends the engine as it is: it has no option for a character set.
    ...(sqlite
      ? { checks: check === undefined ? [] : [{ expression: check }] }
      : { engine: `InnoDB DEFAULT CHARACTER SET ${UNICODE.charset} COLLATE ${UNICODE.collation}` }),
  })
}

/** SQLite compares text by bytes, generates keys of type INTEGER only, and has one type of bytes and one of text. */
function inSqlite({ charset: _, collation: __, enum: texts, ...column }: ColumnText): ColumnText {
  if (texts !== undefined) return { ...column, type: 'varchar' }
  if (column.type === countNumber.type) return { ...column, type: 'integer' }
  if (column.type === bytes16.type) return { ...column, type: 'blob', length: '' }
  return column.isGenerated === true ? { ...column, type: 'integer' } : column
}

async function addCheck(runner: QueryRunner, table: string, expression: string): Promise<void> {
  const name = `CHK_${table}`
  const known = (await runner.query(
    'SELECT 1 FROM information_schema.table_constraints WHERE constraint_schema = DATABASE() AND table_name = ? AND constraint_name = ?',
    [table, name],
  )) as unknown[]
  if (known.length === 0)
    await runner.query(`ALTER TABLE \`${table}\` ADD CONSTRAINT \`${name}\` CHECK (${expression})`)
}
