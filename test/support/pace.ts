import { jest } from '@jest/globals'
import { SCALE } from './figures.js'

// Whoever imports this measures how long others wait. A neighbour on the machine may take the processor meanwhile, so
// such a test fails if it fails twice; the first failure is logged.
jest.retryTimes(1, { logErrorsBeforeRetry: true })

/**
 * What the loop below takes on a machine for which the bounds of the suites are meant, with nothing else to do, in
 * milliseconds.
 */
const NOMINAL_MS = 13
const ROUNDS = 1_000_000
const SAMPLES = 5
/**
 * The promised times are shown with RELIABILITY_SCALE=2, where one suite runs at a time. Beside two other suites, and
 * beside neighbours on the machine, a test asks for times that only a missing defence exceeds: those are ten times the
 * promised ones and more.
 */
const ALLOWANCE = SCALE >= 2 ? 1 : 3

/** A known amount of work, without a look at anything global: that takes long in Jest's contexts. */
function work(): number {
  let state = 1
  for (let round = 0; round < ROUNDS; round += 1) state = (state * 48_271) % 2_147_483_647
  return state
}

/**
 * A bound in milliseconds, for the machine that this runs on and what else it has to do: more where a known amount of
 * work takes longer than it should, and more where other suites run beside. What is promised to callers is promised on
 * a machine that keeps up.
 */
export function inTime(milliseconds: number): number {
  const took = Array.from({ length: SAMPLES }, () => {
    const began = performance.now()
    work()
    return performance.now() - began
  }).sort((a, b) => a - b)
  return ALLOWANCE * milliseconds * Math.max(1, (took[Math.floor(SAMPLES / 2)] ?? 0) / NOMINAL_MS)
}
