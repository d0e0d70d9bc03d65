import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { JsonShortener, MAX_KEPT_BYTES, MAX_STRING_BYTES, TooLarge } from './http-body.js'

const MAX_BYTES = 5_000_000

const read = (text: string | Buffer, size = 1_000): unknown => {
  const shortener = new JsonShortener(MAX_BYTES)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) shortener.read(bytes.subarray(at, at + size))
  return shortener.value()
}

describe('a body of JSON', () => {
  it('is what it is, however its bytes arrive', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), fc.integer({ min: 1, max: 20 }), (value, size) => {
        const text = JSON.stringify(value)
        const escaped = text.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
        for (const one of [text, escaped]) expect(read(one, size)).toEqual(JSON.parse(one))
      }),
    )
  })

  it('has long strings cut, whatever they end in', () => {
    const part = fc.constantFrom('\\u00e4', '\\"', '\\\\', 'a', '"'.replace('"', '\\n'), 'ä')
    fc.assert(
      fc.property(fc.nat({ max: 12 }), fc.array(part, { minLength: 5_000, maxLength: 5_000 }), (before, parts) => {
        const long = 'x'.repeat(before) + parts.join('')
        const { first, second, third } = read(`{"first":"${long}","second":"b\\"","third":["${long}",1]}`) as {
          first: string
          second: string
          third: unknown[]
        }
        expect([second, third]).toEqual(['b"', [first, 1]])
        expect(Buffer.byteLength(first)).toBeLessThan(MAX_STRING_BYTES * 2)
        expect(JSON.parse(`"${long}"`)).toContain(first.slice(0, 300))
      }),
      { numRuns: 20 },
    )
  })

  it('keeps next to nothing of a message of 20 MB within it', () => {
    const shortener = new JsonShortener()
    shortener.read(Buffer.from('{"message":{"contents":"'))
    const part = Buffer.alloc(1_000_000, 'x')
    for (let n = 0; n < 20; n += 1) shortener.read(part)
    shortener.read(Buffer.from('","size":7}}'))
    expect(shortener.value()).toEqual({ message: { contents: 'x'.repeat(MAX_STRING_BYTES), size: 7 } })
  })

  it.each([
    ['in all', `"${'x'.repeat(MAX_BYTES)}"`],
    ['beside its strings', `[${'1,'.repeat(MAX_KEPT_BYTES)}1]`],
    ['in many strings', `[${'"abc",'.repeat(MAX_KEPT_BYTES / 5)}1]`],
  ])('is refused if it has too many bytes %s', (_, text) => {
    expect(() => read(text, 1_000_000)).toThrow(TooLarge)
  })
})
