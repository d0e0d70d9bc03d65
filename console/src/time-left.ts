/*
 * Estimates the remaining time of work whose progress is read now and then.
 */

/** The progress at a time, in milliseconds of any clock. */
export interface Look {
  readonly at: number
  readonly done: number
}

/** Older readings are ignored, since the speed may have changed; in milliseconds. */
const RECENT_MS = 30_000
/** The minimum time between readings for an estimate, in milliseconds. */
const LEAST_MS = 1_500

/** Adds a reading, and removes those that no longer count. */
export function lookedAgain(looks: readonly Look[], look: Look): readonly Look[] {
  const last = looks.at(-1)
  // The work has restarted, or the reading is known.
  if (last !== undefined && look.done < last.done) return [look]
  if (last?.at === look.at) return looks
  return [...looks.filter(({ at }) => look.at - at <= RECENT_MS), look]
}

/** @returns seconds, rounded up; undefined without enough readings */
export function secondsLeft(looks: readonly Look[], total: number): number | undefined {
  const [first, last] = [looks[0], looks.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const took = last.at - first.at
  const done = last.done - first.done
  if (took < LEAST_MS || done <= 0) return undefined
  return Math.ceil(((total - last.done) * took) / done / 1000)
}

/** `about 40 seconds`, `about 3 minutes`: rounded, since it is an estimate. */
export function leftText(seconds: number): string {
  if (seconds <= 5) return 'a few seconds'
  if (seconds <= 55) return `about ${Math.ceil(seconds / 5) * 5} seconds`
  const minutes = Math.ceil(seconds / 60)
  return minutes === 1
    ? 'about a minute'
    : minutes < 90
      ? `about ${minutes} minutes`
      : `about ${Math.ceil(minutes / 60)} hours`
}
