import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { Column, DataSource, Entity, PrimaryColumn } from 'typeorm'
import { INTEGER, ascii } from './column.js'
import { dataSourceOptions } from './data-source-options.js'
import { placeholders, RowCodec } from './row-codec.js'

@Entity()
class Thing {
  @PrimaryColumn(INTEGER)
  id!: number

  @Column({ ...INTEGER, nullable: true })
  amount!: number | null

  @Column({ ...ascii(20), nullable: true })
  name!: string | null

  @Column(ascii(20))
  kind!: string
}

describe('a list of values', () => {
  it('is never empty, which servers refuse', () => {
    expect([[7, 8, 9], [7], []].map(placeholders)).toEqual(['?, ?, ?', '?', 'NULL'])
  })
})

describe('the INSERT of many rows', () => {
  const folder = mkdtempSync(join(tmpdir(), 'row-codec-'))
  const source = new DataSource(dataSourceOptions({ kind: 'sqlite', path: join(folder, 'things') }, [Thing], 'service'))
  let codec: RowCodec<Thing>

  beforeAll(async () => {
    await source.initialize()
    await source.query('CREATE TABLE thing (id INTEGER PRIMARY KEY, amount INTEGER, name TEXT, kind TEXT NOT NULL)')
    codec = RowCodec.of(source, Thing)
  })
  afterAll(async () => {
    await source.destroy()
    rmSync(folder, { recursive: true })
  })

  it('leaves out only columns that are null in every row', () => {
    const sqlOf = (rows: Partial<Thing>[]): string[] =>
      codec.inserts(rows, { statementBytes: 10_000 }).map(({ sql }) => sql)
    expect(sqlOf([{ id: 1, kind: 'a', amount: null }])).toEqual(['INSERT INTO `thing` (`id`, `kind`) VALUES (?, ?)'])
    expect(
      sqlOf([
        { id: 1, kind: 'a' },
        { id: 2, kind: 'b', amount: 0 },
      ]),
    ).toEqual(['INSERT INTO `thing` (`id`, `amount`, `kind`) VALUES (?, ?, ?), (?, ?, ?)'])
    expect(sqlOf([])).toEqual([])
  })

  it('stores every value, whichever rows have it', async () => {
    const value = fc.record({
      amount: fc.option(fc.nat()),
      name: fc.option(fc.constantFrom('', 'one', '?')),
      kind: fc.constantFrom('', 'a', '?'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(value, { maxLength: 5 }), async (values) => {
        const rows = values.map((one, id) => ({ id, ...one }))
        await source.query('DELETE FROM thing')
        for (const { sql, values: bound } of codec.inserts(rows, { statementBytes: 150 }))
          await source.query(sql, bound)
        const found: Record<string, unknown>[] = await source.query('SELECT * FROM thing ORDER BY id')
        expect(found.map((row) => codec.decode(row))).toEqual(rows)
      }),
    )
  })
})
