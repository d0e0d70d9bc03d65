import { describe, expect, it } from '@jest/globals'
import { distanceText } from './distance.ts'

/** A time in January here, since a day is one of this zone. */
const at = (day: number, hour: number): number => new Date(2027, 0, day, hour).getTime()

describe('the distance from the fourth at ten', () => {
  it.each([
    [4, 13, 'in 3 hours'],
    [5, 9, 'in 23 hours'],
    [5, 10, 'tomorrow'],
    [5, 23, 'tomorrow'],
    // 47 hours from then.
    [6, 9, 'in 2 days'],
    [3, 10, 'yesterday'],
    [2, 11, '2 days ago'],
    [34, 10, 'in 30 days'],
  ])('to day %d at %d:00 is %s', (day, hour, text) => {
    expect(distanceText(at(day, hour), at(4, 10))).toBe(text)
  })
})
