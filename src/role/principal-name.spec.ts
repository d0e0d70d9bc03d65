import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { unicodeName, nameOf, oidcName, storedName } from './principal-name.js'

describe('the name of a principal', () => {
  it('comes back from its columns as it was, which hold at most 64 characters, one of them ASCII', () => {
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

  it('of a static token is stored as it is', () => {
    expect([storedName('boss'), unicodeName('boss'), nameOf('boss', null)]).toEqual(['boss', null, 'boss'])
  })

  it('is shown decoded where a release before 0.5.0 stored it, and as it is where that has cut it', () => {
    // As an older instance leaves it, which writes the first alone.
    expect(nameOf('boss', 'oidc:Jürgen')).toBe('boss')
    expect(nameOf('oidc:J%C3%BCrgen 100%25', null)).toBe('oidc:Jürgen 100%')
    const cut = 'oidc:%D0%96%D0%96%D0%96%D0%96%D0%96%D0%96%D0%96%D0%~09acb509bcab'
    expect(nameOf(cut, null)).toBe(cut)
  })
})
