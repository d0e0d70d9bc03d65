/** The maximum number of thresholds of a quota (contract, §10). */
export const MAX_THRESHOLDS = 10

/** Are these at most 10 different integers from 1 to 100, in any order? */
export function areThresholds(value: unknown): value is number[] {
  if (!Array.isArray(value) || value.length > MAX_THRESHOLDS || new Set(value).size !== value.length) return false
  return value.every((one) => Number.isSafeInteger(one) && one >= 1 && one <= 100)
}

/** Formats thresholds for storage: ascending, separated by blanks; null for none. */
export function thresholdsText(thresholds: readonly number[]): string | null {
  return thresholds.length === 0 ? null : [...thresholds].sort((a, b) => a - b).join(' ')
}

/** Parses stored thresholds: ascending. */
export function thresholdsOf(text: string | null): number[] {
  return text === null ? [] : text.split(' ').map(Number)
}

/** The members of a quota that determine which thresholds are passed. */
export interface Watched {
  /** 0 … 10^12. */
  readonly total: number
  /** Units spent in the count `cycleSeq`. */
  readonly used: number
  readonly cycleSeq: number
  /** In the format of `thresholdsText`. */
  readonly thresholds: string | null
  /**
   * The thresholds that are no longer armed, with the count in which they were passed, in the format of `passedText`.
   * Those of an earlier count are all armed again. Null if none was ever passed.
   */
  passed: string | null
}

/**
 * The smallest `used` that reaches a threshold: the smallest integer that is at least `threshold` per cent of `total`.
 * It is exact, since `threshold * total` is at most 10^14. A threshold of a `total` of 0 is never reached.
 */
export function reachedAt(threshold: number, total: number): number {
  if (total === 0) return Infinity
  const hundredths = threshold * total
  const rest = hundredths % 100
  return (hundredths - rest) / 100 + (rest === 0 ? 0 : 1)
}

/** The smallest `used` at which the quota passes another threshold; Infinity if no threshold is armed. */
export function nextPassAt(quota: Watched): number {
  if (quota.thresholds === null) return Infinity
  const passed = passedOf(quota)
  // They ascend: the first that is armed is reached first.
  const next = thresholdsOf(quota.thresholds).find((threshold) => !passed.has(threshold))
  return next === undefined ? Infinity : reachedAt(next, quota.total)
}

/**
 * Disarms and returns the armed thresholds that `used` has reached.
 * @returns these thresholds, ascending; usually none
 */
export function passThresholds(quota: Watched): number[] {
  if (quota.used < nextPassAt(quota)) return []
  const passed = passedOf(quota)
  const crossed = thresholdsOf(quota.thresholds).filter(
    (threshold) => !passed.has(threshold) && quota.used >= reachedAt(threshold, quota.total),
  )
  quota.passed = passedText(quota.cycleSeq, [...passed, ...crossed])
  return crossed
}

/** After an edit of `total`: arms every threshold that `used` does not reach, whether or not it is in the list. */
export function armUnreached(quota: Watched): void {
  const passed = [...passedOf(quota)].filter((threshold) => quota.used >= reachedAt(threshold, quota.total))
  quota.passed = passedText(quota.cycleSeq, passed)
}

/** The thresholds that were passed in the current count, including those that are no longer in the list. */
export function passedOf({ passed, cycleSeq }: Pick<Watched, 'passed' | 'cycleSeq'>): ReadonlySet<number> {
  if (passed === null) return new Set()
  const [count, thresholds = ''] = passed.split(':')
  return new Set(Number(count) === cycleSeq ? thresholdsOf(thresholds) : [])
}

/** `3:50 80`: the thresholds 50 and 80 were passed in count 3. */
function passedText(cycleSeq: number, thresholds: readonly number[]): string | null {
  const text = thresholdsText(thresholds)
  return text === null ? null : `${cycleSeq}:${text}`
}
