import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { exportedCell, givenCell, plainText } from './csv-cells.js'

/** Text rich in what the rules are about. */
const label = fc.oneof(
  fc.string({ unit: fc.constantFrom(';', '\t', "'", '=', '+', '-', '@', '\r', 'a', ' ', '"', ','), maxLength: 12 }),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('null', "'null", "''null", ';null'),
)

describe('a cell', () => {
  it('is imported as it was exported, whatever its text', () => {
    fc.assert(fc.property(label, (text) => expect(plainText(exportedCell(text))).toBe(text)))
  })

  it('holds no formula, at its beginning or where a program splits it', () => {
    fc.assert(
      fc.property(label, (text) => {
        for (const cell of [exportedCell(text), givenCell(text)]) {
          expect(cell).not.toMatch(/^[=+\-@\t\r]/)
          for (const part of cell.split(/[;\t]/).slice(1)) expect(part).not.toMatch(/^[=+\-@]/)
        }
      }),
    )
  })

  it('that was given is imported as the same from a file of rows', () => {
    fc.assert(fc.property(label, (text) => expect(plainText(givenCell(text))).toBe(plainText(text))))
  })

  it.each([
    ['x;=1+1;y', "x;'=1+1;y"],
    ['x;1;y', 'x;1;y'],
    ["x;'=1", "x;''=1"],
    ["x;'y", "x;'y"],
    ['a\t@b', "a\t'@b"],
    ['\t=1', "'\t'=1"],
    [';-1;+1', ";'-1;'+1"],
    ['; =1', '; =1'],
    ['=1;=2', "'=1;'=2"],
  ])('%j is exported as %j', (text, cell) => expect(exportedCell(text)).toBe(cell))
})
