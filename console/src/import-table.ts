import { camelName } from '@quota-service/client'
import { fieldName, fieldNamed } from './field-name.ts'
import { readThresholds, readWindow } from './limits.ts'
import { toCsv } from './pasted.ts'
import { MAX_AMOUNT, readId, readWhole } from './whole-number.ts'

/*
 * A table for an import, as people write it: its columns may be named as the fields of forms are, and its cells hold
 * what those fields accept. What nobody can read is left for the service, which says what is wrong with it.
 */

/** The text of a cell as the service reads it; undefined for a text that is left to the service. */
type Reader = (text: string) => string | undefined

const ofAmount: Reader = (text) => readWhole(text, { min: 0, max: MAX_AMOUNT }).value?.toString()
const ofId: Reader = (text) => readId(text).value?.toString()
const ofWord =
  (words: Readonly<Record<string, string>>): Reader =>
  (text) =>
    Object.hasOwn(words, text.toLowerCase()) ? words[text.toLowerCase()] : undefined
const TIME = /^(\d{4})-(\d\d)-(\d\d)(?:[T ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?)?$/
/** A day, or a time of a day, in the browser's zone, as in forms. */
const ofTime: Reader = (text) => {
  const found = TIME.exec(text)
  if (found === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found
    .slice(1)
    .map((part: string | undefined) => Number(part ?? 0))
  const date = new Date(year, month - 1, day, hour, minute, second)
  // There is no 30 February, and years below 100 are others.
  return date.getFullYear() === year && date.getMonth() === month - 1 && date.getDate() === day
    ? date.toISOString()
    : undefined
}

const READERS: Readonly<Record<string, Reader>> = {
  id: ofId,
  account_id: ofId,
  user_id: ofId,
  group_id: ofId,
  quota_type: ofWord({ total: '1', cycle: '2', rolling: '3' }),
  total: ofAmount,
  used: ofAmount,
  expire_at: (text) => (text.toLowerCase() === 'never' ? 'null' : ofTime(text)),
  cycle_reset_at: ofTime,
  cap: ofWord({ pays: 'null', limits: 'enforce', 'only watches': 'observe' }),
  window_seconds: (text) => (/^\d+$/.test(text) ? undefined : readWindow(text.replace(/s$/, '')).value?.toString()),
  thresholds: (text) => readThresholds(text).value?.join(' '),
}

/** Names on the screen that are not those of fields. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  quota: 'id',
  'already used': 'used',
  'what it does': 'cap',
}

function columnOf(head: string): string {
  const name = head.trim().toLowerCase()
  return OTHER_NAMES[name] ?? fieldNamed(name) ?? name.replaceAll(' ', '_')
}

/** The settings that a new quota of each type needs besides its owner, its type and its total. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  '1': ['expire_at'],
  '2': ['cycle_unit', 'cycle_reset_at'],
  '3': ['cap', 'window_seconds'],
}

/**
 * Reads a table as people write it.
 * @param owner the column of the channel's owner
 * @returns it as CSV in the service's words, unchanged where it is in them already; and the names of the columns that
 * it lacks and new quotas in it need
 */
export function readTable(text: string, owner: string): { readonly csv: string; readonly missing: readonly string[] } {
  let columns: readonly string[] = []
  let places: ReadonlyMap<string, number> | undefined
  const missing = new Set<string>()
  const read = (record: readonly string[]): readonly string[] => {
    // The service skips blank lines alone, and a selection in a spreadsheet often has empty rows.
    if (record.every((cell) => cell.trim() === '')) return ['']
    if (places === undefined) {
      columns = record.map(columnOf)
      places = new Map(columns.map((column, place) => [column, place]))
      return columns
    }
    const has = places
    const cells = record.map((cell, place) => READERS[columns[place] ?? '']?.(cell.trim()) ?? cell)
    const cell = (column: string): string => cells[has.get(column) ?? -1] ?? ''
    if (cell('id') === '') {
      const needed = ['quota_type', 'total', ...(NEEDED[cell('quota_type')] ?? [])]
      for (const column of has.has('group_id') ? needed : [owner, ...needed]) if (!has.has(column)) missing.add(column)
    }
    return cells
  }
  const csv = toCsv(text, read)
  return { csv, missing: [...missing].map((column) => fieldName(camelName(column))) }
}
