import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { ServiceError } from '../common/service-error.js'
import { parseJson } from './json.js'

/** Long enough to be lightened. */
const large = (text: string) => Buffer.from(text.padEnd(100_001))

function depthOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
}

describe('parseJson', () => {
  it('reads what JSON.parse reads, however long it is', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 12 }), fc.boolean(), (value, spaced) => {
        const text = JSON.stringify(value, null, spaced ? 2 : 0)
        expect(parseJson(large(text))).toEqual(JSON.parse(text))
        expect(parseJson(Buffer.from(text))).toEqual(JSON.parse(text))
      }),
    )
  })

  it('empties what is nested deeper than anything that is looked at', () => {
    const nested = (depth: number, core: string) => `${'{"a":['.repeat(depth / 2)}${core}${']}'.repeat(depth / 2)}`
    const core = JSON.stringify({ 'a]}"\\': ['}', '\\', '"', '[[['] })
    const sixteen = parseJson(large(nested(16, core)))
    expect(depthOf(sixteen)).toBe(16)
    expect(sixteen).toEqual(JSON.parse(nested(16, '0')))
    expect(parseJson(large(`[${nested(16, core)},{"a":${nested(16, core)},"b":[1]}]`))).toMatchObject([{}, { b: [1] }])
    expect(parseJson(large(nested(14, core)))).toEqual(JSON.parse(nested(14, core)))
    expect(parseJson(large(`{"b":${nested(200, core)},"c":1}`))).toMatchObject({ c: 1 })
  })

  it.each(['[', '{"a":', ']', '[}', '"', '"\\', '[1,]', '{"a":1}}', '[]]'])(
    'still finds that %s is no JSON',
    (text) => {
      for (const bytes of [large(text), Buffer.from(text)]) {
        let code: unknown
        try {
          parseJson(bytes)
        } catch (error) {
          code = error instanceof ServiceError && error.code
        }
        expect(code).toBe('malformed_json')
      }
    },
  )

  it.each(['ff', 'c328', 'eda080', 'f09f9982'.slice(0, 6)])('takes no other bytes than UTF-8: %s', (hex) => {
    const text = Buffer.concat([Buffer.from('{"label":"a'), Buffer.from(hex, 'hex'), Buffer.from('b"}')])
    for (const bytes of [text, Buffer.concat([text, Buffer.alloc(100_000, ' ')])])
      expect(() => parseJson(bytes)).toThrow(expect.objectContaining({ code: 'malformed_json' }))
  })

  it.each([
    ['nesting', '['.repeat(490_000) + ']'.repeat(490_000)],
    ['names', `{${Array.from({ length: 80_000 }, (_, at) => `"n${at}":1`).join(',')}}`],
    ['escapes', `["${'\\"'.repeat(490_000)}"]`],
    ['numbers', `[${'1,'.repeat(490_000)}1]`],
  ])('takes little more time for a megabyte of %s than for one of blanks', (_what, text) => {
    const time = (bytes: Buffer) => {
      const took = Array.from({ length: 5 }, () => {
        const copy = Buffer.from(bytes)
        const began = process.cpuUsage()
        try {
          parseJson(copy)
        } catch {
          // Refused, in the time that is measured.
        }
        const { user, system } = process.cpuUsage(began)
        return user + system
      })
      return Math.min(...took)
    }
    expect(time(Buffer.from(text))).toBeLessThan(12 * time(Buffer.from(`[${' '.repeat(999_990)}]`)))
  })
})
