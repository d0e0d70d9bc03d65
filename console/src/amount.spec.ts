import { describe, expect, it } from '@jest/globals'
import { withAmounts } from './amount.ts'

describe('the numbers in a message about a field', () => {
  it.each([
    ['must be an integer from 0 to 1000000000000', 'must be an integer from 0 to 1,000,000,000,000'],
    [
      'would be 12500: must be an integer from 0 to 99999, {"add": n} or {"percent": n} with n from -100 to 10000',
      'would be 12,500: must be an integer from 0 to 99,999, {"add": n} or {"percent": n} with n from -100 to 10,000',
    ],
    ['may be at most 10000.', 'may be at most 10,000.'],
    ['must be from 60 to 999 seconds', 'must be from 60 to 999 seconds'],
  ])('have groups of digits: %s', (message, shown) => expect(withAmounts(message)).toBe(shown))

  it.each([
    'must be an RFC 3339 time with an offset, like 2026-12-01T00:00:00Z',
    'is in no group "customer 12345"',
    'must be after 9999-12-31T23:59:59.999Z',
    'has 0.12345 of 7.12345, a1234 and 1234b',
  ])('are no times, texts and fractions: %s', (message) => expect(withAmounts(message)).toBe(message))
})
