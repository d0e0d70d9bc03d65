import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { Quota } from './channel-client.ts'
import { nextResets, UNITS, wholeCycles } from './resets.ts'

const NOW = Date.UTC(2026, 10, 26, 12)
const DAY = 86_400_000
const reset = fc.oneof(
  fc.integer({ min: -100, max: 400 }).map((days) => NOW + days * DAY),
  // The ends of months, and a leap day.
  fc.constantFrom(...['2027-01-31', '2027-03-31', '2028-02-29', '2031-12-31'].map((day) => Date.parse(day))),
  fc.integer({ min: 0, max: 136_000 }).map((days) => NOW + days * DAY),
)

describe('an earlier reset of a cycle', () => {
  it('is a month ago at least, and the given one is among those that follow', async () => {
    await fc.assert(
      fc.asyncProperty(
        reset,
        fc.constantFrom(...UNITS),
        fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu'),
        async (at, cycleUnit, cycleTimeZone) => {
          const cycleResetAt = new Date(at).toISOString()
          const cycleAnchorAt = await wholeCycles(cycleResetAt, cycleUnit, cycleTimeZone, NOW)
          expect(Date.parse(cycleAnchorAt)).toBeLessThanOrEqual(NOW - 32 * DAY)
          const cycle = { cycleUnit, cycleTimeZone, cycleResetAt, cycleAnchorAt } as Quota
          expect(await nextResets(cycle, 1)).toEqual([cycleResetAt])
        },
      ),
      // Eight years before, the clocks of Berlin were set forward at this time of day.
      { examples: [[Date.UTC(2027, 2, 31), 'month', 'Europe/Berlin']], numRuns: 200 },
    )
  })
})
