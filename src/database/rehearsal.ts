import type { QueryRunner, Table } from 'typeorm'

/** What of a runner migrations use to find out what is there, and TypeORM itself for its own statements. */
interface Inside {
  query: (sql: string, parameters?: readonly unknown[], structured?: boolean) => Promise<unknown>
  hasTable: (table: Table | string) => Promise<boolean>
  hasColumn: (table: Table | string, column: string) => Promise<boolean>
  getTable: (name: string) => Promise<Table | undefined>
  getCachedTable: (name: string) => Promise<Table>
  createTable: (table: Table, ...more: unknown[]) => Promise<void>
}

const READS = /^\s*(?:SELECT|SHOW|PRAGMA [^=]*$)/i
const READ_FROM = /\b(?:FROM|JOIN) ([\w.`"]+)/gi
const WRITTEN_TO = /^\s*(?:CREATE TABLE|ALTER TABLE|DROP TABLE|INSERT INTO|UPDATE|DELETE FROM) ([\w.`"]+)/i
const COLUMN_ADDED = /^ALTER TABLE ([\w.`"]+) ADD COLUMN ([\w`"]+)/i

/**
 * Makes of a runner one that reads the schema and changes nothing: what would be written becomes a script. No DDL can
 * be taken back on a server, so nothing can be tried out; what a migration asks about tables that an earlier statement
 * of the script would have made is answered as if it had.
 *
 * What a migration writes because of rows that it finds is not known where an earlier statement changes the table: it
 * finds none, and the script says so.
 */
export class Rehearsal {
  /** Statements, each with its semicolon, and remarks. */
  readonly script: string[] = []
  private readonly made = new Map<string, Table>()
  private readonly written = new Set<string>()
  private readonly addedColumns = new Set<string>()

  /** @param runner is good for nothing else from here on */
  constructor(runner: QueryRunner) {
    const inside = runner as unknown as Inside
    const { query, hasTable, hasColumn, getTable, getCachedTable, createTable } = inside
    const mysql = runner.dataSource.options.type !== 'better-sqlite3'
    inside.query = async (sql, parameters = [], structured = false) => {
      if (READS.test(sql) && this.seesWhatIsThere(sql)) return query.call(runner, sql, parameters, structured)
      if (!READS.test(sql)) this.note(sql, parameters, mysql)
      return structured ? { raw: [], records: [], affected: 0 } : []
    }
    inside.hasTable = async (table) => this.made.has(nameOf(table)) || hasTable.call(runner, table)
    inside.hasColumn = async (table, column) => {
      if (this.addedColumns.has(`${nameOf(table)}.${column}`)) return true
      const made = this.made.get(nameOf(table))
      return made === undefined ? hasColumn.call(runner, table, column) : made.findColumnByName(column) !== undefined
    }
    inside.getTable = async (name) => this.made.get(nameOf(name)) ?? getTable.call(runner, name)
    inside.getCachedTable = async (name) => this.made.get(nameOf(name)) ?? getCachedTable.call(runner, name)
    inside.createTable = async (table, ...more) => {
      const there = await inside.hasTable(table)
      await createTable.call(runner, table, ...more)
      if (!there) this.made.set(nameOf(table), table)
    }
  }

  remark(text: string): void {
    this.script.push(`-- ${text}`)
  }

  /** Is what this statement reads as it will be? All rows of a table that is yet to be made are known: none. */
  private seesWhatIsThere(sql: string): boolean {
    const tables = [...sql.matchAll(READ_FROM)].map(([, name = '']) => nameOf(name))
    if (tables.some((name) => this.made.has(name))) return false
    if (!tables.some((name) => this.written.has(name))) return true
    this.remark(`Not shown: what is written because of the rows that this will find: ${oneLine(sql)}`)
    return false
  }

  private note(sql: string, parameters: readonly unknown[], mysql: boolean): void {
    const values = [...parameters]
    const text = values.length === 0 ? sql : sql.replaceAll('?', () => literal(values.shift(), mysql))
    this.script.push(`${oneLine(text)};`)
    const [, table] = WRITTEN_TO.exec(sql) ?? []
    if (table !== undefined) this.written.add(nameOf(table))
    const [, changed, column] = COLUMN_ADDED.exec(sql) ?? []
    if (changed !== undefined && column !== undefined) this.addedColumns.add(`${nameOf(changed)}.${nameOf(column)}`)
  }
}

/** Without quotes, and without the database that TypeORM may put in front. */
function nameOf(table: Table | string): string {
  const name = typeof table === 'string' ? table : table.name
  return name.slice(name.lastIndexOf('.') + 1).replaceAll(/[`"]/g, '')
}

function oneLine(sql: string): string {
  return sql.replaceAll(/\s+/g, ' ').trim()
}

function literal(value: unknown, mysql: boolean): string {
  if (value === null || value === undefined) return 'NULL'
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'string') throw new Error('migrations bind text and numbers')
  const text = value.replaceAll("'", "''")
  return `'${mysql ? text.replaceAll('\\', '\\\\') : text}'`
}
