import { isUtf8 } from 'node:buffer'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Options, parse } from 'csv-parse'

/** The maximum size of a record. */
const MAX_RECORD_BYTES = 10_000

const [LF, CR] = [0x0a, 0x0d]

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

const WHY: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: 'a quote is not closed',
  INVALID_OPENING_QUOTE: 'a quote inside a cell that does not begin with one',
  CSV_INVALID_CLOSING_QUOTE: 'text after the closing quote of a cell',
  CSV_MAX_RECORD_SIZE: TOO_LONG,
}

/**
 * Reads CSV (RFC 4180, UTF-8) record by record, beginning with the header. Holds only a few records in memory, and
 * reads chunks at the speed of the consumer.
 * @throws CsvMalformed after the records before the mistake
 */
export async function* readCsv(chunks: AsyncIterable<Buffer>): AsyncGenerator<CsvRecord> {
  const lines = new Lines()
  const options: Options<CsvRecord> = {
    bom: true,
    // Limits the memory for a record without an end.
    max_record_size: MAX_RECORD_BYTES,
    // Called as soon as a record is read, so that a later mistake is reported at a later line.
    on_record: (cells: unknown, { bytes }): CsvRecord => ({ line: lines.passed(bytes), cells: cells as string[] }),
    record_delimiter: ['\r\n', '\n'],
    relax_column_count: true,
    skip_empty_lines: true,
  }
  const parser = parse(options as unknown as Options)
  const checked = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        lines.add(chunk)
        done(null, chunk)
      } catch (error) {
        done(error as Error)
      }
    },
    flush(done) {
      done(lines.end())
    },
  })
  const fed = pipeline(Readable.from(chunks), checked, parser)
  // The iterator of the parser throws the error.
  fed.catch(() => undefined)
  try {
    for await (const record of parser as AsyncIterable<CsvRecord>) yield record
  } catch (error) {
    const why = WHY[(error as { code?: string }).code ?? '']
    throw why === undefined ? error : new CsvMalformed(lines.next(), why)
  }
}

/** The end of a line, or of a run of blank lines. */
interface LineEnd {
  /** The position of its last LF, in bytes. */
  at: number
  lines: number
  readonly afterCr: boolean
  readonly blank: boolean
}

/**
 * Determines the line at which each record begins, and checks that the file is UTF-8. The parser counts lines
 * differently, so this class counts line ends.
 */
class Lines {
  /** The ends of lines after the last record. */
  private readonly ends: LineEnd[] = []
  private passedLines = 0
  /** The end of the last record, in bytes. */
  private passedBytes = 0
  private bytes = 0
  private lines = 0
  private lineBegan = 0
  private lastByte: number | undefined
  private tail: Buffer = Buffer.alloc(0)

  /** @throws CsvMalformed if a line is not UTF-8 */
  add(chunk: Buffer): void {
    this.check(chunk)
    for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, at + 1)) {
      const place = this.bytes + at
      const before = at === 0 ? this.lastByte : chunk[at - 1]
      const length = place - this.lineBegan
      const afterCr = before === CR
      const blank = length === 0 || (length === 1 && afterCr)
      const previous = this.ends.at(-1)
      // No record begins or ends among blank lines. They are counted together, since a file may consist of them.
      if (blank && previous?.blank === true) Object.assign(previous, { at: place, lines: previous.lines + 1 })
      else this.ends.push({ at: place, lines: 1, afterCr, blank })
      this.lineBegan = place + 1
    }
    this.bytes += chunk.length
    this.lastByte = chunk.at(-1)
  }

  /** @returns the mistake, if the file ends within a character */
  end(): CsvMalformed | null {
    return this.tail.length === 0 ? null : new CsvMalformed(this.lines + 1, NOT_UTF8)
  }

  /**
   * Accounts for a record.
   * @param bytes the end of the record, including its delimiter
   * @returns the line at which it begins
   * @throws CsvMalformed if it is too long
   */
  passed(bytes: number): number {
    const line = this.next()
    let began = this.passedBytes
    let delimiter = 0
    while (this.ends[0] !== undefined && this.ends[0].at < bytes) {
      const { at, lines, afterCr, blank } = this.ends[0]
      if (blank && this.passedLines + 1 < line) began = at + 1
      if (at === bytes - 1) delimiter = afterCr ? 2 : 1
      this.passedLines += lines
      this.ends.shift()
    }
    this.passedBytes = bytes
    if (bytes - delimiter - began > MAX_RECORD_BYTES) throw new CsvMalformed(line, TOO_LONG)
    return line
  }

  /** Returns the line at which the next record begins. */
  next(): number {
    const [first] = this.ends
    return this.passedLines + 1 + (first?.blank === true ? first.lines : 0)
  }

  private check(chunk: Buffer): void {
    const text = this.tail.length === 0 ? chunk : Buffer.concat([this.tail, chunk])
    const whole = text.length - unfinished(text)
    const lines = text.subarray(0, whole)
    if (!isUtf8(lines)) throw new CsvMalformed(this.lines + 1 + badLine(lines), NOT_UTF8)
    for (let at = lines.indexOf(LF); at !== -1; at = lines.indexOf(LF, at + 1)) this.lines += 1
    this.tail = Buffer.from(text.subarray(whole))
  }
}

const NOT_UTF8 = 'bytes that are not UTF-8'

/** Returns the number of bytes at the end that may be the beginning of a character. */
function unfinished(text: Buffer): number {
  for (let back = 1; back <= 3 && back <= text.length; back += 1) {
    const byte = text[text.length - back] ?? 0
    if (byte < 0x80) return 0
    // The first byte determines how many follow.
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? back : 0
  }
  return 0
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
