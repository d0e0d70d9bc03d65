import type { Instant } from '../../common/instant.js'
import type { SeriesStep } from './usage-total.entity.js'

export const HOUR_MS = 3_600_000

/** The lengths of the steps by which usage and refusals are added up. */
export const STEP_MS: Readonly<Record<SeriesStep, number>> = { hour: HOUR_MS, day: 24 * HOUR_MS }

/** The beginning of the UTC hour or day that contains an instant. */
export function beginningOf(step: SeriesStep, instant: Instant): Instant {
  return Math.floor(instant / STEP_MS[step]) * STEP_MS[step]
}
