import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { MIN_INSTANT, formatInstant, MAX_INSTANT, parseInstant } from './instant.js'

const DAY = 86_400_000

describe('parseInstant', () => {
  // The numbers come from date(1), not from Date.
  it.each([
    ['1970-01-01T00:00:00Z', 0],
    ['1970-01-01T00:00:00.001Z', 1],
    ['1969-12-31T23:59:59.999Z', -1],
    ['2026-12-01T00:00:00.000Z', 1_796_083_200_000],
    ['2026-12-01t00:00:00z', 1_796_083_200_000],
    ['2026-12-01T02:00:00+02:00', 1_796_083_200_000],
    ['2026-11-30T18:30:00-05:30', 1_796_083_200_000],
    ['2026-12-01T00:00:00-00:00', 1_796_083_200_000],
    ['2026-12-01T23:59:00+23:59', 1_796_083_200_000],
    ['2028-02-29T12:00:00Z', 1_835_438_400_000],
    ['2000-02-29T00:00:00Z', 951_782_400_000],
    ['0001-01-01T00:00:00Z', -62_135_596_800_000],
    ['0000-01-01T00:00:00Z', -62_167_219_200_000],
    ['9999-12-31T23:59:59.999Z', 253_402_300_799_999],
  ])('reads %s', (text, expected) => {
    expect(parseInstant(text)).toBe(expected)
  })

  it.each([
    ['2026-12-01T00:00:00.1Z', 100],
    ['2026-12-01T00:00:00.12Z', 120],
    ['2026-12-01T00:00:00.1234Z', 123],
    ['2026-12-01T00:00:00.9999999999999999999999Z', 999],
    ['2026-12-01T00:00:00.0009Z', 0],
    [`2026-12-01T00:00:00.${'9'.repeat(1_000)}Z`, 999],
  ])('cuts %s off at the millisecond', (text, milliseconds) => {
    expect(parseInstant(text)).toBe(1_796_083_200_000 + milliseconds)
  })

  it('truncates before 1970 as after: never up', () => {
    expect(parseInstant('1969-12-31T23:59:59.0009Z')).toBe(-1000)
    expect(parseInstant('9999-12-31T23:59:59.9999999Z')).toBe(MAX_INSTANT)
  })

  it.each([
    ...['', ' ', 'now', '0', '1796083200000', 'null', 'Invalid Date'],
    // A fraction without end.
    `2026-12-01T00:00:00.${'0'.repeat(1_001)}Z`,
    // No offset, or a strange one.
    ...[
      '2026-12-01',
      '2026-12-01T00:00:00',
      '2026-12-01T00:00:00.000',
      '2026-12-01T00:00:00+02',
      '2026-12-01T00:00:00+0200',
    ],
    ...[
      '2026-12-01T00:00:00+24:00',
      '2026-12-01T00:00:00+02:60',
      '2026-12-01T00:00:00Z+02:00',
      '2026-12-01T00:00:00 Z',
    ],
    ...['2026-12-01T00:00:00\u221202:00', '2026-12-01T00:00:00+02:00[Europe/Berlin]', '2026-12-01T00:00:00UTC'],
    // Not of the form.
    ...[
      '2026-12-01 00:00:00Z',
      '2026-12-01T00:00Z',
      '2026-12-01T00Z',
      '20261201T000000Z',
      '2026-W49-2T00:00:00Z',
      '2026-335T00:00:00Z',
    ],
    ...[
      '2026-12-1T00:00:00Z',
      '26-12-01T00:00:00Z',
      '+002026-12-01T00:00:00Z',
      '-000001-12-01T00:00:00Z',
      '12026-12-01T00:00:00Z',
    ],
    ...[
      '2026-12-01T00:00:00.Z',
      '2026-12-01T00:00:00,5Z',
      ' 2026-12-01T00:00:00Z',
      '2026-12-01T00:00:00Z ',
      '2026-12-01T00:00:00Z\n',
    ],
    ...['2026-12-01T00:00:0\u0661Z', 'Tue, 01 Dec 2026 00:00:00 GMT', '2026-12-01T0:00:00Z'],
    // No such day or time.
    ...[
      '2026-00-01T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-12-00T00:00:00Z',
      '2026-12-32T00:00:00Z',
      '2026-11-31T00:00:00Z',
    ],
    ...['2026-02-29T00:00:00Z', '2026-02-30T00:00:00Z', '2100-02-29T00:00:00Z', '2028-02-30T00:00:00Z'],
    ...[
      '2026-12-01T24:00:00Z',
      '2026-12-01T25:00:00Z',
      '2026-12-01T00:60:00Z',
      '2026-12-01T00:00:61Z',
      '2016-12-31T23:59:60Z',
    ],
    // Outside of time.
    ...['9999-12-31T23:59:59.999-00:01', '0000-01-01T00:00:00+00:01', '9999-12-31T23:59:59-23:59'],
  ])('refuses %j', (text) => {
    expect(parseInstant(text)).toBeUndefined()
  })

  it('accepts exactly the existing days', () => {
    const lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    let expected = Date.UTC(1995, 0, 1)
    const wrong: string[] = []
    for (let year = 1995; year <= 2105; year += 1) {
      const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
      for (let month = 1; month <= 12; month += 1) {
        const length = month === 2 && leap ? 29 : lengths[month - 1]
        for (let day = 0; day <= 32; day += 1) {
          const text = `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}T00:00:00Z`
          const exists = length !== undefined && day >= 1 && day <= length
          if (parseInstant(text) !== (exists ? expected : undefined)) wrong.push(text)
          if (exists) expected += DAY
        }
      }
    }
    expect(wrong).toEqual([])
    expect(expected).toBe(Date.UTC(2106, 0, 1))
  })

  it('reads one instant the same with any offset', () => {
    const minutes = fc.integer({ min: -1439, max: 1439 })
    fc.assert(
      fc.property(fc.integer({ min: MIN_INSTANT + DAY, max: MAX_INSTANT - DAY }), minutes, (instant, offset) => {
        const [hour, minute] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60]
        const suffix = `${offset < 0 ? '-' : '+'}${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`
        expect(parseInstant(formatInstant(instant + offset * 60_000).replace('Z', suffix))).toBe(instant)
      }),
    )
  })
})

describe('formatInstant', () => {
  it.each([
    [0, '1970-01-01T00:00:00.000Z'],
    [-1, '1969-12-31T23:59:59.999Z'],
    [1_796_083_200_000, '2026-12-01T00:00:00.000Z'],
    [MAX_INSTANT, '9999-12-31T23:59:59.999Z'],
    [MIN_INSTANT, '0000-01-01T00:00:00.000Z'],
  ])('writes %d', (instant, text) => {
    expect(formatInstant(instant)).toBe(text)
  })

  it('writes what parseInstant reads back, in the order of time', () => {
    const instants = fc.integer({ min: MIN_INSTANT, max: MAX_INSTANT })
    fc.assert(
      fc.property(instants, instants, (a, b) => {
        expect(parseInstant(formatInstant(a))).toBe(a)
        expect(formatInstant(a)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        expect(formatInstant(a) < formatInstant(b)).toBe(a < b)
      }),
    )
  })
})
