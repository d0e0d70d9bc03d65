/** What the loop below takes on a machine for which the bounds of the suites are meant, with nothing else to do, in milliseconds. */
const NOMINAL_MS = 35
const ROUNDS = 30_000_000
const SAMPLES = 3

/** A known amount of work. */
function work(): number {
  let state = 1
  for (let round = 0; round < ROUNDS; round += 1) state = (Math.imul(state, 1_103_515_245) + 12_345) | 0
  return state
}

/**
 * A bound in milliseconds, for the machine that this runs on and what else it has to do: more where a known amount of work takes longer than it
 * should. What is promised to callers is promised on a machine that keeps up.
 */
export function inTime(milliseconds: number): number {
  const took = Array.from({ length: SAMPLES }, () => {
    const began = performance.now()
    work()
    return performance.now() - began
  }).sort((a, b) => a - b)
  return milliseconds * Math.max(1, (took[Math.floor(SAMPLES / 2)] ?? 0) / NOMINAL_MS)
}
