import { describe, expect, it } from '@jest/globals'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { columnsOf, lineOf, placeOf, rowsOf, type Separator, separatorOf, toCsv } from './pasted.ts'

/** As spreadsheets copy: quotes around what would else be taken for another cell. */
const copied = (records: readonly (readonly string[])[], separator: Separator): string =>
  records
    .map((record) =>
      record.map((cell) => (/["\r\n\t;]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(separator),
    )
    .join('\r\n')

const read = (csv: string): string[][] => parse(csv, { relax_column_count: true, skip_empty_lines: true })

describe('what is pasted out of a spreadsheet', () => {
  it.each(['\t', ';'] as const)('says the same as CSV, line by line (%j)', (separator) => {
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
        // What comes before a row's line comes before it there, too.
        expect(csv.split('\n').length - 1).toBe(text.split('\n').length)
      }),
    )
  })

  it('leaves CSV as it is', () => {
    fc.assert(
      fc.property(fc.string(), (rest) => {
        expect(toCsv(`id,label\r\n${rest}`)).toBe(`id,label\r\n${rest}`)
      }),
    )
    expect(separatorOf('\uFEFF"a;b\tc",d')).toBe(',')
    expect(separatorOf('\n\n id\ttotal, in units')).toBe('\t')
    expect(columnsOf('\uFEFFid,"account_id"\n1,2')).toEqual(['id', 'account_id'])
  })

  it('takes a quote that nothing ends for text', () => {
    expect(read(toCsv('id\tlabel\n1\t"Pro" plan\n2\t"open\n3\tso'))).toEqual([
      ['id', 'label'],
      ['1', '"Pro" plan'],
      ['2', '"open'],
      ['3', 'so'],
    ])
    expect(toCsv('id\ttotal\n\n1\t2\n')).toBe('id,total\n\n1,2\n')
  })

  it('ends in time, however many quotes are left open', () => {
    const text = `id\tlabel\n${'"x \t'.repeat(20_000)}`
    const began = performance.now()
    toCsv(text)
    expect(performance.now() - began).toBeLessThan(20_000)
  })

  it('knows its lines', () => {
    const text = 'id\ttotal\r\n1\t2\r\n\r\n3\t4'
    expect([1, 2, 3, 4, 5].map((line) => lineOf(text, line))).toEqual(['id\ttotal', '1\t2', '', '3\t4', ''])
    expect(text.slice(...placeOf(text, 2))).toBe('1\t2')
    expect(placeOf(text, 9)).toEqual([text.length, text.length])
    expect(rowsOf(text)).toBe(2)
    expect(rowsOf('')).toBe(0)
  })
})
