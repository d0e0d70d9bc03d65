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
  return [...recordsOf(headerLine(text), separatorOf(text))][0]?.map(({ text: cell }) => cell) ?? []
}

/** The number of lines after the header that are not blank. */
export function rowsOf(text: string): number {
  return Math.max(0, text.split('\n').filter((line) => line.trim() !== '').length - 1)
}

/**
 * The text as CSV, with other cells. Text with commas is CSV already: only cells that differ are written anew.
 * @param read returns a record's cells as they are to be; a record of fewer cells is written anew
 */
export function toCsv(text: string, read = (record: readonly string[]): readonly string[] => record): string {
  const separator = separatorOf(text)
  const pieces: string[] = []
  let copied = 0
  for (const cells of recordsOf(text, separator)) {
    const written = read(cells.map(({ text: cell }) => cell))
    if (separator !== ',') {
      pieces.push(`${written.map(csvCell).join(',')}\n`)
      continue
    }
    if (written.length < cells.length) {
      pieces.push(text.slice(copied, cells[0]?.from), written.map(csvCell).join(','))
      copied = cells.at(-1)?.to ?? copied
      continue
    }
    for (const [place, { text: cell, from, to }] of cells.entries()) {
      const other = written[place] ?? cell
      if (other === cell) continue
      pieces.push(text.slice(copied, from), csvCell(other))
      copied = to
    }
  }
  return separator === ',' ? pieces.join('') + text.slice(copied) : pieces.join('')
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

/** A cell, and where it is written. */
interface Cell {
  readonly text: string
  readonly from: number
  readonly to: number
}

/** In a quoted cell, quotes are doubled. If text follows the closing quote, the cell is not quoted. */
function* recordsOf(text: string, separator: Separator): Generator<readonly Cell[]> {
  const quoted = new RegExp(`"((?:[^"]|""){0,${MAX_CELL}})"(?=${separator}|\\r?\\n|$)`, 'uy')
  const plain = new RegExp(`[^${separator}\\n]*`, 'uy')
  let record: Cell[] = []
  let at = text.startsWith('\uFEFF') ? 1 : 0
  while (at < text.length || record.length > 0) {
    quoted.lastIndex = plain.lastIndex = at
    const [whole, inside] = quoted.exec(text) ?? plain.exec(text) ?? ['']
    const written = inside === undefined ? whole.replace(/\r$/, '') : whole
    record.push({ text: inside?.replaceAll('""', '"') ?? written, from: at, to: at + written.length })
    at += whole.length
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
