/*
 * What is pasted out of a spreadsheet, as the CSV that the service takes. Lines stay lines, so that what the service
 * says of line 7 is about the seventh line that was pasted.
 */

import { csvCell } from './csv.ts'

/** What stands between two cells: tabs come out of spreadsheets, semicolons are in files of many countries. */
export type Separator = '\t' | ';' | ','

export const SEPARATOR_NAMES: Readonly<Record<Separator, string>> = { '\t': 'tabs', ';': 'semicolons', ',': 'commas' }

/** No cell that is taken is longer. */
const MAX_CELL = 10_000

/** What separates the cells, by the first line that says something. */
export function separatorOf(text: string): Separator {
  const header = headerLine(text).replace(/"[^"]*"/g, '')
  if (header.includes('\t')) return '\t'
  return header.includes(';') && !header.includes(',') ? ';' : ','
}

/** The columns that the first line names. */
export function columnsOf(text: string): string[] {
  return [...recordsOf(headerLine(text), separatorOf(text))][0] ?? []
}

/** How many lines follow the first one that say something. */
export function rowsOf(text: string): number {
  return Math.max(0, text.split('\n').filter((line) => line.trim() !== '').length - 1)
}

/** The same as CSV. What has commas already is left to the service as it is. */
export function toCsv(text: string): string {
  const separator = separatorOf(text)
  if (separator === ',') return text
  let csv = ''
  for (const record of recordsOf(text, separator)) csv += `${record.map(csvCell).join(',')}\n`
  return csv
}

/** A line of it, counted from 1. */
export function lineOf(text: string, line: number): string {
  return text.split('\n')[line - 1]?.replace(/\r$/, '') ?? ''
}

/** From where to where a line goes. */
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

/** A cell in quotes has its own quotes doubled; where what looks so goes on behind the last quote, it is plain text. */
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
