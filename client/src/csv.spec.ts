import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { cellText, CsvMalformed, recordsOf } from './csv.js'

async function* inPieces(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0
  for (let n = 0; from < bytes.length; n += 1) {
    const size = sizes[n % sizes.length] ?? bytes.length
    yield bytes.subarray(from, from + size)
    from += size
  }
}

async function read(text: string, sizes: readonly number[] = [7]): Promise<string[][]> {
  const records: string[][] = []
  for await (const record of recordsOf(inPieces(new TextEncoder().encode(text), sizes))) records.push(record)
  return records
}

const quoted = (field: string): string => `"${field.replaceAll('"', '""')}"`

describe('CSV', () => {
  it('is read as it was written, wherever the pieces end', async () => {
    const field = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', 'é', '😀', "'", ' ') })
    const table = fc.array(fc.array(field, { minLength: 1, maxLength: 4 }), { maxLength: 6 })
    const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(
        table,
        sizes,
        fc.constantFrom('\n', '\r\n'),
        fc.boolean(),
        async (records, pieces, end, mark) => {
          const lines = records.map((record) => record.map(quoted).join(','))
          const text = (mark ? '\uFEFF' : '') + lines.join(end) + (lines.length > 0 ? end : '')
          expect(await read(text, pieces)).toEqual(records)
        },
      ),
    )
  })

  it.each<[string, string[][]]>([
    [
      'a,b\n1,\n',
      [
        ['a', 'b'],
        ['1', ''],
      ],
    ],
    [
      'a,b\r\n1,2',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    ['a\n\n\r\nb\n', [['a'], ['b']]],
    ['""\n', [['']]],
    ['', []],
    ['\uFEFFid\n', [['id']]],
  ])('%j', async (text, records) => {
    expect(await read(text)).toEqual(records)
  })

  it('says so where it ends within quotes', async () => {
    await expect(read('a,"b')).rejects.toThrow(CsvMalformed)
  })

  it('has texts behind guards, and nothing for null', () => {
    const cells = ['', 'x', "'=1+1", "''x", "'+1", "'-1", "'@x", "'\tx", "'\rx", "'null", "'nullable", "'x"]
    expect(cells.map(cellText)).toEqual([
      null,
      'x',
      '=1+1',
      "'x",
      '+1',
      '-1',
      '@x',
      '\tx',
      '\rx',
      'null',
      "'nullable",
      "'x",
    ])
  })
})
