import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { MIN_INSTANT, formatInstant, MAX_INSTANT } from '../common/instant.js'
import { INSTANT, instantFromStore, instantToStore } from './column.js'

describe('a time in the store', () => {
  it('is text that compares like the time', () => {
    expect(instantToStore(Date.parse('2026-12-01T07:08:09.010Z'))).toBe('2026-12-01 07:08:09.010')
    expect(instantToStore(MIN_INSTANT)).toBe('0000-01-01 00:00:00.000')
    expect(instantToStore(MAX_INSTANT)).toBe('9999-12-31 23:59:59.999')
    expect(instantToStore(Date.parse('0040-01-01T00:00:00.000Z'))).toBe('0040-01-01 00:00:00.000')
  })

  it('is read back unchanged, in every year', () => {
    const wrong: string[] = []
    for (let year = 0; year <= 9999; year += 1) {
      for (const rest of ['-01-01T00:00:00.000Z', '-02-28T23:59:59.999Z', '-12-31T12:34:56.789Z']) {
        const text = String(year).padStart(4, '0') + rest
        if (formatInstant(instantFromStore(instantToStore(Date.parse(text)))) !== text) wrong.push(text)
      }
    }
    expect(wrong).toEqual([])
    const anyTime = fc.integer({ min: MIN_INSTANT, max: MAX_INSTANT })
    fc.assert(
      fc.property(anyTime, anyTime, (one, other) => {
        expect(instantFromStore(instantToStore(one))).toBe(one)
        expect(instantToStore(one) < instantToStore(other)).toBe(one < other)
      }),
      { numRuns: 2000 },
    )
  })

  it('is not read or written by TypeORM', () => {
    const { from, to } = INSTANT.transformer
    expect(() => from(new Date(0))).toThrow('RowCodec')
    expect(() => to(0)).toThrow('RowCodec')
    expect([from(null), to(null), to(undefined)]).toEqual([null, null, undefined])
  })
})
