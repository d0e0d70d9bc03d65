import { describe, expect, it } from '@jest/globals'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { columnsOf, lineOf, placeOf, rowsOf, type Separator, separatorOf, toCsv } from './pasted.ts'

/** Cells as spreadsheets copy them: in quotes if they contain a separator, a quote or a line break. */
const copied = (records: readonly (readonly string[])[], separator: Separator): string =>
  records
    .map((record) =>
      record.map((cell) => (/["\r\n\t;]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(separator),
    )
    .join('\r\n')

const read = (csv: string): string[][] => parse(csv, { relax_column_count: true, skip_empty_lines: true })

describe('text from a spreadsheet', () => {
  it.each(['\t', ';'] as const)('is converted to CSV, line by line (%j)', (separator) => {
    const cell = fc
      .array(fc.constantFrom('a', '7', ' ', '"', ',', '\n', '\t', ';', "'", '=', 'é', 'ש', '𝟙'))
      .map((all) => all.join(''))
    const rows = fc.array(fc.tuple(cell, cell, cell), { maxLength: 8 })
    fc.assert(
      fc.property(rows, (some) => {
        const text = copied([['id', 'label', 'total'], ...some], separator)
        const csv = toCsv(text)
        expect(separatorOf(text)).toBe(separator)
        expect(columnsOf(text)).toEqual(['id', 'label', 'total'])
        expect(read(csv)).toEqual([['id', 'label', 'total'], ...some])
        // The number of lines does not change.
        expect(csv.split('\n').length - 1).toBe(text.split('\n').length)
      }),
    )
  })

  it('is unchanged if it is CSV', () => {
    fc.assert(
      fc.property(fc.string(), (rest) => {
        expect(toCsv(`id,label\r\n${rest}`)).toBe(`id,label\r\n${rest}`)
      }),
    )
    expect(separatorOf('\uFEFF"a;b\tc",d')).toBe(',')
    expect(separatorOf('\n\n id\ttotal, in units')).toBe('\t')
    expect(columnsOf('\uFEFFid,"account_id"\n1,2')).toEqual(['id', 'account_id'])
  })

  it('may contain a quote that is not closed', () => {
    expect(read(toCsv('id\tlabel\n1\t"Pro" plan\n2\t"open\n3\tso'))).toEqual([
      ['id', 'label'],
      ['1', '"Pro" plan'],
      ['2', '"open'],
      ['3', 'so'],
    ])
    expect(toCsv('id\ttotal\n\n1\t2\n')).toBe('id,total\n\n1,2\n')
  })

  it('is read in time with any number of open quotes', () => {
    const text = `id\tlabel\n${'"x \t'.repeat(20_000)}`
    const began = performance.now()
    toCsv(text)
    expect(performance.now() - began).toBeLessThan(20_000)
  })

  it('has numbered lines', () => {
    const text = 'id\ttotal\r\n1\t2\r\n\r\n3\t4'
    expect([1, 2, 3, 4, 5].map((line) => lineOf(text, line))).toEqual(['id\ttotal', '1\t2', '', '3\t4', ''])
    expect(text.slice(...placeOf(text, 2))).toBe('1\t2')
    expect(placeOf(text, 9)).toEqual([text.length, text.length])
    expect(rowsOf(text)).toBe(2)
    expect(rowsOf('')).toBe(0)
  })
})
