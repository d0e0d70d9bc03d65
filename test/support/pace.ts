import { jest } from '@jest/globals'
import { SCALE } from './figures.js'

/**
 * For suites that measure waiting times. Other load on the machine may take CPU time meanwhile, so such a test fails
 * only if it fails twice; the first failure is logged. Jest repeats it after the other tests of the suite, so it must
 * pass in the state that they leave.
 */
export function repeatOnce(): void {
  jest.retryTimes(1, { logErrorsBeforeRetry: true })
}

/**
 * The duration of the loop below in milliseconds, on an idle machine for which the suites' bounds are meant.
 */
const NOMINAL_MS = 13
const ROUNDS = 1_000_000
const SAMPLES = 5
/**
 * RELIABILITY_SCALE=2 tests the promised times, with one suite at a time. Beside two other suites, and other load on
 * the machine, a test allows times that only a missing defence exceeds: those are ten times the promised
 * ones and more.
 */
const ALLOWANCE = SCALE >= 2 ? 1 : 3

/** A known amount of work, without global variables: access to them is slow in Jest's contexts. */
function work(): number {
  let state = 1
  for (let round = 0; round < ROUNDS; round += 1) state = (state * 48_271) % 2_147_483_647
  return state
}

/**
 * A bound in milliseconds, for this machine and its other load: higher if a known amount of work takes longer than it
 * should, and higher if other suites run concurrently. Promises to callers hold on a machine that keeps up.
 */
export function inTime(milliseconds: number): number {
  const took = Array.from({ length: SAMPLES }, () => {
    const began = performance.now()
    work()
    return performance.now() - began
  }).sort((a, b) => a - b)
  return ALLOWANCE * milliseconds * Math.max(1, (took[Math.floor(SAMPLES / 2)] ?? 0) / NOMINAL_MS)
}
