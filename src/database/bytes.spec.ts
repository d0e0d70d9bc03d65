import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { AFTER_EVERY_ID, BEFORE_EVERY_ID, bytesToStore, hexFromStore, idFromStore, isId } from './bytes.js'

const ID = '01990000-0000-7000-8000-00000000abcd'

describe('stored ids and hashes', () => {
  it('have 16 bytes, and return as they were', () => {
    fc.assert(
      fc.property(fc.uuid(), (id) => {
        expect(bytesToStore(id).toString('hex')).toBe(id.replaceAll('-', ''))
        expect(idFromStore(bytesToStore(id))).toBe(id)
        expect(hexFromStore(bytesToStore(id.replaceAll('-', '')))).toBe(id.replaceAll('-', ''))
      }),
    )
  })

  it('have the order of their texts', () => {
    fc.assert(
      fc.property(fc.uuid({ version: 7 }), fc.uuid({ version: 7 }), (one, other) => {
        const order = one < other ? -1 : one > other ? 1 : 0
        expect(Buffer.compare(bytesToStore(one), bytesToStore(other))).toBe(order)
        expect(Buffer.compare(bytesToStore(BEFORE_EVERY_ID), bytesToStore(one))).toBe(-1)
        expect(Buffer.compare(bytesToStore(AFTER_EVERY_ID), bytesToStore(one))).toBe(1)
      }),
    )
  })

  it('return the text before every id', () => {
    expect(idFromStore(bytesToStore(BEFORE_EVERY_ID))).toBe(BEFORE_EVERY_ID)
  })

  it('are read from what either driver returns', () => {
    const bytes = bytesToStore(ID)
    expect(idFromStore(Uint8Array.from(bytes).buffer)).toBe(ID)
  })

  it('are those of a UUID in lower case', () => {
    expect([ID, ID.toUpperCase(), '00000000-0000-0000-0000-000000000000', `${ID}0`, 'request-7', ''].map(isId)).toEqual(
      [true, false, false, false, false, false],
    )
  })
})
