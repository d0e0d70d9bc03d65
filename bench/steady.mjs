/**
 * For a benchmark of what goes on in the background: `--import` this, and a process believes its time at once, where it would first see it stay for a minute, or for an
 * hour before it removes anything.
 */
import { FollowedClock } from '../dist/src/clock/followed-clock.js'

Object.defineProperty(FollowedClock.prototype, 'steadyForMs', { get: () => Infinity })

/** The environment of such a process. */
export const STEADY = { NODE_OPTIONS: `--import ${import.meta.url}` }
