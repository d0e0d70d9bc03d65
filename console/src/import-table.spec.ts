import { describe, expect, it } from '@jest/globals'
import { readTable } from './import-table.ts'

/** Midnight in this process's zone, as `2027-01-31` is read in a form. */
const here = (...parts: [number, number, number, number?, number?]): string => new Date(...parts).toISOString()

describe('a table for an import', () => {
  it.each([
    ['Total', '2,000', 'total', '2000'],
    ['total', '1.500', 'total', '1500'],
    ['total', '1 000 000', 'total', '1000000'],
    ['total', '1.5', 'total', '1.5'],
    ['Already used', '2’000', 'used', '2000'],
    ['Account', '#7', 'account_id', '7'],
    ['quota', '#12', 'id', '12'],
    ['Type', 'Total', 'quota_type', '1'],
    ['quota type', 'rolling', 'quota_type', '3'],
    ['Ends', '2027-01-31', 'expire_at', here(2027, 0, 31)],
    ['Ends', '2027-01-31 18:30', 'expire_at', here(2027, 0, 31, 18, 30)],
    ['Ends', '2027-02-30', 'expire_at', '2027-02-30'],
    ['Ends', '2027-01-31T00:00:00Z', 'expire_at', '2027-01-31T00:00:00Z'],
    ['Ends', 'never', 'expire_at', 'null'],
    ['Next reset', '2027-01-31', 'cycle_reset_at', here(2027, 0, 31)],
    ['What it does', 'only watches', 'cap', 'observe'],
    ['Window', '24 hours', 'window_seconds', '86400'],
    ['window_seconds', '3600', 'window_seconds', '3600'],
    ['Notify at', '80%, 50', 'thresholds', '50 80'],
    ['thresholds', 'none', 'thresholds', 'none'],
    ['Label', '2,000', 'label', '"2,000"'],
    ['Colour', '2’000', 'colour', '2’000'],
  ])('%s: %s is read as a field reads it', (head, cell, column, read) => {
    const pasted = readTable(`${head}\tid\n${cell}\t1`, 'account_id').csv
    expect(pasted).toBe(`${column},id\n${read},1\n`)
  })

  it('that is CSV keeps what is the service’s already, to the byte', () => {
    const csv = 'id,total,label\r\n\r\n1,2000,"a ""b"", 2,000"\r\n2,,"open\r\n'
    expect(readTable(csv, 'account_id').csv).toBe(csv)
    expect(readTable(csv.replace('2000', '"2,000"').replace('total', 'Total'), 'account_id').csv).toBe(csv)
  })

  it.each(['\t', ';', ','])('has blank lines for empty rows (%j)', (separator) => {
    const text = 'id|total\n12|500\n |\n13|600\n'.replaceAll('|', separator)
    expect(readTable(text, 'account_id').csv).toBe('id,total\n12,500\n\n13,600\n')
  })

  it.each([
    ['Total\n5\n6', ['Account', 'Type']],
    ['user_id\tType\n7\ttotal', ['Account', 'Total', 'Ends']],
    ['account_id,quota_type,total\n7,2,5\n8,3,5\n9,4,5', ['Cycle', 'Next reset', 'Cap', 'Window']],
    ['group_id,quota_type,total,expire_at\n7,1,5,never', []],
    ['id,Total\n1,5\n\n', []],
    ['id\tTotal\n1\t5\n\t\n', []],
    ['id,Total\n1,5\n,6', ['Account', 'Type']],
    ['Total', []],
  ])('%j lacks columns for new quotas: %j', (text, missing) => {
    expect(readTable(text, 'account_id').missing).toEqual(missing)
  })
})
