import { describe, expect, it } from '@jest/globals'
import { type Column, headLine, rowLines } from './csv.js'

const COLUMNS: readonly Column<readonly [unknown, unknown]>[] = [
  ['id', ([id]) => id],
  ['text', ([, text]) => text],
]

describe('a list as CSV', () => {
  it.each([
    [null, ''],
    [undefined, ''],
    [-5, '-5'],
    ['plain', 'plain'],
    ['a "b", c', '"a ""b"", c"'],
    ['two\r\nlines', '"two\r\nlines"'],
    ['=1+1', "'=1+1"],
    ['@a,b', `"'@a,b"`],
    ["'x", "''x"],
    ['\tx', "'\tx"],
    ['null', "'null"],
    // A program that splits cells at semicolons or tabs would evaluate such a part.
    ['a;=1+1', "a;'=1+1"],
    ['a\t@b;+c', "a\t'@b;'+c"],
    ["a;'=1", "a;''=1"],
    [{ label: 'a;=1+1' }, `"{""label"":""a;'=1+1""}"`],
    ['שלום', 'שלום'],
    [{ total: 5, label: '=1' }, '"{""total"":5,""label"":""=1""}"'],
    [[], '[]'],
  ])('%j is %j in a file', (value, cell) => {
    expect(headLine(COLUMNS)).toBe('id,text\r\n')
    expect(
      rowLines(COLUMNS, [
        [1, value],
        [2, 'next'],
      ]),
    ).toBe(`1,${cell}\r\n2,next\r\n`)
  })
})
