/* Lists as CSV, as the service writes it: what a spreadsheet would take for a formula begins with a `'`. */

/** A name in the first line, and what stands below it: a value of the row, or what is made of it. */
export type Column<Row> = readonly [head: string, value: (row: Row) => unknown]

/** The first line. */
export function headLine<Row>(columns: readonly Column<Row>[]): string {
  return line(columns.map(([head]) => head))
}

/** A line for each row. */
export function rowLines<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  return rows.map((row) => line(columns.map(([, value]) => textOf(value(row))))).join('')
}

/** A cell as it stands in a file, in quotes where it must be. */
export function csvCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const FORMULA = /^['=+\-@\t\r]/

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'string') return JSON.stringify(value)
  return FORMULA.test(value) || value === 'null' ? `'${value}` : value
}

function line(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}
