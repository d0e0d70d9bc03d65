import { describe, expect, it } from '@jest/globals'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { CsvMalformed, type CsvRecord, MAX_COLUMNS, readCsv } from './csv-reader.js'

const MB = 1_000_000

async function* pieces(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text)
}

async function all(chunks: AsyncIterable<Buffer>): Promise<CsvRecord[]> {
  const records: CsvRecord[] = []
  for await (const record of readCsv(chunks)) records.push(record)
  return records
}

describe('readCsv', () => {
  it('determines where records begin, however the file is split into chunks', async () => {
    const text = 'id,label\r\n\r\n\r\n1,"a\r\n\r\n\r\nb"\r\n\r\n2,"\n\n"\n\n\n3,c'
    const expected = [
      { line: 1, cells: ['id', 'label'] },
      { line: 4, cells: ['1', 'a\r\n\r\n\r\nb'] },
      { line: 9, cells: ['2', '\n\n'] },
      { line: 14, cells: ['3', 'c'] },
    ]
    expect(await all(pieces(text))).toEqual(expected)
    expect(await all(pieces(...text.split(/(?<=.)/s)))).toEqual(expected)
    for (let at = 1; at < text.length; at += 1) {
      expect(await all(pieces(text.slice(0, at), text.slice(at)))).toEqual(expected)
    }
  })

  it.each(['\n', '\r\n'])('holds no more of a file of blank lines than of another (%j)', async (end) => {
    const chunk = Buffer.from(end.repeat(50_000))
    const before = process.memoryUsage().rss
    async function* blank(): AsyncGenerator<Buffer> {
      yield Buffer.from('id\n')
      for (let n = 0; n < 40; n += 1) yield chunk
      yield Buffer.from('1')
    }
    expect(await all(blank())).toEqual([
      { line: 1, cells: ['id'] },
      { line: 2_000_002, cells: ['1'] },
    ])
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * MB)
  })

  it('reads and refuses the same as another reader, however the file is split', async () => {
    const text = fc.string({
      unit: fc.constantFrom('a', '"', '""', ',', '\n', '\r\n', '\r', 'é', ',"', '",'),
      maxLength: 30,
    })
    await fc.assert(
      fc.asyncProperty(text, fc.nat(40), async (file, at) => {
        let expected: string[][] | undefined
        try {
          expected = parse(file, { relax_column_count: true, skip_empty_lines: true, record_delimiter: ['\r\n', '\n'] })
        } catch {
          expected = undefined
        }
        const bytes = Buffer.from(file)
        const read = await all(split(bytes, at)).catch((error: unknown) => error)
        if (expected === undefined) expect(read).toBeInstanceOf(CsvMalformed)
        else expect((read as CsvRecord[]).map(({ cells }) => cells)).toEqual(expected)
      }),
      { numRuns: 1_000 },
    )
  })

  it.each([
    ['a quote left open', '1,"b\n'.padEnd(20_000, 'x'), 'more than 10000 bytes'],
    ['a quote inside a cell, and much behind it', `1,a"b${'x'.repeat(20_000)}`, 'a quote inside a cell'],
    ['text after a quote, and much behind it', `"a"b${'x'.repeat(20_000)}`, 'text after the closing quote'],
    ['commas alone', ','.repeat(20_000), 'more than 10000 bytes'],
    ['quotes alone', '"'.repeat(20_001), 'more than 10000 bytes'],
  ])('says why it reads no further: %s', async (_what, record, why) => {
    await expect(all(pieces('id\n', record))).rejects.toThrow(`line 2: `)
    await expect(all(pieces('id\n', record))).rejects.toThrow(why)
    await expect(all(pieces(...record.match(/.{1,999}/gs)!))).rejects.toThrow(why)
  })

  it('returns no more cells than show that a record or a header has too many', async () => {
    const [header, record] = await all(pieces(`a,b\n${','.repeat(9_900)}\n`))
    expect([header!.cells.length, record!.cells.length]).toEqual([2, 12])
    const [long] = await all(pieces(','.repeat(9_900)))
    expect(long!.cells.length).toBe(MAX_COLUMNS)
  })
})

async function* split(bytes: Buffer, at: number): AsyncGenerator<Buffer> {
  yield bytes.subarray(0, at)
  yield bytes.subarray(at)
}
