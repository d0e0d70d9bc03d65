import { isUtf8 } from 'node:buffer'

/** The maximum size of a record, in bytes, without its line end. */
const MAX_RECORD_BYTES = 10_000
/** The maximum number of columns that are read of a header: more than an import has; a longer one is refused. */
export const MAX_COLUMNS = 100
/** The number of cells that are read of a record beyond those of the header: enough to show that they are too many. */
const MAX_SURPLUS = 10

const [LF, CR, QUOTE] = [0x0a, 0x0d, 0x22]

/** The file is not valid CSV. */
export class CsvMalformed extends Error {
  /** @param line at which the invalid record begins */
  constructor(
    readonly line: number,
    readonly why: string,
  ) {
    super(`line ${line}: ${why}`)
  }
}

/** A record of a file. */
export interface CsvRecord {
  /** The line at which it begins, from 1. */
  readonly line: number
  readonly cells: readonly string[]
}

const TOO_LONG = `the record has more than ${MAX_RECORD_BYTES} bytes`
const NOT_UTF8 = 'bytes that are not UTF-8'
const NOT_CLOSED = 'a quote is not closed'
const INSIDE = 'a quote inside a cell that does not begin with one'
const AFTER_QUOTE = 'text after the closing quote of a cell'

/**
 * Reads CSV (RFC 4180, UTF-8) record by record, beginning with the header. A record is bounded before its cells are
 * read: no more than one record is held besides the present chunk, whatever the file contains. Of surplus cells only
 * the first ones are returned.
 * @throws CsvMalformed after the records before the mistake
 */
export async function* readCsv(chunks: AsyncIterable<Buffer>): AsyncGenerator<CsvRecord> {
  /** The line at which the present record begins. */
  let line = 1
  /** The line ends within its quotes. */
  let lines = 0
  let maxCells: number | undefined
  /** The beginning of the present record. */
  let rest: Buffer = Buffer.alloc(0)
  let inQuotes = false

  const recordOf = (bytes: Buffer): CsvRecord | undefined => {
    const text = textOf(bytes, line)
    if (text === '') return undefined
    const cells = cellsOf(text, line, maxCells ?? MAX_COLUMNS)
    maxCells ??= cells.length + MAX_SURPLUS
    return { line, cells }
  }

  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let began = 0
    for (let at = rest.length; at < bytes.length; at += 1) {
      const byte = bytes[at]
      if (byte === QUOTE) inQuotes = !inQuotes
      if (byte !== LF) continue
      lines += 1
      if (inQuotes) continue
      const end = at > began && bytes[at - 1] === CR ? at - 1 : at
      // A file of blank lines has 65,000 in a chunk.
      const record = end === began ? undefined : recordOf(bounded(bytes.subarray(began, end), line))
      if (record !== undefined) yield record
      began = at + 1
      line += lines
      lines = 0
    }
    rest = bytes.subarray(began)
    // It may end with half of a CRLF.
    if (rest.at(-1) === CR) bounded(rest.subarray(0, -1), line)
    else bounded(rest, line)
  }
  const last = recordOf(bounded(rest, line))
  if (last !== undefined) yield last
}

/** @throws CsvMalformed if a record is too long, or its beginning invalid */
function bounded(record: Buffer, line: number): Buffer {
  if (record.length <= MAX_RECORD_BYTES) return record
  // A stray quote makes a record of what follows it.
  const beginning = record.subarray(0, MAX_RECORD_BYTES).toString()
  const mistake = mistakeOf(beginning, line)
  throw mistake === undefined || mistake.why === NOT_CLOSED ? new CsvMalformed(line, TOO_LONG) : mistake
}

function mistakeOf(text: string, line: number): CsvMalformed | undefined {
  try {
    cellsOf(text, line, 0)
    return undefined
  } catch (error) {
    return error as CsvMalformed
  }
}

function textOf(bytes: Buffer, line: number): string {
  if (!isUtf8(bytes)) throw new CsvMalformed(line + badLine(bytes), NOT_UTF8)
  const text = bytes.toString()
  return line === 1 && text.startsWith('\uFEFF') ? text.slice(1) : text
}

/** Returns the cells of a record, no more than the maximum. @throws CsvMalformed */
function cellsOf(text: string, line: number, max: number): string[] {
  const cells: string[] = []
  for (let at = 0; ; at += 1) {
    let cell: string
    if (text[at] === '"') {
      let end = text.indexOf('"', at + 1)
      while (end !== -1 && text[end + 1] === '"') end = text.indexOf('"', end + 2)
      if (end === -1) throw new CsvMalformed(line, NOT_CLOSED)
      cell = text.slice(at + 1, end).replaceAll('""', '"')
      at = end + 1
      if (at < text.length && text[at] !== ',') throw new CsvMalformed(line, AFTER_QUOTE)
    } else {
      const comma = text.indexOf(',', at)
      const end = comma === -1 ? text.length : comma
      cell = text.slice(at, end)
      if (cell.includes('"')) throw new CsvMalformed(line, INSIDE)
      at = end
    }
    if (cells.length < max) cells.push(cell)
    if (at >= text.length) return cells
  }
}

/** Returns the index of the line that is not UTF-8. */
function badLine(lines: Buffer): number {
  let line = 0
  let began = 0
  for (let at = lines.indexOf(LF); at !== -1; at = lines.indexOf(LF, at + 1)) {
    if (!isUtf8(lines.subarray(began, at))) return line
    line += 1
    began = at + 1
  }
  return line
}
