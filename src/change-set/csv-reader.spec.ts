import { describe, expect, it } from '@jest/globals'
import { type CsvRecord, readCsv } from './csv-reader.js'

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
})
