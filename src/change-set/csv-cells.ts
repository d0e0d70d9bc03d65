import { type FieldError, validationFailed } from '../common/service-error.js'
import { editDistance } from '../http/edit-distance.js'
import { fieldsOf } from '../http/dto.js'
import { isDecimalInteger } from '../http/ids.js'
import type { Channel } from '../ledger/rows/channel.js'
import type { QuotaRow } from '../ledger/rows/quota.entity.js'
import { quotaView } from '../ledger/store/answers.js'
import { TOTAL_QUOTA } from '../domain/quota.js'
import { DEFAULTS, newQuota, settingsView } from '../domain/settings.js'
import type { ChangeSetChannel } from './change-set-channel.js'

/** The values of a record, by column; empty cells are omitted. */
export type Cells = Record<string, unknown>

/** The columns of a row's outcome; an import ignores them. */
const RESULT_COLUMNS: readonly string[] = ['outcome', 'problem']

/** The maximum length of a cell with a value. Only times have no other limit. */
const MAX_CELL_LENGTH = 1_000

/** The cell of an empty list. */
const NO_INTEGERS = 'none'

/** Spreadsheets evaluate such a cell as a formula. */
const FORMULA = /^['=+\-@\t\r]/
/** Programs that split cells at `;` or tab, within quotes, too, evaluate such a part as a formula. */
const FORMULA_PART = /([;\t])('*[=+\-@])/g
const MARKED_PART = /([;\t])'('*[=+\-@])/g

/**
 * Returns a value as a cell. Null is empty. Text that a spreadsheet would evaluate, or that an import would read as
 * null, is marked as text.
 */
export function exportedCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.length === 0 ? NO_INTEGERS : value.join(' ')
  if (typeof value !== 'string') return JSON.stringify(value)
  const marked = value.replace(FORMULA_PART, "$1'$2")
  return FORMULA.test(value) || value === 'null' ? `'${marked}` : marked
}

/** Returns a requested value as a cell; null is `null`. */
export function requestedCell(value: unknown): string {
  return value === null ? 'null' : exportedCell(value)
}

/** Returns an imported cell so that no spreadsheet evaluates it. An import reads the same from both. */
export function givenCell(text: string): string {
  return text === 'null' ? text : exportedCell(plainText(text))
}

/** Parses the cells of a record. Omits cells without a column. */
export function importedCells<Q extends QuotaRow>(
  kind: ChangeSetChannel<Q>,
  columns: readonly string[],
  given: readonly string[],
): Cells {
  const cells: Cells = {}
  for (const [place, column] of columns.entries()) {
    const text = given[place]
    if (text === undefined || text === '' || RESULT_COLUMNS.includes(column)) continue
    cells[column] = importedCell(kind, column, text)
  }
  return cells
}

/** Does an import read this column? It ignores results, and members of the record that are no settings. */
export function importsColumn<Q extends QuotaRow>({ channel }: ChangeSetChannel<Q>, column: string): boolean {
  return rowColumns(channel).includes(column) && !RESULT_COLUMNS.includes(column)
}

function importedCell<Q extends QuotaRow>(
  { create, update }: ChangeSetChannel<Q>,
  column: string,
  text: string,
): unknown {
  if (text === 'null') return null
  // No reader accepts the rest with this end.
  if (text.length > MAX_CELL_LENGTH) return `${text.slice(0, MAX_CELL_LENGTH)}…`
  const plain = plainText(text)
  if (column === 'thresholds') {
    if (plain === NO_INTEGERS) return []
    return plain.split(' ').map((part) => (isDecimalInteger(part) ? Number(part) : part))
  }
  if (column === 'id') return isDecimalInteger(plain) ? Number(plain) : plain
  const values = [update, create].map((dto) => fieldsOf(dto).get(column)?.convert.query(plain, {}) ?? plain)
  return values.find((value) => value !== plain) ?? plain
}

/** Returns the text of a cell without each `'` by which an export marks text. */
export function plainText(text: string): string {
  const isMarked = text.startsWith("'") && (FORMULA.test(text.slice(1)) || text === "'null")
  return (isMarked ? text.slice(1) : text).replace(MARKED_PART, '$1$2')
}

/** A sample record, for the names of its members. */
const SAMPLE = newQuota({ ...DEFAULTS, quotaType: TOTAL_QUOTA, total: 0 }, 0)

/** Returns the members of a channel's record, in order. */
export function recordColumns<Q extends QuotaRow>(channel: Channel<Q>): string[] {
  const sample = { ...SAMPLE, id: 1, version: 1, updatedAt: 0, ownerId: 1 } as unknown as Q
  return Object.keys(quotaView(channel, sample, 0))
}

/** Returns the columns of a channel's rows: those of an import, and the outcome. */
export function rowColumns<Q extends QuotaRow>(channel: Channel<Q>): string[] {
  const subjects = channel.subjects.map(({ field }) => field)
  const settings = Object.keys(settingsView({ ...SAMPLE, id: 1 }))
  return ['id', ...subjects, 'quota_type', ...settings, 'used', 'group_id', 'per', 'version', ...RESULT_COLUMNS]
}

/**
 * Checks the header of a file.
 * @throws ServiceError validation_failed, which names every column that is wrong
 */
export function checkColumns<Q extends QuotaRow>(kind: ChangeSetChannel<Q>, columns: readonly string[]): void {
  const known = new Set([
    ...recordColumns(kind.channel),
    ...rowColumns(kind.channel),
    ...fieldsOf(kind.create).keys(),
    ...fieldsOf(kind.update).keys(),
    'deleted_at',
  ])
  const errors: FieldError[] = []
  for (const [place, column] of columns.entries()) {
    const field = column === '' ? `column ${place + 1}` : column.slice(0, 64)
    if (!known.has(column)) {
      errors.push({ field, message: `is not a column of an import: ${hint(column, [...known])}` })
    } else if (columns.indexOf(column) !== place) errors.push({ field, message: 'occurs more than once' })
  }
  if (errors.length > 0) throw validationFailed(errors.slice(0, 50))
}

const SEPARATED = 'here, columns are separated by commas; the console reads semicolons and tabs, too'

/** Spreadsheets write semicolons where the comma is the decimal sign, and paste tabs. */
function hint(column: string, known: readonly string[]): string {
  const parts = column.split(/[;\t]/)
  if (parts.length > 1 && parts.some((part) => known.includes(part))) return SEPARATED
  return `did you mean ${nearest(column, known)}?`
}

function nearest(name: string, known: readonly string[]): string {
  const bare = name.slice(0, 64).toLowerCase()
  const far = known.map((one) => [editDistance(bare, one), one] as const)
  return far.sort(([a], [b]) => a - b)[0]?.[1] ?? ''
}
