import { expect } from '@jest/globals'
import fc from '../../node_modules/fast-check/lib/fast-check.js'

const { PROPERTY_SEED, QUOTA_SUITES } = process.env
/** The runs of a property, if it does not name them. */
const RUNS = 100
/** `npm test` tries a fifth of the runs of specs; suites end to end choose for themselves. */
const SHARE = QUOTA_SUITES === 'guard' && expect.getState().testPath?.endsWith('.spec.ts') ? 0.2 : 1

const assert = (property: fc.IRawProperty<unknown>, parameters: fc.Parameters<unknown> = {}): unknown =>
  fc.assert(property, { ...parameters, numRuns: Math.ceil((parameters.numRuns ?? RUNS) * SHARE) })

/**
 * How often the cases of a property must meet something.
 * @param times with all cases; a tenth of it with a fifth of them, because numbers that small vary more
 */
export const metOften = (times: number): number => (SHARE === 1 ? times : times / 10)

// If PROPERTY_SEED is set, properties try the same cases in every run.
if (PROPERTY_SEED !== undefined) fc.configureGlobal({ seed: Number(PROPERTY_SEED) })

/** Replaces `fast-check` in suites. */
export default SHARE === 1 ? fc : { ...fc, assert }
