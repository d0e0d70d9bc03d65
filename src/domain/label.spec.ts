import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { comparedLabel, isLabel, MAX_STORED_LENGTH, rangeOf, storedForSearch } from './label.js'

/** As a store compares: by code points. */
function compare(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

/** As a store does that first makes both equally long with spaces. */
function comparePadded(one: string, other: string): number {
  const length = Math.max(one.length, other.length)
  return compare(one.padEnd(length), other.padEnd(length))
}

const label = fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }).filter(isLabel)
const near = fc.string({
  unit: fc.constantFrom('a', 'A', ' ', '!', 'é', 'e\u0301', 'İ', 'ß', '\u{10ffff}', '~'),
  minLength: 1,
  maxLength: 4,
})

describe('a label', () => {
  it.each(['a', ' ', 'Frühjahr 2027', '💣'.repeat(120), '%_\\', '\u200d', '\ufffd', '\u{10ffff}'])(
    'may be %j',
    (text) => {
      expect(isLabel(text)).toBe(true)
    },
  )

  it.each([
    '',
    'a'.repeat(121),
    '💣'.repeat(121),
    'a\nb',
    '\u0000',
    '\u007f',
    '\u0085',
    '\ud800',
    'a\udc00',
    '\udc00\ud800',
  ])('may not be %j', (text) => {
    expect(isLabel(text)).toBe(false)
  })
})

describe('labels compare', () => {
  it.each([
    ['STRASSE', 'strasse'],
    ['ΣΑΣ', 'σασ'],
    ['İ', 'i\u0307'],
    ['E\u0301', 'é'],
    ['𐐀', '𐐨'],
    ['Straße', 'straße'],
    ['K', 'k'],
  ])('%j as %j', (text, compared) => {
    expect(comparedLabel(text)).toBe(compared)
  })
})

describe('the range of a prefix', () => {
  it.each<[string, (one: string, other: string) => number]>([
    ['code points', compare],
    ['code points, padded with spaces', comparePadded],
  ])('holds exactly the labels that begin so, compared by %s', (_how, by) => {
    fc.assert(
      fc.property(fc.oneof(label, near), fc.oneof(label, near), fc.boolean(), (text, prefix, within) => {
        const whole = within ? prefix + text : text
        const stored = storedForSearch(whole) ?? ''
        const { from, to } = rangeOf(prefix)
        const found = by(stored, from) >= 0 && (to === undefined || by(stored, to) < 0)
        const begins = comparedLabel(whole).startsWith(comparedLabel(prefix))
        expect(found).toBe(begins)
      }),
      { numRuns: 5_000 },
    )
  })

  it.each([
    ['ab', 'ab', 'ac'],
    ['a\u{10ffff}', 'a\u{10ffff}', 'b'],
    ['\ud7ff', '\ud7ff', '\ue000'],
    ['\u{10ffff}', '\u{10ffff}', undefined],
  ])('of %j is from %j to %j', (prefix, from, to) => {
    expect(rangeOf(prefix)).toEqual({ from, to })
  })

  it('fits into its column', () => {
    let most = 0
    for (let point = 0xa0; point <= 0x10ffff; point += 1) {
      const character = String.fromCodePoint(point)
      // What is not assigned, or half a pair, has no other forms.
      if (/[\p{Cn}\p{Co}\p{Cs}]/u.test(character)) continue
      most = Math.max(most, Array.from(comparedLabel(character)).length)
    }
    expect(120 * most + 1).toBeLessThanOrEqual(MAX_STORED_LENGTH)
  })
})
