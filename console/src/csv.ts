/* Lists as CSV, in the service's format: a cell that a spreadsheet would evaluate as a formula begins with a `'`. */

/** The name of a column in the header, and its value for a row. */
export type Column<Row> = readonly [head: string, value: (row: Row) => unknown]

/** The header. */
export function headLine<Row>(columns: readonly Column<Row>[]): string {
  return line(columns.map(([head]) => head))
}

/** A line for each row. */
export function rowLines<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  return rows.map((row) => line(columns.map(([, value]) => textOf(value(row))))).join('')
}

/** A cell of a file, in quotes if necessary. */
export function csvCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const FORMULA = /^['=+\-@\t\r]/
/** Programs that split cells at `;` or tab, within quotes, too, evaluate such a part as a formula. */
const FORMULA_PART = /([;\t])('*[=+\-@])/g

function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const marked = text.replace(FORMULA_PART, "$1'$2")
  return typeof value === 'string' && (FORMULA.test(value) || value === 'null') ? `'${marked}` : marked
}

function line(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`
}
