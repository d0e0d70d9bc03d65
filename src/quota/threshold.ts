/** A quota has at most this many thresholds (contract, §10). */
export const MAX_THRESHOLDS = 10

/** Are these at most 10 different integers from 1 to 100, in any order? */
export function areThresholds(value: unknown): value is number[] {
  if (!Array.isArray(value) || value.length > MAX_THRESHOLDS || new Set(value).size !== value.length) return false
  return value.every((one) => Number.isSafeInteger(one) && one >= 1 && one <= 100)
}

/** Thresholds as they are stored: ascending, with blanks between them; null for none. */
export function thresholdsText(thresholds: readonly number[]): string | null {
  return thresholds.length === 0 ? null : [...thresholds].sort((a, b) => a - b).join(' ')
}

/** Stored thresholds as they are shown: ascending. */
export function thresholdsOf(text: string | null): number[] {
  return text === null ? [] : text.split(' ').map(Number)
}

/** What of a quota decides which of its thresholds are passed. */
export interface Watched {
  /** 0 … 10^12. */
  readonly total: number
  /** Units spent in the count `cycleSeq`. */
  readonly used: number
  readonly cycleSeq: number
  /** As `thresholdsText` writes them. */
  readonly thresholds: string | null
  /**
   * The thresholds that are armed no more, as `passedText` writes them with the count in which they were passed: those
   * of an earlier count are all armed again. Null where none was ever passed.
   */
  passed: string | null
}

/**
 * The smallest `used` that reaches a threshold: the least integer that is at least `threshold` per cent of `total`.
 * Exact, since `threshold * total` is at most 10^14. A `total` of 0 is never reached.
 */
export function reachedAt(threshold: number, total: number): number {
  if (total === 0) return Infinity
  const hundredths = threshold * total
  const rest = hundredths % 100
  return (hundredths - rest) / 100 + (rest === 0 ? 0 : 1)
}

/** The `used` from which on the quota passes another threshold; Infinity where no threshold is armed. */
export function nextPassAt(quota: Watched): number {
  if (quota.thresholds === null) return Infinity
  const passed = passedOf(quota)
  // They ascend: the first that is armed is reached first.
  const next = thresholdsOf(quota.thresholds).find((threshold) => !passed.has(threshold))
  return next === undefined ? Infinity : reachedAt(next, quota.total)
}

/**
 * The armed thresholds that `used` has reached; they are armed no more.
 * @returns those that are passed by this, ascending; usually none
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

/** After an edit of `total`: every threshold that `used` does not reach is armed, in the list or not. */
export function armUnreached(quota: Watched): void {
  const passed = [...passedOf(quota)].filter((threshold) => quota.used >= reachedAt(threshold, quota.total))
  quota.passed = passedText(quota.cycleSeq, passed)
}

/** The thresholds that were passed in the running count, also those that are in the list no more. */
function passedOf({ passed, cycleSeq }: Watched): ReadonlySet<number> {
  if (passed === null) return new Set()
  const [count, thresholds = ''] = passed.split(':')
  return new Set(Number(count) === cycleSeq ? thresholdsOf(thresholds) : [])
}

/** `3:50 80`: in count 3 the thresholds 50 and 80 were passed. */
function passedText(cycleSeq: number, thresholds: readonly number[]): string | null {
  const text = thresholdsText(thresholds)
  return text === null ? null : `${cycleSeq}:${text}`
}
