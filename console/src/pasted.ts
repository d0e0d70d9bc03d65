/*
 * Converts text from a spreadsheet to the CSV that the service reads. It keeps line numbers, so that a mistake that the
 * service reports in line 7 is in the seventh pasted line.
 */

import { csvCell } from './csv.ts'

/** The separator of cells: spreadsheets copy tabs, and files of many countries contain semicolons. */
export type Separator = '\t' | ';' | ','

export const SEPARATOR_NAMES: Readonly<Record<Separator, string>> = { '\t': 'tabs', ';': 'semicolons', ',': 'commas' }

/** The maximum length of a cell. */
const MAX_CELL = 10_000

/** The separator of the cells, from the first line that is not blank. */
export function separatorOf(text: string): Separator {
  const header = headerLine(text).replace(/"[^"]*"/g, '')
  if (header.includes('\t')) return '\t'
  return header.includes(';') && !header.includes(',') ? ';' : ','
}

/** The columns that the first line names. */
export function columnsOf(text: string): string[] {
  return [...recordsOf(headerLine(text), separatorOf(text))][0] ?? []
}

/** The number of lines after the header that are not blank. */
export function rowsOf(text: string): number {
  return Math.max(0, text.split('\n').filter((line) => line.trim() !== '').length - 1)
}

/** The text as CSV. Text with commas is already CSV, and does not change. */
export function toCsv(text: string): string {
  const separator = separatorOf(text)
  if (separator === ',') return text
  let csv = ''
  for (const record of recordsOf(text, separator)) csv += `${record.map(csvCell).join(',')}\n`
  return csv
}

/** A line of the text, from 1. */
export function lineOf(text: string, line: number): string {
  return text.split('\n')[line - 1]?.replace(/\r$/, '') ?? ''
}

/** The start and the end of a line in the text. */
export function placeOf(text: string, line: number): readonly [from: number, to: number] {
  const before = text.split('\n').slice(0, line - 1)
  const from = before.reduce((sum, one) => sum + one.length + 1, 0)
  return [Math.min(from, text.length), Math.min(from + lineOf(text, line).length, text.length)]
}

function headerLine(text: string): string {
  return (
    text
      .replace(/^\uFEFF/, '')
      .split(/\r?\n/, 100)
      .find((line) => line.trim() !== '') ?? ''
  )
}

/** In a quoted cell, quotes are doubled. If text follows the closing quote, the cell is not quoted. */
function* recordsOf(text: string, separator: Separator): Generator<string[]> {
  const quoted = new RegExp(`"((?:[^"]|""){0,${MAX_CELL}})"(?=${separator}|\\r?\\n|$)`, 'uy')
  const plain = new RegExp(`[^${separator}\\n]*`, 'uy')
  let record: string[] = []
  let at = text.startsWith('\uFEFF') ? 1 : 0
  while (at < text.length || record.length > 0) {
    quoted.lastIndex = plain.lastIndex = at
    const [whole, inside] = quoted.exec(text) ?? plain.exec(text) ?? ['']
    at += whole.length
    record.push(inside === undefined ? whole.replace(/\r$/, '') : inside.replaceAll('""', '"'))
    if (text.startsWith('\r', at)) at += 1
    if (text.startsWith(separator, at)) {
      at += 1
      continue
    }
    yield record
    record = []
    at += 1
  }
}
