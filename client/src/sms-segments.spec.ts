import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { smsSegments } from './sms-segments.js'

/** 3GPP TS 23.038, 6.2.1: the default alphabet, its code points by septet 0x00 … 0x7F; 0x1B is the escape. */
// prettier-ignore
const TABLE = [
  0x0040, 0x00a3, 0x0024, 0x00a5, 0x00e8, 0x00e9, 0x00f9, 0x00ec,
  0x00f2, 0x00c7, 0x000a, 0x00d8, 0x00f8, 0x000d, 0x00c5, 0x00e5,
  0x0394, 0x005f, 0x03a6, 0x0393, 0x039b, 0x03a9, 0x03a0, 0x03a8,
  0x03a3, 0x0398, 0x039e, -1, 0x00c6, 0x00e6, 0x00df, 0x00c9,
  0x0020, 0x0021, 0x0022, 0x0023, 0x00a4, 0x0025, 0x0026, 0x0027,
  0x0028, 0x0029, 0x002a, 0x002b, 0x002c, 0x002d, 0x002e, 0x002f,
  0x0030, 0x0031, 0x0032, 0x0033, 0x0034, 0x0035, 0x0036, 0x0037,
  0x0038, 0x0039, 0x003a, 0x003b, 0x003c, 0x003d, 0x003e, 0x003f,
  0x00a1, 0x0041, 0x0042, 0x0043, 0x0044, 0x0045, 0x0046, 0x0047,
  0x0048, 0x0049, 0x004a, 0x004b, 0x004c, 0x004d, 0x004e, 0x004f,
  0x0050, 0x0051, 0x0052, 0x0053, 0x0054, 0x0055, 0x0056, 0x0057,
  0x0058, 0x0059, 0x005a, 0x00c4, 0x00d6, 0x00d1, 0x00dc, 0x00a7,
  0x00bf, 0x0061, 0x0062, 0x0063, 0x0064, 0x0065, 0x0066, 0x0067,
  0x0068, 0x0069, 0x006a, 0x006b, 0x006c, 0x006d, 0x006e, 0x006f,
  0x0070, 0x0071, 0x0072, 0x0073, 0x0074, 0x0075, 0x0076, 0x0077,
  0x0078, 0x0079, 0x007a, 0x00e4, 0x00f6, 0x00f1, 0x00fc, 0x00e0,
]
/** 6.2.1.1: the extension table, septet after the escape to code point. */
const EXTENDED = new Map([
  [0x0a, 0x000c],
  [0x14, 0x005e],
  [0x28, 0x007b],
  [0x29, 0x007d],
  [0x2f, 0x005c],
  [0x3c, 0x005b],
  [0x3d, 0x007e],
  [0x3e, 0x005d],
  [0x40, 0x007c],
  [0x65, 0x20ac],
])
const ESCAPE = 0x1b
const SEPTETS = new Map<number, number[]>([
  ...TABLE.map((point, septet): [number, number[]] => [point, [septet]]).filter(([point]) => point >= 0),
  ...[...EXTENDED].map(([septet, point]): [number, number[]] => [point, [ESCAPE, septet]]),
])

/** The encoded text, unit by unit, and the units before which a cut would split a character. */
function encoded(text: string): { units: number[]; breaks: Set<number>; gsm: boolean } {
  const points = Array.from(text, (character) => character.codePointAt(0)!)
  const gsm = points.every((point) => SEPTETS.has(point))
  const units = gsm
    ? points.flatMap((point) => SEPTETS.get(point)!)
    : Array.from({ length: text.length }, (_, index) => text.charCodeAt(index))
  const breaks = new Set<number>()
  for (let index = 1; index < units.length; index += 1) {
    const before = units[index - 1]!
    const after = units[index]!
    const pair = before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff
    if (gsm ? before === ESCAPE : pair) breaks.add(index)
  }
  return { units, breaks, gsm }
}

/** The minimum number of messages for the units, over all ways to cut them. */
function fewest(text: string): number {
  const { units, breaks, gsm } = encoded(text)
  if (units.length <= (gsm ? 160 : 70)) return 1
  const room = gsm ? 153 : 67
  const need: number[] = [0]
  for (let end = 1; end <= units.length; end += 1) {
    need[end] = Infinity
    for (let begin = Math.max(0, end - room); begin < end; begin += 1) {
      if (!breaks.has(begin) && !breaks.has(end)) need[end] = Math.min(need[end]!, need[begin]! + 1)
    }
  }
  return need[units.length]!
}

const gsmCharacter = fc.constantFrom(...Array.from(SEPTETS.keys(), (point) => String.fromCodePoint(point)))
const mostlyOneSeptet = fc.oneof({ weight: 8, arbitrary: fc.constant('a') }, { weight: 2, arbitrary: gsmCharacter })
const mostlyPairs = fc.oneof(fc.constant('ж'), fc.constant('😀'), fc.string({ unit: 'binary', maxLength: 1 }))
const text = fc.oneof(
  fc.string({ unit: mostlyOneSeptet, maxLength: 700 }),
  fc.string({ unit: fc.constantFrom('a', '€'), minLength: 150, maxLength: 330 }),
  fc.string({ unit: mostlyPairs, maxLength: 300 }),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
)

describe('smsSegments', () => {
  it('knows every character of GSM-7 and no other of the basic plane', () => {
    const wrong: number[] = []
    for (let point = 0; point <= 0xffff; point += 1) {
      const { encoding, units } = smsSegments(String.fromCharCode(point))
      const septets = SEPTETS.get(point)
      const right = septets === undefined ? encoding === 'UCS-2' : encoding === 'GSM-7' && units === septets.length
      if (!right) wrong.push(point)
    }
    expect(wrong).toEqual([])
    expect(SEPTETS.size).toBe(127 + 10)
  })

  it('takes the fewest messages that any way of cutting could', () => {
    fc.assert(
      fc.property(text, (sent) => {
        expect(smsSegments(sent).segments).toBe(fewest(sent))
      }),
      { numRuns: 500 },
    )
  })

  it('puts every character into one part, whole, and fills no part above its room', () => {
    fc.assert(
      fc.property(text, (sent) => {
        const { parts, units, encoding, segments } = smsSegments(sent)
        expect(parts.join('')).toBe(sent)
        expect(parts).toHaveLength(segments)
        const lengths = parts.map((part) => (encoding === 'GSM-7' ? encoded(part).units.length : part.length))
        expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(units)
        const room = segments === 1 ? { 'GSM-7': 160, 'UCS-2': 70 } : { 'GSM-7': 153, 'UCS-2': 67 }
        expect(Math.max(...lengths)).toBeLessThanOrEqual(room[encoding])
        // A part that ended between two halves would contain half a character.
        expect(parts.flatMap((part) => Array.from(part))).toEqual(Array.from(sent))
      }),
      { numRuns: 500 },
    )
  })

  it('names the first character that is not GSM-7', () => {
    expect(smsSegments('Hello').firstNonGsm).toBeNull()
    expect(smsSegments('Grüße, 5 €').firstNonGsm).toBeNull()
    expect(smsSegments('a “quote”').firstNonGsm).toEqual({ character: '“', index: 2 })
    expect(smsSegments('😀 and ж').firstNonGsm).toEqual({ character: '😀', index: 0 })
    expect(smsSegments('€€😀').firstNonGsm).toEqual({ character: '😀', index: 2 })
    // Of the two, GSM-7 has only the capital.
    expect(smsSegments('Çç').firstNonGsm).toEqual({ character: 'ç', index: 1 })
    // The escape is part of the encoding, not a character.
    expect(smsSegments('a\u001Bb').firstNonGsm).toEqual({ character: '\u001B', index: 1 })
  })

  it.each([
    ['', 'GSM-7', 1, 0],
    ['a'.repeat(160), 'GSM-7', 1, 160],
    ['a'.repeat(161), 'GSM-7', 2, 161],
    ['a'.repeat(306), 'GSM-7', 2, 306],
    ['a'.repeat(307), 'GSM-7', 3, 307],
    ['€'.repeat(80), 'GSM-7', 1, 160],
    // 153 is odd: each part has room for 76 of them.
    ['€'.repeat(153), 'GSM-7', 3, 306],
    [`${'a'.repeat(152)}€${'a'.repeat(152)}`, 'GSM-7', 3, 306],
    ['ж'.repeat(70), 'UCS-2', 1, 70],
    ['ж'.repeat(71), 'UCS-2', 2, 71],
    ['ж'.repeat(134), 'UCS-2', 2, 134],
    ['😀'.repeat(35), 'UCS-2', 1, 70],
    // 67 is odd: each part has room for 33 of them.
    ['😀'.repeat(67), 'UCS-2', 3, 134],
  ])('%#: counts as operators do', (sent, encoding, segments, units) => {
    expect(smsSegments(sent)).toMatchObject({ encoding, segments, units })
  })
})
