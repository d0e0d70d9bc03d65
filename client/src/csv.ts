/** The file is not valid CSV. */
export class CsvMalformed extends Error {
  override readonly name = 'CsvMalformed'
}

/**
 * Reads the records of a CSV file (RFC 4180, UTF-8) as they arrive: each is a list of its fields. It keeps only the
 * current record.
 * @throws CsvMalformed if the file ends within quotes
 */
export async function* recordsOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string[], void, undefined> {
  // It removes a byte order mark.
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let record: string[] = []
  let field = ''
  let state: 'plain' | 'quoted' | 'closed' = 'plain'
  let begun = false
  for await (const text of texts(chunks, decoder)) {
    for (const char of text) {
      if (state === 'quoted') {
        if (char === '"') state = 'closed'
        else field += char
        continue
      }
      if (char === '"') {
        // Two quotes within quotes are one.
        if (state === 'closed') field += '"'
        state = 'quoted'
        begun = true
      } else if (char === ',' || char === '\n') {
        record.push(field)
        field = ''
        state = 'plain'
        if (char === '\n') {
          if (begun) yield record
          record = []
        }
        begun = char === ','
      } else if (char !== '\r') {
        field += char
        begun = true
      }
    }
  }
  if (state === 'quoted') throw new CsvMalformed('the file ends within quotes')
  if (begun) yield [...record, field]
}

async function* texts(chunks: AsyncIterable<Uint8Array>, decoder: TextDecoder): AsyncGenerator<string> {
  for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true })
  yield decoder.decode()
}

/** Values before which an export puts a `'`, so that no spreadsheet evaluates them; and the text `null`. */
const GUARDED = /^'(?=['=+\-@\t\r]|null$)/
/** The same where a program splits a cell. */
const GUARDED_PART = /([;\t])'(?='*[=+\-@])/g

/** The value of a cell; null if it is empty. */
export function cellText(cell: string): string | null {
  return cell === '' ? null : cell.replace(GUARDED, '').replace(GUARDED_PART, '$1')
}

/** The bytes of an answer; aborts the request if the reader stops. */
export async function* bytesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
