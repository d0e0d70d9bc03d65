/**
 * For benchmarks of background work: with `--import` of this file, a process trusts its time at once. Otherwise it waits
 * until the time has been steady for a minute, or for an hour before it removes anything.
 */
import { FollowedClock } from '../dist/src/common/followed-clock.js'

Object.defineProperty(FollowedClock.prototype, 'steadyForMs', { get: () => Infinity })

/** The environment of such a process. */
export const STEADY = { NODE_OPTIONS: `--import ${import.meta.url}` }
