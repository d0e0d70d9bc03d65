import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { unicodeName, nameOf, oidcName, storedName } from './principal-name.js'

describe('the name of a principal', () => {
  it('is read back unchanged from its columns, which contain at most 64 characters, one of them in ASCII', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 80 }), (told) => {
        const name = oidcName(told)
        const stored = storedName(name)
        expect(nameOf(stored, unicodeName(name))).toBe(name)
        expect(Array.from(name).length).toBeLessThanOrEqual(64)
        expect(stored).toMatch(/^oidc:[\x20-\x7e]{1,59}$/)
      }),
    )
  })

  it('of a static token is stored unchanged', () => {
    expect([storedName('boss'), unicodeName('boss'), nameOf('boss', null)]).toEqual(['boss', null, 'boss'])
  })
})
