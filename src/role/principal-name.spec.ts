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

  it('is decoded if a release before 0.5.0 stored it, and unchanged if that release truncated it', () => {
    // As an older instance leaves it, which writes the first alone.
    expect(nameOf('boss', 'oidc:Jürgen')).toBe('boss')
    expect(nameOf('oidc:J%C3%BCrgen 100%25', null)).toBe('oidc:Jürgen 100%')
    const cut = 'oidc:%D0%96%D0%96%D0%96%D0%96%D0%96%D0%96%D0%96%D0%~09acb509bcab'
    expect(nameOf(cut, null)).toBe(cut)
  })
})
