import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { readId, readIds, readWhole } from './whole-number.ts'

const MOST = 1_000_000_000_000
const AMOUNTS = { min: 0, max: MOST }
/** Dots, commas, apostrophes, spaces of three widths, groups of two, and four scripts. */
const LOCALES =
  'en-US en-GB en-IN de-DE de-AT de-CH fr-FR pl-PL pt-PT es-ES sv-SE hi-IN mr-IN bn-BD ar-EG fa-IR ja-JP my-MM'.split(
    ' ',
  )

describe('a typed integer', () => {
  it.each(LOCALES)('is read back in the format of %s', (locale) => {
    const format = new Intl.NumberFormat(locale)
    fc.assert(
      fc.property(fc.oneof(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 0, max: MOST })), (amount) => {
        for (const anywhere of [locale, 'en-US', 'de-DE'])
          expect(readWhole(format.format(amount), AMOUNTS, anywhere)).toMatchObject({ value: amount })
        expect(readWhole(` ${amount} `, AMOUNTS, locale)).toMatchObject({ value: amount })
      }),
    )
  })

  it.each([
    ['1.000', 1000],
    ['1,000', 1000],
    ["1'000", 1000],
    ['1 000', 1000],
    ['1\u202f000\u202f000', 1_000_000],
    ['12,34,567', 1_234_567],
    ['\u200f١٬٠٠٠', 1000],
    ['１２３', 123],
    ['007', 7],
    ['0', 0],
  ])('%j is %d in every language', (text, value) => {
    for (const locale of LOCALES) expect(readWhole(text, AMOUNTS, locale)).toMatchObject({ value })
  })

  it.each(
    '0x10 1e3 1E3 1_000 +5 -5 --5 NaN Infinity 1k 1.5 1,5 12.34 1.0000 1.000,5 1,000.00 1.00 5. .5 0.500 0,123 1.000,000 1,0000 1..000 10,00 ½ ² 10² 𝟙𝟘 Ⅻ 1\u20002\u20003 five 1000000000001 1.000.000.000.001 #7'.split(
      ' ',
    ),
  )('%s is refused, in words', (text) => {
    expect(readWhole(text, AMOUNTS, 'en-GB')).toEqual({
      mistake: expect.stringMatching(
        /^a whole number from 0 to 1,000,000,000,000(, without a fraction|, in digits: 1,234)?$/,
      ),
    })
  })

  it('reports a fraction differently from other texts', () => {
    expect(readWhole('1.5', AMOUNTS, 'de-DE')).toEqual({
      mistake: 'a whole number from 0 to 1.000.000.000.000, without a fraction',
    })
    expect(readWhole('0x10', AMOUNTS, 'de-DE')).toMatchObject({ mistake: expect.stringMatching(/in digits: 1\.234$/) })
  })

  it('is shown as parsed if it may be misread', () => {
    const shown = (text: string, locale: string): unknown => readWhole(text, AMOUNTS, locale)
    expect(shown('1.000', 'de-DE')).toEqual({ value: 1000, shown: '1.000' })
    expect(shown('1.000', 'en-GB')).toEqual({ value: 1000, shown: '1,000' })
    expect(shown('5000000', 'en-GB')).toEqual({ value: 5_000_000, shown: '5,000,000' })
    expect(shown('999', 'en-GB')).toEqual({ value: 999, shown: undefined })
    expect(shown('٧', 'en-GB')).toEqual({ value: 7, shown: '7' })
  })

  it('never throws, and accepts only digits and separators', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        const reading = readWhole(text, AMOUNTS, 'en-GB')
        if (reading.value !== undefined) expect(text).toMatch(/^[\p{Nd}\p{Cf}\s.,'’٬]+$/u)
      }),
      { numRuns: 2_000 },
    )
    expect(readWhole('9'.repeat(1_000_000), AMOUNTS)).toHaveProperty('mistake')
  })

  it('an id is digits, with or without #', () => {
    expect([readId('12'), readId(' #12 ')].map(({ value }) => value)).toEqual([12, 12])
    for (const text of ['', '0', '#', '1.000', '0x10', '1e3', '9007199254740992', '-1'])
      expect(readId(text)).toEqual({ mistake: 'a number from 1, in digits alone' })
  })

  it('a list of ids may stand in any form, names each once, and says what is none', () => {
    expect(readIds('7, 8\n#9;8 \t10\n')).toEqual({ ids: [7, 8, 9, 10], wrong: [] })
    expect(readIds('7 x 0 8')).toEqual({ ids: [7, 8], wrong: ['x', '0'] })
    expect(readIds(' ')).toEqual({ ids: [], wrong: [] })
  })

  it('a list of ids has no number that may be one or several', () => {
    expect(readIds('1,234\n5,678\n9')).toEqual({ ids: [9], wrong: ['1,234', '5,678'] })
    expect(readIds('1,234, 5\n#5,678,\n')).toEqual({ ids: [5], wrong: ['1,234,', '#5,678,'] })
    expect(readIds('1\u202f234')).toEqual({ ids: [], wrong: ['1\u202f234'] })
    expect(readIds('1,23 7,1234 1, 234')).toEqual({ ids: [1, 23, 7, 1234, 234], wrong: [] })
  })
})
